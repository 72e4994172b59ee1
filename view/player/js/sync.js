// Players of one group share a playhead: whichever is moved leads, the others follow, to the same step or the same time.
import {upTo} from "./dock.js";

export class Sync {
  constructor(player) {
    this.player = player;
    document.addEventListener("sx-lead", this.on = e => this.follow(e.detail));
  }

  remove() { document.removeEventListener("sx-lead", this.on); }

  join({group = "", by = "step"}) {
    Object.assign(this, {group, by});
    this.player.root.dataset.group = group;
  }

  // Keys pressed outside all players go to the first of a group only; players without one count as a group.
  first() { return document.querySelector(`.sx[data-group="${this.group}"]`) === this.player.root; }

  // Side by side, the same thing stands at the same height in all: the words above and below a stage differ in length.
  level() {
    if (!this.group) return;
    const all = [...document.querySelectorAll(`.sx[data-group="${this.group}"]`)], part = name => all.map(one => one.querySelector(name));
    const boards = part(".sx-board"), stages = part(".sx-stage"), belows = part(".sx-below");
    for (const node of stages) node.style.marginTop = "";
    for (const node of belows) node.style.minHeight = "";
    if (new Set(all.map(one => Math.round(one.getBoundingClientRect().top))).size > 1) return;  // on a phone, one under the other
    const tall = nodes => Math.max(...nodes.map(node => node.offsetHeight)), board = tall(boards), below = tall(belows);
    stages.forEach((node, n) => { node.style.marginTop = board - boards[n].offsetHeight + "px"; });
    for (const node of belows) node.style.minHeight = below + "px";
  }

  lead() {
    if (!this.group || this.following) return;
    const {h, t} = this.player;
    document.dispatchEvent(new CustomEvent("sx-lead", {detail: {from: this, group: this.group, step: t, time: h.clock?.[t]}}));
  }

  follow({from, group, step, time}) {
    const {player} = this, clock = player.h?.clock;
    if (from === this || !group || group !== this.group || !player.h) return;
    this.following = true;
    player.stop();
    player.seek(this.by === "time" && clock && time !== undefined ? Math.max(upTo(clock, time) - 1, 0) : step);
    this.following = false;
  }
}
