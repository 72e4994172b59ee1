"""The Playground: move a slider, watch vLLM's scheduler."""

from view.controls.sidebar import sidebar
from view.frame import frame
from view.playground import below, board, header

here = frame("playground")
run = header(here)
board(here.language, run)  # the picture before the controls: it is what one waits for
sidebar(here)
below(here.language, run)
