"""The subcommands of `python -m sched`: each module has add_arguments(parser) and run(args) -> exit status."""
