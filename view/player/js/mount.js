// Streamlit calls this on every change of data or theme. The player lives on the element, so it keeps its place.
import {inOrder} from "./calls.js";
import {Player} from "./main.js";

const HOME = Symbol.for("scheduler-player");

export default inOrder(component => {
  const root = component.parentElement.querySelector(".sx");
  const player = root[HOME] ??= new Player(root);
  player.api = component;
  globalThis.__sx = player;  // for tests and benchmarks
  player.receive(component.data);
}, ({parentElement}) => parentElement.querySelector(".sx")?.[HOME]?.destroy());
