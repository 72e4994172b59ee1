// Prose with buttons: data-go leads the playhead to a moment, data-set turns settings. The moments' chips also keep the
// address's `step` (as shell/address.js does in the Playground: without an entry in the history). In the presenter's view the arrow
// keys (and a presenter's clicker: Page Up and Page Down) walk through the moments.
import {inOrder} from "../player/js/calls.js";
const KEY = Symbol.for("lesson-words")
const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }

function busy(target) {
  return target instanceof Element && target.closest("input, textarea, select, [role=radiogroup], [role=combobox]")
}

function show(state, data) {
  if (state.html !== data.html) {
    state.box.innerHTML = data.html
    state.html = data.html
  }
  const [token, step, home] = data.places ?? []
  if (state.token !== token) state.step = step
  Object.assign(state, { token, home, current: data.current })
  mark(state)
  remember(state)
}

// Where the playhead rests, in the address; nothing if the address leads there anyway.
function remember(state) {
  if (state.home === undefined) return
  const url = new URL(window.location.href)
  if (state.step === state.home) url.searchParams.delete("step")
  else url.searchParams.set("step", state.step)
  if (url.search !== window.location.search) window.history.replaceState(window.history.state, "", url)
}

// The moment that the playhead rests on; of several in one step the one that was asked for.
function mark(state) {
  const chips = [...state.box.querySelectorAll("[data-step]")]
  let current = state.current
  if (state.step !== undefined && chips.length) {
    const here = chips.filter(chip => Number(chip.dataset.step) === state.step).map(chip => chip.dataset.go)
    current = here.includes(current) ? current : here[0]
  }
  for (const button of state.box.querySelectorAll("[data-go]")) {
    if (button.dataset.go === current) button.setAttribute("aria-current", "step")
    else button.removeAttribute("aria-current")
  }
}

function reveal() {
  const player = document.querySelector(".sx")
  if (!player) return
  const box = player.getBoundingClientRect()
  if (box.top > window.innerHeight * 0.6 || box.bottom < window.innerHeight * 0.4) {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches
    player.scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" })
  }
}

function start(parent) {
  const state = { box: document.createElement("div") }
  state.box.className = "lesson-words"
  parent.append(state.box)
  state.box.addEventListener("click", event => {
    const button = event.target.closest("[data-go], [data-set]")
    if (!button) return
    if (button.dataset.set) state.send("set", button.dataset.set)
    else state.send("go", button.dataset.go)
    reveal()
  })
  state.rest = event => {
    state.step = event.detail
    mark(state)
    remember(state)
  }
  state.press = event => {
    if (!state.keys || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return
    const by = STEPS[event.key]
    if (!by || busy(event.target)) return
    event.preventDefault()
    event.stopImmediatePropagation()
    state.send("walk", by)
  }
  return state
}

export default inOrder(({ data, parentElement, setTriggerValue }) => {
  const state = (parentElement[KEY] ??= start(parentElement))
  state.send = setTriggerValue
  state.keys = data.keys
  show(state, data)
  document.addEventListener("keydown", state.press, true)
  document.addEventListener("sx-step", state.rest)
}, ({ parentElement }) => {
  const state = parentElement[KEY]
  document.removeEventListener("keydown", state.press, true)
  document.removeEventListener("sx-step", state.rest)
})
