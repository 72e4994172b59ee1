"""The Playground: move a slider, watch vLLM's scheduler."""

from view import session
from view.controls.sidebar import sidebar
from view.frame import frame
from view.playground import FIRST, below, board, header, numbers

here = frame("playground")
session.draw_first(FIRST, one_run=True)
header()
numbers()
board()  # the picture before the controls: it is what one waits for
sidebar(here)
below()
