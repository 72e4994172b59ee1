// What is too long for the table of requests never reaches it: it takes half a minute over ten thousand pasted rows.
const KEY = Symbol.for("paste-rows")

function listen(state) {
  const onPaste = event => {
    if (!document.activeElement?.closest("[class*=st-key-w-rows]")) return
    const rows = (event.clipboardData?.getData("text/plain") ?? "").trimEnd().split("\n").length
    if (rows <= state.most) return
    event.preventDefault()
    event.stopImmediatePropagation()
    state.tell("refused", rows)
  }
  // On the window, as the table itself does; it listens anew after each click, so this comes first.
  window.addEventListener("paste", onPaste, true)
  document.documentElement.dataset.pasteRows = state.most // tests wait for it
  return () => window.removeEventListener("paste", onPaste, true)
}

export default function ({ data, parentElement, setTriggerValue }) {
  const state = (parentElement[KEY] ??= {})
  Object.assign(state, { most: data.most, tell: setTriggerValue })
  state.stop ??= listen(state)
  return () => {
    state.stop?.()
    state.stop = undefined
  }
}
