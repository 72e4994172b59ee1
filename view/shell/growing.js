// Charts that grow: each is drawn into the same elements again when it has changed. Streamlit's own chart is taken away
// and mounted anew for every change of its figure, which blinks and costs three times as much.
import {inOrder} from "../player/js/calls.js";
import {loadPlotly, quicken} from "../player/js/plotly.js";
const HOME = Symbol.for("growing-charts")
const LOOK = {displayModeBar: false, scrollZoom: false, showSendToCloud: false, doubleClick: false}

class Growing {
  constructor(root) {
    this.root = root
    this.drawn = []
    this.queue = Promise.resolve()
    this.watch = new ResizeObserver(() => this.draw())
    this.watch.observe(root)
  }

  draw() {
    this.queue = this.queue.then(() => this.all()).catch(error => console.error(error))
  }

  async all() {  // the newest figures, however many were sent in the meantime; a frame for each, so that nothing jerks
    if (!globalThis.Plotly) await loadPlotly(this.data.plotly)
    quicken(Plotly)
    this.place()
    for (let n = 0; n < this.data.charts.length && !this.dead; n++) if (await this.one(n)) await new Promise(requestAnimationFrame)
  }

  place() {
    const {charts, columns} = this.data
    this.root.classList.add("growing")
    this.root.style.setProperty("--columns", columns)
    while (this.root.children.length > charts.length) this.drop()
    while (this.root.children.length < charts.length) this.add()
  }

  drop() {
    Plotly.purge(this.root.lastElementChild)
    this.root.lastElementChild.remove()
    this.drawn.pop()
  }

  add() {
    const host = document.createElement("div")
    host.setAttribute("role", "img")
    this.root.append(host)
  }

  async one(n) {
    const {spec, alt} = this.data.charts[n], host = this.root.children[n], width = Math.floor(host.clientWidth)
    if (!width || this.drawn[n] === width + spec) return false
    this.drawn[n] = width + spec
    const {data, layout} = JSON.parse(spec), news = !host._fullLayout
    host.setAttribute("aria-label", alt)
    await Plotly.react(host, data, {...layout, width}, LOOK)
    if (news) host.on("plotly_click", event => this.picked(event.points[0]?.customdata))
    return true
  }

  picked(row) {
    if (row !== undefined && row !== null) this.send("picked", Number(row[0] ?? row))
  }

  destroy() {
    this.dead = true
    this.watch.disconnect()
    for (const host of this.root.children) if (globalThis.Plotly && host._fullLayout) Plotly.purge(host)
  }
}

export default inOrder(({data, parentElement, setTriggerValue}) => {
  const root = parentElement.querySelector("[data-growing]"), charts = (root[HOME] ??= new Growing(root))
  charts.send = setTriggerValue
  charts.data = data
  charts.draw()
}, ({parentElement}) => parentElement.querySelector("[data-growing]")?.[HOME]?.destroy())
