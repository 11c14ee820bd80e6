"""When calls are computed, and with how many threads: modes and contexts."""

from __future__ import annotations

import enum
import itertools
import os
import threading
from typing import TYPE_CHECKING, Any

from bivouac import errors
from bivouac._dynamic import device as _device
from bivouac._dynamic import session as _session
from bivouac._dynamic.session import Scope
from bivouac._pipeline.refusals import BrokenGraph, WrongType

if TYPE_CHECKING:
    from bivouac._dynamic.checkpoint import Checkpoint

__all__ = ["EvalContext", "EvalMode", "ThreadPool", "get_num_threads", "scope", "set_num_threads"]


class EvalMode(enum.Enum):
    """An EvalMode says when calls are computed.

    Attributes:
      deferred: when a value is needed. Errors show then.
      eager: in the background, from the call on. Errors show when a value is needed.
      sync_cpu, sync_full: before the call returns. Errors show at the call.
      default: eager.
    """

    deferred = enum.auto()
    eager = enum.auto()
    sync_cpu = enum.auto()
    sync_full = enum.auto()

    default = eager

    def __enter__(self) -> None:
        _state.modes.append(self)
        _state.scope = None

    def __exit__(self, *_: Any) -> None:
        _state.modes.pop()
        _state.scope = None

    @staticmethod
    def current() -> EvalMode:
        """Return the mode of this thread."""
        return _state.modes[-1]


class _State(threading.local):
    """What a thread has."""

    def __init__(self) -> None:
        self.modes: list[EvalMode] = [EvalMode.eager]
        self.contexts: list[EvalContext] = []
        self.default: EvalContext | None = None
        self.scope: Scope | None = None


_state = _State()
_words = {
    EvalMode.deferred: "deferred",
    EvalMode.eager: "eager",
    EvalMode.sync_cpu: "sync",
    EvalMode.sync_full: "sync",
}


def scope() -> Scope:
    """Return how a call of this thread is computed now."""
    found = _state.scope
    if found is None:
        context = EvalContext.current()
        found = Scope(_words[_state.modes[-1]], context._number, _threads_of(context))
        _state.scope = found
    return found


_chosen_threads: int | None = None
_MOST_PER_CPU = 100


def get_num_threads() -> int:
    """Return how many threads compute calls of a context that says nothing about it.

    It is the number of `set_num_threads`, of the environment variable DALI_NUM_THREADS, or else the
    number of CPUs that the process may use.
    """
    if _chosen_threads is not None:
        return _chosen_threads
    given = os.environ.get("DALI_NUM_THREADS")
    return int(given) if given else len(os.sched_getaffinity(0))


def set_num_threads(n: int | None) -> None:
    """Set the number of threads, for contexts that say nothing about it. None is the default."""
    global _chosen_threads
    if n is not None and not isinstance(n, int):
        raise WrongType(subject="number of threads", want="an int", got=repr(n))
    most = (os.cpu_count() or 1) * _MOST_PER_CPU
    if n is not None and not 0 < n <= most:
        raise errors.Invalid(subject="number of threads", want=f"1 to {most}", got=str(n))
    _chosen_threads = n
    _state.scope = None


class ThreadPool:
    """A ThreadPool is a number of threads. The threads themselves are in the side-car."""

    def __init__(self, num_threads: int | None = None, *, device_id: int | None = None) -> None:
        if device_id is not None and device_id >= 0:
            _device.Device("gpu", device_id)
        if num_threads is not None and num_threads < 1:
            raise errors.Invalid(
                subject="number of threads", want="at least 1", got=str(num_threads)
            )
        self._number = get_num_threads() if num_threads is None else num_threads

    @property
    def num_threads(self) -> int:
        """How many threads it has."""
        return self._number

    @property
    def device_id(self) -> None:
        """None: there is no GPU."""


_numbers = itertools.count(1)


class EvalContext:
    """An EvalContext computes calls with its own threads, and has a checkpoint.

    In `with context:` the calls of this thread are computed by it. Each thread has a default one.

    Args:
      num_threads: how many threads it has.
      device_id: None.
      cuda_stream: None.
      thread_pool: a ThreadPool, instead of `num_threads`.
    """

    def __init__(
        self,
        *,
        num_threads: int | None = None,
        device_id: int | None = None,
        cuda_stream: Any = None,
        thread_pool: ThreadPool | None = None,
    ) -> None:
        if device_id is not None:
            _device.Device("gpu", device_id)
        if cuda_stream is not None:
            _device.Stream(stream=cuda_stream)
        if thread_pool is not None and num_threads is not None:
            raise errors.Invalid(
                subject="EvalContext", want="thread_pool or num_threads", got="both"
            )
        if num_threads is not None:
            thread_pool = ThreadPool(num_threads)
        self._pool = thread_pool
        self._number = next(_numbers)
        self._lock = threading.RLock()
        self._checkpoint: Checkpoint | None = None

    def __del__(self) -> None:
        # It only appends, so that it never blocks in a collection.
        session = None if _session is None else _session._session  # None at the end of Python
        if session is not None and hasattr(self, "_number"):
            session.dropped_contexts.append(self._number)

    @property
    def num_threads(self) -> int:
        """How many threads compute its calls."""
        return self.thread_pool.num_threads

    @property
    def thread_pool(self) -> ThreadPool:
        """Its ThreadPool."""
        return self._pool or ThreadPool()

    @property
    def device_id(self) -> None:
        """None: there is no GPU."""

    @property
    def cuda_stream(self) -> None:
        """None: there is no stream."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint of this context. It keeps its contents until `clear`."""
        if self._checkpoint is None:
            from bivouac._dynamic.checkpoint import Checkpoint

            self._checkpoint = Checkpoint()
        return self._checkpoint

    @staticmethod
    def current() -> EvalContext:
        """Return the context of the innermost `with` of this thread, or its default one."""
        return _state.contexts[-1] if _state.contexts else EvalContext.default()

    @staticmethod
    def default() -> EvalContext:
        """Return the default context of this thread."""
        if _state.default is None:
            _state.default = EvalContext()
        return _state.default

    def __enter__(self) -> EvalContext:
        if not self._lock.acquire(blocking=False):
            raise BrokenGraph(
                subject="EvalContext", want="one thread at a time", got="another thread in it"
            )
        _state.contexts.append(self)
        _state.scope = None
        return self

    def __exit__(self, *_: Any) -> None:
        _state.contexts.pop()
        _state.scope = None
        self._lock.release()

    def evaluate_all(self) -> None:
        """Compute all calls of this context. Raise the error of the first one that failed."""
        mode = _words[EvalMode.current()]
        _session.current().evaluate_all(Scope(mode, self._number, _threads_of(self)))

    def cached_results(self, invocation: Any) -> None:
        """Return None. It is there for programs that call it."""

    def cache_results(self, invocation: Any, results: Any) -> None:
        """Do nothing. It is there for programs that call it."""


def _threads_of(context: EvalContext) -> int:
    """Return how many threads the side-car gives a context."""
    return get_num_threads() if context._pool is None else context._pool.num_threads
