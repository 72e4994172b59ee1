// What is too long for the box of pasted lines never reaches it: a browser lays out megabytes of text for half a minute.
import {inOrder} from "../player/js/calls.js";
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

export default inOrder(({ data, parentElement, setTriggerValue }) => {
  const state = (parentElement[KEY] ??= {})
  Object.assign(state, { data, tell: setTriggerValue })
  state.stop ??= listen(state)
}, ({ parentElement }) => {
  const state = parentElement[KEY]
  state.stop?.()
  state.stop = undefined
})
