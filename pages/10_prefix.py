"""Bridge to part 5: prefix caching."""

from view.lesson import lesson

lesson("prefix")
