"""Elastic loaders: Bivouac's own order and state, for any number of workers and ranks.

The stream is a function of data set, seed and position. A state is a position, so it fits any
number of workers and ranks and any size of batches. The document is the one of the Go package
`loader`: either language goes on from the other's states.

`Elastic` is the part of a StatefulDataLoader that knows where it stands. Its iterators are in
`_elastic_iterators`.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from bivouac import errors
from bivouac.torch._blocks import Course
from bivouac.torch._crew import Crew
from bivouac.torch._elastic_iterators import ElasticIterator, SingleElastic, WorkersElastic
from bivouac.torch._sampling import Ids, fingerprint_of
from bivouac.torch._state import is_stateful

if TYPE_CHECKING:
    from bivouac.torch._loader import StatefulDataLoader

__all__ = ["Elastic", "only_elastic"]

_OP = "StatefulDataLoader"
_LOAD = "StatefulDataLoader.load_state_dict"
_UNEVEN = ("repeat sample", "end early")


def only_elastic(**given: Any) -> None:
    """Refuse arguments that have a meaning with elastic=True only."""
    for name, value in given.items():
        if value is not None:
            raise errors.Invalid(
                op=_OP,
                subject=name,
                want="elastic=True beside it",
                got=f"{name}={value!r} alone",
                remedy=f"set elastic=True, or leave {name} out",
            )


class Elastic:
    """An Elastic is the order and the place of an elastic loader."""

    def __init__(
        self,
        loader: StatefulDataLoader,
        shuffle: bool,
        sampler: Any,
        *,
        seed: int | None,
        name: str | None,
        rank: int | None,
        world: int | None,
        uneven: str | None,
        sample_seeds: bool | None,
    ) -> None:
        """Take a loader whose other arguments were checked. It is not kept."""
        self._dataset = loader.dataset
        self._samples = len(loader.dataset)
        self._ids = None if sampler is None else Ids(sampler)
        self.rank, self.world = _ranks(rank, world)
        self._global = (loader.batch_size or 1) * self.world
        self._drop = loader.drop_last
        self._options = {
            "samples": self._samples,
            "fingerprint": fingerprint_of(loader.dataset) or None,
            "batch_size": loader.batch_size or 1,
            "shuffle": shuffle,
            "seed": _checked_seed(seed),
            "name": _checked_name(name),
            "drop_last": loader.drop_last,
            "uneven": _checked_uneven(uneven),
            "rank": self.rank,
            "world": self.world,
            "seeds": sample_seeds is not False,
        }
        self._course = Course(self._options, self._global, self._ids)
        self._iterator: ElasticIterator | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs."""
        return {**self.__dict__, "_iterator": None}

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return self._course.place.epoch

    def set_epoch(self, epoch: int) -> None:
        """Make the next pass that of an epoch. The epochs between are left out.

        If the loader stands in that epoch, the next pass is the rest of it.
        """
        now = self.epoch
        if not isinstance(epoch, int) or epoch < now:
            raise errors.Sequence(
                op=f"{_OP}.set_epoch",
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
        n = self._samples if self._ids is None else len(self._ids)
        return n // self._global if self._drop else -(-n // self._global)

    def iterate(self, loader: StatefulDataLoader) -> ElasticIterator:
        """Begin a pass: the rest of the epoch after a state, else a whole epoch."""
        self._check_length()
        course = self._course
        if course.begun:  # the pass before was broken off
            course.leave(course.place.epoch + 1)
        crew = self._drop_iterator(loader.persistent_workers)
        if loader.num_workers == 0:
            self._iterator = SingleElastic(loader, course)
        else:
            self._iterator = WorkersElastic(loader, course, crew)
        return self._iterator

    def _check_length(self) -> None:
        """Refuse a data set that has grown or shrunk since the loader was made."""
        n = len(self._dataset)
        if n != self._samples:
            raise errors.Mismatch(
                op=_OP,
                subject="dataset",
                want=f"{self._samples} samples, as when the loader was made",
                got=f"{n} samples",
                remedy="make a new loader; states of the old length do not fit it",
            )

    def _drop_iterator(self, keep: bool = False) -> Crew | None:
        """End the iterator. Return its workers if they are kept."""
        iterator, self._iterator = self._iterator, None
        self._course.turn += 1
        return iterator.leave(keep) if isinstance(iterator, WorkersElastic) else None

    def state_dict(self) -> dict[str, Any]:
        """Return the state as the members of its document."""
        state: dict[str, Any] = json.loads(self._course.text())
        return state

    def load(self, state: Any) -> None:
        """Go on from a state. None is the start of the first epoch."""
        text = _text_of(state)
        try:
            self._course.load(text)
        except errors.Mismatch as err:
            raise self._explained(err, text) from err
        self._drop_iterator()

    def _explained(self, err: errors.Mismatch, text: str | None) -> errors.Mismatch:
        """Return the error of a state that does not fit, with the arguments' names of Python."""
        document = json.loads(text or "{}")
        fields = document.get("fields") or {}
        mine, options = self._options, self._options
        kind = document.get("kind")
        if kind != "loader":
            return _differs("kind", "a state of a loader", f"a state of a {kind}", err)
        saved = fields.get("samples")
        if saved is not None and saved != str(self._samples):
            return _differs("dataset", f"the {saved} samples of the state", str(self._samples), err)
        print_ = document.get("fingerprint", "")
        if print_ != (mine["fingerprint"] or ""):
            got = repr(mine["fingerprint"]) if mine["fingerprint"] else "none"
            remedy = "use the data set of that run; its `fingerprint` tells data sets apart"
            return _differs("dataset", f"the fingerprint {print_!r}", got, err, remedy)
        for name, default in (("seed", "0"), ("name", "")):
            if fields.get(name, default) != str(options[name]):
                return _differs(name, repr(fields.get(name, default)), repr(str(options[name])), err)
        sampler = None if self._ids is None else self._ids.name
        if fields.get("sampler") != sampler:
            return _differs("sampler", str(fields.get("sampler")), str(sampler), err)
        order = fields.get("order", "")
        if order.startswith("shuffled") != options["shuffle"]:
            return _differs("shuffle", f"the order {order}", f"shuffle={options['shuffle']}", err)
        return err


def _differs(
    subject: str, want: str, got: str, err: errors.Mismatch, remedy: str = ""
) -> errors.Mismatch:
    """Return the error of a state that belongs to another loader."""
    remedy = remedy or "use what that run used; other arguments may change on resume"
    made = errors.Mismatch(op=_LOAD, subject=subject, want=want, got=got, remedy=remedy)
    made.__cause__ = err
    return made


def _text_of(state: Any) -> str | None:
    """Return the text of a state: a dictionary, JSON, or None."""
    if state is None or isinstance(state, str):
        return state
    if isinstance(state, bytes | bytearray):
        return bytes(state).decode("utf-8", "replace")
    if not isinstance(state, dict):
        raise errors.Invalid(
            op=_LOAD,
            subject="state_dict",
            want="what state_dict() returned, its JSON, or None for the start",
            got=f"type {type(state).__name__}",
        )
    if "_snapshot" in state or "_num_yielded" in state:
        raise errors.Mismatch(
            op=_LOAD,
            subject="elastic",
            want="a state of a loader with elastic=True",
            got="a state in torchdata's form",
            remedy="go on without elastic=True up to the end of the epoch",
        )
    try:
        return json.dumps(state)
    except (TypeError, ValueError) as err:
        raise errors.Corrupt(
            op=_LOAD, subject="state_dict", want="what state_dict() returned", got=str(err)
        ) from err


def check(
    dataset: Any, iterable: bool, batch_sampler: Any, generator: Any, in_order: bool
) -> None:
    """Refuse what cannot be elastic, by its name."""
    subject, want, got, remedy = "", "", "", ""
    if iterable:
        subject, want, got = "dataset", "a map-style data set", "an iterable one"
        remedy = (
            "a stream is read from its beginning, so its position does not tell what others read: "
            "give the data set __getitem__ and __len__, or leave elastic out"
        )
    elif not hasattr(dataset, "__len__"):
        subject, want, got = "dataset", "a data set with __len__", "one without"
        remedy = "a position means a sample only if the number of samples is known"
    elif is_stateful(dataset):
        subject, want, got = "dataset", "a map-style data set without a state", "state_dict()"
        remedy = (
            "a state that changes with the samples read depends on the workers: take what a sample "
            "needs from its index and from get_sample_seed()"
        )
    elif batch_sampler is not None:
        subject, want, got = "batch_sampler", "batch_size and drop_last", "a batch_sampler"
        remedy = "it fixes the batches, which may change on resume: give a sampler"
    elif generator is not None:
        subject, want, got = "generator", "seed=", "a generator"
        remedy = "the order is a function of the seed and not of a generator's state"
    elif not in_order:
        subject, want, got = "in_order", "True", "False"
        remedy = "batches that overtake others belong to one rank: leave in_order or elastic out"
    if subject:
        made = errors.Unsupported if subject == "dataset" else errors.Invalid
        raise made(op=_OP, subject=subject, want=f"{want} with elastic=True", got=got, remedy=remedy)


def _ranks(rank: int | None, world: int | None) -> tuple[int, int]:
    """Return rank and world: as given, or of torch.distributed if it is initialised."""
    if (rank is None) != (world is None):
        missing = "world" if world is None else "rank"
        raise errors.Invalid(op=_OP, subject=missing, want="rank and world together", got="one")
    if rank is None or world is None:
        module: Any = sys.modules.get("torch.distributed")
        if module is not None and module.is_available() and module.is_initialized():
            return int(module.get_rank()), int(module.get_world_size())
        return 0, 1
    for name, value in (("rank", rank), ("world", world)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise errors.Invalid(op=_OP, subject=name, want="a number", got=repr(value))
    if not 0 <= rank < world:
        raise errors.Invalid(
            op=_OP, subject="rank", want=f"0 to {world - 1}, below world", got=str(rank)
        )
    return rank, world


def _checked_seed(seed: int | None) -> int:
    """Return the seed: 64 bits."""
    if seed is None:
        return 0
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 1 << 64:
        raise errors.Invalid(op=_OP, subject="seed", want="0 to 2**64-1", got=repr(seed))
    return seed


def _checked_name(name: str | None) -> str:
    """Return the name of the loader."""
    if name is not None and not isinstance(name, str):
        raise errors.Invalid(op=_OP, subject="name", want="a text", got=repr(name))
    return name or ""


def _checked_uneven(uneven: str | None) -> str:
    """Return what a rank without a sample does."""
    if uneven is None:
        return _UNEVEN[0]
    if uneven not in _UNEVEN:
        want = " or ".join(map(repr, _UNEVEN))
        raise errors.Invalid(op=_OP, subject="uneven", want=want, got=repr(uneven))
    return uneven
