"""python -m sched COMMAND …: the simulator on the command line.

Exit status: 0 all well, 1 the command's own "no" (a trace that differs), 2 bad input.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from typing import Any

from sched.errors import InputError

COMMANDS = {  # each is a module of sched.commands, imported only when it is asked for
    "run": "run a scenario and print speed, latencies, preemptions, who paid, and what limits it",
    "sweep": "turn a knob or two: a run for each value and seed, on all cores or a Dask cluster",
    "advise": "say what to change: every change worth a try is run, what helps is named with its flag and cost",
    "case": "export a timed run as a case, so that vLLM's own scheduler can be run on it",
    "replay": "replay a real GPU run and say how far the simulator's latencies are from it",
    "trace": "run cases and write what the scheduler decides in each step",
    "verify": "run the cases of golden traces and compare every field of every step",
    "bench": "measure the simulator's speed, in time per generated token",
}


def main(argv: list[str]) -> int:
    """Run one subcommand and return its exit status."""
    if sys.stdout is None:  # started with its output closed
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        status = dispatch(argv)
        sys.stdout.flush()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader (`head`) has gone; without this, closing stdout would complain again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:  # the disk is full, say; files given by name have errors of their own
        print(f"error: the output cannot be written ({error.strerror})", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    return status


def dispatch(argv: list[str]) -> int:
    """Find the subcommand, read its arguments, run it. Raises InputError if there is no such command."""
    if not argv or argv[0] in ("-h", "--help"):
        print(overview())
        return 0 if argv else 2
    name = argv[0]
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, 1)
        limit = f"the nearest is {near[0]}" if near else f"give one of {', '.join(COMMANDS)}"
        raise InputError("unknown_command", value=name or "(empty)", limit=limit)
    module = importlib.import_module(f"sched.commands.{name}")
    parser = Parser(prog=f"python -m sched {name}", description=module.__doc__)
    module.add_arguments(parser)
    try:
        args = parser.parse_args(argv[1:])
    except SystemExit as done:  # --help, or arguments that cannot be read: argparse has said which
        return 2 if done.code else 0
    status: int = module.run(args)
    return status


class Parser(argparse.ArgumentParser):
    """Like argparse's, which would take no notice of a help that cannot be written."""

    def print_help(self, file: Any = None) -> None:
        """Write the help. Raises OSError if that cannot be done."""
        (file or sys.stdout).write(self.format_help())


def overview() -> str:
    """The list of commands."""
    width = max(map(len, COMMANDS))
    rows = [f"  {name:{width}}  {words}" for name, words in COMMANDS.items()]
    return "\n".join(["usage: python -m sched COMMAND …   (COMMAND --help for its options)", "", *rows])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
