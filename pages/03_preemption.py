"""Lesson 3: preemption, since otherwise all would stop."""

from view.lesson import lesson

lesson("preemption")
