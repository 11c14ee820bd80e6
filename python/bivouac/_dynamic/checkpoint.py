"""Checkpoints of dynamic mode: the states of readers and generators in one file of DALI's form."""

from __future__ import annotations

import glob
import json
import os
import re
import string
from collections.abc import Iterator
from typing import Any, NamedTuple

from bivouac import errors
from bivouac._dynamic.files import write
from bivouac._pipeline.refusals import BrokenGraph, WrongType

__all__ = ["Checkpoint", "current"]

_VERSION = 2
_PREFIX = "__op_"  # of keys that the checkpoint makes


class _Entry(NamedTuple):
    """An _Entry is a state, and the name of the class of its object or None."""

    state: Any
    kind: str | None = None


class Checkpoint:
    """A Checkpoint holds objects under keys, and their states.

    An object is a reader, an RNG, or anything else with `get_state(cuda_stream=…)` and `set_state`.
    Its text is that of DALI, byte for byte.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove all objects and states."""
        self._objects: dict[str, Any] = {}
        self._keys: dict[int, str] = {}  # by the identities of objects
        self._states: dict[str, _Entry] = {}
        self._pending: dict[str, None] = {}  # keys whose states were not applied
        self._complete = False
        self._loaded = False
        self._next: int | None = None  # number of the next file

    @property
    def is_complete(self) -> bool:
        """Whether `collect` has taken all states."""
        return self._complete

    @property
    def is_loaded(self) -> bool:
        """Whether the states come from `load` or `deserialize`."""
        return self._loaded

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of the objects, in the order of their registration."""
        return tuple(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, name: object) -> bool:
        return str(name) in self._objects

    def register(self, op: Any, name: str | None = None) -> str:
        """Add an object, and return its key. A state that is pending under the key is applied.

        Args:
          op: a reader, an RNG, or an object with `get_state` and `set_state`.
          name: the key. Without it the key is made of the number of objects before. So a program
            that registers the same objects in the same order finds their states.

        Raises:
          ValueError: the name is empty or begins with "__op_".
          TypeError: an object of another class has the name, or the state belongs to another class.
          KeyError: the loaded checkpoint has no state for the object.
          RuntimeError: the checkpoint is complete, or the object has another key.
        """
        from bivouac._dynamic.readers import Reader

        held = self._keys.get(id(op))
        if isinstance(op, Reader):
            op._enable_checkpointing()
        if name is None:
            if held is not None:
                self._apply(held)
                return held
            return self._add(op, f"{_PREFIX}{len(self._objects)}")
        if name.startswith(_PREFIX) or not name:
            raise errors.Invalid(
                subject="name", want=f"a name that does not begin with {_PREFIX}", got=repr(name)
            )
        if held is not None and held != name:
            raise BrokenGraph(
                subject=f"object {name!r}", want=f"the key that it has, {held!r}", got="another key"
            )
        other = self._objects.get(name)
        if other is None:
            return self._add(op, name)
        if other is not op:
            if type(other) is not type(op):
                raise WrongType(
                    subject=f"object {name!r}",
                    want=f"an object of {type(other).__qualname__}",
                    got=type(op).__qualname__,
                )
            del self._keys[id(other)]
            self._objects[name] = op
            self._keys[id(op)] = name
        self._apply(name)
        return name

    def _add(self, op: Any, key: str) -> str:
        """Add an object under a new key."""
        if self._complete:
            raise BrokenGraph(
                subject=f"object {key!r}",
                want="a checkpoint that takes new objects",
                got="a complete one",
                remedy="call clear to begin again",
            )
        if self._loaded and key not in self._states:
            raise errors.NotFound(
                subject=f"object {key!r}", want="a state in the loaded checkpoint", got="none"
            )
        self._objects[key] = op
        self._keys[id(op)] = key
        self._apply(key)
        return key

    def _apply(self, key: str) -> None:
        """Give an object the state that is pending."""
        if key not in self._pending:
            return
        entry, op = self._states[key], self._objects[key]
        kind = type(op).__qualname__
        if entry.kind is not None and entry.kind != kind:
            raise WrongType(
                subject=f"object {key!r}", want=f"an object of {entry.kind}, as the state", got=kind
            )
        op.set_state(entry.state)
        self._pending.pop(key, None)

    def get_state(self, name: Any) -> Any:
        """Return the state under a key, or None if there is none yet. No object is a KeyError."""
        key = str(name)
        if key not in self._objects:
            raise errors.NotFound(subject=f"object {key!r}", want="a registered object", got="none")
        entry = self._states.get(key)
        return None if entry is None else entry.state

    def set_state(self, name: Any, value: Any, op_type: Any = None) -> None:
        """Keep a state under a key. It is applied when an object is registered, or by `restore`.

        Args:
          name: the key.
          value: a state, or its text.
          op_type: the class of the object that the state belongs to, or its name. None is any.

        Raises:
          KeyError: the checkpoint is complete and has no such object.
          TypeError: `op_type` is neither a class nor a name.
        """
        key = str(name)
        if self._complete and key not in self._objects:
            raise errors.NotFound(subject=f"object {key!r}", want="a registered object", got="none")
        if isinstance(op_type, type):
            op_type = op_type.__qualname__
        if op_type is not None and not isinstance(op_type, str):
            raise WrongType(subject="op_type", want="a class or its name", got=repr(op_type))
        self._states[key] = _Entry(value, op_type)
        self._pending[key] = None

    def collect(self) -> None:
        """Take the states of all objects. The checkpoint is complete then.

        Raises:
          RuntimeError: there are states without an object.
        """
        self._check_extra()
        taken = {
            key: _Entry(op.get_state(cuda_stream=None), type(op).__qualname__)
            for key, op in self._objects.items()
        }
        self._states = taken
        self._pending = {}
        self._complete, self._loaded = True, False

    def _check_extra(self) -> None:
        extra = sorted(self._states.keys() - self._objects.keys())
        if extra:
            raise BrokenGraph(
                subject="states",
                want="an object for each state",
                got=f"none for {', '.join(extra)}",
            )

    def restore(self) -> None:
        """Apply all states that are pending. Without states it does nothing.

        Raises:
          RuntimeError: states and objects have not the same keys.
        """
        if not self._states:
            return
        self._check_extra()
        missing = sorted(self._objects.keys() - self._states.keys())
        if missing:
            raise BrokenGraph(
                subject="objects",
                want="a state for each object",
                got=f"none for {', '.join(missing)}",
            )
        for key in list(self._pending):
            self._apply(key)

    def serialize(self) -> str:
        """Return the states as text. A checkpoint without states is a RuntimeError."""
        if not self._states:
            raise BrokenGraph(
                subject="checkpoint", want="states", got="none", remedy="call collect first"
            )
        states = {
            key: {"state": str(entry.state), "type": entry.kind}
            for key, entry in self._states.items()
        }
        return json.dumps({"version": _VERSION, "states": states})

    def deserialize(self, data: str) -> None:
        """Take the states of a text. They are pending then. Another text is a ValueError."""
        self._states = _parse(data)
        self._pending = dict.fromkeys(self._states)
        self._complete, self._loaded = False, True

    def save(self, filename: str) -> str:
        """Write the states to the file that a pattern names with the next number; return its path.

        No file is replaced. A reader of the directory sees the whole file or none. The file is
        durable when the call returns.

        Args:
          filename: a pattern with `{seq}`, such as "run/ckpt_{seq:04d}.json".
        """
        number = self._next
        if number is None:
            number = max((n for n, _ in _files(filename)), default=-1) + 1
        _parts(filename)
        data = self.serialize()
        while True:
            path = filename.format(seq=number)
            directory = os.path.dirname(path)
            if directory:
                os.makedirs(directory, exist_ok=True)
            if not os.path.lexists(path) and write(path, data):
                self._next = number + 1
                return path
            number += 1

    def load(self, filename: str) -> str:
        """Take the states of the file with the highest number, and return its path.

        Raises:
          FileNotFoundError: no file fits the pattern.
          ValueError: the file is no checkpoint.
        """
        found = sorted(_files(filename))
        if not found:
            raise errors.NotFound(subject=filename, want="a file that fits the pattern", got="none")
        number, path = found[-1]
        with open(path, encoding="utf-8") as file:
            self.deserialize(file.read())
        self._next = number + 1
        return path


def current() -> Checkpoint:
    """Return the checkpoint of the current EvalContext."""
    from bivouac._dynamic.context import EvalContext

    return EvalContext.current().checkpoint


def _parse(data: str) -> dict[str, _Entry]:
    """Return the states of a text."""
    payload = json.loads(data)

    def bad(subject: str, want: str, got: Any) -> errors.Invalid:
        return errors.Invalid(op="checkpoint", subject=subject, want=want, got=repr(got)[:80])

    if not isinstance(payload, dict) or "states" not in payload:
        raise bad("text", "an object with states", payload)
    if payload.get("version", 0) != _VERSION:
        raise bad("version", str(_VERSION), payload.get("version", 0))
    if not isinstance(payload["states"], dict):
        raise bad("states", "an object", payload["states"])
    states: dict[str, _Entry] = {}
    for key, entry in payload["states"].items():
        if not isinstance(entry, dict) or "state" not in entry:
            raise bad(f"entry {key!r}", "an object with a state", entry)
        kind = entry.get("type")
        if kind is not None and not isinstance(kind, str):
            raise bad(f"type of entry {key!r}", "a text", kind)
        states[key] = _Entry(str(entry["state"]), kind)
    return states


def _parts(pattern: str) -> tuple[str, str]:
    """Return what a pattern has before and after its field."""
    before, after, fields = "", "", 0
    for literal, field, _, _ in string.Formatter().parse(pattern):
        if fields:
            after += literal
        else:
            before += literal
        if field is None:
            continue
        if field != "seq":
            raise errors.Invalid(
                subject=f"pattern {pattern!r}", want="only the field {seq}", got=f"{{{field}}}"
            )
        fields += 1
    if fields != 1:
        raise errors.Invalid(
            subject=f"pattern {pattern!r}", want="one field {seq}", got=f"{fields} of them"
        )
    return before, after


def _files(pattern: str) -> Iterator[tuple[int, str]]:
    """Yield the numbers and paths of the files that fit a pattern."""
    before, after = _parts(pattern)
    exact = re.compile(re.escape(before) + r"(\d+)" + re.escape(after), re.DOTALL)
    for path in glob.iglob(glob.escape(before) + "*" + glob.escape(after)):
        found = exact.fullmatch(path)
        if found is not None:
            yield int(found[1]), path
            continue
        number = _number(path[len(before) : len(path) - len(after)])
        if number is not None and number >= 0 and pattern.format(seq=number) == path:
            yield number, path


def _number(digits: str) -> int | None:
    """Return the number that a format wrote with other characters than digits, or None."""
    plain = digits.replace(",", "").replace("_", "").strip()
    for base in (10, 0, 16, 8, 2):
        try:
            return int(plain, base)
        except ValueError:
            continue
    return None
