// Keeps `step` and `r` of the address up to date, and tells Python when the player has painted another run.
// Everything else in the address is Streamlit's: it makes the history's entries.
import {inOrder} from "../player/js/calls.js";
const KEY = Symbol.for("shell-address")
const PATIENCE = 5000 // ms

function write(query) {
  const url = new URL(window.location.href)
  const now = url.searchParams
  if (!now.has("v")) {
    for (const [name, value] of Object.entries(query)) now.set(name, value)
  }
  for (const name of ["step", "r"]) {
    if (name in query) now.set(name, query[name])
    else now.delete(name)
  }
  if (url.search !== window.location.search) window.history.replaceState(window.history.state, "", url)
}

// The player marks its root with the figure it has drawn; what is marked when a run is painted is another run's later.
function whenPainted(before, tell) {
  const began = performance.now()
  const look = () => {
    const mark = document.querySelector(".sx")?.dataset.ready
    if (mark && mark !== before) return requestAnimationFrame(() => setTimeout(() => tell(mark), 0))
    if (performance.now() - began > PATIENCE) return tell(mark)
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
}

export default inOrder(({ data, parentElement, setTriggerValue }) => {
  write(data.query)
  const state = (parentElement[KEY] ??= { run: null, mark: undefined })
  if (state.run === data.run) return
  state.run = data.run
  whenPainted(state.mark, mark => {
    if (state.run !== data.run) return
    state.mark = mark
    setTriggerValue("painted", data.run)
  })
})
