"""Blocks: the next batches of an elastic loader, with the state after each.

The side-car makes them (`loader.batches` of docs/format/serve.md), so order and state have one
implementation. It keeps nothing: a state says where a block begins. So a side-car that has died is
replaced, and the new one goes on with the same batches.
"""

from __future__ import annotations

import json
import logging
import mmap
import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from bivouac import errors
from bivouac._call import Call
from bivouac._client import connection

if TYPE_CHECKING:
    from bivouac.torch._sampling import Ids

__all__ = ["Block", "Course", "Place", "Planner", "ask"]

logger = logging.getLogger("bivouac.torch")

_FIRST = 32  # batches of the first block, so that it comes at once
_MOST = 1024  # batches of a block
_IDS = 1 << 16  # ids of a block
_GLOBAL = 1 << 18  # ids of a block over all ranks
_TRIES = 2  # side-cars that are tried after one that has died

Words = np.ndarray[Any, np.dtype[np.int64]]


def ask(op: str, args: dict[str, Any], call: Call | None = None) -> Call:
    """Return an operation of the side-car that has ended well.

    A side-car that has died is replaced, because these operations leave nothing behind. If
    side-cars die again and again, the error is Died.

    Args:
      op: the operation.
      args: its arguments.
      call: the operation, if it was begun.
    """
    for tries in range(_TRIES, -1, -1):
        try:
            if call is None:
                call = connection().start(op, **args)
            call.result()
            return call
        except (errors.Died, errors.Closed) as err:  # closed: in a process that was forked
            if tries == 0:
                raise
            logger.warning("%s (the loader asks a new one for the same batches)", err)
            call = None
    raise AssertionError


class Block:
    """A Block is some batches of an epoch that follow each other.

    Attributes:
      batches: how many batches it has.
      ended: the epoch ends behind them.
      epoch: the epoch of the batches.
      base_seed: the seed of the workers in this epoch.
    """

    __slots__ = (
        "_bounds",
        "_ends",
        "_ids",
        "_memory",
        "_repeats",
        "_seeds",
        "_text",
        "base_seed",
        "batches",
        "ended",
        "epoch",
    )

    def __init__(self, value: dict[str, Any], fd: int, seeds: bool) -> None:
        """Map the memory of an answer. The descriptor is closed."""
        try:
            self._memory = mmap.mmap(fd, int(value["bytes"]), prot=mmap.PROT_READ)
        finally:
            os.close(fd)
        self.batches = int(value["batches"])
        self.ended = bool(value["ended"])
        self.epoch = int(value["epoch"])
        self.base_seed = int(value["workers"])
        ids, states = int(value["ids"]), int(value["states"])
        at = 0

        def take(n: int, kind: Any = np.int64) -> Any:
            nonlocal at
            words = np.frombuffer(self._memory, kind, n, at)
            at += 8 * n
            return words

        self._ids: Words = take(ids)
        self._seeds = take(ids, np.uint64) if seeds else None
        self._ends: list[int] = [0, *take(self.batches).tolist()]
        take(self.batches)  # positions in the stream
        self._repeats: Words = take(self.batches)
        self._bounds: Words = take(states + 1)
        self._text = at

    def ids(self, i: int) -> list[int]:
        """Return the ids of batch i."""
        ids: list[int] = self._ids[self._ends[i] : self._ends[i + 1]].tolist()
        return ids

    def seeds(self, i: int) -> bytes | None:
        """Return the seeds of the samples of batch i as words of 64 bits, or None."""
        if self._seeds is None:
            return None
        seeds: bytes = self._seeds[self._ends[i] : self._ends[i + 1]].tobytes()
        return seeds

    def repeated(self, i: int) -> int:
        """Return how many samples of batch i another rank delivers too."""
        return int(self._repeats[i])

    def state(self, i: int) -> str:
        """Return the state after i batches. After one more than there are, the epoch has ended."""
        start, end = int(self._bounds[i]), int(self._bounds[i + 1])
        return self._memory[self._text + start : self._text + end].decode()


class Place:
    """A Place is where a loader stands: in a block, after some of its batches."""

    __slots__ = ("block", "index")

    def __init__(self, block: Block, index: int) -> None:
        self.block = block
        self.index = index

    @property
    def epoch(self) -> int:
        """The epoch of the place."""
        return self.block.epoch + (self.index > self.block.batches)

    def text(self) -> str:
        """Return the state."""
        return self.block.state(self.index)


class Planner:
    """A Planner asks for blocks. It asks for the next one while one is used."""

    def __init__(self, options: dict[str, Any], global_batch: int, ids: Ids | None) -> None:
        """Take the options of the loader, as `loader.batches` names them.

        Args:
          options: the options.
          global_batch: samples of a batch over all ranks.
          ids: the user's sampler, or None.
        """
        self._options = options
        self._global = global_batch
        self._ids = ids
        self._seeds = bool(options.get("seeds"))
        self._next: tuple[Block, Call, dict[str, Any]] | None = None  # behind that block
        self._warned: set[str] = set()

    def begin(self, state: str | None, epoch: int | None = None) -> Block:
        """Return the first block after a state. None is the start of the first epoch.

        Args:
          state: the state.
          epoch: leave epochs out up to this one.
        """
        pending, self._next = self._next, None
        if pending is not None:
            pending[1].cancel()
        args = self._args(state, epoch, _FIRST)
        block = self._wait(None, args)
        self._ask(block)
        return block

    def after(self, block: Block) -> Block:
        """Return the block that follows a block."""
        pending, self._next = self._next, None
        if pending is not None and pending[0] is block:
            made = self._wait(pending[1], pending[2])
        else:
            made = self._wait(None, self._following(block))
        self._ask(made)
        return made

    def _following(self, block: Block) -> dict[str, Any]:
        """Return the arguments of the call for the block behind a block."""
        last = block.batches + 1 if block.ended else block.batches
        return self._args(block.state(last), None, _MOST)

    def _ask(self, block: Block) -> None:
        """Ask for the block behind a block, and do not wait."""
        if block.ended and self._ids is not None:
            return  # the sampler is not asked for another epoch while one goes on
        try:
            args = self._following(block)
            self._next = block, connection().start("loader.batches", **args), args
        except errors.BivouacError:
            self._next = None  # it is asked for again when it is needed

    def _args(self, state: str | None, epoch: int | None, batches: int) -> dict[str, Any]:
        """Return the arguments of a call."""
        batches = max(1, min(batches, _GLOBAL // self._global))
        args = {**self._options, "state": state, "epoch": epoch, "batches": batches, "ids": _IDS}
        if self._ids is not None:
            at, now = _place_of(state)
            if epoch is not None and epoch != now:
                at, now = 0, epoch
            args["sampler"] = self._ids.part(now, at, batches * self._global)
        return args

    def _wait(self, call: Call | None, args: dict[str, Any]) -> Block:
        """Wait for a block."""
        call = ask("loader.batches", args, call)
        value = call.value()
        for text in value["warnings"]:
            if text not in self._warned:
                self._warned.add(text)
                warnings.warn(_spelled(text), stacklevel=6)
        return Block(value, call.fds.pop(), self._seeds)


class Course:
    """A Course is where an elastic loader stands. The loader and its iterator share it.

    Attributes:
      turn: the number of the iterator that moves the place.
      begun: a batch of the pass was asked for.
    """

    def __init__(self, options: dict[str, Any], global_batch: int, ids: Ids | None) -> None:
        """Take what a Planner takes."""
        self._made_of = options, global_batch, ids
        self._planner: Planner | None = None
        self._place: Place | None = None
        self._saved: str | None = None  # the state, while there is no place
        self.turn = 0
        self.begun = False

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs. It goes on as from a state."""
        saved = self._saved if self._place is None else self._place.text()
        gone = {"_planner": None, "_place": None, "_saved": saved, "begun": False}
        return {**self.__dict__, **gone}

    @property
    def planner(self) -> Planner:
        """What asks for blocks."""
        if self._planner is None:
            self._planner = Planner(*self._made_of)
        return self._planner

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return self.place.epoch

    @property
    def place(self) -> Place:
        """The place. It covers the batches that were delivered."""
        if self._place is None:
            self._place = Place(self.planner.begin(self._saved), 0)
        return self._place

    def text(self) -> str:
        """Return the state."""
        if self._place is None and self._saved is not None:
            return self._saved
        return self.place.text()

    def load(self, text: str | None) -> None:
        """Go to a state. None is the start of the first epoch."""
        self.move(Place(self.planner.begin(text), 0))
        self.begun = False

    def leave(self, epoch: int) -> None:
        """Go to the beginning of a later epoch."""
        self.move(Place(self.planner.begin(self.text(), epoch), 0))
        self.begun = False

    def move(self, place: Place) -> None:
        """Go to a place."""
        self._place = place


def _place_of(state: str | None) -> tuple[int, int]:
    """Return index and epoch of a state, which the side-car has not checked yet."""
    if state is None:
        return 0, 0
    try:
        document = json.loads(state)
        index, epoch = document["extra"]["index"], document.get("epoch", 0)
    except (ValueError, KeyError, TypeError, AttributeError):
        return 0, 0
    plain = type(index) is int and type(epoch) is int and index >= 0 and epoch >= 0
    return (index, epoch) if plain else (0, 0)


def _spelled(text: str) -> str:
    """Return a warning of the side-car with options named as in Python."""
    for name, ours in (
        ("set Tail to order.Drop", "set drop_last=True"),
        ("Uneven to RepeatSample", 'uneven="repeat sample"'),
        ("LastBatch tells which", "last_batch_repeated tells how many"),
    ):
        text = text.replace(name, ours)
    return text
