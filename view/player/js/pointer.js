// What lies under the pointer: tooltips, clicks that select, drags along the time axis. Moving traces have no hover of
// their own; the figure's areas say which item lies where.
const PRESS = 450;  // ms a finger rests until the tooltip opens

export class Pointer {
  constructor(root, player) {
    Object.assign(this, {root, player, stage: root.querySelector(".sx-stage"), tip: root.querySelector(".sx-tip")});
    this.stage.addEventListener("pointermove", e => { if (e.pointerType !== "touch") this.hover(e); });
    this.stage.addEventListener("pointerleave", e => { if (e.pointerType !== "touch") this.hide(); });
    this.stage.addEventListener("pointerdown", e => this.down(e), true);
    this.onMove = e => this.move(e);
    this.onUp = e => this.up(e);  // on the document: Plotly lays a cover over the page while a button is down
    document.addEventListener("pointermove", this.onMove, true);
    document.addEventListener("pointerup", this.onUp, true);
    document.addEventListener("pointercancel", this.onCancel = () => { this.press = null; clearTimeout(this.timer); }, true);
  }
  remove() {
    document.removeEventListener("pointermove", this.onMove, true);
    document.removeEventListener("pointerup", this.onUp, true);
    document.removeEventListener("pointercancel", this.onCancel, true);
  }

  // -> {h, area, id, row, cell, item, step} or null; h is the window that is shown, which need not be the last that came.
  // While none is, only the time axis can be pointed at.
  hit(clientX, clientY) {
    const {figure, phone, t} = this.player, shown = this.player.window(), h = shown ?? this.player.h;
    if (!h || !figure.layout) return null;
    const corner = figure.gd.getBoundingClientRect(), i = t - h.start;
    for (const area of h.areas) {
      if (!shown && area.along !== "step") continue;
      const ax = figure.axis(area.x), ay = figure.axis(area.y);
      if (!ax || !ay) continue;
      const px = clientX - corner.left - ax._offset, py = clientY - corner.top - ay._offset;
      if (px < 0 || py < 0 || px >= ax._length || py >= ay._length) continue;
      const found = FIND[area.along](area, h, i, ax.p2c(px), ay.p2c(py), phone, this.player);
      if (found) return {h, area, id: null, row: null, cell: null, ...found};
    }
    return null;
  }

  hover(e) {
    if (this.waiting || this.player.playing && e.buttons) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.last = [e.clientX, e.clientY];
      this.refresh();
    });
  }

  refresh() {  // again after each drawn frame: what lies under a resting pointer changes
    if (!this.last) return;
    const found = this.hit(...this.last), text = found ? tipText(found, this.player) : "";
    this.stage.style.cursor = found && (found.id !== null || found.area.along === "step") ? "pointer" : "";
    if (!text) { this.tip.hidden = true; return; }
    this.show(text, ...this.last);
  }

  show(text, clientX, clientY) {
    const box = this.root.getBoundingClientRect(), tip = this.tip;
    if (tip.textContent !== text) tip.textContent = text;
    tip.hidden = false;
    const x = Math.min(Math.max(clientX - box.left + 14, 4), box.width - tip.offsetWidth - 4);
    const above = clientY - box.top - tip.offsetHeight - 12;
    tip.style.transform = `translate(${x}px,${above > 0 ? above : clientY - box.top + 18}px)`;
  }
  hide() { this.last = null; this.tip.hidden = true; }

  down(e) {
    if (e.button || e.target.closest("button,a")) return;
    const found = this.hit(e.clientX, e.clientY);
    this.press = {x: e.clientX, y: e.clientY, found, touch: e.pointerType === "touch", moved: false, drag: found?.area.along === "step"};
    if (this.press.drag) { e.stopPropagation(); if (!this.press.touch) this.scrub(e); }
    if (this.press.touch && found) this.timer = setTimeout(() => { this.press = null; this.touched(found, e); }, PRESS);
  }
  move(e) {
    if (!this.press) return;
    if (Math.hypot(e.clientX - this.press.x, e.clientY - this.press.y) > 5) { this.press.moved = true; clearTimeout(this.timer); }
    if (this.press.drag && this.press.moved) this.scrub(e);
  }
  up(e) {
    const press = this.press;
    this.press = null;
    clearTimeout(this.timer);
    if (!press || press.moved) return;
    if (press.drag) return press.touch ? this.scrub(e) : undefined;
    if (press.found) { this.player.choose(press.found); if (press.touch) this.touched(press.found, e); }
    else if (e.target.closest?.(".sx-stage") === this.stage) this.hide();
  }
  touched(found, e) {
    const text = tipText(found, this.player);
    if (!text) return;
    this.show(text, e.clientX, e.clientY);
    clearTimeout(this.fade);
    this.fade = setTimeout(() => { this.tip.hidden = true; }, 2600);
  }
  scrub(e) {
    const {figure} = this.player, area = this.player.h.areas.find(a => a.along === "step"), ax = figure.axis(area.x);
    this.player.seek(ax.p2c(e.clientX - figure.gd.getBoundingClientRect().left - ax._offset));
  }
}

// How each kind of area finds its item; x and y are axis values.
const FIND = {
  y: (area, h, i, x, y) => inList(area, i, y),
  x: (area, h, i, x) => inList(area, i, x),
  step: (area, h, i, x, y, phone, player) => ({step: Math.min(Math.max(Math.round(x), 0), h.total - 1)}),
  cell: (area, h, i, x, y, phone, player) => {
    const image = h.images[area.image], [, cols] = player.gridSize(image, phone), cells = image.cells(i);
    const cell = Math.round(y) * cols + Math.round(x);
    if (cell < 0 || cell >= cells.length) return null;
    const id = image.ids ? image.ids(i)[cell] : -1;
    return {cell, id: id < 0 ? null : id, state: image.palette[cells[cell]]};
  },
};

function inList(area, i, value) {
  for (let j = area.offsets[i]; j < area.offsets[i + 1]; j++) {
    const row = area.row ? area.row[j] : j - area.offsets[i];
    if (Math.abs(row - value) <= area.reach) { const id = area.ids ? area.ids[j] : -1; return {row, item: j, id: id < 0 ? null : id}; }
  }
  return null;
}

function tipText(found, player) {
  const {h, area, id, cell, row, item, state} = found;
  return area.tip.replace(/\{(\w+)\}/g, (all, name) => {
    if (area.columns[name] && item !== undefined) return area.columns[name](item);
    const per = cell === null ? 1 : h.images[area.image].per_cell;
    const known = {id: id ?? "", row, cell, block: cell * per, last: cell * per + per - 1, state: state?.label ?? "", step: found.step ?? player.t,
      owner: id === null ? area.nobody : area.owner.replace("{id}", id)};
    return known[name] ?? all;
  });
}
