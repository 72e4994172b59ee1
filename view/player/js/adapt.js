// Another run's figure mostly differs from the one on the screen in nothing but numbers: ranges of axes, points of curves, places and
// words of notes. Plotly.react would draw all of it again and hold up the page for a tenth of a second; here only these are brought up
// to date. Whatever else differs is Plotly's. tests/browser compares what comes of it with Plotly's own drawing.
import {themed} from "./theme.js";

const PLAIN = new Set(["text", "x", "y", "xref", "yref", "showarrow", "xanchor", "yanchor", "font", "align", "borderpad", "bgcolor"]);
const SHIFT = {left: .5, center: 0, right: -.5};
const isAxis = name => /^[xy]axis\d*$/.test(name);

// -> {ranges: {axis: [low, high]}, sizes: {trace: size of its type}}, or null if there is something that only Plotly can do
export function difference(was, now) {
  const kinds = h => h.tracks.map(k => k.kind + k.trace).join();
  if (!was || was.data.length !== now.data.length || kinds(was) !== kinds(now)) return null;
  if (![...now.curves.keys()].every(i => was.curves.has(i)) || was.curves.size !== now.curves.size) return null;
  const sizes = {}, ranges = {};
  for (let i = 0; i < now.data.length; i++) {
    const passed = now.curves.has(i) ? ["x", "y"] : [], size = sizeOf(now.data[i]), resizes = size !== sizeOf(was.data[i]);
    if (resizes) sizes[i] = size;
    if (!alike(resizes ? resized(was.data[i], size) : was.data[i], now.data[i], passed)) return null;
  }
  for (const name of new Set([...Object.keys(was.layout), ...Object.keys(now.layout)])) {
    const one = was.layout[name], other = now.layout[name];
    if (name === "annotations") { if (!one || !other) return null; continue; }
    if (!isAxis(name) || !one || !other) { if (!alike(one, other)) return null; continue; }
    if (!alike(one, other, ["range"]) || !one.range !== !other.range) return null;
    if (!alike(one.range, other.range)) ranges[name] = other.range;
  }
  return {ranges, sizes};
}

const sizeOf = trace => trace.mode === "text" ? trace.textfont?.size : undefined;
const resized = (trace, size) => ({...trace, textfont: {...trace.textfont, size}});

function alike(one, other, passed = []) {
  if (one === other) return true;
  if (!one || !other || typeof one !== "object" || typeof other !== "object" || Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every(name => name in other && (passed.includes(name) || alike(one[name], other[name])));
}

// Brings the figure up to date; says whether it could.
export function adapt(gd, was, now, {ranges, sizes}, theme) {
  const notes = matched(gd, was.layout.annotations ?? [], now.layout.annotations ?? []);
  if (!notes) return false;
  for (const name in ranges) {
    const axis = gd._fullLayout[name];
    axis.range = [...ranges[name]];
    gd.layout[name].range = [...ranges[name]];
    axis.setScale();
  }
  gd.layout.annotations = themed(now.layout.annotations ?? [], theme.color, theme.scale);
  putNotes(gd._fullLayout, notes);
  putSizes(gd, now, sizes, theme);
  return true;
}

// Labels of another size: as in Plotly's drawing/index.js, textPointStyle and textPointPosition, for traces without markers.
const STANDS = {top: -.25, middle: .25, bottom: .75};
function putSizes(gd, now, sizes, theme) {
  for (const node of Object.keys(sizes).length ? gd.querySelectorAll(".scatterlayer .trace") : []) {
    const i = node.__data__[0].trace.index;
    if (!(i in sizes)) continue;
    const {textfont: {size}, textposition} = themed(now.data[i], theme.color, theme.scale);
    for (const text of node.querySelectorAll(".textpoint text")) {
      text.style.fontSize = size + "px";
      text.parentNode.setAttribute("transform", `translate(0,${STANDS[textposition.split(" ")[0]] * size})`);
    }
  }
}

// Which nodes may show each note: those of notes that look the same.
function matched(gd, was, now) {
  if (alike(was, now)) return [];
  const nodes = {}, pools = {}, look = note => JSON.stringify({...note, x: 0, y: 0, text: ""});
  for (const node of gd.querySelectorAll(".infolayer .annotation")) nodes[node.dataset.index] = node;
  was.forEach((note, i) => { if (nodes[i]?.querySelector(".annotation-text")) (pools[look(note)] ??= []).push(nodes[i]); });
  const found = now.map(note => ({note, pool: simple(note, gd._fullLayout) ? pools[look(note)] : undefined}));
  return found.every(one => one.pool) ? found : null;
}

const axisOf = ref => ref[0] + "axis" + ref.slice(1);
const simple = (note, layout) => Object.keys(note).every(name => PLAIN.has(name)) && note.showarrow === false && note.yanchor === "middle"
  && note.align === "left" && note.xanchor in SHIFT && layout[axisOf(note.xref)]?.type === "linear" && layout[axisOf(note.yref)]?.type === "linear"
  && note.text && !/[<&\n$%]/.test(note.text);

// All words first, then all widths, then all places: the browser lays text out only once.
function putNotes(layout, found) {
  const left = new Set(found.flatMap(one => one.pool)), begun = new Map();
  const shown = found.map(({note, pool}, i) => {
    const n = begun.get(pool) ?? 0, node = pool[n] ?? pool[0].parentNode.appendChild(pool[0].cloneNode(true));
    begun.set(pool, n + 1);
    left.delete(node);
    node.dataset.index = i;
    const text = node.querySelector(".annotation-text"), news = text.textContent !== note.text;
    if (news) { text.textContent = note.text; text.dataset.unformatted = note.text; }
    return {note, node, text, news, box: node.querySelector(".bg")};
  });
  for (const node of left) node.remove();
  for (const one of shown) one.width = one.news ? one.text.getBoundingClientRect().width : 0;
  for (const one of shown) place(layout, one);
}

// As in Plotly's annotations/draw.js: the box has whole pixels and stands on whole pixels; its border is drawn inside.
function place(layout, {note, node, news, width, box}) {
  const border = 2 * box.getAttribute("x"), pad = border + (note.borderpad ?? 1);
  if (news) box.setAttribute("width", Math.round(width + 2 * pad) - border);
  const wide = +box.getAttribute("width") + border, high = +box.getAttribute("height") + border;
  const x = layout[axisOf(note.xref)], y = layout[axisOf(note.yref)];
  const left = x._offset + x.r2p(note.x) + wide * SHIFT[note.xanchor], top = y._offset + y.r2p(note.y);
  box.parentNode.setAttribute("transform", `translate(${Math.round(left - wide / 2)},${Math.round(top - high / 2)})`);
  node.querySelector(".annotation-text-g").setAttribute("transform", `rotate(0,${left},${top})`);
}
