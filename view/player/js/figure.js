// The Plotly figure. Plotly lays it out and draws all that stands still; what moves is one placeholder item a trace, whose
// SVG nodes are filled here frame by frame. Plotly.animate would reach 10 to 27 frames/s on such figures, this reaches 60.
// It leans on plotly.js's class names (.scatterlayer .trace, .js-fill, .js-line, .textpoint, .point) and on axis.c2p: plotly is pinned, and
// tests/browser compares its pixels with Plotly's own drawing of the same frame.
import {themed} from "./theme.js";
import {gridSize} from "./frame.js";
import {curvesOf, hundredth, putCurve, signsOf} from "./curves.js";
import {adapt, difference} from "./adapt.js";
import {quicken} from "./plotly.js";

const CONFIG = {displayModeBar: false, displaylogo: false, showSendToCloud: false, responsive: false, doubleClick: false};

export class Figure {
  constructor(host, redraw) { this.gd = host; this.redraw = redraw; this.nodes = null; this.stats = {drawn: 0, adapted: 0}; }

  // theme: {color, scale, key}; key and all else that decides how things look must be the same for a figure to be adapted.
  async show(h, theme, phone, width) {
    const spec = specOf(h, phone), look = [theme.key, theme.scale, phone, width].join(), was = look === this.look && this.still ? this.spec : null;
    Object.assign(this, {spec, look, theme});
    const change = difference(was, spec);
    if (!change || !adapt(this.gd, was, spec, change, theme)) return this.react(width);
    this.nodes = null;
    this.adapted = true;
    this.stats.adapted++;
  }

  async react(width) {
    const {spec, theme} = this, {color, scale} = theme, layout = themed(spec.layout, color, scale);
    const data = spec.data.map((trace, i) => themed(spec.curves.has(i) ? {...trace, ...unmoved(trace, spec.curves.get(i), layout)} : trace, color, scale));
    for (const k of spec.tracks) Object.assign(data[k.trace], placeholder(k, data[k.trace], layout));
    if (layout.height) layout.height *= scale;  // room for the larger type
    Object.assign(layout, {width, hovermode: layout.hovermode ?? false, dragmode: layout.dragmode ?? false, uirevision: "keep",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: layout.showlegend ?? false});
    quicken(Plotly);  // each time: Streamlit's own charts bring their Plotly along
    this.nodes = null;
    this.adapted = false;
    this.still = layout.dragmode === false;
    this.stats.drawn++;
    await Plotly.react(this.gd, data, layout, CONFIG);
    if (!this.bound) { this.gd.on("plotly_afterplot", () => { this.nodes = null; this.redraw(); }); this.bound = true; }
    this.gd.classList.toggle("sx-still", this.still);
  }

  resize(width) {
    this.nodes = null;
    this.look = null;
    return this.adapted ? this.react(width) : Plotly.relayout(this.gd, {width});  // Plotly's own arrays are older than what is shown
  }
  get layout() { return this.gd._fullLayout; }
  axis(ref) { return this.layout[axisName(ref)]; }

  // (x axis, y axis, x, y) -> pixels from the figure's corner; "paper" counts in fractions of the plot
  pixels([xref, yref, x, y]) {
    const s = this.layout._size, ax = xref === "paper" ? null : this.axis(xref), ay = yref === "paper" ? null : this.axis(yref);
    return [ax ? ax._offset + ax.c2p(x) : s.l + x * s.w, ay ? ay._offset + ay.c2p(y) : s.t + (1 - y) * s.h];
  }

  find() {
    this.nodes = {};
    for (const node of this.gd.querySelectorAll(".scatterlayer .trace")) {
      const trace = node.__data__[0].trace, text = node.querySelector(".text"), points = node.querySelector(".points");
      this.nodes[trace.index] = {node, opacity: trace.opacity ?? 1, dim: null, closed: trace.fill === "toself", ax: this.axis(trace.xaxis), ay: this.axis(trace.yaxis),
        fills: [...node.querySelectorAll(".js-fill")], lines: [...node.querySelectorAll(".js-line")],
        labels: text ? [...text.children].map(unread) : [], markers: points ? [...points.children] : []};
    }
    for (const [i, curve] of this.spec.curves) {
      const n = this.nodes[i];
      if (n?.markers.length) putMarkers(n, signsOf(curve), hundredth); else if (n) putCurve(this.nodes, this.spec.curves, i);
    }
  }

  patch(h, i, selected, phone, arrays) {
    if (!this.layout) return;
    if (!this.nodes || Object.values(this.nodes).some(n => !n.node.isConnected)) this.find();
    for (const k of h.tracks) {
      const n = this.nodes[k.trace];
      if (!n) continue;  // hidden in this layout
      const f = arrays(h, k, i, selected, phone);
      if (k.kind === "texts") putLabels(n, f);
      else if (k.kind === "points") putMarkers(n, f);
      else putPath(n, f);
      const dim = k.dim < 1 && selected != null ? k.dim : 1;
      if (n.dim !== dim) n.node.style.opacity = n.opacity * (n.dim = dim);
    }
  }
}

export const axisName = ref => ref[0] + "axis" + ref.slice(1);

// The figure of a layout as Python sent it, with the axes of its grids.
function specOf(h, phone) {
  const source = phone && h.phone ? h.phone : null, layout = {...(source?.layout ?? h.figure.layout)};
  const data = h.figure.data.map((trace, i) => ({...trace, ...source?.data?.[i]}));
  for (const image of h.images) {
    const [rows, cols] = gridSize(image, phone);
    for (const [ref, range] of [[image.x, [-.5, cols - .5]], [image.y, [rows - .5, -.5]]]) layout[axisName(ref)] = {...layout[axisName(ref)], range, fixedrange: true};
  }
  return {data, layout, tracks: h.tracks, curves: curvesOf(data, layout, h.tracks)};
}

// For Plotly a curve that is drawn here is as empty as what moves.
const unmoved = (trace, curve, layout) => placeholder({kind: trace.mode === "markers" ? "points" : "curve"}, trace, layout);

// One item in the middle of its axes. Never empty: Plotly draws no node for nothing, and then there is none to fill.
function placeholder(k, trace, layout) {
  const mid = ref => {
    const axis = layout[axisName(ref)] ?? {}, [a, b] = axis.range ?? [0, 1], m = (Number(a) + Number(b)) / 2;
    return axis.type === "log" ? 10 ** m : m;
  };
  if (k.kind === "playhead") { const m = mid(trace.xaxis ?? "x"); return {x: [m, m]}; }
  const x = mid(trace.xaxis ?? "x"), y = mid(trace.yaxis ?? "y");
  if (k.kind === "texts") return {x: [x], y: [y], text: ["\u00a0"]};
  if (k.kind === "points") return {x: [x], y: [y]};
  return {x: [x, x, x], y: [y, y, y]};
}

// Plotly may have moved a node that it kept: what was written into it before no longer counts.
const unread = g => { g.__label = null; return g; };
const tenth = v => Math.round(v * 10) / 10;

function putPath(n, {x, y}) {
  const {ax, ay, closed} = n;
  let d = "", pen = "M";
  if (!y) { const p = tenth(ax.c2p(x[0])); d = `M${p},0V${ay._length}`; }  // the playhead: as high as its axis
  else for (let j = 0; j < x.length; j++) {
    if (x[j] === null) { if (closed && d) d += "Z"; pen = "M"; continue; }
    d += pen + tenth(ax.c2p(x[j])) + "," + tenth(ay.c2p(y[j]));
    pen = "L";
  }
  if (closed && pen === "L") d += "Z";
  if (n.d === d) return;
  n.d = d;
  n.fills[0]?.setAttribute("d", d || "M0,0");
  n.lines.forEach((line, j) => line.setAttribute("d", j ? "M0,0" : d || "M0,0"));
}

function putLabels({labels, ax, ay}, {x, y, text}) {
  if (!labels.length) return;
  while (labels.length < text.length) { const copy = labels[0].cloneNode(true); labels[0].parentNode.append(copy); labels.push(copy); }
  for (let j = 0; j < labels.length; j++) {
    const g = labels[j], word = j < text.length ? text[j] : "";
    const label = g.__label ??= {node: g.querySelector("text"), word: null, x: null, y: null};
    if (label.word !== word) label.node.textContent = label.word = word;
    if (!word) continue;
    const px = tenth(ax.c2p(x[j])), py = tenth(ay.c2p(y[j]));
    if (label.x !== px) label.node.setAttribute("x", label.x = px);
    if (label.y !== py) label.node.setAttribute("y", label.y = py);
  }
}

function putMarkers({markers, ax, ay}, {x, y}, rounded = tenth) {
  if (!markers.length) return;
  while (markers.length < x.length) { const copy = markers[0].cloneNode(true); markers[0].parentNode.append(copy); markers.push(copy); }
  markers.forEach((node, j) => {
    node.style.display = j < x.length ? "" : "none";
    if (j < x.length) node.setAttribute("transform", `translate(${rounded(ax.c2p(x[j]))},${rounded(ay.c2p(y[j]))})`);
  });
}
