// A button that copies the address; one without a version gets the whole query, so that it means the same for ever.
import {inOrder} from "../player/js/calls.js";
import {link} from "./link.js";
const KEY = Symbol.for("shell-copy")

function write(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text)
  const box = document.createElement("textarea")
  box.value = text
  document.body.append(box)
  box.select()
  const done = document.execCommand("copy")
  box.remove()
  return done ? Promise.resolve() : Promise.reject(new Error("copy"))
}

export default inOrder(({ data, parentElement }) => {
  let button = parentElement[KEY]
  if (!button) {
    button = parentElement[KEY] = document.createElement("button")
    button.type = "button"
    button.className = "shell-button"
    button.setAttribute("aria-live", "polite")
    parentElement.append(button)
  }
  const { copy, copied, failed } = (button.words = data.words)
  button.textContent = copy
  button.onclick = () => {
    write(link(data.query))
      .then(() => (button.textContent = copied), () => (button.textContent = failed))
      .finally(() => setTimeout(() => (button.textContent = button.words.copy), 1600)) // the language may have changed
  }
})
