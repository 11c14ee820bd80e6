"""What elastic loaders refuse: arguments and states, each by its name and with a remedy."""

from __future__ import annotations

import json
import sys
from typing import Any

from bivouac import errors
from bivouac.torch._state import is_stateful

__all__ = [
    "LOAD",
    "OP",
    "check",
    "name_of",
    "only_elastic",
    "ranks",
    "seed_of",
    "streams_of",
    "text_of",
    "uneven_of",
]

OP = "StatefulDataLoader"
LOAD = "StatefulDataLoader.load_state_dict"
_UNEVEN = ("repeat sample", "end early")


def only_elastic(**given: Any) -> None:
    """Refuse arguments that have a meaning with elastic=True only."""
    for name, value in given.items():
        if value is not None:
            raise errors.Invalid(
                op=OP,
                subject=name,
                want="elastic=True beside it",
                got=f"{name}={value!r} alone",
                remedy=f"set elastic=True, or leave {name} out",
            )


def text_of(state: Any) -> str | None:
    """Return the text of a state: a dictionary, JSON, or None."""
    if state is None or isinstance(state, str):
        return state
    if isinstance(state, bytes | bytearray):
        return bytes(state).decode("utf-8", "replace")
    if not isinstance(state, dict):
        raise errors.Invalid(
            op=LOAD,
            subject="state_dict",
            want="what state_dict() returned, its JSON, or None for the start",
            got=f"type {type(state).__name__}",
        )
    if "_snapshot" in state or "_num_yielded" in state:
        raise errors.Mismatch(
            op=LOAD,
            subject="elastic",
            want="a state of a loader with elastic=True",
            got="a state in torchdata's form",
            remedy="go on without elastic=True up to the end of the epoch",
        )
    try:
        return json.dumps(state)
    except (TypeError, ValueError) as err:
        raise errors.Corrupt(
            op=LOAD, subject="state_dict", want="what state_dict() returned", got=str(err)
        ) from err


def check(
    dataset: Any,
    iterable: bool,
    batch_sampler: Any,
    generator: Any,
    in_order: bool,
    persistent: bool,
    uneven: Any,
    streams: Any,
) -> None:
    """Refuse what cannot be elastic, by its name."""
    subject, want, got, remedy = "", "", "", ""
    if iterable and persistent:
        subject, want, got = "persistent_workers", "False", "True with an iterable data set"
        remedy = "the streams of each epoch begin in workers of their own"
    elif iterable and uneven is not None:
        subject, want, got = "uneven", "a map-style data set", "an iterable one"
        remedy = "the epoch of each rank ends with its streams: give all ranks as many items"
    elif not iterable and streams is not None:
        subject, want, got = "streams", "an iterable data set", "a map-style one"
        remedy = "it is read by position, and has no streams"
    elif not iterable and not hasattr(dataset, "__len__"):
        subject, want, got = "dataset", "a data set with __len__", "one without"
        remedy = "a position means a sample only if the number of samples is known"
    elif not iterable and is_stateful(dataset):
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
        raise made(op=OP, subject=subject, want=f"{want} with elastic=True", got=got, remedy=remedy)


def no_empty_epochs(samples: int, batch_size: int, world: int, drop_last: bool) -> None:
    """Refuse drop_last that leaves no batch of an epoch. torch's manner has an empty epoch."""
    if not drop_last or not 0 < samples < batch_size * world:
        return
    of = f" on each of {world} ranks" if world > 1 else ""
    raise errors.Invalid(
        op=OP,
        subject="batch_size",
        want=f"batches of at most {samples} samples over all ranks, the samples of an epoch, "
        "with drop_last=True and elastic=True",
        got=f"{batch_size}{of}",
        remedy="lower batch_size, or leave drop_last out to get the samples in a short batch",
    )


def ranks(rank: int | None, world: int | None) -> tuple[int, int]:
    """Return rank and world: as given, or of torch.distributed if it is initialised."""
    if (rank is None) != (world is None):
        missing = "world" if world is None else "rank"
        raise errors.Invalid(op=OP, subject=missing, want="rank and world together", got="one")
    if rank is None or world is None:
        module: Any = sys.modules.get("torch.distributed")
        if module is not None and module.is_available() and module.is_initialized():
            return int(module.get_rank()), int(module.get_world_size())
        return 0, 1
    for name, value in (("rank", rank), ("world", world)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise errors.Invalid(op=OP, subject=name, want="a number", got=repr(value))
    if not 0 <= rank < world:
        raise errors.Invalid(
            op=OP, subject="rank", want=f"0 to {world - 1}, below world", got=str(rank)
        )
    return rank, world


def seed_of(seed: int | None) -> int:
    """Return the seed: 64 bits."""
    if seed is None:
        return 0
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 1 << 64:
        raise errors.Invalid(op=OP, subject="seed", want="0 to 2**64-1", got=repr(seed))
    return seed


def name_of(name: str | None) -> str:
    """Return the name of the loader."""
    if name is not None and not isinstance(name, str):
        raise errors.Invalid(op=OP, subject="name", want="a text", got=repr(name))
    return name or ""


def uneven_of(uneven: str | None) -> str:
    """Return what a rank without a sample does."""
    if uneven is None:
        return _UNEVEN[0]
    if uneven not in _UNEVEN:
        want = " or ".join(map(repr, _UNEVEN))
        raise errors.Invalid(op=OP, subject="uneven", want=want, got=repr(uneven))
    return uneven


def streams_of(streams: int | None, workers: int, world: int) -> int:
    """Return how many streams read an iterable data set at the start of a run."""
    if streams is None:
        return max(1, workers) * world
    good = isinstance(streams, int) and not isinstance(streams, bool)
    if not good or streams < 1 or streams % world:
        want = "at least 1" if world == 1 else f"a multiple of the {world} ranks"
        raise errors.Invalid(op=OP, subject="streams", want=want, got=repr(streams))
    return streams
