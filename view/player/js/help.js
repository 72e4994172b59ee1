// The list of keys and words that the player's ? opens.
export class Help {
  constructor(root) {
    this.list = root.querySelector(".sx-help");
    this.button = root.querySelector("[data-do=help]");
  }

  get hidden() { return this.list.hidden; }

  toggle(open = this.hidden) {
    this.list.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    (open ? this.list.querySelector("button") : this.button).focus();
  }

  label(ui) {
    const title = document.createElement("h3"), close = document.createElement("button"), list = document.createElement("dl");
    title.textContent = ui.keys;
    Object.assign(close, {type: "button", textContent: "✕", title: ui.close, onclick: () => this.toggle(false)});
    close.setAttribute("aria-label", ui.close);
    const lines = Object.keys(ui).filter(k => k.startsWith("key_")).map(k => ui[k].split(" = "));
    for (const line of (ui.glossary ?? "").split("\n").filter(Boolean)) lines.push(line.split("\t"));
    for (const [term, text = ""] of lines) {
      const dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = term;
      dd.textContent = text;
      list.append(dt, dd);
    }
    this.list.setAttribute("aria-label", ui.help);
    this.list.replaceChildren(title, close, list);
  }
}
