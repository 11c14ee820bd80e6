"""The worker process: it reads tasks from a socket, and answers with packed batches."""

from __future__ import annotations

import array
import multiprocessing
import os
import pickle
import random
import select
import socket
import struct
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from bivouac.torch import _collate, _generator, _start
from bivouac.torch._failure import Failure
from bivouac.torch._fetch import Fetcher, IterableFetcher, make_fetcher
from bivouac.torch._seeds import SeededFetcher
from bivouac.torch._slots import Writer
from bivouac.torch._state import load_into
from bivouac.torch._streams import StreamsFetcher
from bivouac.torch._worker_info import WorkerInfo, inform

__all__ = ["WorkerSpec", "run"]

READY, DATA, END, FAILURE = range(4)
HEAD = struct.Struct("<Q")
_CHECK = 500  # milliseconds after which a worker looks whether its parent is alive
MAP, STATEFUL, REPLAY, STREAMS = range(4)
"""What it takes to replace a worker: nothing, its state, reading from the beginning, or the states
of its streams."""


@dataclass
class WorkerSpec:
    """A WorkerSpec is what a worker begins with."""

    worker: int
    num_workers: int
    base_seed: int
    dataset: Any
    iterable: bool
    batched: bool
    collate: Any
    drop_last: bool
    init: Any
    torch: bool
    elastic: bool = False
    streams: bool = False
    seeds: bool = False  # of the items of streams
    lane: Any = None  # the Lane that it goes on from, or the Lanes of its streams
    skip_items: int = 0  # items of an iterable that it reads first and leaves out


class _Gone(Exception):
    """The trainer has closed the socket, or has ended."""


class _Link:
    """A _Link is the worker's end of the socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = bytearray()
        self._parent = os.getppid()
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        parent = multiprocessing.parent_process()
        if parent is not None and parent.sentinel is not None:
            self._poll.register(parent.sentinel, select.POLLIN)

    def receive(self) -> Any:
        """Return the next message of the trainer."""
        buffer = self._buffer
        while True:
            if len(buffer) >= 8:
                (size,) = HEAD.unpack_from(buffer)
                if len(buffer) >= 8 + size:
                    message = pickle.loads(memoryview(buffer)[8 : 8 + size])
                    self._buffer = buffer[8 + size :]
                    return message
            ready = self._poll.poll(_CHECK)
            if all(fd != self._sock.fileno() for fd, _ in ready):
                if ready or os.getppid() != self._parent:
                    raise _Gone
                continue
            data = self._sock.recv(1 << 16)
            if not data:
                raise _Gone
            buffer += data

    def send(self, message: Any, fds: list[int]) -> None:
        """Send a message, with descriptors that are closed then."""
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        data = HEAD.pack(len(body)) + body
        sent = 0
        try:
            if fds:
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))
                sent = self._sock.sendmsg([data], [rights])
            if sent < len(data):
                self._sock.sendall(memoryview(data)[sent:])
        finally:
            while fds:
                os.close(fds.pop())


def run(sock: socket.socket, spec: WorkerSpec) -> None:
    """Run the worker until the trainer closes the socket."""
    _start.begin(sock)
    try:
        _Worker(sock, spec).serve()
    except (_Gone, BrokenPipeError, ConnectionResetError):
        pass


class _Worker:
    """A _Worker does the tasks of one worker process."""

    def __init__(self, sock: socket.socket, spec: WorkerSpec) -> None:
        self._link = _Link(sock)
        self._spec = spec
        self._where = f"in DataLoader worker process {spec.worker}"
        self._writer = Writer(spec.num_workers)
        self._fetcher: Fetcher | None = None
        self._failure: Failure | None = None  # of the beginning, for the first task
        self._ended = False
        self._dataset = spec.dataset
        own = spec.collate is _collate.default_collate
        self._collate = self._stack if own else spec.collate

    def serve(self) -> None:
        """Begin, and do the tasks."""
        _seed(self._spec)
        _inform(self._spec, self._dataset)
        self._begin(self._spec.init, self._spec.lane)
        while True:
            message = self._link.receive()
            if message is None:
                self._begin(None, None)
                continue
            self._task(*message)

    def _stack(self, samples: Any) -> Any:
        """Collate samples in the slot.

        Only what goes to the trainer may lie in a slot. The data set or a collate function of the
        user may keep what they collate, so they get memory of their own.
        """
        _collate.place = self._writer.place
        try:
            return _collate.default_collate(samples)
        finally:
            _collate.place = None

    def _begin(self, init: Any, lane: Any) -> None:
        """Open the data set, and report its state."""
        spec, failure, raw, kind = self._spec, None, None, MAP
        self._ended = False
        try:
            if init is not None:
                init(spec.worker)
            # The state of the data set comes first, then the iterator, then its state.
            if not spec.streams and lane is not None and lane[0] is not None:
                load_into(self._dataset, lane[0])
            fetcher: Fetcher
            if spec.streams:
                fetcher = StreamsFetcher(
                    self._dataset,
                    spec.batched,
                    self._collate,
                    spec.drop_last,
                    lane,
                    spec.seeds,
                    restore=False,
                )
            elif spec.elastic:
                fetcher = SeededFetcher(self._dataset, spec.batched, self._collate, restore=False)
            else:
                fetcher = make_fetcher(
                    spec.iterable, self._dataset, spec.batched, self._collate, spec.drop_last
                )
            self._fetcher = fetcher
            if lane is not None and not spec.streams:
                fetcher.load(lane)
            if spec.skip_items and isinstance(fetcher, IterableFetcher):
                fetcher.skip(spec.skip_items)
                fetcher.ended = False
                spec.skip_items = 0
            state = fetcher.state()
            if spec.streams:
                kind = STREAMS
            elif fetcher.stateful():
                kind = STATEFUL
            elif spec.iterable:
                kind = REPLAY
            raw = pickle.dumps(state, pickle.HIGHEST_PROTOCOL)
        except Exception as err:
            failure = Failure(err, self._where)
        self._link.send((READY, kind, raw, failure), [])

    def _task(self, seq: int, index: Any, want: bool, quiet: bool, freed: list[int]) -> None:
        """Do a task. A quiet one was delivered by the worker that this one replaces."""
        self._writer.release(freed)
        if self._ended:
            return
        kind, raw = DATA, None
        body: Any = None
        try:
            assert self._fetcher is not None
            try:
                batch = self._fetcher.fetch(index)
            except StopIteration:
                kind, self._ended, want = END, True, True
            if quiet:
                self._writer.drop()
                return
            if want:
                raw = pickle.dumps(self._fetcher.state(), pickle.HIGHEST_PROTOCOL)
            if kind == DATA:
                body = self._writer.pack(batch)
                del batch
        except Exception as err:
            self._writer.drop()
            if quiet:
                return
            kind, body, raw = FAILURE, Failure(err, self._where), None
        if kind == END:
            self._writer.drop()
        self._link.send((kind, seq, raw, body, len(self._writer.made)), self._writer.made)


def _seed(spec: WorkerSpec) -> None:
    """Seed the random numbers of Python, numpy and torch as torch does in a worker."""
    seed = spec.base_seed + spec.worker
    random.seed(seed)
    np.random.seed(_generator.numpy_seed(spec.base_seed, spec.worker))
    if spec.torch:
        torch: Any = __import__("torch")
        torch.set_num_threads(1)
        torch.manual_seed(seed)
    else:
        _generator.seed_default(seed)


def _inform(spec: WorkerSpec, dataset: Any) -> None:
    """Set what get_worker_info returns, here and in torch."""
    inform(WorkerInfo(spec.worker, spec.num_workers, spec.base_seed + spec.worker, dataset))
