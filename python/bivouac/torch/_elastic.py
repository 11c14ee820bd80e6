"""Elastic loaders: Bivouac's own order and state, for any number of workers and ranks.

The stream is a function of data set, seed and position. A state is a position, so it fits any
number of workers and ranks and any size of batches. The document is the one of the Go package
`loader`: either language goes on from the other's states.

`Elastic` is the part of a StatefulDataLoader that knows where it stands. `MapElastic` is over data
sets that are read by index, `StreamsElastic` over iterable ones.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from bivouac import errors
from bivouac.torch import _blocks, _elastic_iterators, _streams, _streams_iterators
from bivouac.torch._crew import Crew
from bivouac.torch._elastic_checks import (
    LOAD,
    OP,
    name_of,
    no_empty_epochs,
    ranks,
    seed_of,
    streams_of,
    text_of,
    uneven_of,
)
from bivouac.torch._sampling import Ids, fingerprint_of
from bivouac.torch._state import is_stateful

if TYPE_CHECKING:
    from bivouac.torch._loader import StatefulDataLoader

__all__ = ["Elastic", "make"]


class Course(Protocol):
    """A Course is where a loader stands.

    Attributes:
      turn: the number of the iterator that moves it.
      begun: a batch of the pass was asked for.
    """

    turn: int
    begun: bool

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""

    def text(self) -> str:
        """Return the state."""

    def load(self, text: str | None) -> None:
        """Go to a state. None is the start of the first epoch."""

    def leave(self, epoch: int) -> None:
        """Go to the beginning of a later epoch."""


class Pass(Protocol):
    """A Pass is an iterator of an elastic loader."""

    repeated: int

    def __iter__(self) -> Pass:
        """Return the iterator."""

    def __next__(self) -> Any:
        """Return the next batch."""

    def __len__(self) -> int:
        """Return how many batches an epoch has."""

    def leave(self, keep: bool) -> Crew | None:
        """End the iterator. Return its workers if they are kept."""


class Elastic:
    """An Elastic is the place of an elastic loader, and makes its iterators."""

    def __init__(self, dataset: Any, options: dict[str, Any], course: Course) -> None:
        self._dataset = dataset
        self._options = options
        self._course = course
        self._iterator: Pass | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs."""
        return {**self.__dict__, "_iterator": None}

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return self._course.epoch

    def set_epoch(self, epoch: int) -> None:
        """Make the next pass that of an epoch. The epochs between are left out.

        If the loader stands in that epoch, the next pass is the rest of it.
        """
        now = self.epoch
        if not isinstance(epoch, int) or epoch < now:
            raise errors.Sequence(
                op=f"{OP}.set_epoch",
                subject="epoch",
                want=f"{now}, where the loader stands, or a later one",
                got=repr(epoch),
                remedy="make a new loader for earlier epochs",
            )
        if epoch > now:
            self._course.leave(epoch)
            self._drop_iterator()
        self._course.begun = False

    @property
    def last_batch_repeated(self) -> int:
        """How many samples of the last batch another rank delivers too."""
        return 0 if self._iterator is None else self._iterator.repeated

    def length(self) -> int:
        """Return how many batches an epoch has."""
        raise NotImplementedError

    def iterate(self, loader: StatefulDataLoader) -> Pass:
        """Begin a pass: the rest of the epoch after a state, else a whole epoch."""
        self._check()
        course = self._course
        if course.begun:  # the pass before was broken off
            course.leave(course.epoch + 1)
        crew = self._drop_iterator(loader.persistent_workers)
        self._iterator = self._begin(loader, crew)
        return self._iterator

    def _check(self) -> None:
        """Refuse a data set that has changed."""

    def _begin(self, loader: StatefulDataLoader, crew: Crew | None) -> Pass:
        """Make an iterator, with the workers of the one before if they are kept."""
        raise NotImplementedError

    def _drop_iterator(self, keep: bool = False) -> Crew | None:
        """End the iterator. Return its workers if they are kept."""
        iterator, self._iterator = self._iterator, None
        self._course.turn += 1
        return None if iterator is None else iterator.leave(keep)

    def state_dict(self) -> dict[str, Any]:
        """Return the state as the members of its document."""
        state: dict[str, Any] = json.loads(self._course.text())
        return state

    def merge_states(self, states: list[dict[str, Any]]) -> dict[str, Any]:
        """Return one state of the states of all ranks, in the order of the ranks.

        bivouac.Job calls it when a run goes on with another number of processes.
        """
        if "streams" in self._options:
            from bivouac.torch._streams import merge_states

            return merge_states(states)
        return states[0]

    def load(self, state: Any) -> None:
        """Go on from a state. None is the start of the first epoch."""
        text = text_of(state)
        try:
            self._course.load(text)
        except errors.Mismatch as err:
            raise self._explained(err, json.loads(text or "{}")) from err
        self._drop_iterator()

    def _explained(self, err: errors.Mismatch, state: dict[str, Any]) -> errors.Mismatch:
        """Return the error of a state that does not fit, with the arguments' names of Python."""
        fields, options = state.get("fields") or {}, self._options
        if state.get("kind") != "loader":
            return _differs("kind", "a state of a loader", f"a state of a {state.get('kind')}", err)
        kinds = ("a map-style data set", "an iterable data set")
        if (fields.get("data") == "iterable") is not ("streams" in options):
            want, got = kinds if "streams" not in options else kinds[::-1]
            return _differs("dataset", f"a state of {want}", f"a state of {got}", err)
        saved = fields.get("samples")
        if saved is not None and saved != str(options.get("samples")):
            want, got = f"the {saved} samples of the state", str(options.get("samples"))
            return _differs("dataset", want, got, err)
        mark, own = state.get("fingerprint", ""), options["fingerprint"]
        if mark != (own or ""):
            got = repr(own) if own else "none"
            remedy = "use the data set of that run; its `fingerprint` tells data sets apart"
            return _differs("dataset", f"the fingerprint {mark!r}", got, err, remedy)
        for name, default in (("seed", "0"), ("name", "")):
            want, got = fields.get(name, default), str(options[name])
            if want != got:
                return _differs(name, repr(want), repr(got), err)
        return self._differing(err, fields)

    def _differing(self, err: errors.Mismatch, fields: dict[str, str]) -> errors.Mismatch:
        """Return the error of a state whose order does not fit."""
        del fields
        return err


class MapElastic(Elastic):
    """A MapElastic is over a data set that is read by index."""

    def __init__(
        self, loader: StatefulDataLoader, shuffle: bool, sampler: Any, options: dict[str, Any]
    ) -> None:
        """Take a loader whose other arguments were checked. It is not kept."""
        self._ids = None if sampler is None else Ids(sampler)
        self._global = options["batch_size"] * options["world"]
        options = {**options, "samples": len(loader.dataset), "shuffle": shuffle}
        no_empty_epochs(
            options["samples"] if self._ids is None else len(self._ids),
            options["batch_size"],
            options["world"],
            options["drop_last"],
        )
        self._place = _blocks.Course(options, self._global, self._ids)
        super().__init__(loader.dataset, options, self._place)

    def length(self) -> int:
        """Return how many batches an epoch has."""
        n = self._options["samples"] if self._ids is None else len(self._ids)
        drop = self._options["drop_last"]
        return int(n // self._global if drop else -(-n // self._global))

    def _begin(self, loader: StatefulDataLoader, crew: Crew | None) -> Pass:
        if loader.num_workers == 0:
            return _elastic_iterators.SingleElastic(loader, self._place)
        return _elastic_iterators.WorkersElastic(loader, self._place, crew)

    def _check(self) -> None:
        """Refuse a data set that has grown or shrunk since the loader was made."""
        before, n = self._options["samples"], len(self._dataset)
        if n != before:
            raise errors.Mismatch(
                op=OP,
                subject="dataset",
                want=f"{before} samples, as when the loader was made",
                got=f"{n} samples",
                remedy="make a new loader; states of the old length do not fit it",
            )

    def _differing(self, err: errors.Mismatch, fields: dict[str, str]) -> errors.Mismatch:
        sampler = None if self._ids is None else self._ids.name
        if fields.get("sampler") != sampler:
            return _differs("sampler", str(fields.get("sampler")), str(sampler), err)
        order, shuffle = fields.get("order", ""), self._options["shuffle"]
        if order.startswith("shuffled") != shuffle:
            return _differs("shuffle", f"the order {order}", f"shuffle={shuffle}", err)
        return err


class StreamsElastic(Elastic):
    """A StreamsElastic is over an iterable data set, which streams read."""

    def __init__(
        self, loader: StatefulDataLoader, streams: int | None, options: dict[str, Any]
    ) -> None:
        """Take a loader whose other arguments were checked. It is not kept."""
        number = streams_of(streams, loader.num_workers, options["world"])
        options = {**options, "streams": number}
        stateful = is_stateful(loader.dataset)
        self._streams = _streams.StreamsCourse(options, stateful)
        super().__init__(loader.dataset, options, self._streams)

    def length(self) -> int:
        """Return how many batches the data set announces for a rank."""
        n, size = len(self._dataset), self._options["batch_size"] * self._options["world"]
        return int(n // size if self._options["drop_last"] else -(-n // size))

    def _begin(self, loader: StatefulDataLoader, crew: Crew | None) -> Pass:
        if loader.num_workers == 0:
            return _streams_iterators.SingleStreams(loader, self._streams)
        return _streams_iterators.WorkersStreams(loader, self._streams)


def make(
    loader: StatefulDataLoader,
    shuffle: bool,
    sampler: Any,
    *,
    seed: int | None,
    name: str | None,
    rank: int | None,
    world: int | None,
    uneven: str | None,
    streams: int | None,
    sample_seeds: bool | None,
) -> Elastic:
    """Return the Elastic of a loader."""
    own, of = ranks(rank, world)
    options = {
        "fingerprint": fingerprint_of(loader.dataset) or None,
        "batch_size": loader.batch_size or 1,
        "seed": seed_of(seed),
        "name": name_of(name),
        "drop_last": loader.drop_last,
        "rank": own,
        "world": of,
        "seeds": sample_seeds is not False,
    }
    if loader._iterable:
        return StreamsElastic(loader, streams, options)
    return MapElastic(loader, shuffle, sampler, {**options, "uneven": uneven_of(uneven)})


def _differs(
    subject: str, want: str, got: str, err: errors.Mismatch, remedy: str = ""
) -> errors.Mismatch:
    """Return the error of a state that belongs to another loader."""
    remedy = remedy or "use what that run used; other arguments may change on resume"
    made = errors.Mismatch(op=LOAD, subject=subject, want=want, got=got, remedy=remedy)
    made.__cause__ = err
    return made
