"""Lesson 6: fcfs and priority."""

from view.lesson import lesson

lesson("policy")
