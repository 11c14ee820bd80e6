"""Streams: an iterable data set in an elastic loader.

An iterable is read from its beginning, so a place in it is a place in each stream that reads it.
The number of streams is in the state and does not change. Any number of workers reads the streams,
and any number of ranks that divides their number. A stream takes the part of a worker in torch: it
has a copy of the data set, and `get_worker_info()` in it tells the number of the stream.

The state is made by the side-car (`loader.streams` of docs/format/serve.md) from a state and what
the streams have delivered since. So taking it is a call, which takes some hundred microseconds.
"""

from __future__ import annotations

import base64
import copy
import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bivouac import errors
from bivouac.torch import _worker_info
from bivouac.torch._blocks import ask
from bivouac.torch._fetch import Fetcher
from bivouac.torch._seeds import Seeder
from bivouac.torch._state import is_stateful

__all__ = ["NOTHING", "Lanes", "StreamPlace", "StreamsCourse", "StreamsFetcher", "merge_states"]

_SYNC = 1024  # batches after which the state is made, so that there is not much to go through
_SEEDS = 4096  # seeds that are asked for at once


@dataclass(frozen=True)
class StreamPlace:
    """A StreamPlace is where a stream stands.

    Attributes:
      stream: its number.
      streams: how many streams there are.
      seed: the seed of the stream in this epoch.
      items: items that it has read in this epoch.
      ended: there are no more.
      dataset, iterator: their states as JSON, or None.
      initial: the state of the data set before the pass.
      flags: whether the data set has a state, whether the iterator has one, whether they are one.
      empty: the last task found the end, and no batch.
    """

    stream: int
    streams: int
    seed: int
    items: int
    ended: bool
    dataset: str | None
    iterator: str | None
    initial: str | None = None
    flags: tuple[bool, bool, bool] = (False, True, False)
    empty: bool = False


Lanes = dict[int, StreamPlace]
"""The streams of a worker by their numbers."""

NOTHING = None
"""What a task gives that finds the end of its stream."""


def _text(value: Any, what: str) -> str | None:
    """Return the state of a value of the user as JSON, or None if it has none."""
    if not is_stateful(value):
        return None
    from bivouac._job import values  # it imports much

    try:
        return json.dumps(values.encode(value.state_dict(), f"the state of the {what}"))
    except errors.Invalid as err:
        raise errors.Invalid(
            op="StatefulDataLoader", subject=err.subject, want=err.want, got=err.got
        ) from err


def _load(value: Any, text: str, what: str) -> None:
    """Load a state into a value of the user."""
    from bivouac._job import values

    try:
        state = values.decode(json.loads(text))
    except ValueError as err:
        raise errors.Corrupt(
            op="StatefulDataLoader",
            subject=f"the state of the {what}",
            want="JSON, as Python writes it",
            got=text[:40],
        ) from err
    if not is_stateful(value):
        raise errors.Mismatch(
            op="StatefulDataLoader",
            subject=what,
            want="one with load_state_dict, as before",
            got="one without a state",
        )
    value.load_state_dict(state)


class _Stream:
    """A _Stream reads one stream."""

    def __init__(self, dataset: Any, place: StreamPlace, seeder: Seeder | None) -> None:
        """Open a stream: the state of the data set, then the iterator, then its state."""
        self.place = place
        info = _worker_info.WorkerInfo(place.stream, place.streams, place.seed, dataset)
        self._info = info
        self._seeder = seeder
        with _worker_info.inside(info):
            if seeder is not None:
                seeder.seed(place.seed)
            if place.dataset is not None:
                _load(dataset, place.dataset, "data set")
            initial = _text(dataset, "data set")
            self._iterator = iter(dataset)
            own = self._iterator is dataset
            flags = is_stateful(dataset), is_stateful(self._iterator), own
            if not (flags[0] or flags[1]):
                raise errors.Unsupported(
                    op="StatefulDataLoader",
                    subject="dataset",
                    want="state_dict and load_state_dict, of the data set or of its iterator, with "
                    "elastic=True",
                    got=f"{type(dataset).__name__}, an iterable without a state",
                    remedy="without a state a resume reads everything again; give the iterator a "
                    "state, or leave elastic out",
                )
            if place.iterator is not None:
                _load(self._iterator, place.iterator, "iterator")
        self._dataset = dataset
        self.place = replace(place, initial=initial, flags=flags, empty=False)

    def read(self, n: int, seeds: list[int] | None) -> list[Any]:
        """Return the next n items, or fewer at the end."""
        data: list[Any] = []
        place = self.place
        ended = place.ended
        with _worker_info.inside(self._info):
            for k in range(0 if ended else n):
                if seeds is not None and self._seeder is not None:
                    self._seeder.seed(seeds[k])
                try:
                    data.append(next(self._iterator))
                except StopIteration:
                    ended = True
                    break
        own = place.flags[2]
        self.place = replace(
            place,
            items=place.items + len(data),
            ended=ended,
            dataset=None if own else _text(self._dataset, "data set"),
            iterator=_text(self._iterator, "iterator"),
        )
        return data


class StreamsFetcher(Fetcher):
    """A StreamsFetcher reads the streams of a worker, or of the trainer.

    A task is the number of a stream, how many items it wants, and their seeds or None.
    """

    def __init__(
        self,
        dataset: Any,
        batched: bool,
        collate: Any,
        drop_last: bool,
        lanes: Lanes,
        seeds: bool,
        restore: bool,
    ) -> None:
        super().__init__(dataset, batched, collate, drop_last)
        self._seeder = Seeder(restore) if seeds else None
        self._read: Lanes = {}
        self._streams: dict[int, _Stream] = {}
        if self._seeder is not None:
            self._seeder.begin()
        try:
            for number, place in lanes.items():
                self._streams[number] = _Stream(self._copy(lanes), place, self._seeder)
                self._read[number] = self._streams[number].place
        finally:
            if self._seeder is not None:
                self._seeder.end()

    def _copy(self, lanes: Lanes) -> Any:
        """Return a data set for a stream: a copy if there are several streams here."""
        if len(lanes) == 1:
            return self.dataset
        try:
            return copy.deepcopy(self.dataset)
        except Exception as err:
            raise errors.Unsupported(
                op="StatefulDataLoader",
                subject="dataset",
                want=f"a data set that copy.deepcopy copies, for {len(lanes)} streams in a process",
                got=f"{type(err).__name__}: {err}",
                remedy="open files in __iter__, or have as many workers as streams",
            ) from err

    def fetch(self, index: Any) -> Any:
        """Return the batch of a task, or NOTHING at the end of the stream."""
        number, n, words = index
        seeds = None if words is None else np.frombuffer(words, np.uint64).tolist()
        stream = self._streams[number]
        seeder = self._seeder
        if seeder is not None:
            seeder.begin()
        try:
            data = stream.read(n, seeds)
            empty = not data or (self._drop_last and len(data) < n)
            ended = stream.place.ended or empty
            self._read = {number: replace(stream.place, empty=empty, ended=ended)}
            if empty:
                return NOTHING
            return self._collate(data if self._batched else data[0])
        except StopIteration as err:
            raise RuntimeError(f"the collate function raised StopIteration: {err}") from err
        finally:
            if seeder is not None:
                seeder.end()

    def state(self) -> Any:
        """Return the places of the streams that the last task has read; at first, of all."""
        return self._read

    def stateful(self) -> bool:
        """Report that there are states."""
        return True


class StreamsCourse:
    """A StreamsCourse is where an elastic loader of streams stands.

    It has a state of the side-car, and what the streams have delivered since.

    Attributes:
      turn: the number of the iterator that moves the place.
      begun: a batch of the pass was asked for.
    """

    def __init__(self, options: dict[str, Any], stateful: bool) -> None:
        """Take the options of the loader, and whether the data set has a state."""
        self._options = {k: v for k, v in options.items() if k != "seeds"}
        self.seeds = bool(options["seeds"])
        self._flags = (stateful, True, False)
        self._state: str | None = None
        self._described: dict[str, Any] | None = None  # what the side-car said of the state
        self._read: Lanes = {}  # streams that have read since
        self._delivered = 0
        self._ended = False
        self.turn = 0
        self.begun = False

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs. It goes on as from a state."""
        self.text()  # it counts what was read
        return {**self.__dict__, "_described": None, "begun": False}

    @property
    def rank(self) -> int:
        """The rank of this process."""
        return int(self._options["rank"])

    @property
    def world(self) -> int:
        """The number of ranks."""
        return int(self._options["world"])

    @property
    def batch_size(self) -> int:
        """The items of a batch."""
        return int(self._options["batch_size"])

    def described(self) -> dict[str, Any]:
        """Return what the side-car says of the state here: epoch, turn, streams."""
        if self._described is None or self._delivered or self._ended:
            self._go(self._ask(leave=False))
        assert self._described is not None
        return self._described

    def _args(self, state: str | None) -> dict[str, Any]:
        """Return the arguments of a call for a state."""
        dataset, iterator, own = self._flags
        flags = {"dataset": dataset, "iterator": iterator, "self": own}
        return {**self._options, **flags, "state": state}

    def _ask(self, leave: bool) -> dict[str, Any]:
        """Return what the side-car says of the state here, or behind the rest of the epoch."""
        before = {} if self._described is None else dict(enumerate(self._described["streams"]))
        read = [
            {
                "stream": number,
                "items": place.items - before[number]["items"],
                "ended": place.ended or self._ended,
                "initial": place.initial,
                "dataset": place.dataset,
                "iterator": place.iterator,
            }
            for number, place in self._read.items()
        ]
        args = {**self._args(self._state), "read": read, "leave": leave}
        args.update(delivered=self._delivered, end=self._ended)
        return ask("loader.streams", args).value()

    def _go(self, described: dict[str, Any]) -> None:
        """Take a state of the side-car."""
        self._described, self._state = described, described["state"]
        self._read, self._delivered, self._ended = {}, 0, False

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return int(self.described()["epoch"])

    def text(self) -> str:
        """Return the state."""
        return str(self.described()["state"])

    def load(self, text: str | None) -> None:
        """Go to a state. None is the start of the first epoch."""
        self._go(ask("loader.streams", self._args(text)).value())
        self.begun = False

    def leave(self, epoch: int) -> None:
        """Go to the beginning of a later epoch."""
        while self.epoch < epoch:
            self._go(self._ask(leave=True))
        self.begun = False

    def opened(self, lanes: Lanes) -> None:
        """Take what the streams say of themselves when they are open."""
        for place in lanes.values():
            self._flags = place.flags
            self._read.setdefault(place.stream, place)

    def delivered(self, lanes: Lanes, batch: bool) -> None:
        """Take the place of a stream behind a task, and whether it gave a batch."""
        self._read.update(lanes)
        self._delivered += batch
        if self._delivered >= _SYNC:
            self.described()

    def end(self) -> None:
        """Note the end of the epoch."""
        self._ended = True
        self.begun = False


class Seeds:
    """Seeds are the seeds of the items of one stream."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._first = 0
        self._words = b""

    def take(self, at: int, n: int) -> bytes:
        """Return n seeds from an item on."""
        start = 8 * (at - self._first)
        if start < 0 or start + 8 * n > len(self._words):
            args = {"seed": self._seed, "at": at, "n": max(n, _SEEDS)}
            self._words = base64.b64decode(ask("loader.seeds", args).value()["seeds"])
            self._first, start = at, 0
        return self._words[start : start + 8 * n]


def merge_states(states: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one state of the states of all ranks of an elastic loader of an iterable data set.

    The states are in the order of the ranks and belong to the same step. Any number of ranks that
    divides the number of streams goes on from the state. Ranks of a map-style data set have the
    same state, and need no merging.
    """
    texts = [json.dumps(state) for state in states]
    merged: dict[str, Any] = json.loads(ask("loader.merge", {"states": texts}).value()["state"])
    return merged
