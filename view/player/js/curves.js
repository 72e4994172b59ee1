// What stands still in a figure but differs from run to run: lines, filled or not, and signs. They are drawn here, once a run, so that
// another run needs no drawing by Plotly. The paths are Plotly's to the letter (tests/browser compares them).
const MODES = ["lines", "markers"], FILLS = [undefined, "none", "tozeroy", "tonexty"];
const BESIDE = .75, NEAR = .2;  // how far a point may lie beside a line [px], and how near to the last one, to be left out

// Traces without a track whose arrays are drawn here: number of the trace -> {x, y, fill, below: number of the trace that bounds a fill}
export function curvesOf(data, layout, tracks) {
  const moving = new Set(tracks.map(k => k.trace)), found = new Map();
  data.forEach((trace, i) => {
    const known = trace.type === "scatter" && MODES.includes(trace.mode) && FILLS.includes(trace.fill) && !trace.line?.shape && !trace.connectgaps;
    if (moving.has(i) || !known || !within(trace, "x", layout) || !within(trace, "y", layout)) return;
    const below = trace.fill === "tonexty" ? data.findLastIndex((other, j) => j < i && other.xaxis === trace.xaxis && other.yaxis === trace.yaxis) : -1;
    if (trace.fill !== "tonexty" || found.has(below)) found.set(i, {x: trace.x, y: trace.y, fill: trace.fill, wide: trace.line?.width ?? 2, below});
  });
  return found;
}

// Whether all of it can be seen: Plotly cuts lines at the edges.
function within(trace, name, layout) {
  const {range, type} = layout[name + "axis" + (trace[name + "axis"] ?? name).slice(1)] ?? {}, values = trace[name];
  if (!range || !Array.isArray(values) || !["linear", "log", undefined].includes(type)) return false;
  const ends = range.map(v => type === "log" ? 10 ** v : v), low = Math.min(...ends), high = Math.max(...ends);
  return values.every(v => v === null || v >= low && v <= high);
}

// A curve as parts without a gap, each a list of [x, y] in pixels from the corner of its axes.
function partsOf({ax, ay}, {x, y, fill, wide}) {
  const parts = [], filled = Boolean(fill && fill !== "none"), most = Math.max(wide || 1, 3) / 3 * BESIDE;
  let part = [];
  for (let j = 0; j <= x.length; j++) {
    const gap = j === x.length || x[j] === null || y[j] === null;
    if (!gap) part.push([ax.c2p(x[j]), ay.c2p(y[j])]);
    else if (part.length) { parts.push(thinned(part, filled, most)); part = []; }
  }
  return parts;
}

// Plotly's way to leave out what nobody sees (scatter/line_points.js): points that lie along a line become the ends of it.
function thinned(points, filled, most) {
  const kept = [points[0]], count = points.length;
  let start = points[0];
  for (let i = 1; i < count; i++) {
    let high = points[i], low = start, end = high, span = Math.hypot(high[0] - start[0], high[1] - start[1]);
    if (!(filled && (kept.length === 1 || kept.length === count - 1)) && span < most * NEAR) continue;
    const [u, v] = [(high[0] - start[0]) / span, (high[1] - start[1]) / span];
    let least = 0, left = 0, right = 0, turned = false;
    for (i++; i < count; i++) {
      const dx = points[i][0] - start[0], dy = points[i][1] - start[1], aside = dx * v - dy * u, along = dx * u + dy * v;
      left = Math.min(left, aside);
      right = Math.max(right, aside);
      if (right - left > most) break;
      end = points[i];
      if (along > span) { span = along; high = end; turned = false; } else if (along < least) { least = along; low = end; turned = true; }
    }
    if (turned) { kept.push(high); if (end !== low) kept.push(low); } else { if (low !== start) kept.push(low); if (end !== high) kept.push(high); }
    kept.push(end);
    if (i >= count) break;
    kept.push(start = points[i]);
  }
  return kept;
}

export const hundredth = v => Math.round(v * 100) / 100;
const joined = points => points.map(([x, y]) => hundredth(x) + "," + hundredth(y)).join("L");

// The points of signs, without gaps.
export const signsOf = ({x, y}) => {
  const there = x.map((_, j) => j).filter(j => x[j] !== null && y[j] !== null);
  return {x: there.map(j => x[j]), y: there.map(j => y[j])};
};

// Plotly keeps the area between two curves in the lower one's node.
export function putCurve(nodes, curves, i) {
  const n = nodes[i], curve = curves.get(i), parts = partsOf(n, curve), points = parts.flat();
  const line = parts.map(part => "M" + joined(part)).join("") || "M0,0";
  n.lines.forEach((node, j) => node.setAttribute("d", j ? "M0,0" : line));
  if (curve.fill === "tozeroy") n.fills[0]?.setAttribute("d", toZero(points, n.ay.c2p(0)));
  const below = nodes[curve.below];
  if (below) below.fills.at(-1)?.setAttribute("d", between(points, partsOf(below, curves.get(curve.below)).flat()));
}

const toZero = (points, zero) => points.length ? "M" + joined([[points.at(-1)[0], zero], [points[0][0], zero], ...points]) : "M0,0";
const between = (points, others) => points.length && others.length ? `M${joined(points)}L${joined(others.reverse())}Z` : "M0,0";
