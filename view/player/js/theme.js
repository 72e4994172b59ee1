// Colours. plotly.js and canvases know no CSS variables, so they are looked up here, in the theme of the moment.
export const SYSTEM_DARK = matchMedia("(prefers-color-scheme: dark)");

export function resolver(element) {
  const style = getComputedStyle(element);
  const known = {};
  return text => text.replace(/var\((--[\w-]+)\)/g, (_, name) => known[name] ??= style.getPropertyValue(name).trim() || "transparent");
}

// A copy of a figure with its colours looked up and, for the presenter's mode, its fonts enlarged.
export function themed(value, color, scale = 1, key = "") {
  if (typeof value === "string") return value.includes("var(") ? color(value) : value;
  if (Array.isArray(value)) return typeof value[0] === "number" ? value.slice() : value.map(v => themed(v, color, scale));
  if (!value || typeof value !== "object") return value;
  const out = {};
  for (const k in value) out[k] = k === "size" && key.endsWith("font") ? value[k] * scale : themed(value[k], color, scale, k);
  return out;
}

const darkness = {};  // reading a pixel back is slow, and there are two themes

export function isDark(element) {
  const ground = getComputedStyle(element).getPropertyValue("--st-background-color").trim();
  return ground ? darkness[ground] ??= luminance(ground) < 110 : SYSTEM_DARK.matches;
}

function luminance(color) {
  const pen = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  pen.fillStyle = color;
  pen.fillRect(0, 0, 1, 1);
  const [r, g, b] = pen.getImageData(0, 0, 1, 1).data;
  return .2126 * r + .7152 * g + .0722 * b;
}
