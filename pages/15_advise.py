"""Advise: what to change, and what it costs."""

from view.advise_page import advise_page

advise_page()
