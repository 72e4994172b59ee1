"""The Playground: move a slider, watch vLLM's scheduler."""

from view.controls.sidebar import sidebar
from view.frame import frame
from view.playground import below, board, header

here = frame("playground")
sidebar(here)
run = header(here)
board(here.language, run)
below(here.language, run)
