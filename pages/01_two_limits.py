"""Lesson 1: a step must meet two limits at once."""

from view.lesson import lesson

lesson("two_limits")
