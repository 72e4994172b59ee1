// Tells Python that the theme is another than the one it has drawn with: its charts' colours are one theme's.
import {inOrder} from "../player/js/calls.js";
const KEY = Symbol.for("shell-theme")
const EVERY = 500 // ms; the theme comes from the system or from the menu, and neither says when it changes

export default inOrder(({ data, parentElement, setTriggerValue }) => {
  const state = (parentElement[KEY] ??= { told: "" })
  if (state.drawn !== data.theme) state.told = ""
  state.drawn = data.theme
  clearInterval(state.timer)
  state.timer = setInterval(() => {
    const now = getComputedStyle(parentElement).colorScheme
    if (!["light", "dark"].includes(now) || now === data.theme || now === state.told) return
    state.told = now
    setTriggerValue("changed", now)
  }, EVERY)
}, ({ parentElement }) => clearInterval(parentElement[KEY]?.timer))
