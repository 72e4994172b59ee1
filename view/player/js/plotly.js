// The page's one plotly.js: fetched from this server when it is first needed, and made quicker.

// plotly.js from this server, once a page. Streamlit's own script tells the base path, whatever page, base URL or proxy.
export function loadPlotly(file) {
  if (globalThis.Plotly) return Promise.resolve();
  return globalThis.__sxPlotly ??= new Promise((done, fail) => {
    const own = document.querySelector('script[src*="static/js/index."]');
    const script = document.createElement("script");
    script.src = new URL("../../app/static/" + file, own ? own.src : document.baseURI);
    script.onload = done;
    script.onerror = () => { globalThis.__sxPlotly = null; fail(Error("plotly.js")); };
    document.head.append(script);
  });
}

// Which attributes of a trace hold arrays? Plotly looks through its whole schema, for each trace of each new picture: that
// was a third of the time of a change. The answer depends only on where the trace has arrays, so it is remembered by that.
export function quicken(Plotly) {
  const schema = Plotly?.PlotSchema, ask = schema?.findArrayAttributes, known = new Map();
  if (!ask || schema.quickened) return;
  schema.quickened = ask;  // what it was, for the test that compares them
  schema.findArrayAttributes = trace => {
    const key = trace.type + arraysIn(trace, "", 0);
    if (!known.has(key)) known.set(key, ask(trace));
    return [...known.get(key)];
  };
}

function arraysIn(value, path, depth) {
  let found = "";
  for (const [name, inner] of Object.entries(value)) {
    if (name[0] === "_" || inner === null || typeof inner !== "object") continue;
    if (Array.isArray(inner) || ArrayBuffer.isView(inner)) found += " " + path + name;
    else if (depth < 4 && Object.getPrototypeOf(inner) === Object.prototype) found += arraysIn(inner, path + name + ".", depth + 1);
  }
  return found;
}
