"""Who may import whom, and how long things may get. Read from the source, so that nothing needs to be installed."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import sched

ROOT = Path(__file__).parents[1]
RULES = ["request", "request_queue", "block_pool", "kv_cache_manager", "scheduler", "async_scheduler"]
CORE = [*RULES, "config", "reasons", "output"]  # with what may be set, and the records of what was decided
WITHOUT_NUMPY = [*CORE, "errors", "engine", "livelock", "cases", "jsonl", "capacity", "scenario"]
THIRD_PARTY = {"numpy", "joblib"}
OPTIONAL = {"sched.parallel": {"distributed"}}  # imported only when it is asked for
MAY_IMPORT_STREAMLIT = (
    "pages/", "view/controls/", "view/frame.py", "view/gallery.py", "view/kv_calculator.py", "view/lesson/",
    "view/player/component.py", "view/playground.py", "view/run.py", "view/edits.py",
    "view/session.py", "view/shell/", "view/tabs/", "view/sweep_", "view/advise_", "view/compare",
)  # fmt: skip


def modules(*folders: str) -> list[Path]:
    """All Python files of some folders."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    """A file's dotted module name."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """The dotted names that a file imports, wherever in it; of `from a import b` both a and a.b."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def graph() -> dict[str, set[str]]:
    """Module of sched -> modules of sched that it imports."""
    names = {name_of(path) for path in modules("sched")}
    return {name_of(path): set(imports(path)) & names - {"sched"} for path in modules("sched")}


def test_import_sched_is_ours_and_not_the_standard_librarys() -> None:
    assert Path(str(sched.__file__)).parent == ROOT / "sched"
    assert not hasattr(sched, "scheduler") or sched.scheduler.__name__ == "sched.scheduler"


@pytest.mark.parametrize("path", modules("sched"), ids=name_of)
def test_sched_imports_only_the_standard_library_numpy_joblib_and_itself(path: Path) -> None:
    outside = {name.split(".")[0] for name in imports(path)} - set(sys.stdlib_module_names) - {"sched"}
    assert outside <= THIRD_PARTY | OPTIONAL.get(name_of(path), set())


@pytest.mark.parametrize("name", WITHOUT_NUMPY)
def test_the_scheduling_core_and_what_is_close_to_it_need_no_numpy_of_their_own(name: str) -> None:
    assert not any(imported.startswith("numpy") for imported in imports(ROOT / "sched" / f"{name}.py"))


@pytest.mark.parametrize("name", CORE)
def test_the_scheduling_core_reaches_nothing_but_itself(name: str) -> None:
    assert graph()[f"sched.{name}"] <= {f"sched.{other}" for other in [*CORE, "errors"]}


def test_the_rules_of_a_step_are_well_under_a_thousand_lines() -> None:
    assert sum(len((ROOT / "sched" / f"{name}.py").read_text().splitlines()) for name in RULES) < 900


def test_nothing_in_sched_imports_in_a_circle() -> None:
    tuple(TopologicalSorter(graph()).static_order())


@pytest.mark.parametrize("path", modules("sched"), ids=name_of)
def test_sched_never_imports_the_view(path: Path) -> None:
    assert not {name.split(".")[0] for name in imports(path)} & {"view", "pages", "app", "streamlit", "plotly"}


@pytest.mark.parametrize("path", modules("view", "pages"), ids=name_of)
def test_only_the_outermost_layer_imports_streamlit(path: Path) -> None:
    if any(name.split(".")[0] == "streamlit" for name in imports(path)):
        assert path.relative_to(ROOT).as_posix().startswith(MAY_IMPORT_STREAMLIT)


def public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions and methods that others may call; those of a Protocol are explained by its class."""
    for node in tree.body:
        is_class = isinstance(node, ast.ClassDef)
        if is_class and any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases):
            continue
        for inner in node.body if is_class else [node]:
            if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                yield inner


@pytest.mark.parametrize("path", modules("sched"), ids=name_of)
def test_modules_and_functions_stay_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    assert not [node.name for node in functions if (node.end_lineno or 0) - node.lineno >= 40]


@pytest.mark.parametrize("path", modules("sched", "view"), ids=name_of)
def test_every_module_and_every_public_function_says_what_it_means(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert not [function.name for function in public_functions(tree) if not ast.get_docstring(function)]


def test_there_is_no_module_for_odds_and_ends() -> None:
    names = {path.stem for path in modules("sched", "view", "pages")}
    assert not names & {"utils", "util", "helpers", "common", "misc"}
