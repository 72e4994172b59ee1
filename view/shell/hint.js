// Three steps for a first visit. Whether they were read is kept in this browser only.
import {inOrder} from "../player/js/calls.js";
const KEY = Symbol.for("shell-hint")
const SEEN = "scheduler-explorer-hint"

function seen() {
  try {
    return window.localStorage.getItem(SEEN) !== null
  } catch {
    return false
  }
}

function remember() {
  try {
    window.localStorage.setItem(SEEN, "1")
  } catch {
    // a browser that keeps nothing shows the hint again next time
  }
}

function element(tag, className, text) {
  const made = document.createElement(tag)
  made.className = className
  if (text) made.textContent = text
  return made
}

export default inOrder(({ data, parentElement }) => {
  const state = (parentElement[KEY] ??= { at: 0, gone: seen() })
  parentElement.replaceChildren()
  if (state.gone) return
  const draw = () => {
    const box = element("div", "shell-hint")
    box.setAttribute("role", "note")
    const last = state.at === data.steps.length - 1
    const go = element("button", "shell-button", last ? data.words.done : data.words.next)
    const close = element("button", "shell-hint-close", "×")
    go.type = close.type = "button"
    close.setAttribute("aria-label", data.words.done)
    close.title = data.words.done
    const leave = () => {
      state.gone = true
      remember()
      parentElement.replaceChildren()
    }
    go.onclick = () => (last ? leave() : ((state.at += 1), draw()))
    close.onclick = leave
    box.append(element("span", "shell-hint-count", data.counts[state.at]))
    box.append(element("span", "shell-hint-text", data.steps[state.at]), go, close)
    parentElement.replaceChildren(box)
  }
  draw()
})
