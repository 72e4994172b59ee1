// Saves a part of the page as a picture, SVG or PNG at 2×: its words, its charts, and a footer that says what they show.
import {inOrder} from "../player/js/calls.js";
import {blobOf, drawWords, element, FOOT, footer, PAD, plain, saveAs} from "../player/js/shot.js";
import {link} from "./link.js";
const KEY = Symbol.for("shell-picture"), GAP = 18

// Colours of the page's theme: a probe, since variables hold both themes and a file on its own has none.
function colors() {
  const probe = document.querySelector(".stApp").appendChild(document.createElement("i"))
  const color = text => { probe.style.color = text; return getComputedStyle(probe).color }
  return {color, done: () => probe.remove()}
}

// Where each part begins, without the gaps that what lies between them leaves.
function stacked(boxes) {
  let reached = 0, shift = boxes[0].top
  return boxes.map(box => {
    shift += Math.max(0, box.top - shift - reached - GAP)
    reached = Math.max(reached, box.bottom - shift)
    return box.top - shift
  })
}

function pictured(root, {select, caption, query}) {
  const parts = [...document.querySelectorAll(select)].filter(part => part.getBoundingClientRect().width), {color, done} = colors()
  const boxes = parts.map(part => part.getBoundingClientRect()), left = Math.min(...boxes.map(box => box.left))
  const tops = stacked(boxes), end = Math.max(...boxes.map((box, n) => tops[n] + box.height))
  const width = Math.round(Math.max(...boxes.map(box => box.right)) - left) + 2 * PAD, height = Math.round(end) + PAD + FOOT
  const svg = element("svg", {xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`})
  const body = element("g", {transform: `translate(${PAD},${PAD})`})
  svg.append(element("rect", {width, height, fill: color("var(--sx-bg)")}))
  parts.forEach((part, n) => {
    const origin = {x: left, y: boxes[n].top - tops[n]}
    drawWords(part, origin, body)
    for (const layer of part.querySelectorAll(".main-svg")) {
      const box = layer.getBoundingClientRect()
      body.append(plain(layer, box.left - origin.x, box.top - origin.y))
    }
  })
  svg.append(body, footer({h: {caption}, root: document.querySelector("h1") ?? root, link: () => link(query)}, width, height, color))
  done()
  return {svg: new XMLSerializer().serializeToString(svg), width, height}
}

export default inOrder(({data, parentElement}) => {
  const buttons = (parentElement[KEY] ??= ["png", "svg"].map(kind => {
    const button = document.createElement("button")
    Object.assign(button, {type: "button", className: "shell-button", textContent: kind.toUpperCase()})
    button.dataset.kind = kind
    return button
  }))
  for (const button of buttons) {
    const {kind} = button.dataset
    parentElement.append(button) // also once Streamlit has emptied the element and begins anew
    button.setAttribute("aria-label", data.words[kind])
    button.style.marginRight = "6px"
    button.onclick = async () => saveAs(await blobOf(pictured(parentElement, data), kind), `${data.caption.file}.${kind}`)
  }
})
