"""Checkpoints that are saved in parts, and become visible when they are complete.

Each `save` adds leaves to a session, which lies beside the checkpoint's path. `finalize` makes it a
checkpoint. A session of Orbax can be continued and finalized, and the reverse.
"""

from __future__ import annotations

from typing import Any

from bivouac import _client
from bivouac._client import Call
from bivouac.checkpoint import _api, _describe, _engine, _items
from bivouac.checkpoint._api import PathLike, Progress, none
from bivouac.checkpoint._context import get_context
from bivouac.checkpoint._response import AsyncResponse, CallResponse

__all__ = ["abort", "finalize", "save", "save_async", "save_checkpointables"]


def save(
    path: PathLike,
    state: Any,
    *,
    custom_metadata: Any = None,
    replace: bool = False,
    progress: Progress | None = None,
) -> None:
    """Add leaves to the session of a path, and return when they are durable.

    Args:
      path: directory of the future checkpoint. It must not exist.
      state: a tree of arrays, numbers and strings that the session does not have yet.
      custom_metadata: JSON; the objects of all parts are joined.
      replace: True replaces leaves that the session has.
      progress: called with the bytes that are written and their total, in a thread of Bivouac.

    Raises:
      FileExistsError: the checkpoint exists, or the session has a leaf or a subtree of that name.
      ValueError: the tree is empty, or a leaf cannot be saved.
      TypeError: custom_metadata is no JSON.
    """
    _items.check_state(state)
    items = {_describe.STATE: state}
    _start(path, items, custom_metadata, replace, progress, background=False).result()


def save_async(
    path: PathLike,
    state: Any,
    *,
    custom_metadata: Any = None,
    replace: bool = False,
    progress: Progress | None = None,
) -> AsyncResponse[None]:
    """Add leaves to the session of a path in the background; see `save`.

    Args:
      path: directory of the future checkpoint. It must not exist.
      state: a tree of arrays, numbers and strings that the session does not have yet.
      custom_metadata: JSON; the objects of all parts are joined.
      replace: True replaces leaves that the session has.
      progress: called with the bytes that are written and their total, in a thread of Bivouac.

    Returns:
      A response whose result is None when the leaves are durable.
    """
    _items.check_state(state)
    items = {_describe.STATE: state}
    call = _start(path, items, custom_metadata, replace, progress, background=True)
    return CallResponse(call, none)


def save_checkpointables(
    path: PathLike,
    checkpointables: dict[str, Any],
    *,
    custom_metadata: Any = None,
    replace: bool = False,
    progress: Progress | None = None,
) -> None:
    """Add items, or leaves of items, to the session of a path. Orbax has one item only.

    Args:
      path: directory of the future checkpoint. It must not exist.
      checkpointables: the items by name.
      custom_metadata: JSON; the objects of all parts are joined.
      replace: True replaces leaves and items that the session has.
      progress: called with the bytes that are written and their total, in a thread of Bivouac.

    Raises:
      FileExistsError: the checkpoint exists, or the session has an item or a leaf of that name.
      ValueError: an item's name or value cannot be saved.
      KeyError: no handler takes an item.
    """
    items = _items.to_save(checkpointables, get_context())
    _start(path, items, custom_metadata, replace, progress, background=False).result()


def _start(
    path: PathLike,
    items: dict[str, Any],
    custom: Any,
    replace: bool,
    progress: Progress | None,
    *,
    background: bool,
) -> Call:
    _items.check_json("custom_metadata", custom)
    args: dict[str, Any] = {"path": _engine.absolute(path), "custom": custom}
    if replace:
        args["replace"] = True
    return _api.start(
        "partial.save", items, args, get_context(), background=background, progress=progress
    )


def finalize(path: PathLike) -> None:
    """Make the session of a path a checkpoint. If it fails, the session stays as it was.

    Args:
      path: directory of the future checkpoint, or of the session.

    Raises:
      FileNotFoundError: there is no session.
      FileExistsError: the checkpoint exists.
    """
    _client.connection().call(
        "partial.finalize", path=_engine.absolute(path), context=get_context().as_json() or None
    )


def abort(path: PathLike) -> None:
    """Remove the session of a path. Orbax has no such function.

    Args:
      path: directory of the future checkpoint, or of the session.

    Raises:
      FileNotFoundError: there is no session.
    """
    _client.connection().call("partial.abort", path=_engine.absolute(path))
