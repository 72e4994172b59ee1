"""Pictures and words. May import sched, never the other way round."""
