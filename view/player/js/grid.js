// A grid of cells (the block map) on a canvas under the figure's axes. Only cells that changed are drawn again; nothing is
// encoded, so it stays sharp at every size and costs next to nothing a frame.
const TILE = 6;  // pixels after which a hatch or dot pattern repeats

export class Grid {
  constructor(host) { this.canvas = document.createElement("canvas"); host.append(this.canvas); this.keys = []; }
  remove() { this.canvas.remove(); }

  // Where the grid lies and how its states look. Edges are whole device pixels, so that lines stay crisp.
  place(image, [rows, cols], ax, ay, color, ratio) {
    const css = {left: ax._offset, top: ay._offset, width: ax._length, height: ay._length};
    for (const side in css) this.canvas.style[side] = css[side] + "px";
    this.canvas.width = Math.round(css.width * ratio);
    this.canvas.height = Math.round(css.height * ratio);
    this.brush = new Brush(this.canvas, image, rows, cols, color, ratio);
    this.keys = [];
  }

  draw(image, i, selected) {
    const cells = image.cells(i), ids = image.ids?.(i);
    for (let c = 0; c < cells.length; c++) {
      const key = cellKey(cells[c], ids ? ids[c] : -1, selected);
      if (this.keys[c] !== key) this.brush.cell(c, this.keys[c] = key);
    }
  }

  // The same frame on a new canvas, at another resolution: for exported pictures.
  copy(image, size, ax, ay, color, ratio) {
    const twin = new Grid(document.createDocumentFragment());
    twin.place(image, size, ax, ay, color, ratio);
    this.keys.forEach((key, c) => twin.brush.cell(c, key));
    return twin.canvas;
  }
}

// state + how selection shows it: 0 plain, 1 selected, 2 dimmed (somebody else's while one is selected)
const cellKey = (state, id, selected) => state * 4 + (selected == null || id < 0 ? 0 : id === selected ? 1 : 2);

class Brush {
  constructor(canvas, image, rows, cols, color, ratio) {
    Object.assign(this, {pen: canvas.getContext("2d"), cols, ratio, gap: image.gap});
    this.x = Array.from({length: cols + 1}, (_, c) => Math.round(canvas.width * c / cols));
    this.y = Array.from({length: rows + 1}, (_, r) => Math.round(canvas.height * r / rows));
    this.looks = image.palette.map(s => ({...s, fill: color(s.fill), ink: color(s.ink), edge: color(s.edge), solid: color(s.solid)}));
    for (const look of this.looks) if ("/\\.".includes(look.pattern) && look.pattern) look.tile = this.pen.createPattern(tile(look, ratio), "repeat");
  }

  cell(c, key) {
    const look = this.looks[key >> 2], mode = key & 3, {pen, ratio} = this;
    const col = c % this.cols, row = Math.floor(c / this.cols);
    const x = this.x[col], y = this.y[row], w = this.x[col + 1] - x, h = this.y[row + 1] - y;
    const gap = Math.min(this.gap * ratio, w / 4, h / 4), edge = look.edge;
    pen.clearRect(x, y, w, h);
    pen.globalAlpha = mode === 2 ? .4 : 1;
    const [l, t, r, b] = [x + gap / 2, y + gap / 2, w - gap, h - gap].map(Math.round);
    pen.fillStyle = mode === 1 && look.solid ? look.solid : look.fill;
    pen.fillRect(l, t, r, b);
    if (look.tile && !(mode === 1 && look.solid)) { pen.fillStyle = look.tile; pen.fillRect(l, t, r, b); }
    this.sign(look, l, t, r, b);
    if (edge) this.edge(edge, look.dashed, l, t, r, b);
    pen.globalAlpha = 1;
  }

  sign(look, l, t, w, h) {  // signs in the cell's middle: cross, plus, ring with a dot
    const {pen, ratio} = this, s = Math.min(w, h, 11 * ratio) * .28, x = l + w / 2, y = t + h / 2;
    if (!"xo+".includes(look.pattern) || !look.pattern) return;
    pen.strokeStyle = pen.fillStyle = look.ink;
    pen.lineWidth = Math.max(1, (look.pattern === "+" ? 1.6 : 1) * ratio * Math.min(1, w / (9 * ratio)));
    pen.beginPath();
    if (look.pattern === "x") { pen.moveTo(x - s, y - s); pen.lineTo(x + s, y + s); pen.moveTo(x + s, y - s); pen.lineTo(x - s, y + s); }
    if (look.pattern === "+") { pen.moveTo(x - s, y); pen.lineTo(x + s, y); pen.moveTo(x, y - s); pen.lineTo(x, y + s); }
    if (look.pattern === "o") pen.rect(l + pen.lineWidth / 2, t + pen.lineWidth / 2, w - pen.lineWidth, h - pen.lineWidth);
    pen.stroke();
    if (look.pattern === "o") { const dot = Math.max(1, Math.round(ratio)); pen.fillRect(Math.round(x - dot), Math.round(y - dot), 2 * dot, 2 * dot); }
  }

  edge(color, dashed, l, t, w, h) {
    const {pen, ratio} = this, thick = Math.max(1, Math.min(2 * ratio, w / 4, h / 4));
    pen.strokeStyle = color;
    pen.lineWidth = thick;
    pen.setLineDash(dashed ? [3 * ratio, 2 * ratio] : []);
    pen.strokeRect(l + thick / 2, t + thick / 2, w - thick, h - thick);
    pen.setLineDash([]);
  }
}

function tile(look, ratio) {
  const size = Math.round(TILE * ratio), canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
  canvas.width = canvas.height = look.pattern === "." ? Math.round(size / 2) : size;
  pen.strokeStyle = pen.fillStyle = look.ink;
  pen.lineWidth = size * .3;
  if (look.pattern === ".") { pen.beginPath(); pen.arc(size / 4, size / 4, size * .14, 0, 7); pen.fill(); return canvas; }
  for (const shift of [-size, 0, size]) {
    pen.beginPath();
    if (look.pattern === "/") { pen.moveTo(shift - 1, size + 1); pen.lineTo(shift + size + 1, -1); }
    else { pen.moveTo(shift - 1, -1); pen.lineTo(shift + size + 1, size + 1); }
    pen.stroke();
  }
  return canvas;
}
