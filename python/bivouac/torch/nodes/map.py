"""Mapper and ParallelMapper: a function over the items of a node."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar

from bivouac import errors
from bivouac.torch.nodes._ahead import Ahead, Call, Caller, Plan
from bivouac.torch.nodes._document import member
from bivouac.torch.nodes._remote import Remote
from bivouac.torch.nodes.base_node import BaseNode, T
from bivouac.torch.nodes.batch import Batcher, Unbatcher

__all__ = ["MapOverBatch", "Mapper", "ParallelMapper"]

X = TypeVar("X")

_WHERE = "in _apply_udf"


def Mapper(source: BaseNode[X], map_fn: Callable[[X], T]) -> ParallelMapper[T]:
    """Return the node that yields what a function makes of the items of a node.

    It is a ParallelMapper without workers, which calls the function in the thread of the caller.

    Args:
      source: the node that gives the items.
      map_fn: the function.
    """
    return ParallelMapper(source=source, map_fn=map_fn, num_workers=0)


class MapOverBatch(Generic[X, T]):
    """A MapOverBatch is a function over each item of a list."""

    def __init__(self, map_fn: Callable[[X], T]) -> None:
        self.map_fn = map_fn

    def __call__(self, xlist: Sequence[X]) -> Sequence[T]:
        return [self.map_fn(x) for x in xlist]


class _Inline(BaseNode[T]):
    """An _Inline calls the function in the thread of the caller."""

    SOURCE_KEY = "source"

    def __init__(self, source: BaseNode[Any], map_fn: Callable[[Any], T]) -> None:
        super().__init__()
        self.source = source
        self.map_fn = map_fn

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        if initial_state is None:
            self.source.reset()
        else:
            self.source.reset(member(initial_state, self.SOURCE_KEY, self))

    def next(self) -> T:
        return self.map_fn(next(self.source))

    def get_state(self) -> dict[str, Any]:
        return {self.SOURCE_KEY: self.source.state_dict()}


class _Parallel(BaseNode[T]):
    """A _Parallel calls the function in threads or processes, as its ParallelMapper says."""

    def __init__(self, of: ParallelMapper[Any], context: Any) -> None:
        super().__init__()
        # Not the ParallelMapper itself, which would be a cycle for the garbage collector.
        self.source, self.map_fn, self._context = of.source, of.map_fn, context
        self._workers, self._in_order = of.num_workers, of.in_order
        self._every = of.snapshot_frequency
        self._limit = 2 * of.num_workers if of.max_concurrent is None else of.max_concurrent
        self._it: Ahead[T] | None = None

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        if self._it is not None:
            self._it.close()
            self._it = None
        calls: list[Call] = []
        try:
            for _ in range(self._workers):
                calls.append(self._call())
            self._it = Ahead(self.source, self._plan(calls), initial_state)
        except BaseException:
            for call in calls:
                if isinstance(call, Caller):
                    call.close()
            raise

    def _call(self) -> Call:
        """Return what a worker calls."""
        if self._context is None:
            return self.map_fn
        return Remote(self._context, self.map_fn, _WHERE)

    def _plan(self, calls: Sequence[Call]) -> Plan:
        return Plan(
            name="ParallelMapper",
            limit=self._limit,
            every=self._every,
            reading="in _populate_queue",
            starting="in _populate_queue startup for device",
            calling=_WHERE,
            calls=calls,
            in_order=self._in_order,
        )

    def next(self) -> T:
        return next(self._it)  # type: ignore[arg-type]

    def get_state(self) -> dict[str, Any]:
        assert self._it is not None
        return self._it.get_state()


class ParallelMapper(BaseNode[T]):
    """A ParallelMapper yields what a function makes of the items of a node.

    Workers are threads or processes. A thread reads the source. A process that dies is replaced,
    and gets its item again. It raises Died if the same item ends three processes.

    Args:
      source: the node that gives the items.
      map_fn: the function.
      num_workers: how many workers call the function. 0 calls it in the thread of the caller.
      in_order: yield results in the order of the source. A state is exact in both cases.
      method: "thread" or "process". A process needs a function and items that pickle takes.
      multiprocessing_context: "fork", "spawn" or "forkserver". The default is Python's.
      max_concurrent: most items that are read and not delivered, at most `num_workers`. The
        default is twice as many as workers.
      snapshot_frequency: items from snapshot to snapshot of the source. A resume reads the items
        since the last snapshot again, but does not call the function over them.
      prebatch: how many items go to a worker at once.
    """

    IT_STATE_KEY = "it_state"

    def __init__(
        self,
        source: BaseNode[X],
        map_fn: Callable[[X], T],
        num_workers: int,
        in_order: bool = True,
        method: Literal["thread", "process"] = "thread",
        multiprocessing_context: str | None = None,
        max_concurrent: int | None = None,
        snapshot_frequency: int = 1,
        prebatch: int | None = None,
    ) -> None:
        super().__init__()
        if method not in ("thread", "process"):
            raise AssertionError(
                f"ParallelMapper: method: want 'thread' or 'process', got {method!r}"
            )
        if max_concurrent is not None and num_workers > 0:
            if max_concurrent > num_workers:
                raise ValueError(f"{max_concurrent=} should be <= {num_workers=}!")
            if max_concurrent < 1:
                raise errors.Invalid(
                    op="ParallelMapper",
                    subject="max_concurrent",
                    want=f"1 to {num_workers}",
                    got=str(max_concurrent),
                )
        if prebatch is not None and prebatch <= 0:
            raise ValueError(f"{prebatch=} must be a positive integer!")
        self.num_workers = num_workers
        self.in_order = in_order
        self.method = method
        self.multiprocessing_context = multiprocessing_context
        self.max_concurrent = max_concurrent
        self.snapshot_frequency = snapshot_frequency
        self.prebatch = prebatch
        self.source: BaseNode[Any] = source
        self.map_fn: Callable[[Any], Any] = map_fn
        if prebatch is not None:
            self.source = Batcher(source, batch_size=prebatch, drop_last=False)
            self.map_fn = MapOverBatch(map_fn)
        context: Any = None
        if method == "process":
            context = multiprocessing.get_context(multiprocessing_context)
        inner: BaseNode[Any]
        if num_workers > 0:
            inner = _Parallel(self, context)
        else:
            inner = _Inline(self.source, self.map_fn)
        self._it: BaseNode[T] = inner if prebatch is None else Unbatcher(inner)
        self._reads_ahead = num_workers > 0

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        if initial_state is None:
            self._it.reset()
        else:
            self._it.reset(member(initial_state, self.IT_STATE_KEY, self))

    def next(self) -> T:
        return next(self._it)

    def get_state(self) -> dict[str, Any]:
        return {self.IT_STATE_KEY: self._it.state_dict()}
