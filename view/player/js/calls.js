// What begins a component of Streamlit's, and what ends it. Streamlit calls a component anew with new data, and when it has
// taken it away, it calls what the last call returned. But while the component's script is still being loaded, several
// calls wait for it: they may come in another order than their data, and those that were overtaken are ended at once, each
// behind its own call. Such a call must end nothing, and if it came last, the data of the one before it are the newest.

const LAST = Symbol.for("last-call");

export function inOrder(begin, end = () => {}) {
  return call => {
    const place = call.parentElement, before = place[LAST];
    place[LAST] = call;
    begin(call);
    return () => {
      if (!place.isConnected) return end(call);
      if (place[LAST] !== call) return;
      place[LAST] = before;
      if (before) begin(before);
    };
  };
}
