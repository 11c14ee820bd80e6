"""The worker process of parallel external sources: it calls sources, and packs what they give.

    trainer ─ task: source, number of the call, positions ─▶ worker ─▶ source
            ◀─ skeleton of the batch; its arrays lie in shared memory ─
"""

from __future__ import annotations

import dataclasses
import functools
import pickle
import socket
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bivouac._pipeline.sources import CALLABLE, GENERATOR, BatchInfo, SampleInfo
from bivouac._pipeline.tensors import TensorListCPU, as_numpy
from bivouac.torch import _start
from bivouac.torch._slots import Writer
from bivouac.torch._worker import DATA, END, FAILURE, MAP, READY, _Gone, _Link

__all__ = ["CALL", "Raised", "Sent", "Spec", "Task", "run"]

CALL = -1
"""The kind of a message that says: a call of a source begins."""


class Task(NamedTuple):
    """A Task is what a worker makes at a time: a batch, or a part of one.

    Attributes:
      source: the number of the source.
      call: the number of the call of an iterable, from 0. For functions it is 0.
      epoch, iteration: the batch.
      first: the number of the first sample in the batch.
      samples: how many samples. None is the whole batch in one call.
      size: how many samples a batch has.
    """

    source: int
    call: int
    epoch: int
    iteration: int
    first: int
    samples: int | None
    size: int


@dataclasses.dataclass
class Sent:
    """A Sent is a source as it goes to a worker.

    Attributes:
      given: what the program gave, or its pickle.
      kind, cycle: as a Source has them.
      batch_info: a function of batches takes a BatchInfo.
      loads: a function that unpickles, and its options; None if `given` is not pickled.
    """

    given: Any
    kind: str
    cycle: Any
    batch_info: bool
    loads: tuple[Callable[..., Any], dict[str, Any]] | None = None

    def opened(self) -> Any:
        """Return what the program gave."""
        if self.loads is None:
            return self.given
        function, options = self.loads
        return function(self.given, **options)


@dataclasses.dataclass
class Spec:
    """A Spec is what a worker begins with.

    Attributes:
      worker: its number.
      num_workers: how many there are.
      sources: the sources, by number.
      tells: it says when a call of a source begins, because calls have a time limit.
      lane, skip_items: of other workers.
    """

    worker: int
    num_workers: int
    sources: list[Sent]
    tells: bool
    lane: Any = None
    skip_items: int = 0


class Raised:
    """A Raised is an exception of a source. It travels to the trainer."""

    def __init__(self, err: BaseException) -> None:
        self.name = type(err).__name__
        self.said = str(err)
        self.text = "".join(traceback.format_exception(err))
        try:
            self._pickle: bytes | None = pickle.dumps(err)
            pickle.loads(self._pickle)
        except Exception:
            self._pickle = None

    def cause(self) -> BaseException:
        """Return the exception, or one with its text if it does not travel."""
        if self._pickle is not None:
            try:
                made = pickle.loads(self._pickle)
                if isinstance(made, BaseException):
                    return made
            except Exception:
                pass
        return RuntimeError(self.said)


def run(sock: socket.socket, spec: Spec) -> None:
    """Run the worker until the trainer closes the socket."""
    _start.begin(sock)
    try:
        _Worker(sock, spec).serve()
    except (_Gone, BrokenPipeError, ConnectionResetError):
        pass


class _Worker:
    """A _Worker does the tasks of one process."""

    def __init__(self, sock: socket.socket, spec: Spec) -> None:
        self._link = _Link(sock)
        self._spec = spec
        self._writer = Writer(spec.num_workers)
        self._opened: list[Any] = []
        self._iterated: dict[int, _Iterated] = {}

    def serve(self) -> None:
        """Begin, and do the tasks."""
        failure = None
        try:
            self._opened = [sent.opened() for sent in self._spec.sources]
        except BaseException as err:
            failure = Raised(err)
        self._link.send((READY, MAP, None, failure), [])
        while True:
            seq, task, _, _, freed = self._link.receive()
            self._writer.release(freed)
            self._do(seq, task)

    def _do(self, seq: int, task: Task) -> None:
        """Do a task."""
        kind = DATA
        body: Any = None
        try:
            try:
                made = self._made(seq, task)
            except StopIteration:
                kind = END
            else:
                body = self._writer.pack(made)
                del made
        except BaseException as err:  # also SystemExit: a source ends no process
            self._writer.drop()
            kind, body = FAILURE, Raised(err)
        made_slots = self._writer.made
        self._link.send((kind, seq, None, body, len(made_slots)), made_slots)

    def _made(self, seq: int, task: Task) -> Any:
        """Return what a source gives, as arrays in lists."""
        sent, given = self._spec.sources[task.source], self._opened[task.source]
        if sent.kind != CALLABLE:
            iterated = self._iterated.get(task.source)
            if iterated is None:
                iterated = self._iterated[task.source] = _Iterated(sent.kind, given, sent.cycle)
            while iterated.calls < task.call:  # those that a worker before this one has made
                try:
                    iterated()
                except Exception:
                    pass
            self._tell(seq)
            return _arrays(iterated())
        if task.samples is None:
            self._tell(seq)
            batch = BatchInfo(task.iteration, task.epoch) if sent.batch_info else task.iteration
            return _arrays(given(batch))
        samples = []
        for i in range(task.first, task.first + task.samples):
            self._tell(seq)
            at = task.iteration * task.size + i
            samples.append(_arrays(given(SampleInfo(at, i, task.iteration, task.epoch))))
        return samples

    def _tell(self, seq: int) -> None:
        """Say that a call begins."""
        if self._spec.tells:
            self._link.send((CALL, seq), [])


class _Iterated:
    """An _Iterated is an iterable or a generator function whose batches come one after the other.

    After its end it gives nothing, unless it cycles.
    """

    def __init__(self, kind: str, given: Any, cycle: Any) -> None:
        begin = given if kind == GENERATOR else functools.partial(iter, given)
        self._begin: Callable[[], Any] = begin
        self._cycles = cycle in (True, "quiet", "raise")
        self._signals = cycle == "raise"
        self._iterator: Iterator[Any] | None = None
        self._over = False
        self.calls = 0

    def __call__(self) -> Any:
        self.calls += 1
        if self._over:
            raise StopIteration
        if self._iterator is None:
            self._iterator = iter(self._begin())
        try:
            return next(self._iterator)
        except StopIteration:
            if not self._cycles:
                self._over = True
                raise
            self._iterator = iter(self._begin())
            if self._signals:
                raise
            return next(self._iterator)


def _arrays(value: Any) -> Any:
    """Return arrays in place of what a source has given. Their memory is shared if it can be."""
    if isinstance(value, (list, tuple)):
        return [_arrays(one) for one in value]
    if isinstance(value, TensorListCPU):
        return [_arrays(one) for one in value.views()]
    return np.asarray(as_numpy(value))
