"""Lesson 2: the waiting queue, the running list, and the way back."""

from view.lesson import lesson

lesson("queues")
