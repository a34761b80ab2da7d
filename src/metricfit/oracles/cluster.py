"""Where Dask runs: the user's cluster, or Dask's default scheduler if there is none.

Both offer the same steps and leave all scheduling to Dask. On a cluster results are futures, whose graph the scheduler
keeps: what a lost worker held is computed again.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

# Groups of blocks for each thread of the workers: enough to even out, few because each costs the scheduler a task.
GROUPS = 2
# Seconds of waiting after which the scheduler is asked for a sign of life, and for which it may then be silent.
PATIENCE = 5.0
SILENCE = 15.0
# Bytes of arguments from which on they are sent once, as a task of their own, and not with every task.
LARGE = 2**17


class SchedulerLost(ConnectionError, ValueError):
    """The scheduler of the Dask cluster cannot be reached any more.

    Examples
    --------
    >>> issubclass(SchedulerLost, ValueError)
    True
    """


def runner() -> Local | Cluster:
    """Return what runs Dask graphs now: the active client of ``dask.distributed``, else Dask's default scheduler.

    Examples
    --------
    >>> runner().fetch(runner().each(len, [[1, 2], [3]]))
    [2, 1]
    """
    try:
        from distributed import Client
    except ImportError:
        return Local()
    try:
        client = Client.current()
    except ValueError:  # there is none
        return Local()
    if client.asynchronous:
        raise ValueError("the active Dask client is asynchronous; make it with Client(asynchronous=False)")
    return Cluster(client)


class Local:
    """Dask's default scheduler, threads unless the user has configured another."""

    def keep(self, delayed: Sequence[Any]) -> list[Any]:
        """Compute delayed values and keep the results where they are."""
        import dask

        return list(dask.persist(*delayed))

    def each(self, function: Callable[..., Any], blocks: Sequence[Any], *arguments: Any) -> list[Any]:
        """Return what a function makes of each block, not fetched."""
        import dask

        return [dask.delayed(function, pure=False)(block, *arguments) for block in blocks]

    def keep_each(self, function: Callable[..., Any], groups: Sequence[Any], *arguments: Any) -> list[Any]:
        """Compute what a function makes of each group and keep the results where they are."""
        return self.keep(self.each(function, groups, *arguments))

    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        """Return results."""
        import dask

        return list(dask.compute(*handles))

    def groups(self, blocks: Sequence[Any]) -> list[list[Any]]:
        """Return the blocks in groups, each to be one task of a pass."""
        return _cut(list(blocks), GROUPS * (os.cpu_count() or 1))


class Cluster:
    """A cluster of ``dask.distributed``."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def keep(self, delayed: Sequence[Any]) -> list[Any]:
        """Compute delayed values and keep the results where they are."""
        return list(self._guarded(self.client.compute, list(delayed)))

    def each(self, function: Callable[..., Any], blocks: Sequence[Any], *arguments: Any) -> list[Any]:
        """Return what a function makes of each block, not fetched."""
        shared: Any = arguments
        if sum(getattr(argument, "nbytes", 0) for argument in arguments) > LARGE:
            shared = self._guarded(self.client.submit, _same, arguments, pure=False)
        return [
            self._guarded(self.client.submit, _applied, function, block, shared, pure=False)
            for block in blocks
        ]

    def keep_each(self, function: Callable[..., Any], groups: Sequence[Any], *arguments: Any) -> list[Any]:
        """Compute what a function makes of each group and keep the results where they are."""
        return self.each(function, groups, *arguments)

    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        """Return results; raise `SchedulerLost` if there is no scheduler to give them."""
        return [self._guarded(self._awaited, handle) for handle in handles]

    def groups(self, blocks: Sequence[Any]) -> list[list[Any]]:
        """Return the blocks in groups that are on the same worker, each to be one task of a pass."""
        places = self._guarded(self.client.who_has, list(blocks))
        threads = self._guarded(self.client.nthreads)
        by_worker: dict[str, list[Any]] = defaultdict(list)
        for block in blocks:
            by_worker[next(iter(places.get(block.key) or ("",)))].append(block)
        return [
            group for worker, own in by_worker.items() for group in _cut(own, GROUPS * threads.get(worker, 1))
        ]

    def _awaited(self, future: Any) -> Any:
        while True:
            try:
                return future.result(timeout=PATIENCE)
            except TimeoutError:
                if future.done():
                    raise
            try:
                self.client.sync(self.client.scheduler.identity, callback_timeout=SILENCE)
            except TimeoutError as error:
                raise SchedulerLost(self._message()) from error

    def _guarded(self, action: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        if self.client.status != "running":
            raise SchedulerLost(self._message())
        try:
            return action(*arguments, **options)
        except SchedulerLost:
            raise
        except (FutureCancelledError, CommClosedError, ConnectionError) as error:
            raise SchedulerLost(self._message()) from error

    def _message(self) -> str:
        scheduler = self.client.scheduler
        where = "" if scheduler is None else f" at {scheduler.address}"
        return (
            f"the Dask scheduler{where} cannot be reached any more; start a cluster, connect a new "
            f"dask.distributed.Client to it and solve again"
        )


def tree_sum(run: Local | Cluster, parts: Sequence[Any], fan_in: int = 16) -> Any:
    """Return the sum of results, added up in a tree on the workers, as arrays or tuples of arrays.

    Examples
    --------
    >>> import numpy as np
    >>> run = runner()
    >>> tree_sum(run, run.each(np.zeros, [3] * 40)).tolist()
    [0.0, 0.0, 0.0]
    """
    level = list(parts)
    while len(level) > 1:
        level = run.each(added, [level[start : start + fan_in] for start in range(0, len(level), fan_in)])
    return run.fetch(level)[0]


def _cut(items: list[Any], count: int) -> list[list[Any]]:
    """Return consecutive items in at most so many groups of nearly equal size."""
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
