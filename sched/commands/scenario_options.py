"""The options that say which scenario a command runs: --preset, --workload, --limit, --set."""

from __future__ import annotations

import argparse
import importlib

from sched.bundled import find_bundled, open_trace
from sched.errors import InputError
from sched.load import MAX_REQUESTS
from sched.profile import read_profile
from sched.scenario import Scenario, read_value
from sched.traces import Trace
from sched.workload import Workload, make_workload


def add_scenario_options(parser: argparse.ArgumentParser) -> None:
    """[--preset NAME] [--workload FILE_OR_NAME] [--limit N] [--set NAME=VALUE]…"""
    parser.add_argument("--preset", metavar="NAME",
                        help="start from a preset; without one, every setting has its own default, which is not what "
                        "the app opens with: that is --preset kv_runs_out")  # fmt: skip
    parser.add_argument("--workload", metavar="FILE_OR_NAME",
                        help="a trace: a file, or the name of a bundled one (azure_conv_2023, …)")  # fmt: skip
    parser.add_argument("--limit", type=int, metavar="N", help="the first N requests only")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE",
                        help="change one setting, by the name that links use; may be repeated")  # fmt: skip


def scenario_of(args: argparse.Namespace) -> tuple[Scenario, Workload]:
    """The scenario and its requests. Raises InputError naming what cannot be."""
    scenario, trace = scenario_and_trace(args)
    return scenario, make_workload(scenario.load, scenario.scheduler.max_model_len, trace)


def scenario_and_trace(args: argparse.Namespace) -> tuple[Scenario, Trace | None]:
    """The scenario, and the trace that --workload names. Raises InputError naming what cannot be."""
    asked = args.preset is not None
    scenario: Scenario = importlib.import_module("sched.presets").preset(args.preset) if asked else Scenario()
    changes: dict[str, object] = dict(_setting(text) for text in args.settings)
    _check_names(changes)
    if args.limit is not None:
        if not 1 <= args.limit <= MAX_REQUESTS:
            raise InputError("out_of_range", field="--limit", value=args.limit, limit=f"1 to {MAX_REQUESTS:,} requests")
        changes |= {"num_requests": args.limit, "trace_max_rows": args.limit}
    if args.workload is not None:
        changes["source"] = "trace"
    scenario = scenario.replace(**changes)
    return scenario, open_trace(args.workload, scenario.load.seed) if args.workload is not None else None


def _check_names(changes: dict[str, object]) -> None:
    """Refuse a profile or a trace that is none, even if the scenario would not look at it."""
    if "profile" in changes:
        read_profile(str(changes["profile"]))
    if "trace" in changes:
        find_bundled(str(changes["trace"]))


def _setting(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        limit = "NAME=VALUE; the name before the = is missing" if equals else "NAME=VALUE"
        raise InputError("bad_text", field="--set", value=text or "(empty)", limit=limit)
    return name.strip(), read_value(name.strip(), value)
