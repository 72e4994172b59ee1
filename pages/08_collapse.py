"""Lesson 8: where throughput collapses."""

from view.lesson import lesson

lesson("collapse")
