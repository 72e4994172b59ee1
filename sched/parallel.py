"""How are many independent runs spread? One after the other, over all cores, or over a Dask cluster."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import joblib
from joblib.parallel import get_active_backend

from sched.errors import InputError

Result = TypeVar("Result")
ALL_CORES = -1
MAX_JOBS = 1024
UNORDERED = "generator_unordered"
CLUSTER_TIMEOUT = 10.0
DASK_PORT = 8786
NICE = 5
"""How far polite processes step back, as in nice(1)."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Who makes the runs.

    Attributes:
        jobs: processes on this machine; 1 = this process, ALL_CORES = one a core.
        dask: address of a Dask scheduler, "tcp://host:8786"; "" = this machine. Its workers need this project on their
            PYTHONPATH, because `sched` is also a module of the standard library.
        patience: how long to wait for the cluster and for its first worker [s].
        polite: whether the processes on this machine leave the cores to others who want them.
    """

    jobs: int = ALL_CORES
    dask: str = ""
    patience: float = CLUSTER_TIMEOUT
    polite: bool = False

    def __post_init__(self) -> None:
        if self.jobs != ALL_CORES and not 1 <= self.jobs <= MAX_JOBS:
            raise InputError("out_of_range", field="--jobs", value=self.jobs, limit=f"1 to {MAX_JOBS:,}")


def in_parallel(
    function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], workers: Workers = Workers()
) -> Iterator[Result]:
    """Call function(*task) for each task, and give the results as they come, in any order.

    Closing the iterator ends it: calls under way are finished and dropped, no other is begun.
    Raises InputError if the cluster cannot be reached or used.
    """
    jobs = joblib.cpu_count() if workers.jobs == ALL_CORES else workers.jobs
    if not workers.dask and jobs == 1:
        return (function(*task) for task in tasks)
    if workers.polite and not workers.dask:
        return _spread(_Politely(function), tasks, workers)
    return _spread(function, tasks, workers)


@dataclass(frozen=True, slots=True)
class _Politely(Generic[Result]):
    """A function that first lets its process step back behind others: once is enough."""

    function: Callable[..., Result]

    def __call__(self, *task: Any) -> Result:
        if hasattr(os, "nice") and os.nice(0) < NICE:
            os.nice(NICE - os.nice(0))
        return self.function(*task)


def _spread(function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], workers: Workers) -> Iterator[Result]:
    closed = threading.Event()
    calls = (joblib.delayed(function)(*task) for task in _until(closed, tasks))
    with _backend(workers) as backend:
        with _workers_deaf_to_interrupts():
            results = joblib.Parallel(backend=backend, n_jobs=workers.jobs, batch_size=1, return_as=UNORDERED)(calls)
        try:
            for result in results:  # noqa: UP028  (with `yield from`, closing this would close `results`,
                yield result
        except ModuleNotFoundError as error:
            raise InputError("cluster_without_project", value=error) from None
        finally:  # which would kill workers that others are using too)
            closed.set()
            for _ in results:
                pass


@contextmanager
def _workers_deaf_to_interrupts() -> Iterator[None]:
    """Ctrl-C goes to all processes of a terminal; those started in here leave it to this one, which ends them.

    A blocked signal stays blocked in a new process, and comes to this one when the mask is lifted. Workers that were
    still importing would each print a traceback.
    """
    if sys.platform == "win32":  # has no such masks
        yield
        return
    resource_tracker.ensure_running()  # the first worker would start it, and starting it lifts the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _until(closed: threading.Event, tasks: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    for task in tasks:
        if closed.is_set():
            return
        yield task


@contextmanager
def _backend(workers: Workers) -> Iterator[Any]:
    """joblib's backend. Raises InputError if Dask is not installed or the cluster does not answer."""
    if not workers.dask:
        yield "loky"
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError("no_dask", field="--dask", value=workers.dask, limit=error) from None
    try:
        _knock(workers.dask, workers.patience)  # a Client that reaches nobody leaves its own traceback behind
        client = Client(workers.dask, timeout=workers.patience, set_as_default=False)
        client.wait_for_workers(1, timeout=workers.patience)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError("no_cluster", field="--dask", value=workers.dask, limit=error) from None
    with client, joblib.parallel_config(backend="dask", client=client):
        yield get_active_backend()[0]


def _knock(address: str, patience: float) -> None:
    """Raise OSError or ValueError unless somebody answers at an address of a Dask scheduler."""
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    socket.create_connection((parts.hostname or "", parts.port or DASK_PORT), patience).close()
