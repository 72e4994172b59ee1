// A lesson on one sheet of A4 as a PNG at 2×, to print or to show: drawn here, on a canvas, from texts and one picture (SVG).
import {inOrder} from "../player/js/calls.js";
const KEY = Symbol.for("lesson-sheet")
const WIDE = 794, HIGH = 1123, PAD = 48, SCALE = 2

// Draws down a column; with a pen that draws nothing it measures.
class Column {
  constructor(pen, data, wide) { Object.assign(this, { pen, data, wide, y: PAD }) }

  write(text, size, ink, { weight = 400, x = PAD, width = this.wide - PAD - x, gap = 0 } = {}) {
    this.pen.font = `${weight} ${size}px ${this.data.font}`
    this.pen.fillStyle = this.data.colors[ink]
    for (const line of lines(this.pen, text, width)) {
      this.y += size * 1.5
      this.pen.fillText(line, x, this.y - size * 0.4)
    }
    this.y += gap
  }

  rule() {
    this.pen.fillStyle = this.data.colors.rule
    this.pen.fillRect(PAD, this.y, this.wide - 2 * PAD, 1)
    this.y += 12
  }
}

// Broken at spaces, as Korean is too; only what is longer than a line is broken within.
function lines(pen, text, width) {
  const done = []
  let line = ""
  for (let word of text.split(/\s+/)) {
    if (line && pen.measureText(`${line} ${word}`).width > width) {
      done.push(line)
      line = ""
    }
    while (pen.measureText(word).width > width) {
      let end = word.length - 1
      while (end > 1 && pen.measureText(word.slice(0, end)).width > width) end--
      done.push(word.slice(0, end))
      word = word.slice(end)
    }
    line = line ? `${line} ${word}` : word
  }
  return line ? [...done, line] : done
}

// times: how much larger than A4 the sheet is that is drawn, to be made as small as A4 then. How high it became.
function draw(pen, data, picture, link, times) {
  const page = new Column(pen, data, WIDE * times), curve = data.high * (page.wide - 2 * PAD) / (WIDE - 2 * PAD)
  page.write(data.title, 25, "ink", { weight: 700, gap: 4 })
  page.write(data.idea, 14.5, "ink2", { weight: 600, gap: 14 })
  numbers(page, data.numbers)
  if (picture) pen.drawImage(picture, PAD, page.y, page.wide - 2 * PAD, curve)
  page.y += curve + 2
  page.write(data.caption, 11, "ink3", { gap: 14 })
  data.moments.forEach(one => moment(page, one))
  page.y += 10
  page.write(data.asked, 13, "ink3", { weight: 600 })
  page.write(data.ask, 13.5, "ink", { gap: 2 })
  page.write(`✓ ${data.right}`, 13.5, "ink", { weight: 700, gap: 4 })
  for (const part of data.why) page.write(part, 13, "ink2", { gap: 6 })
  for (const one of data.sections) section(page, one)
  page.y = Math.max(page.y + 8, HIGH * times - PAD - 58)
  page.rule()
  page.write(data.source, 10.5, "ink3")
  page.write(link, 10.5, "ink3")
  return Math.ceil(page.y + PAD - 12)
}

function numbers(page, cells) {
  const wide = (page.wide - 2 * PAD) / cells.length, top = page.y
  cells.forEach(([label, value], n) => {
    page.y = top
    page.write(label, 11.5, "ink3", { x: PAD + n * wide, width: wide - 8 })
    page.write(value, 16, "ink", { weight: 700, x: PAD + n * wide, width: wide - 8 })
  })
  page.y += 12
}

// Its number in the picture, its step, its sentence; the moment that answers the question has a bar and stands out.
function moment(page, { mark, step, says, key }) {
  const top = page.y
  page.write(mark, 13, "ink3", { x: PAD + 12, width: 20 })
  page.y = top
  page.write(step, 13, "ink", { weight: 700, x: PAD + 34, width: 92 })
  page.y = top
  page.write(says, 13, "ink", { weight: key ? 700 : 400, x: PAD + 130 })
  if (key) {
    page.pen.fillStyle = page.data.colors.preempt
    page.pen.fillRect(PAD, top + 3, 4, page.y - top - 2)
  }
  page.y += 4
}

// A section of the lesson's text.
function section(page, { head, says }) {
  page.y += 6
  page.write(head, 13.5, "ink", { weight: 700 })
  for (const part of says) page.write(part, 13, "ink2", { gap: 6 })
}

async function load(svg) {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml;charset=utf-8" })), image = new Image()
  image.src = url
  await image.decode().finally(() => URL.revokeObjectURL(url))
  return image
}

async function sheet(data, link) {
  await document.fonts.ready
  const canvas = document.createElement("canvas"), pen = canvas.getContext("2d"), picture = await load(data.svg)
  let times = 1  // the whole lesson has to fit: a long one is written smaller
  while (draw(pen, data, null, link, times) > HIGH * times + 1 && times < 2) times += 0.02
  canvas.width = WIDE * SCALE
  canvas.height = HIGH * SCALE
  pen.scale(SCALE / times, SCALE / times)
  pen.fillStyle = data.colors.bg
  pen.fillRect(0, 0, WIDE * times, HIGH * times)
  draw(pen, data, picture, link, times)
  return new Promise((done, failed) => canvas.toBlob(blob => (blob ? done(blob) : failed(new Error("png"))), "image/png"))
}

function save(blob, name) {
  const url = URL.createObjectURL(blob), anchor = document.createElement("a")
  Object.assign(anchor, { href: url, download: name })
  document.body.append(anchor)
  anchor.click()
  anchor.remove()
  setTimeout(() => URL.revokeObjectURL(url), 10000)
}

export default inOrder(({ data, parentElement }) => {
  let button = parentElement[KEY]
  if (!button) {
    button = parentElement[KEY] = document.createElement("button")
    Object.assign(button, { type: "button", className: "shell-button lesson-sheet" })
    parentElement.append(button)
  }
  button.textContent = data.words.make
  button.title = data.words.help
  button.onclick = async () => {
    try {
      const link = new URL(data.link, window.location.href)
      save(await sheet(data, decodeURI(link.href)), data.file)
    } catch (error) {
      console.error(error)
      button.textContent = data.words.failed
    }
  }
})
