// The player's keys: while it has the focus, and elsewhere on the page those that nobody else needs.
const TYPED = ["input:not([type=checkbox],[type=radio])", "textarea", "select", "canvas", "[contenteditable]",  // they take letters themselves
  ...["slider", "combobox", "listbox", "textbox", "searchbox", "spinbutton", "grid", "menu", "dialog"].map(role => `[role=${role}]`)].join();

export class Keys {
  constructor(player) {
    this.player = player;
    player.root.addEventListener("keydown", e => this.press(e));
    document.addEventListener("keydown", this.onKey = e => this.pressOutside(e));
  }

  remove() { document.removeEventListener("keydown", this.onKey); }

  // A focused control keeps its arrows, Space and Escape; one that takes letters keeps all.
  pressOutside(e) {
    if (e.target.closest?.(".sx") || !this.player.sync.first()) return;
    const free = e.target === document.body;
    if (free || (["n", "p", "?"].includes(e.key.toLowerCase()) && !e.target.closest?.(TYPED))) this.press(e, true);
  }

  // `outside`: the focus is not in the player. Then only keys that a page does not need itself.
  press(e, outside = false) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || !this.player.h) return;
    const k = e.key, tag = e.target.tagName;
    if (tag === "BUTTON" && (k === " " || k === "Enter")) return e.stopPropagation();
    if (tag === "SELECT" && k !== "?" && k !== "Escape") return e.stopPropagation();
    const act = this.meaning(e.shiftKey ? 10 : 1, outside)[k.length === 1 ? k.toLowerCase() : k];
    if (act) { e.preventDefault(); act(); }
    if (!outside && (act || k.length === 1)) e.stopPropagation();  // Streamlit's own R and C stay out while the player has the focus
  }

  // What each key does; an arrow goes `stride` steps.
  meaning(stride, outside) {
    const p = this.player, act = p.act, faster = () => p.faster(1), slower = () => p.faster(-1);
    return {
      " ": act.play, ArrowRight: () => p.seek(p.t + stride), ArrowLeft: () => p.seek(p.t - stride), p: act.previous, n: act.next,
      "+": faster, "=": faster, "-": slower, "−": slower, "?": act.help,
      ...(outside ? {} : {Home: act.first, End: act.last}),
      Escape: () => p.help.hidden ? p.selected !== null && p.select(null) : p.help.toggle(false),
    };
  }
}
