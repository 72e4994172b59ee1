// The player: which step is shown, the clock, windows of the run, selection. It knows nothing of scheduling.
import {decode, fingerprint, openEnvelope} from "./wire.js";
import {isDark, resolver, SYSTEM_DARK} from "./theme.js";
import {arrays, gridSize} from "./frame.js";
import {Figure} from "./figure.js";
import {loadPlotly} from "./plotly.js";
import {Grid} from "./grid.js";
import {plainText, Slots} from "./slots.js";
import {Dock, fillIn, SPEEDS, upTo} from "./dock.js";
import {Pointer} from "./pointer.js";
import {savePicture} from "./shot.js";
import {Help} from "./help.js";
import {Keys} from "./keys.js";
import {Sync} from "./sync.js";

const RATE = 8;          // steps a second at 1×
const PHONE = 840;       // pixels; narrower than this the stage stands in one column
const WINDOWS = 4;       // windows kept
const AHEAD = 4;         // seconds before its first step that the next window is asked for
const REST = 250;        // ms without a move until the step is told to Python
const TRAVEL = 480;      // ms a victim takes along its lane
const BIG = 1.2;         // type in the presenter's mode; a phone has no room for it, and is nobody's wall
const clamp = (v, low, high) => Math.min(Math.max(v, low), high);

export class Player {
  constructor(root) {
    Object.assign(this, {root, t: 0, speed: 1, playing: false, selected: null, phone: false, windows: new Map(), grids: [], queue: Promise.resolve(), h: null,
      stats: {draws: 0, stalls: 0, reports: 0, takes: []}, gridSize, arrays});
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.figure = new Figure(root.querySelector(".sx-plot"), () => this.draw());
    this.slots = new Slots(root);
    this.fx = root.querySelector(".sx-fx");
    this.live = root.querySelector(".sx-live");
    this.help = new Help(root);
    this.note = root.querySelector(".sx-note");
    this.sync = new Sync(this);
    this.link = () => this.fullLink();
    this.act = this.actions();
    this.dock = new Dock(root, this.act);
    this.pointer = new Pointer(root, this);
    root.addEventListener("click", e => this.clicked(e));
    this.keys = new Keys(this);
    SYSTEM_DARK.addEventListener("change", this.onTheme = () => this.retheme());
    this.watch = new ResizeObserver(() => this.resized());
    this.watch.observe(root);
  }

  destroy() {
    this.dead = true;
    this.playing = false;
    clearTimeout(this.timer);
    this.watch.disconnect();
    this.pointer.remove();
    this.sync.remove();
    this.keys.remove();
    SYSTEM_DARK.removeEventListener("change", this.onTheme);
    globalThis.Plotly?.purge(this.figure.gd);
  }

  actions() {
    return {
      first: () => this.seek(0), last: () => this.seek(Infinity), back: () => this.seek(this.t - 1), forward: () => this.seek(this.t + 1),
      play: () => this.toggle(), previous: () => this.jump(-1), next: () => this.jump(1), seek: t => this.seek(t),
      speed: s => { this.speed = s; }, help: () => this.help.toggle(), link: () => this.copyLink(),
      png: () => this.save("png"), svg: () => this.save("svg"),
    };
  }

  // ---- data in: one piece after the other -------------------------------------------------
  receive(data) {
    this.queue = this.queue.then(() => this.take(data)).catch(error => {
      console.error(error);
      this.slots.message(fillIn(this.h?.ui.error ?? "{error}", {error: error.message ?? error}));
    });
  }

  async take(data) {
    const began = performance.now(), {words, payload} = openEnvelope(data), id = fingerprint(payload), news = id !== this.id;
    const h = news ? await decode(payload) : this.h;
    if (!globalThis.Plotly) { this.greet(h, words.goto?.[1] ?? 0); await loadPlotly(words.plotly); }
    if (this.dead) return;
    const fresh = news && h.figver !== this.h?.figver, was = this.t;
    if (fresh) this.windows.clear();
    if (news) this.keep(h);
    this.id = id;
    const sentTo = words.goto && words.goto[0] !== this.token ? words.goto : null;  // a new preset, a click in a table
    if (sentTo) { this.token = sentTo[0]; this.stop(); this.t = sentTo[1]; }
    this.t = clamp(this.t, 0, h.total - 1);
    if (this.told === undefined) this.told = this.t;  // Python knows where it sent us first
    this.follow(words.selected);
    this.sync.join(words);
    const mode = words.mode !== this.mode;
    this.mode = words.mode;
    if (mode) for (const m of ["embed", "present"]) this.root.classList.toggle("sx-" + m, this.mode === m);
    const theme = this.themeKey() !== this.theme;
    if (fresh || theme || mode) await this.show(); else { if (news) this.slots.reserve([h], h.ui, true); if (news || !this.playing) this.draw(); }
    this.sync.level();
    if (!this.window()) this.ask(this.t);
    if (this.t !== was) this.rest();
    this.stats.takes.push({ms: performance.now() - began, bytes: payload.length, at: performance.now()});
    this.root.dataset.ready = h.figver;
  }

  // While plotly.js is still on its way the board can speak already.
  greet(h, step) {
    this.root.dataset.theme = isDark(this.root) ? "dark" : "light";
    this.label(h.ui);
    if (step >= h.start && step < h.start + h.count) this.slots.show(h, step - h.start, step, h.ui, false);
  }

  keep(h) {
    this.windows.set(h.start, this.h = h);
    this.asked = null;
    if (this.windows.size <= WINDOWS) return;
    const far = [...this.windows.keys()].sort((a, b) => Math.abs(b - this.t) - Math.abs(a - this.t)).find(start => start !== h.start);
    this.windows.delete(far);
  }

  // Python's selection counts when it is news; an answer to an older click of ours, still under way, is not.
  follow(selected) {
    if (selected === this.heard) return;
    const late = this.sent !== undefined && selected !== this.sent;
    this.heard = selected;
    if (!late) { this.selected = selected ?? null; this.sent = undefined; }
  }

  window(t = this.t) { for (const h of this.windows.values()) if (t >= h.start && t < h.start + h.count) return h; }

  // ---- drawing ----------------------------------------------------------------------------
  themeKey() { const s = getComputedStyle(this.root); return ["--st-background-color", "--st-text-color"].map(v => s.getPropertyValue(v)).join() + SYSTEM_DARK.matches; }
  retheme() { if (this.h && this.themeKey() !== this.theme) this.queue = this.queue.then(() => this.show()); }

  async show() {  // the whole figure anew: other data, theme, width class or mode
    const h = this.window() ?? this.h, theme = this.themeKey();
    if (theme !== this.theme) {  // what it has looked up holds for a theme; looking up again would cost a frame
      this.theme = theme;
      this.root.dataset.theme = isDark(this.root) ? "dark" : "light";
      this.color = resolver(this.root);
    }
    this.width = this.root.querySelector(".sx-stage").clientWidth;
    this.phone = this.width < PHONE;
    this.root.classList.toggle("sx-phone", this.phone);
    this.speakAs(h);
    await this.figure.show(h, {color: this.color, scale: this.mode === "present" && !this.phone ? BIG : 1, key: this.theme}, this.phone, this.width);
    this.place(h);
    this.draw();
  }

  speakAs({ui, total}) {  // the player's own words, if they are not there yet
    const said = JSON.stringify(ui);
    if (said !== this.said) { this.label(ui); this.dock.words(ui); this.dock.playing(this.playing); }
    this.said = said;
    this.dock.length(total);
  }

  place(h) {  // all that lies over, under and beside the figure
    while (this.grids.length > h.images.length) this.grids.pop().remove();
    while (this.grids.length < h.images.length) this.grids.push(new Grid(this.root.querySelector(".sx-grids")));
    h.images.forEach((image, n) => this.grids[n].place(image, gridSize(image, this.phone), this.figure.axis(image.x), this.figure.axis(image.y), this.color, devicePixelRatio || 1));
    this.slots.place(h, this.phone ? h.boxes_phone : h.boxes, this.figure.layout._size);
    this.slots.reserve([...this.windows.values()], h.ui);
    const axis = h.scrub ? this.figure.axis(h.scrub) : null;
    this.dock.align(this.phone, axis?._offset ?? 0, axis ? this.width - axis._offset - axis._length : 0, this.root.querySelector(".sx-below"));
    this.dock.drawMarks(h, this.color);
    this.dock.drawOverview(h, this.color);
  }

  draw() {
    const h = this.window();
    if (!h || !this.figure.layout || !this.color) return this.h && this.color ? this.lost() : undefined;
    const i = this.t - h.start;
    this.figure.patch(h, i, this.selected, this.phone, arrays);
    h.images.forEach((image, n) => this.grids[n]?.draw(image, i, this.selected));
    this.slots.show(h, i, this.t, h.ui, !this.playing && !this.calm.matches);
    this.dock.show(this.t, h, this.playing ? null : this.spoken(h, i));
    this.root.classList.remove("sx-loading");
    this.pointer.refresh();
    this.stats.draws++;
    if (!this.playing) this.speak(this.spoken(h, i));
  }

  lost() {  // no window holds this step: say so, ask for it, keep the last picture
    this.root.classList.add("sx-loading");
    this.slots.message(this.h.ui.loading);
    this.dock.show(this.t, this.h, this.h.ui.loading);
  }

  resized() {
    if (!this.h || !this.color || this.pending) return;
    this.pending = requestAnimationFrame(async () => {
      this.pending = null;
      const width = this.root.querySelector(".sx-stage").clientWidth;
      if (!width || width === this.width || this.dead) return;
      if (width < PHONE !== this.phone) { this.queue = this.queue.then(() => this.show()); return; }
      this.width = width;
      await this.figure.resize(width);
      this.place(this.window() ?? this.h);
      this.draw();
      this.sync.level();
    });
  }

  // ---- transport --------------------------------------------------------------------------
  seek(t) {
    if (!this.h) return;
    const before = this.t;
    this.t = clamp(Math.round(t) || 0, 0, this.h.total - 1);
    if (t === Infinity) this.t = this.h.total - 1;
    if (this.t === before) return;
    this.fx.replaceChildren();
    if (!this.window()) this.ask(this.t);
    this.draw();
    if (this.t === before + 1 && !this.playing) this.travel();
    this.sync.lead();
    if (!this.sync.following) this.rest();
  }

  jump(direction) {
    const steps = this.h?.marks.preempt ?? [], n = upTo(steps, direction > 0 ? this.t : this.t - 1);
    const to = direction > 0 ? steps[n] : steps[n - 1];
    if (to !== undefined) this.seek(to);
  }

  faster(by) {
    this.speed = SPEEDS[clamp(SPEEDS.indexOf(this.speed) + by, 0, SPEEDS.length - 1)];
    this.dock.speed.value = this.speed;
  }

  toggle() {
    if (!this.h) return;
    this.playing = !this.playing;
    clearTimeout(this.timer);
    this.dock.playing(this.playing);
    this.root.classList.toggle("sx-playing", this.playing);
    this.live.setAttribute("aria-live", this.playing ? "off" : "polite");
    if (!this.playing) { this.draw(); return this.rest(); }
    if (this.t >= this.h.total - 1) this.seek(0);
    Object.assign(this, {last: performance.now(), due: 0, hold: 0});
    requestAnimationFrame(now => this.tick(now));
  }

  stop() { if (this.playing) this.toggle(); }

  tick(now) {
    if (!this.playing || this.dead) return;
    const passed = Math.max(0, now - this.last);
    this.last = now;
    if (this.hold > 0) this.hold -= passed; else this.due += passed * RATE * this.speed / 1000;
    if (this.due >= 1) this.advance(Math.floor(this.due));
    this.prefetch();
    if (this.playing) requestAnimationFrame(next => this.tick(next));
  }

  advance(steps) {
    this.due -= steps;
    const to = Math.min(this.t + steps, this.h.total - 1);
    if (!this.window(to)) { this.stats.stalls++; this.due = 1; this.ask(to); return; }  // waits in place for the window
    this.t = to;
    this.draw();
    this.sync.lead();
    this.hold = this.speed <= 1 ? this.travel() : 0;
    if (this.t >= this.h.total - 1) this.toggle();
  }

  prefetch() {
    const w = this.window();
    if (!w) return;
    const end = w.start + w.count;
    if (end < w.total && !this.window(end) && end - this.t < Math.max(60, AHEAD * RATE * this.speed)) this.ask(end);
  }

  // Victims travel over the picture along their lane; the compositor moves them. -> ms the clock holds meanwhile
  travel() {
    const moves = this.window()?.moves[this.t];
    if (!moves || this.calm.matches) return 0;
    for (const move of moves) {
      const path = (this.phone && move.phone.length ? move.phone : move.path).map(p => this.figure.pixels(p));
      const far = [0];
      for (let i = 1; i < path.length; i++) far.push(far[i - 1] + Math.hypot(path[i][0] - path[i - 1][0], path[i][1] - path[i - 1][1]));
      const ticket = document.createElement("b");
      ticket.textContent = move.text;
      this.fx.append(ticket);
      const frames = path.map(([x, y], i) => ({transform: `translate(${x}px,${y}px) translate(-50%,-50%)`, opacity: 1, offset: .94 * far[i] / (far.at(-1) || 1)}));
      frames.push({...frames.at(-1), opacity: 0, offset: 1});
      ticket.animate(frames, {duration: TRAVEL, easing: "ease-out"}).onfinish = () => ticket.remove();
    }
    return TRAVEL;
  }

  // ---- news for Python --------------------------------------------------------------------
  ask(t) { if (this.asked === t) return; this.asked = t; this.api?.setTriggerValue("want", t); }

  rest() {
    clearTimeout(this.timer);
    if (this.playing) return;
    this.timer = setTimeout(() => {
      if (this.playing || this.told === this.t) return;
      this.told = this.t;
      this.stats.reports++;
      this.api?.setStateValue("step", this.t);
      this.root.dispatchEvent(new CustomEvent("sx-step", {bubbles: true, detail: this.t}));
    }, REST);
  }

  choose({area, id, row, cell}) {
    this.select(id === this.selected ? null : id, {area: area.name, row, cell});
  }

  select(id, where = {area: "", row: null, cell: null}) {
    const same = id === this.selected;
    this.selected = id;
    this.sent = id;
    if (!same) this.draw();
    this.api?.setTriggerValue("select", {...where, id, step: this.t});
    if (!same && !this.playing) this.speak(id === null ? this.h.ui.cleared : fillIn(this.h.ui.selected, {id}));
  }

  // ---- words, tools -----------------------------------------------------------------------
  label(ui) {
    this.root.setAttribute("aria-label", ui.player);
    this.root.querySelector(".sx-steplabel").textContent = ui.step;
    this.root.querySelector(".sx-transport").setAttribute("aria-label", ui.player);
    this.help.label(ui);
  }

  spoken(h, i) { return plainText(h.slots.say?.(i) ?? h.slots.story?.(i) ?? ""); }
  speak(text) { clearTimeout(this.saying); this.saying = setTimeout(() => { if (!this.playing && this.live.textContent !== text) this.live.textContent = text; }, 500); }

  clicked(e) {
    const word = e.target.closest?.(".sx-w[data-select], .sx-w[data-go]");
    if (!word) return;
    if (word.dataset.go) this.seek(+word.dataset.go);
    else this.select(+word.dataset.select === this.selected ? null : +word.dataset.select);
  }

  say(text) {
    this.note.textContent = text;
    this.note.hidden = false;
    clearTimeout(this.noted);
    this.noted = setTimeout(() => { this.note.hidden = true; }, 3500);
  }

  fullLink() {
    const link = this.h.caption.link.replace("{step}", this.t);
    const text = this.selected === null ? link.replace("&r={id}", "") : link.replace("{id}", this.selected);
    return text && String(new URL(text, document.documentElement.dataset.home || document.baseURI));  // a file knows where it is from
  }

  async copyLink() {
    const link = this.fullLink();
    try { await navigator.clipboard.writeText(link); this.say(this.h.ui.copied); } catch { this.say(fillIn(this.h.ui.failed, {link})); }
  }

  async save(kind) {
    try { await savePicture(this, kind); } catch (error) { console.error(error); this.say(fillIn(this.h.ui.error, {error: error.message})); }
  }
}
