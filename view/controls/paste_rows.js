// What is too long for the table of requests never reaches it: it takes half a minute over ten thousand pasted rows.
import {inOrder} from "../player/js/calls.js";
const KEY = Symbol.for("paste-rows"), TABLE = "[class*=st-key-w-rows]"

function listen(state) {
  const onPaste = event => {
    if (!document.activeElement?.closest(TABLE)) return
    const rows = (event.clipboardData?.getData("text/plain") ?? "").trimEnd().split("\n").length
    if (rows <= state.most) return
    event.preventDefault()
    event.stopImmediatePropagation()
    state.tell("refused", rows)
  }
  window.addEventListener("paste", onPaste, true)
  return () => window.removeEventListener("paste", onPaste, true)
}

export default inOrder(({ data, parentElement, setTriggerValue }) => {
  const state = (parentElement[KEY] ??= {})
  Object.assign(state, { most: data.most, tell: setTriggerValue })
  if (!state.stop) {
    // The table listens on the window too, from its own beginning: one that is there already hears of a paste first.
    state.late = document.querySelector(`${TABLE} [data-testid=stDataFrame]`) ? data.table : null
    state.stop = listen(state)
    if (state.late !== null) setTriggerValue("late", true)
  }
  if (state.late !== data.table) document.documentElement.dataset.pasteRows = data.most // tests wait for it
}, ({ parentElement }) => {
  const state = parentElement[KEY]
  state.stop?.()
  state.stop = undefined
})
