// The offline file: plotly.js and the picture lie in the page, as base64.
import {inflate} from "./wire.js";
import {Player} from "./main.js";

const unpack = id => Uint8Array.from(atob(document.getElementById(id).textContent), c => c.charCodeAt(0));
const library = document.createElement("script");
library.textContent = new TextDecoder().decode(await inflate(unpack("sx-plotly")));
document.head.append(library);
const player = globalThis.__sx = new Player(document.querySelector(".sx"));
player.receive(unpack("sx-data"));
