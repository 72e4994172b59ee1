// What is too long for the box of pasted lines never reaches it: a browser lays out megabytes of text for half a minute.
import {endingOf} from "../player/js/ending.js";
const KEY = Symbol.for("advise-paste")

function listen(state) {
  const onPaste = event => {
    const box = event.target
    if (!(box instanceof HTMLTextAreaElement) || !box.closest("[class*=st-key-advise]")) return
    const text = event.clipboardData?.getData("text/plain") ?? ""
    const whole = box.value.slice(0, box.selectionStart) + text + box.value.slice(box.selectionEnd)
    if (whole.length <= state.data.box) return
    event.preventDefault()
    event.stopPropagation()
    if (whole.length > state.data.most) state.tell("refused", whole.length)
    else state.tell("pasted", whole)
  }
  document.addEventListener("paste", onPaste, true)
  return () => document.removeEventListener("paste", onPaste, true)
}

export default function ({ data, parentElement, setTriggerValue }) {
  const state = (parentElement[KEY] ??= {})
  Object.assign(state, { data, tell: setTriggerValue })
  state.stop ??= listen(state)
  return endingOf(parentElement, () => {
    state.stop?.()
    state.stop = undefined
  })
}
