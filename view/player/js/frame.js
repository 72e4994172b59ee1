// One frame of one track as the arrays Plotly would want: x, y (null between parts) and text.
export const gridSize = (image, phone) => phone && image.phone ? image.phone : [image.rows, image.cols];
const at = (value, j) => typeof value === "number" ? value : value[j];

export function arrays(h, k, i, selected, phone) {
  if (k.kind === "playhead") { const x = k.x ? k.x[i] : h.start + i; return {x: [x, x]}; }
  const x = [], y = [], text = [], first = k.o[i], end = k.o[i + 1];
  const cols = k.along === "cell" ? gridSize(h.images[k.image], phone)[1] : 1;
  for (let j = first; j < end; j++) {
    if (k.show !== "all" && (k.show === "selected") !== (k.ids[j] === selected)) continue;
    const row = k.row ? k.row[j] : j - first;
    const dx = k.along === "x" ? row : k.along === "cell" ? row % cols : 0;
    const dy = k.along === "y" ? row : k.along === "cell" ? Math.floor(row / cols) : 0;
    if (k.kind === "rects" || k.kind === "segments") {
      const a = at(k.x0, j) + dx, b = at(k.x1, j) + dx, c = at(k.y0, j) + dy, d = at(k.y1, j) + dy;
      if (k.kind === "rects") { x.push(a, b, b, a, a, null); y.push(c, c, d, d, c, null); }
      else { x.push(a, b, null); y.push(c, d, null); }
    } else {
      const px = at(k.x, j);
      x.push(Number.isNaN(px) ? null : px + dx); y.push(at(k.y, j) + dy);
      if (k.label) text.push(k.label(j));
    }
  }
  return {x, y, text};
}
