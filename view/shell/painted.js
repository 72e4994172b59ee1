// Tells Python when both players have painted the runs that they were sent.
import {inOrder} from "../player/js/calls.js";
const KEY = Symbol.for("compare-painted")
const PATIENCE = 5000 // ms

const marks = () => [...document.querySelectorAll(".sx")].map(one => one.dataset.ready)

// A player marks its root with the figure it has drawn; another run has another figure.
export default inOrder(({ data, parentElement, setTriggerValue }) => {
  const state = (parentElement[KEY] ??= { runs: [], marks: [] })
  const name = data.runs.join(" ")
  if (state.runs.join(" ") === name) return
  const fresh = data.runs.map((run, place) => run !== state.runs[place])
  const before = state.marks
  state.runs = data.runs
  const began = performance.now()
  const look = () => {
    if (state.runs !== data.runs) return
    const now = marks()
    const done = fresh.every((news, place) => now[place] && (!news || now[place] !== before[place]))
    if (!done && performance.now() - began < PATIENCE) return requestAnimationFrame(look)
    state.marks = now
    requestAnimationFrame(() => setTimeout(() => state.runs === data.runs && setTriggerValue("painted", name), 0))
  }
  requestAnimationFrame(look)
})
