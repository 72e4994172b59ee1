"""Lesson 7: what to do when you see preemption."""

from view.lesson import lesson

lesson("remedies")
