"""Lesson 5: recompute and swap."""

from view.lesson import lesson

lesson("recompute")
