// How does a component end? Streamlit calls a component anew with new data, and when it goes, it calls what the last call
// returned. But a call that was overtaken while its script was still being loaded is ended at once, after the newer one
// has begun on the same elements: such an ending must do nothing.

const LAST = Symbol.for("last-call");

export function endingOf(element, end) {
  const call = element[LAST] = {};
  return () => { if (element[LAST] === call) end(); };
}
