"""Where Dask runs: the user's cluster, or Dask's default scheduler if there is none.

Both classes offer the same methods and leave all scheduling to Dask. On a cluster results are futures, whose graph the
scheduler keeps, so that what a lost worker held is computed again.
"""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from metricfit.exceptions import SchedulerLostError
from metricfit.oracles.settings import TUNED, Settings


def runner(settings: Settings = TUNED) -> OneProcess | Cluster:
    """Return the runner of Dask graphs: the active client of ``dask.distributed``, else Dask's default scheduler.

    Examples
    --------
    >>> runner().fetch(runner().each(len, [[1, 2], [3]]))
    [2, 1]
    """
    try:
        from distributed import Client
    except ImportError:
        return OneProcess()
    try:
        client = Client.current()
    except ValueError:  # there is no client
        return OneProcess()
    if client.asynchronous:
        raise ValueError("the active Dask client is asynchronous; make it with Client(asynchronous=False)")
    return Cluster(client, settings)


class OneProcess:
    """Dask's default scheduler, threads unless the user has configured another."""

    def each(self, function: Callable[..., Any], blocks: Sequence[Any], *arguments: Any) -> list[Any]:
        """Return what a function makes of each block, not fetched."""
        import dask

        return [dask.delayed(function, pure=False)(block, *arguments) for block in blocks]

    def keep(self, function: Callable[..., Any], groups: Sequence[Any], *arguments: Any) -> list[Any]:
        """Compute what a function makes of each group and keep the results where they are."""
        import dask

        return list(dask.persist(*self.each(function, groups, *arguments)))

    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        """Return results."""
        import dask

        return list(dask.compute(*handles))

    def groups(self, delayed: Sequence[Any]) -> list[list[Any]]:
        """Compute delayed blocks and return them in groups, each to be one task of a pass."""
        import dask

        return _cut(list(dask.persist(*delayed)), os.cpu_count() or 1)


class Cluster:
    """A cluster of ``dask.distributed``."""

    def __init__(self, client: Any, settings: Settings = TUNED) -> None:
        self.client, self.settings = client, settings

    def each(self, function: Callable[..., Any], blocks: Sequence[Any], *arguments: Any) -> list[Any]:
        """Return what a function makes of each block, not fetched."""
        shared: Any = arguments
        if sum(getattr(argument, "nbytes", 0) for argument in arguments) > self.settings.large_arguments:
            shared = self._guarded(self.client.submit, _same, arguments, pure=False)
        count = len(blocks)
        # One message for all tasks, because the client waits some milliseconds before it sends another.
        tasks = [function] * count, list(blocks), [shared] * count
        return list(self._guarded(self.client.map, _applied, *tasks, pure=False))

    def keep(self, function: Callable[..., Any], groups: Sequence[Any], *arguments: Any) -> list[Any]:
        """Compute what a function makes of each group and keep the results where they are."""
        return self.each(function, groups, *arguments)

    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        """Return results; raise `SchedulerLostError` if there is no scheduler to give them."""
        return list(self._guarded(self._gathered, list(handles)))

    def groups(self, delayed: Sequence[Any]) -> list[list[Any]]:
        """Compute delayed blocks and return them in groups that are on one worker, each to be one task of a pass."""
        blocks = self._guarded(self.client.compute, list(delayed))
        self._guarded(self._finished, blocks)
        scheduler = self.client.scheduler
        places = self._guarded(self._asked, scheduler.who_has, keys=[block.key for block in blocks])
        threads = self._guarded(self._asked, scheduler.ncores, workers=None)
        by_worker: dict[str, list[Any]] = defaultdict(list)
        for block in blocks:
            by_worker[next(iter(places.get(block.key) or ("",)))].append(block)
        # One group for each thread, because every task costs the scheduler time in every call.
        return [group for worker, own in by_worker.items() for group in _cut(own, threads.get(worker, 1))]

    def _finished(self, handles: list[Any]) -> None:
        """Wait until handles have results, or errors."""
        from distributed import wait

        while True:
            try:
                wait(handles, timeout=self.settings.patience)
            except TimeoutError:
                self._asked(self.client.scheduler.identity)
            else:
                return

    def _gathered(self, handles: list[Any]) -> Any:
        gathering = self.client.gather(handles, asynchronous=True)
        answer = asyncio.run_coroutine_threadsafe(gathering, self.client.loop.asyncio_loop)
        while True:
            try:
                return answer.result(timeout=self.settings.patience)
            except TimeoutError:
                if answer.done():  # raised by a task
                    raise
                self._asked(self.client.scheduler.identity)

    def _asked(self, question: Callable[..., Any], **options: Any) -> Any:
        """Return what the scheduler answers."""
        try:
            return self.client.sync(question, callback_timeout=self.settings.silence, **options)
        except TimeoutError as error:
            raise SchedulerLostError(self._message()) from error

    def _guarded(self, action: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        if self.client.status != "running":
            raise SchedulerLostError(self._message())
        try:
            return action(*arguments, **options)
        except SchedulerLostError:
            raise
        except (FutureCancelledError, CommClosedError, ConnectionError) as error:
            raise SchedulerLostError(self._message()) from error

    def _message(self) -> str:
        scheduler = self.client.scheduler
        where = "" if scheduler is None else f" at {scheduler.address}"
        return (
            f"the Dask scheduler{where} cannot be reached any more; start a cluster, connect a new "
            f"dask.distributed.Client to it and solve again"
        )


def tree_sum(run: OneProcess | Cluster, parts: Sequence[Any], fan_in: int = 16) -> Any:
    """Return the sum of results, added up in a tree on the workers up to its root, as arrays or tuples of arrays.

    Examples
    --------
    >>> import numpy as np
    >>> run = runner()
    >>> tree_sum(run, run.each(np.zeros, [3] * 40)).tolist()
    [0.0, 0.0, 0.0]
    """
    level = list(parts)
    while len(level) > fan_in:
        level = run.each(added, [level[start : start + fan_in] for start in range(0, len(level), fan_in)])
    return added(run.fetch(level))


def _cut(items: list[Any], count: int) -> list[list[Any]]:
    """Return consecutive items in at most ``count`` groups of nearly equal size."""
    count = min(count, len(items))
    edges = np.linspace(0, len(items), count + 1).astype(int)
    return [items[low:high] for low, high in pairwise(edges)]


def _same(value: Any) -> Any:
    return value


def _applied(function: Callable[..., Any], block: Any, arguments: tuple[Any, ...]) -> Any:
    return function(block, *arguments)


def added(parts: Sequence[Any]) -> Any:
    """Return the sum of arrays, or the tuple of sums of tuples of arrays.

    Examples
    --------
    >>> import numpy as np
    >>> added([np.ones(2), np.ones(2)])
    array([2., 2.])
    """
    if isinstance(parts[0], tuple):
        return tuple(added(column) for column in zip(*parts, strict=True))
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total
