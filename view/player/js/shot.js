// Pictures for slides: the board and the stage as they stand, with a footer that says what they show, as SVG or as PNG at 2×.
// Made from what is on the screen: Plotly's own SVG, the grids drawn again at the picture's resolution, the words as text.
const SPACE = "http://www.w3.org/2000/svg", SCALE = 2;
export const PAD = 28, FOOT = 68;

export function pictureSvg(player) {
  const {root, h, figure} = player, color = player.color, box = root.getBoundingClientRect();
  const parts = [...root.querySelectorAll(".sx-stage, .sx-below > .sx-slot")];
  const end = Math.max(...parts.map(part => part.getBoundingClientRect().bottom)) - box.top;
  const width = Math.round(box.width) + 2 * PAD, height = Math.round(end) + PAD + FOOT;
  const svg = element("svg", {xmlns: SPACE, width, height, viewBox: `0 0 ${width} ${height}`});
  svg.append(element("rect", {width, height, fill: color("var(--sx-bg)")}));
  const body = element("g", {transform: `translate(${PAD},${PAD})`}), origin = {x: box.left, y: box.top};
  const stage = figure.gd.getBoundingClientRect(), dx = stage.left - box.left, dy = stage.top - box.top;
  drawWords(root.querySelector(".sx-board"), origin, body);
  h.images.forEach((image, n) => body.append(gridImage(player, image, n, dx, dy)));
  for (const layer of figure.gd.querySelectorAll(".svg-container > .main-svg, .svg-container > div > .main-svg")) body.append(plain(layer, dx, dy));
  drawWords(root.querySelector(".sx-boxes"), origin, body);
  drawWords(root.querySelector(".sx-below"), origin, body);
  svg.append(body, footer(player, width, height, color));
  return {svg: new XMLSerializer().serializeToString(svg), width, height};
}

function gridImage(player, image, n, dx, dy) {
  const ax = player.figure.axis(image.x), ay = player.figure.axis(image.y);
  const canvas = player.grids[n].copy(image, player.gridSize(image, player.phone), ax, ay, player.color, SCALE * 2);
  return element("image", {x: dx + ax._offset, y: dy + ay._offset, width: ax._length, height: ay._length, href: canvas.toDataURL()});
}

export function plain(layer, dx, dy) {
  const copy = layer.cloneNode(true);
  for (const node of copy.querySelectorAll(".draglayer, .hoverlayer, .zoomlayer")) node.remove();
  copy.setAttribute("x", dx);
  copy.setAttribute("y", dy);
  copy.removeAttribute("style");
  return copy;
}

export function footer({h, root, link}, width, height, color) {
  const font = getComputedStyle(root).fontFamily, g = element("g", {"font-family": font}), c = h.caption, top = height - FOOT, wide = width - 2 * PAD;
  const pen = document.createElement("canvas").getContext("2d");
  const write = (y, text, size, weight, ink, x = PAD, anchor = "start", room = wide) => {
    pen.font = `${weight} ${size}px ${font}`;
    let short = text;
    while (short.length > 1 && pen.measureText(short).width > room) short = short.replace(/.…?$/u, "").trimEnd() + "…";
    const node = element("text", {x, y: top + y, "font-size": size, "font-weight": weight, fill: color(ink), "text-anchor": anchor});
    node.textContent = short;
    g.append(node);
    return pen.measureText(short).width;
  };
  g.append(element("rect", {x: PAD, y: top + 4, width: wide, height: 1, fill: color("var(--sx-rule)")}));
  const used = write(25, c.title, 12.5, 700, "var(--sx-ink)"), about = [c.scenario, c.seed].filter(Boolean).join(" · "), room = wide - used - 20;
  if (room > 200) write(25, about, 11.5, 400, "var(--sx-ink3)", width - PAD, "end", room);
  else write(42, about, 10.5, 400, "var(--sx-ink3)");
  write(room > 200 ? 43 : 57, link(), 10, 400, "var(--sx-ink3)");
  return g;
}

export function element(name, attributes) {
  const node = document.createElementNS(SPACE, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  return node;
}

// HTML as SVG: grounds and borders as rectangles, words as text where the browser put them.
export function drawWords(node, origin, out) {
  const style = getComputedStyle(node), box = node.getBoundingClientRect();
  if (style.display === "none" || !box.width || !box.height || node.matches(".sx-tools, .js-plotly-plot")) return;
  const x = box.left - origin.x, y = box.top - origin.y, line = parseFloat(style.borderTopWidth);
  const seen = style.backgroundColor !== "rgba(0, 0, 0, 0)";
  if (seen || line && parseFloat(style.borderBottomWidth)) out.append(element("rect", {x, y, width: box.width, height: box.height, rx: parseFloat(style.borderTopLeftRadius) || 0,
    fill: seen ? style.backgroundColor : "none", ...(line ? {stroke: style.borderTopColor, "stroke-width": line} : {})}));
  else if (parseFloat(style.borderLeftWidth)) out.append(element("rect", {x, y, width: parseFloat(style.borderLeftWidth), height: box.height, fill: style.borderLeftColor}));
  for (const child of node.childNodes) {
    if (child.nodeType === 1) drawWords(child, origin, out);
    else if (child.nodeType === 3 && child.data.trim()) drawText(child, style, origin, out);
  }
}

function drawText(node, style, origin, out) {
  const range = document.createRange(), pen = drawText.pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const {fontBoundingBoxAscent: up, fontBoundingBoxDescent: down} = pen.measureText("x");
  let run = null;
  const flush = () => {
    if (!run || !run.text.trim()) return;
    const text = element("text", {x: run.box.left - origin.x, y: run.box.top - origin.y + run.box.height * up / (up + down),
      fill: style.color, "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight, "letter-spacing": style.letterSpacing, "xml:space": "preserve"});
    text.textContent = style.textTransform === "uppercase" ? run.text.trimEnd().toUpperCase() : run.text.trimEnd();
    out.append(text);
  };
  for (let i = 0; i < node.data.length; i++) {  // one run a line: a new one where the browser broke
    range.setStart(node, i);
    range.setEnd(node, i + 1);
    const box = range.getClientRects()[0];
    if (!box || !box.width) continue;
    if (!run || Math.abs(box.top - run.box.top) > 2) { flush(); run = {box, text: ""}; }
    run.text += node.data[i];
  }
  flush();
}

export const pictureBlob = (player, kind) => blobOf(pictureSvg(player), kind);

export async function blobOf({svg, width, height}, kind) {
  const blob = new Blob([svg], {type: "image/svg+xml;charset=utf-8"});
  if (kind === "svg") return blob;
  const image = new Image(), url = URL.createObjectURL(blob);
  image.width = width;
  image.height = height;
  image.src = url;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * SCALE;
  canvas.height = height * SCALE;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  return new Promise(done => canvas.toBlob(done, "image/png"));
}

export async function savePicture(player, kind) {
  saveAs(await pictureBlob(player, kind), `${player.h.caption.file || "picture"}-step-${player.t}.${kind}`);
}

export function saveAs(blob, name) {
  const url = URL.createObjectURL(blob), anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
