"""The engine of checkpoints: trees in, calls to the side-car out, and back.

Modules of this package build on these functions. They are not part of the public API.

    start_save(op, items, background=…, args=…) -> Call
    load(op, args, abstract=…, into=…) -> tree
    load_items(op, args, items) -> dict
    context_json() -> dict or None

`op` is an operation of docs/format/serve.md, such as "save" or "training.save". `args` are its
arguments other than the trees: path, overwrite, custom, checkpointer, step… The engine adds
`context` from `current_context` unless `args` has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bivouac._client import Call

__all__ = ["Wire", "context_json", "current_context", "load", "load_items", "start_save"]


class Wire(dict[str, Any]):
    """A Wire is an item that has the form of the protocol already.

    Examples are `Wire({"json": text})`, `Wire({"proto": text})` and
    `Wire({"files": directory, "type": "a.b.C"})`. Every other value of `items` is a tree.
    """


current_context: Callable[[], Mapping[str, Any] | None] | None = None
"""The hook that module options sets. It returns the JSON of the active options, or None."""


def context_json() -> dict[str, Any] | None:
    """Return the JSON of the active options, or None if there are none."""
    if current_context is None:
        return None
    value = current_context()
    return None if value is None else dict(value)


def start_save(op: str, items: Mapping[str, Any], *, background: bool, args: Mapping[str, Any]) -> Call:
    """Start a save and return its call after the side-car has accepted it.

    The function copies the arrays of all trees into shared memory, so the caller may change them
    as soon as it returns. It raises what speaks against the save (the target exists, a leaf is not
    supported). A save that a policy declines is a call that has ended with `{"saved": False}`.

    Args:
      op: "save", "partial.save" or "training.save".
      items: trees, or `Wire` values, by name.
      background: the caller returns before the save ends. Such a save is waited for at exit. If it
        is false, the caller waits with `.result()`, and an interrupt there cancels the save.
      args: other arguments of the operation.
    """
    raise NotImplementedError


def load(
    op: str, args: Mapping[str, Any], *, abstract: Any = None, into: Any = None
) -> Any:
    """Load a tree and return it.

    Args:
      op: "load", "training.load" or "load_transform".
      args: other arguments of the operation.
      abstract: a tree that says what to load and as which types; None loads all as saved.
      into: a tree whose arrays and tensors are filled in place.
    """
    raise NotImplementedError


def load_items(
    op: str, args: Mapping[str, Any], items: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Load items and return them by name.

    Args:
      op: "load_items" or "training.load_items".
      args: other arguments of the operation.
      items: what to load, by name: an abstract tree, None (as the stored type says), or a `Wire`
        such as `Wire({"json": True})`. None loads every item. A result that is not a tree comes
        back as the `Wire` that the side-car sent.
    """
    raise NotImplementedError
