// The transport: buttons, speed, scrubber with the run's marks, overview strip, read-outs. Tells what was asked for; decides nothing.
export const SPEEDS = [.25, .5, 1, 2, 4, 8];

export const fillIn = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

export class Dock {
  constructor(root, act) {
    this.root = root;
    this.node = root.querySelector(".sx-dock");
    this.range = root.querySelector(".sx-scrub input");
    this.marks = root.querySelector(".sx-scrub canvas");
    this.strip = root.querySelector(".sx-overview");
    this.speed = root.querySelector("select");
    this.at = root.querySelector(".sx-at");
    this.count = root.querySelector(".sx-count");
    this.tools = root.querySelector(".sx-tools");
    this.speed.replaceChildren(...SPEEDS.map(s => new Option(s + "×", s, s === 1, s === 1)));
    for (const button of root.querySelectorAll("[data-do]")) button.onclick = () => act[button.dataset.do]();
    this.range.oninput = () => act.seek(+this.range.value);
    this.speed.onchange = () => act.speed(+this.speed.value);
    const goTo = e => act.seek((e.clientX - this.strip.getBoundingClientRect().left) / this.strip.clientWidth * (this.total - 1));
    this.strip.onpointerdown = e => { this.strip.setPointerCapture(e.pointerId); goTo(e); };
    this.strip.onpointermove = e => { if (this.strip.hasPointerCapture(e.pointerId)) goTo(e); };
  }

  length(total) {
    this.total = total;
    this.range.max = total - 1;
  }

  words(ui) {
    this.ui = ui;
    for (const button of this.root.querySelectorAll("[data-do]")) this.name(button, ui[button.dataset.do]);
    for (const kind of ["png", "svg"]) {
      const button = this.node.querySelector(`[data-do=${kind}]`) ?? this.root.querySelector(`[data-do=${kind}]`);
      button.textContent = ui[kind];
      this.name(button, `${ui.image}: ${ui[kind]}`);
    }
    this.range.setAttribute("aria-label", ui.scrubber);
    this.speed.setAttribute("aria-label", ui.speed);
    this.speed.title = ui.speed;
    this.strip.setAttribute("role", "img");
    this.strip.setAttribute("aria-label", ui.overview);
    this.strip.title = ui.overview;
  }
  name(button, word) { button.title = word; button.setAttribute("aria-label", word); }

  playing(on) {
    const button = this.root.querySelector("[data-do=play]");
    button.classList.toggle("sx-on", on);
    this.name(button, on ? this.ui.pause : this.ui.play);
  }

  // The scrubber's ends lie under the ends of the figure's time axis, so that the playhead ends in the thumb.
  align(phone, left, right, below) {
    const beside = !phone && left >= 150;
    this.node.classList.toggle("sx-beside", beside);
    this.node.style.setProperty("--sx-left", (beside ? left : 0) + "px");
    this.node.style.setProperty("--sx-right", (beside ? right : 0) + "px");
    const home = phone ? below : this.node;  // on a phone the tools would crowd the transport
    if (this.tools.parentNode !== home) home.append(this.tools);
  }

  // Preemptions above the line, admissions and ends below it; one tick a pixel at most.
  drawMarks(h, color) {
    const pen = this.canvas(this.marks), width = this.marks.clientWidth, middle = this.marks.clientHeight / 2;
    const tick = (kind, y, height, paint, wide) => {
      pen.fillStyle = color(paint);
      let last = -9;
      for (const step of h.marks[kind] ?? []) {
        const x = Math.round(step / Math.max(1, h.total - 1) * width * 2) / 2;
        if (x - last >= 1) { pen.fillRect(x - wide / 2, y, wide, height); last = x; }
      }
    };
    tick("admit", middle + 6, 4, "var(--sx-waiting)", 1);
    tick("finish", middle + 6, 4, "var(--sx-ink3)", 1);
    tick("preempt", middle - 13, 7, "var(--sx-preempt)", 1.5);
  }

  // Its lines only: the scrubber right under it has the marks.
  drawOverview(h, color) {
    this.strip.hidden = !h.overview.length;
    if (this.strip.hidden) return;
    const pen = this.canvas(this.strip), width = this.strip.clientWidth, height = this.strip.clientHeight;
    const x = (n, i) => i / Math.max(1, n - 1) * width, y = (v, top) => height - 1 - Math.min(1, v / (top || 1)) * (height - 3);
    for (const line of h.overview) {
      const n = line.values.length;
      pen.beginPath();
      line.values.forEach((v, i) => pen.lineTo(x(n, i), y(v, line.top)));
      pen.strokeStyle = color(line.color);
      pen.lineWidth = 1.2;
      pen.setLineDash(line.dash ? [3, 2] : []);
      pen.stroke();
      if (line.fill) { pen.lineTo(width, height); pen.lineTo(0, height); pen.fillStyle = color(line.color); pen.globalAlpha = .16; pen.fill(); pen.globalAlpha = 1; }
    }
    pen.setLineDash([]);
    this.whole = pen.getImageData(0, 0, this.strip.width, this.strip.height);
    this.ink = color("var(--sx-ink)");
  }

  canvas(node) {
    const ratio = devicePixelRatio || 1, pen = node.getContext("2d", {willReadFrequently: node === this.strip});
    node.width = Math.round(node.clientWidth * ratio);
    node.height = Math.round(node.clientHeight * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    return pen;
  }

  show(step, h, spoken) {  // spoken: null while it plays, so that screen readers keep quiet
    const preempts = h.marks.preempt ?? [], n = upTo(preempts, step), ui = this.ui, last = Math.max(1, h.total - 1);
    this.range.value = step;
    this.range.style.setProperty("--sx-done", step / last * 100 + "%");
    if (spoken !== null) this.range.setAttribute("aria-valuetext", spoken || fillIn(ui.readout, {n: step, all: h.total - 1}));
    set(this.at, fillIn(ui.readout, {n: step.toLocaleString("en"), all: (h.total - 1).toLocaleString("en")}));
    set(this.count, preempts.length ? fillIn(ui.preempting, {n, all: preempts.length}) : ui.none);
    this.count.classList.toggle("sx-now", n > 0 && preempts[n - 1] === step);
    if (!this.strip.hidden && this.whole) this.drawWindow(step, h);
  }

  drawWindow(step, h) {
    const pen = this.strip.getContext("2d"), width = this.strip.clientWidth, height = this.strip.clientHeight, last = Math.max(1, h.total - 1);
    pen.putImageData(this.whole, 0, 0);
    pen.fillStyle = this.ink;
    if (h.count < h.total) { pen.globalAlpha = .1; pen.fillRect(h.start / last * width, 0, h.count / last * width, height); pen.globalAlpha = 1; }
    pen.fillRect(step / last * width - .7, 0, 1.4, height);
  }
}

const set = (node, text) => { if (node.textContent !== text) node.textContent = text; };

export function upTo(sorted, value) {  // how many are <= value
  let low = 0, high = sorted.length;
  while (low < high) { const mid = (low + high) >> 1; if (sorted[mid] <= value) low = mid + 1; else high = mid; }
  return low;
}
