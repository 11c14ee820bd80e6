"""The loader of a job: one of three protocols, and passes (epochs) over it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from bivouac import errors
from bivouac._job import values
from bivouac._tree import type_text

__all__ = ["Source"]

B = TypeVar("B")

_PROTOCOLS = (("state_dict", "load_state_dict"), ("get_state", "set_state"))


def _protocol(value: Any) -> tuple[str, str] | None:
    """Return the names of the two methods that read and set the state of an object."""
    for names in _PROTOCOLS:
        if all(callable(getattr(value, name, None)) for name in names):
            return names
    return None


class Source(Generic[B]):
    """A Source reads passes of a loader, and knows the state of the loader.

    The loader, or else its iterators, have `state_dict()` and `load_state_dict(state)`, as in
    torchdata, or `get_state()` and `set_state(state)`, as in Grain.

    Attributes:
      epoch: the number of the pass, from 0, which samplers with `set_epoch` get before it begins.
        None leaves that to the caller.
    """

    def __init__(self, loader: Iterable[B]) -> None:
        """Take a loader.

        Raises:
          ValueError: neither the loader nor its iterator has a state.
        """
        self.epoch: int | None = None
        self._loader = loader
        self._iterator: Iterator[B] | None = None
        self._names = _protocol(loader)
        self._of_iterator = self._names is None
        if self._of_iterator:
            self._iterator = iter(loader)
            self._names = _protocol(self._iterator)
        if self._names is None:
            raise errors.Invalid(
                op="bivouac.Job",
                subject="loader",
                want="state_dict() and load_state_dict(), or get_state() and set_state()",
                got=f"type {type_text(loader)}",
                remedy="use a loader that can resume, such as torchdata's StatefulDataLoader",
            )

    @property
    def has_workers(self) -> bool:
        """True if the loader has worker processes, so that a signal may end them."""
        return getattr(self._loader, "num_workers", 0) > 0

    @property
    def elastic(self) -> bool:
        """True if a state of the loader fits any number of processes. The loader says so.

        Its attribute `elastic` is True. If it has `merge_states`, the states of all processes are
        merged by it, in the order of the processes. Otherwise the state of the first process stands
        for all.
        """
        return getattr(self._loader, "elastic", False) is True

    def merged(self, saved: list[Any]) -> Any:
        """Return one state as JSON, made of the states of all processes.

        Raises:
          Mismatch: the loader does not take the states.
        """
        merge = getattr(self._loader, "merge_states", None)
        if not callable(merge):
            return saved[0]
        try:
            state = merge([values.decode(state) for state in saved])
        except errors.BivouacError:
            raise
        except Exception as err:
            raise self._refused(err) from err
        return values.encode(state, "the state of the loader")

    @property
    def begun(self) -> bool:
        """True if there is an iterator, whose making may have drawn random numbers."""
        return self._iterator is not None

    def _begin(self) -> Iterator[B]:
        """Return a new iterator. A sampler that must be told the epoch is told."""
        if self.epoch is None:
            return iter(self._loader)
        for name in ("sampler", "batch_sampler"):
            sampler: Any = getattr(self._loader, name, None)
            for one in (sampler, getattr(sampler, "sampler", None)):
                tell = getattr(one, "set_epoch", None)
                if callable(tell):
                    tell(self.epoch)
        return iter(self._loader)

    def begin(self) -> None:
        """Make an iterator, unless there is one."""
        if self._iterator is None:
            self._iterator = self._begin()

    def next(self) -> B:
        """Return the next batch of the pass. StopIteration says that the pass has ended."""
        self.begin()
        assert self._iterator is not None
        try:
            return next(self._iterator)
        except StopIteration:
            if not self._of_iterator:
                self._iterator = None
            raise

    def again(self) -> None:
        """Begin the next pass."""
        self._iterator = self._begin()

    def _holder(self) -> Any:
        if not self._of_iterator:
            return self._loader
        self.begin()
        return self._iterator

    def state(self) -> Any:
        """Return the state of the loader as JSON. It covers the batches that `next` returned."""
        assert self._names is not None
        state = getattr(self._holder(), self._names[0])()
        if isinstance(state, bytes):
            try:
                found = json.loads(state)
            except ValueError:
                found = None
            if isinstance(found, dict) and not any(key.startswith("$") for key in found):
                return {"$json": found}  # Grain's DataLoader has JSON as bytes
        return values.encode(state, "the state of the loader")

    def load(self, saved: Any) -> None:
        """Continue after the batches that a state covers.

        Raises:
          Mismatch: the loader does not take the state.
        """
        assert self._names is not None
        try:
            if isinstance(saved, dict) and list(saved) == ["$json"]:
                state: Any = json.dumps(saved["$json"], indent=4).encode()
            else:
                state = values.decode(saved)
            if not self._of_iterator:
                self._iterator = None
            getattr(self._holder(), self._names[1])(state)
        except errors.BivouacError:
            raise
        except Exception as err:
            raise self._refused(err) from err

    def _refused(self, err: Exception) -> errors.BivouacError:
        return errors.Mismatch(
            op="bivouac.Job",
            subject="loader",
            want=f"a state of {type_text(self._loader)}",
            got=f"a state that it refuses: {type(err).__name__}: {err}",
            remedy="use the loader of that run, or another directory",
        )

    def definition(self) -> dict[str, Any]:
        """Return what two runs must have in common, as JSON.

        A loader says it itself by `fingerprint`, an attribute or a method. A loader that is
        `elastic` checks its states itself. Of others the sizes are compared that they tell.
        """
        loader: Any = self._loader
        own = getattr(loader, "fingerprint", None)
        if own is not None:
            return {"fingerprint": values.encode(own() if callable(own) else own, "fingerprint")}
        if self.elastic:
            return {}
        out: dict[str, Any] = {}
        for name in ("batch_size", "drop_last"):
            value = getattr(loader, name, None)
            if isinstance(value, int):
                out[name] = value
        samples = _length(getattr(loader, "dataset", None))
        if samples is not None:
            out["samples"] = samples
        batches = _length(loader)
        if batches is not None:
            out["batches"] = batches
        return out

    def check(self, saved: dict[str, Any]) -> None:
        """Raise Mismatch if a step was saved with another loader. The error names the fields."""
        now = self.definition()
        names = [name for name in saved if name in now and saved[name] != now[name]]
        if names:
            raise errors.Mismatch(
                op="bivouac.Job",
                subject="loader: " + ", ".join(names),
                want=", ".join(f"{name} {json.dumps(saved[name])}" for name in names),
                got=", ".join(f"{name} {json.dumps(now[name])}" for name in names),
                remedy="use the loader of that run, or another directory",
            )


def _length(value: Any) -> int | None:
    """Return the length of an object, or None if it has none."""
    if value is None or not inspect.getattr_static(type(value), "__len__", None):
        return None
    try:
        return len(value)
    except (TypeError, NotImplementedError, ValueError):
        return None
