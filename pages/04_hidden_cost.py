"""Lesson 4: what preemption costs, and why a mean does not show it."""

from view.lesson import lesson

lesson("hidden_cost")
