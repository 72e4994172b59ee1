// Words around the figure: the board and the other slots. The markup is say.py's; only text nodes are made, never HTML.
const MARKUP = /\x02(\w+)\x1f([^\x1f]*)\x1f([^\x03]*)\x03|([^\x02]+)/g;

export const plainText = text => text.replace(/\x02\w+\x1f[^\x1f]*\x1f([^\x03]*)\x03/g, "$1").replace(/[\t\n]+/g, " ");

export function phrase(text) {
  const out = document.createDocumentFragment();
  for (const [, style, does, marked, bare] of text.matchAll(MARKUP)) {
    if (bare !== undefined) { out.append(bare); continue; }
    const word = document.createElement(does ? "button" : style === "code" ? "code" : "span");
    word.className = "sx-w sx-w-" + style;
    word.textContent = marked;
    if (does) { word.type = "button"; word.dataset[does[0] === "s" ? "select" : "go"] = does.slice(1); }
    out.append(word);
  }
  return out;
}

function make(tag, name, ...children) {
  const node = document.createElement(tag);
  node.className = name;
  node.append(...children);
  return node;
}

const lines = text => text ? text.split("\n") : [];

// How each known slot is built; any other is a paragraph a line.
const BUILD = {
  story: text => lines(text).map((line, i) => make("p", i ? "sx-detail" : "sx-sentence", phrase(line))),
  facts: text => lines(text).map(line => { const [value, label = ""] = line.split("\t"); return make("div", "sx-fact", make("b", "", phrase(value)), make("span", "", phrase(label))); }),
  why: (text, ui) => text ? [make("h3", "sx-title", ui.why), ...lines(text).map(line => {
    const [who, reason = "", detail = ""] = line.split("\t");
    return make("div", "sx-why", make("span", "sx-who", phrase(who)), make("div", "", make("p", "", phrase(reason)), ...(detail ? [make("p", "sx-soft", phrase(detail))] : [])));
  })] : [],
};

export class Slots {
  constructor(root) {
    this.board = root.querySelector(".sx-board");
    this.flaps = root.querySelector(".sx-flaps");
    this.known = {story: root.querySelector(".sx-story"), facts: root.querySelector(".sx-facts"), time: root.querySelector(".sx-time")};
    this.over = root.querySelector(".sx-boxes");
    this.below = root.querySelector(".sx-below");
    this.own = {};
    this.shown = {};
  }

  // Places for the slots that are not the board's: over the figure where a box says so, else below it.
  place(h, boxes, size) {
    for (const name in h.slots) {
      if (name in this.known || name === "say") continue;
      const node = this.own[name] ??= make("div", "sx-slot sx-slot-" + name), box = boxes[name];
      const home = box ? this.over : this.below;
      if (node.parentNode !== home) home.append(node);
      node.style.cssText = box ? `left:${size.l + box.left * size.w}px;top:${size.t + (1 - box.top) * size.h}px;width:${box.width * size.w}px;max-height:${box.height * size.h}px` : "";
    }
    for (const name in this.own) if (!(name in h.slots)) { this.own[name].remove(); delete this.own[name]; delete this.shown[name]; }
    this.shown = {};
  }

  // Nothing may jump while it plays: board and slots below get the height of the longest text in all windows at hand.
  // `grow`: more windows of the same run; what was reserved stays.
  reserve(windows, ui, grow = false) {
    const longest = name => {
      let best = "";
      for (const h of windows) for (let i = 0; i < h.count; i++) { const text = h.slots[name]?.(i) ?? ""; if (text.length > best.length) best = text; }
      return best;
    };
    const homes = {story: this.board, facts: this.board}, least = new Map();
    for (const name in this.own) if (this.own[name].parentNode === this.below) homes[name] = this.own[name];
    for (const home of Object.values(homes)) { least.set(home, grow && parseFloat(home.style.minHeight) || least.get(home) || 0); home.style.minHeight = ""; }
    for (const name in homes) { const text = longest(name); if (text) this.fill(name, this.known[name] ?? this.own[name], text, ui); }
    const heights = [...least].map(([home, height]) => [home, Math.max(height, home.offsetHeight)]);
    for (const [home, height] of heights) home.style.minHeight = height + "px";
    this.shown = {};
  }

  show(h, i, step, ui, lively) {
    const digits = String(step).padStart(Math.max(4, String(h.total - 1).length), "0");
    if (this.digits !== digits) this.flip(digits, lively);
    for (const name of Object.keys({...this.known, ...h.slots})) {
      const text = h.slots[name]?.(i) ?? "", node = this.known[name] ?? this.own[name];
      if (node && this.shown[name] !== text) { this.shown[name] = text; this.fill(name, node, text, ui); }
    }
  }

  fill(name, node, text, ui) {
    node.replaceChildren(...(BUILD[name]?.(text, ui) ?? lines(text).map(line => make("p", "", phrase(line)))));
  }

  flip(digits, lively) {
    while (this.flaps.childElementCount > digits.length) this.flaps.lastChild.remove();
    [...digits].forEach((digit, i) => {
      const flap = this.flaps.children[i] ?? this.flaps.appendChild(document.createElement("b"));
      if (flap.textContent === digit) return;
      flap.textContent = digit;
      if (lively) flap.animate([{transform: "rotateX(70deg)", opacity: .4}, {transform: "none", opacity: 1}], {duration: 160, easing: "ease-out"});
    });
    this.digits = digits;
  }

  message(text) { this.fill("story", this.known.story, text, {}); this.shown = {}; }
}
