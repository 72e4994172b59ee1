"""The lesson pages: `lesson(name)` is all that a page calls.

What a lesson plays and asks is data (sched.lessons), its words are in view/prose, its numbers come from its runs
(sched.lesson_facts). Everything here only puts them on the page.
"""

from view.lesson.page import lesson

__all__ = ["lesson"]
