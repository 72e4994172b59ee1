"""A step-by-step simulator of vLLM's V1 scheduler.

Not the standard library's `sched`: this package is never installed, it is imported from the project's own folder.
"""

__version__ = "0.1.0"
VLLM_VERSION = "0.33.0"  # whose decisions are reproduced
