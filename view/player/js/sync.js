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
