"""Sweep: turn a knob, and see where it turns."""

from view.sweep_page import sweep_page

sweep_page()
