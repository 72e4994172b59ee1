"""Bridge to part 3: continuous batching."""

from view.lesson import lesson

lesson("batching")
