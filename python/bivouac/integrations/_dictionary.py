"""Checkpoints of frameworks: dictionaries of tensors and of anything that is JSON.

Entries with arrays become a tree, which every reader of checkpoints shows. The others, and the
types that a tree cannot tell, become a JSON item. Nothing is pickled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from bivouac import _client, errors
from bivouac._job import state, values
from bivouac._job.state import _is_array
from bivouac.checkpoint import _api, _describe, _engine
from bivouac.checkpoint._context import get_context
from bivouac.checkpoint._engine import Wire

__all__ = ["load", "remove", "save"]

STATE, PYTHON = "state", "python"
_VERSION = 1


def _has_arrays(value: Any) -> bool:
    if _is_array(value):
        return True
    if isinstance(value, Mapping):
        return any(_has_arrays(item) for item in value.values())
    return isinstance(value, list | tuple) and any(_has_arrays(item) for item in value)


def save(path: str | os.PathLike[str], checkpoint: Mapping[str, Any], background: bool) -> Any:
    """Save a dictionary as a checkpoint and replace one that is there.

    Returns:
      The call of the save. With `background` it may not have ended.

    Raises:
      ValueError: the dictionary holds something that is neither an array nor JSON.
    """
    arrays = {key: value for key, value in checkpoint.items() if _has_arrays(value)}
    rest = {key: value for key, value in checkpoint.items() if key not in arrays}
    forms: state.Forms = {}
    state._note(arrays, (), forms)
    document = {"version": _VERSION, "forms": forms, "entries": values.encode(rest, "checkpoint")}
    items: dict[str, Any] = {PYTHON: Wire({"json": json.dumps(document)})}
    if arrays:
        items[STATE] = arrays
    arguments = {"path": _engine.absolute(path), "overwrite": True}
    call = _api.start("save", items, arguments, get_context(), background=background)
    if not background:
        call.result()
    return call


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Load a dictionary that `save` has saved.

    Raises:
      NotFound: there is no checkpoint.
      Mismatch: the checkpoint was not saved by an integration.
    """
    at = _engine.absolute(path)
    items = _describe.items(_client.connection().call("metadata", path=at)["info"])
    if PYTHON not in items:
        raise errors.Mismatch(
            op="load",
            subject=at,
            want="a checkpoint that this integration saved",
            got=f"the items {', '.join(sorted(items))}",
            remedy="load it with bivouac.load",
        )
    asked = {name: Wire({"json": True}) if name == PYTHON else None for name in items}
    loaded = _engine.load_items("load_items", {"path": at}, asked)
    document = json.loads(loaded[PYTHON]["json"])
    out: dict[str, Any] = dict(values.decode(document["entries"]))
    former = state._Former(document["forms"], view=False)
    out.update(former.form(loaded.get(STATE, {}), ()))
    return out


def remove(path: str | os.PathLike[str]) -> None:
    """Delete a checkpoint, if it is there."""
    _client.connection().call("delete", path=_engine.absolute(path), missing_ok=True)
