"""The functions of `bivouac.checkpoint`: save, load, describe and delete one checkpoint.

Names, arguments and defaults are those of `orbax.checkpoint.v1`. Arguments that Orbax does not have
are keyword-only and stand last.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

from bivouac import _client
from bivouac._client import Call
from bivouac.checkpoint import _describe, _engine, _items, multihost
from bivouac.checkpoint._background import ThreadResponse, TranslatedResponse
from bivouac.checkpoint._context import Context, get_context
from bivouac.checkpoint._leaves import Leaves
from bivouac.checkpoint._metadata import CheckpointMetadata
from bivouac.checkpoint._response import AsyncResponse, CallResponse
from bivouac.checkpoint.errors import LAYOUT, translated
from bivouac.checkpoint.handlers import _builtin, _registry, _types

PathLike = str | os.PathLike[str]
Progress = Callable[[int, int], None]


def none(call: Call) -> None:
    """Return None, the value of a save."""


def progress_hook(progress: Progress | None) -> Callable[[dict[str, Any]], None] | None:
    """Return the function that passes events of progress on."""
    if progress is None:
        return None
    told = progress

    def hook(event: dict[str, Any]) -> None:
        if event.get("event") == "progress":
            told(int(event["done"]), int(event["total"]))

    return hook


def start(
    op: str,
    items: Mapping[str, Any],
    args: Mapping[str, Any],
    context: Context,
    *,
    background: bool,
    progress: Progress | None = None,
    connection: Any = None,
) -> Call:
    """Start a save of items that are ready, and return its call."""
    try:
        processes = multihost.processes(context, f"{args.get('path')} {args.get('step')}")
    except BaseException:
        _items.drop(items)
        raise
    full = {
        **args,
        "context": _items.context_json(context, items),
        "progress": True if progress is not None else None,
        "processes": processes,
    }
    try:
        call = _engine.start_save(
            op,
            items,
            background=background,
            args=full,
            connection=connection,
            on_event=progress_hook(progress),
            leaves=Leaves.of(context),
        )
    except BaseException:
        _items.drop(items)
        raise
    callback = context.asynchronous.post_finalization_callback
    if background and callback is not None:
        call.add_done_callback(functools.partial(_after, callback))
    return call


def _after(callback: Callable[[], None], call: Call) -> None:
    if call.succeeded() and call.result().get("saved", True):
        callback()


def _save(
    op: str,
    path: PathLike,
    items: Callable[[Context], dict[str, Any]],
    background: bool,
    progress: Progress | None,
    custom_metadata: Any,
    **args: Any,
) -> Call:
    context = get_context()
    _items.check_json("custom_metadata", custom_metadata)
    full = {"path": _engine.absolute(path), "custom": custom_metadata}
    full.update((k, v) for k, v in args.items() if v)
    return start(op, items(context), full, context, background=background, progress=progress)


def save(
    path: PathLike,
    state: Any,
    *,
    checkpointable_name: str = _describe.STATE,
    overwrite: bool = False,
    custom_metadata: Any = None,
    partial_update: bool = False,
    base: PathLike | None = None,
    progress: Progress | None = None,
) -> None:
    """Save a tree as a new checkpoint, and return when it is durable.

    The checkpoint appears under its path in one instant. If the save fails or is interrupted,
    nothing is visible.

    Args:
      path: directory of the checkpoint. It must not exist.
      state: a tree of arrays, numbers and strings.
      checkpointable_name: name of the item.
      overwrite: True replaces the checkpoint that is there. Other directories are never replaced.
      custom_metadata: JSON that is kept with the checkpoint.
      partial_update: True adds the leaves to the checkpoint that is there.
      base: an earlier checkpoint; data files with the same bytes are linked instead of written.
      progress: called with the bytes that are written and their total, in a thread of Bivouac.

    Raises:
      ValueError: the path exists, the tree is empty, or a leaf cannot be saved.
      TypeError: custom_metadata is no JSON.
    """
    _items.check_name(checkpointable_name)
    _items.check_state(state)
    _save(
        "save",
        path,
        lambda _: {checkpointable_name: state},
        False,
        progress,
        custom_metadata,
        overwrite=overwrite,
        partial_update=partial_update,
        base=None if base is None else _engine.absolute(base),
    ).result()


def save_async(
    path: PathLike,
    state: Any,
    *,
    checkpointable_name: str = _describe.STATE,
    overwrite: bool = False,
    custom_metadata: Any = None,
    partial_update: bool = False,
    base: PathLike | None = None,
    progress: Progress | None = None,
) -> AsyncResponse[None]:
    """Save a tree in the background.

    The function returns when the arrays are copied, so the caller may change them.

    Args:
      path: directory of the checkpoint. It must not exist.
      state: a tree of arrays, numbers and strings.
      checkpointable_name: name of the item.
      overwrite: True replaces the checkpoint that is there.
      custom_metadata: JSON that is kept with the checkpoint.
      partial_update: True adds the leaves to the checkpoint that is there.
      base: an earlier checkpoint; data files with the same bytes are linked instead of written.
      progress: called with the bytes that are written and their total, in a thread of Bivouac.

    Returns:
      A response whose result is None when the checkpoint is durable.

    Raises:
      ValueError: the path exists, the tree is empty, or a leaf cannot be saved.
      TypeError: custom_metadata is no JSON.
    """
    _items.check_name(checkpointable_name)
    _items.check_state(state)
    call = _save(
        "save",
        path,
        lambda _: {checkpointable_name: state},
        True,
        progress,
        custom_metadata,
        overwrite=overwrite,
        partial_update=partial_update,
        base=None if base is None else _engine.absolute(base),
    )
    return CallResponse(call, none)


def save_checkpointables(
    path: PathLike,
    checkpointables: dict[str, Any],
    *,
    overwrite: bool = False,
    custom_metadata: Any = None,
    partial_update: bool = False,
    base: PathLike | None = None,
    progress: Progress | None = None,
) -> None:
    """Save several items as a new checkpoint, each with its own handler.

    Args:
      path: directory of the checkpoint. It must not exist.
      checkpointables: the items by name.
      overwrite: True replaces the checkpoint that is there.
      custom_metadata: JSON that is kept with the checkpoint.
      partial_update: True adds the items to the checkpoint that is there.
      base: an earlier checkpoint; data files with the same bytes are linked instead of written.
      progress: called with the bytes that are written and their total, in a thread of Bivouac.

    Raises:
      ValueError: the path exists, or an item's name or value cannot be saved.
      KeyError: no handler takes an item (`NoEntryError`).
      TypeError: custom_metadata is no JSON.
    """
    _save(
        "save",
        path,
        lambda context: _items.to_save(checkpointables, context),
        False,
        progress,
        custom_metadata,
        overwrite=overwrite,
        partial_update=partial_update,
        base=None if base is None else _engine.absolute(base),
    ).result()


def save_checkpointables_async(
    path: PathLike,
    checkpointables: dict[str, Any],
    *,
    overwrite: bool = False,
    custom_metadata: Any = None,
    partial_update: bool = False,
    base: PathLike | None = None,
    progress: Progress | None = None,
) -> AsyncResponse[None]:
    """Save several items in the background.

    The function returns when the arrays are copied and the handlers of other items have written.

    Args:
      path: directory of the checkpoint. It must not exist.
      checkpointables: the items by name.
      overwrite: True replaces the checkpoint that is there.
      custom_metadata: JSON that is kept with the checkpoint.
      partial_update: True adds the items to the checkpoint that is there.
      base: an earlier checkpoint; data files with the same bytes are linked instead of written.
      progress: called with the bytes that are written and their total, in a thread of Bivouac.

    Returns:
      A response whose result is None when the checkpoint is durable.

    Raises:
      ValueError: the path exists, or an item's name or value cannot be saved.
      KeyError: no handler takes an item (`NoEntryError`).
      TypeError: custom_metadata is no JSON.
    """
    call = _save(
        "save",
        path,
        lambda context: _items.to_save(checkpointables, context),
        True,
        progress,
        custom_metadata,
        overwrite=overwrite,
        partial_update=partial_update,
        base=None if base is None else _engine.absolute(base),
    )
    return CallResponse(call, none)


def load(
    path: PathLike,
    abstract_state: Any = None,
    *,
    checkpointable_name: str | None = _describe.AUTO,
    into: Any = None,
    lossy_cast: bool = False,
    salvage: bool = False,
    allow_no_manifest: bool = False,
    report: list[Any] | None = None,
) -> Any:
    """Load a tree.

    Args:
      path: directory of the checkpoint, which torch.distributed.checkpoint may have written, or a
        file of safetensors or torch.save.
      abstract_state: a tree that says what to load. A leaf is an array or a description with shape
        and dtype, a type, None (as saved) or PLACEHOLDER (not loaded). A `CheckpointMetadata`
        stands for the tree that it describes. None loads everything as saved.
      checkpointable_name: name of the item; "AUTO" takes "state", or else the first tree.
      into: a tree whose arrays and tensors are filled in place, instead of abstract_state.
      lossy_cast: True takes what a cast makes of values that the wanted dtype does not have.
      salvage: True loads the whole leaves of a damaged checkpoint. Damaged leaves are PLACEHOLDER;
        report lists them.
      allow_no_manifest: True loads a checkpoint of Bivouac that lost its manifest.
      report: a list that receives the leaves that did not come as they were saved.

    Returns:
      The tree: as abstract_state or into has it, else of dictionaries, lists and NumPy arrays. What
      torch saved has tuples and bytes too, and tensors if the program has imported torch.

    Raises:
      ValueError: the path holds no checkpoint (`InvalidLayoutError`), or it does not fit what is
        wanted.
      TypeError: a leaf of abstract_state describes nothing.
    """
    name = None if checkpointable_name == _describe.AUTO else checkpointable_name
    _items.check_name(name)
    context = get_context()
    args = {
        "path": _engine.absolute(path),
        "context": context.as_json() or None,
        **load_args(lossy_cast, salvage, allow_no_manifest),
    }
    abstract = _items.wanted(abstract_state)
    more: dict[str, Any] = {"report": _report(report, salvage)}
    with translated(LAYOUT):
        registry = context.checkpointables.registry
        if into is None and not salvage and not _registry.only_builtin(registry):
            found = _describe.info(path, args["context"], allow_no_manifest)
            own = _items.own_item(found, name, context)
            if own is not None:
                items = {own: abstract}
                return _items.load("load_items", args, found, items, context, more)[own]
        args["item"] = name
        leaves = Leaves.of(context)
        return _engine.load("load", args, abstract=abstract, into=into, leaves=leaves, **more)


def _report(report: list[Any] | None, salvage: bool) -> list[Any] | None:
    return [] if report is None and salvage else report


def load_args(lossy_cast: bool, salvage: bool, allow_no_manifest: bool) -> dict[str, Any]:
    """Return the arguments that all loads have."""
    given = {
        "lossy_cast": lossy_cast,
        "salvage": salvage,
        "allow_no_manifest": allow_no_manifest,
    }
    return {name: True for name, value in given.items() if value}


def load_async(
    path: PathLike,
    abstract_state: Any = None,
    *,
    checkpointable_name: str | None = _describe.STATE,
    into: Any = None,
    lossy_cast: bool = False,
) -> AsyncResponse[Any]:
    """Load a tree in the background. Orbax does so for safetensors files only.

    Args:
      path: directory of the checkpoint, or a safetensors file.
      abstract_state: a tree that says what to load; see `load`.
      checkpointable_name: name of the item.
      into: a tree whose arrays are filled in place.
      lossy_cast: True takes what a cast makes of values that the wanted dtype does not have.

    Returns:
      A response whose result is the tree. Errors of `load` come from its result.
    """
    return ThreadResponse(
        functools.partial(
            load,
            path,
            abstract_state,
            checkpointable_name=checkpointable_name,
            into=into,
            lossy_cast=lossy_cast,
        )
    )


def needs_handlers(abstract: Mapping[str, Any] | None, context: Context) -> bool:
    """Return True if a load of items must know their type strings first.

    A load of all items must, because the server leaves out items whose handler it does not know.
    """
    if not abstract or not _registry.only_builtin(context.checkpointables.registry):
        return True
    return any(
        v is not None
        and (_types.saves_itself(v) or isinstance(v, type) or not _trees.is_abstract_handleable(v))
        for v in (abstract or {}).values()
    )


_trees = _builtin.PyTreeHandler()


def load_checkpointables(
    path: PathLike,
    abstract_checkpointables: Any = None,
    *,
    lossy_cast: bool = False,
    salvage: bool = False,
    allow_no_manifest: bool = False,
    report: list[Any] | None = None,
) -> dict[str, Any]:
    """Load items, each with its own handler.

    Args:
      path: directory of the checkpoint.
      abstract_checkpointables: what to load by name: an abstract tree, an object that loads itself,
        a class of messages, or None (as saved). None or {} loads all items. A `CheckpointMetadata`
        stands for the items that it describes.
      lossy_cast: True takes what a cast makes of values that the wanted dtype does not have.
      salvage: True loads the whole leaves of a damaged checkpoint.
      allow_no_manifest: True loads a checkpoint of Bivouac that lost its manifest.
      report: a list that receives the leaves that did not come as they were saved.

    Returns:
      The items by name.

    Raises:
      ValueError: the path holds no checkpoint (`InvalidLayoutError`), or it does not fit.
      KeyError: an item does not exist, or no handler takes it (`NoEntryError`).
    """
    context = get_context()
    abstract = _items.wanted(abstract_checkpointables)
    args = {
        "path": _engine.absolute(path),
        "context": context.as_json() or None,
        **load_args(lossy_cast, salvage, allow_no_manifest),
    }
    found = _describe.info(path, args["context"]) if needs_handlers(abstract, context) else None
    with translated(LAYOUT):
        return _items.load(
            "load_items", args, found, abstract, context, {"report": _report(report, salvage)}
        )


def load_checkpointables_async(
    path: PathLike, abstract_checkpointables: Any = None
) -> AsyncResponse[dict[str, Any]]:
    """Load items in the background. Orbax does not implement this yet.

    Args:
      path: directory of the checkpoint.
      abstract_checkpointables: what to load by name; see `load_checkpointables`.

    Returns:
      A response whose result has the items by name.
    """
    return ThreadResponse(functools.partial(load_checkpointables, path, abstract_checkpointables))


def metadata(
    path: PathLike, checkpointable_name: str | None = _describe.AUTO
) -> CheckpointMetadata[Any]:
    """Describe a tree without reading its arrays.

    Args:
      path: directory of the checkpoint.
      checkpointable_name: name of the item; "AUTO" takes "state", or else the first tree.

    Returns:
      A description. Its metadata is the tree with `ArrayMetadata` for arrays, 0, 0.0 and False for
      numbers, and "string" for strings. Leaf handlers describe their leaves. It is an abstract tree
      for `load`.

    Raises:
      ValueError: the path holds no checkpoint, or no such tree (`InvalidLayoutError`).
    """
    if checkpointable_name != _describe.AUTO:
        _items.check_name(checkpointable_name)
    context = get_context()
    text = context.as_json() or None
    return _describe.checkpoint(path, checkpointable_name, text, Leaves.of(context))


def checkpointables_metadata(path: PathLike) -> CheckpointMetadata[dict[str, Any]]:
    """Describe all items of a checkpoint without reading arrays.

    Args:
      path: directory of the checkpoint.

    Returns:
      A description. Its metadata has the description of each item by name; None for an item that
      its handler cannot describe.

    Raises:
      ValueError: the path holds no checkpoint (`InvalidLayoutError`).
    """
    context = get_context()
    text = context.as_json() or None
    found = _describe.info(path, text)
    args = {"path": _engine.absolute(path), "context": text}
    described = _items.describe(found, "load_items", args, context)
    return CheckpointMetadata(metadata=described, **_describe.fields(found))


def is_orbax_checkpoint(path: PathLike) -> bool:
    """Return True if the path holds a checkpoint that can be loaded.

    Args:
      path: a directory or a file; it need not exist.
    """
    value = _client.connection().call(
        "is_checkpoint", path=_engine.absolute(path), context=get_context().as_json() or None
    )
    return bool(value["is"])


def _start_delete(path: PathLike, checkpointable_name: str | None, missing_ok: bool) -> Call:
    return _client.connection().start(
        "delete",
        path=_engine.absolute(path),
        item=checkpointable_name,
        missing_ok=missing_ok or None,
        context=get_context().as_json() or None,
    )


def _deleted(call: Call) -> bool:
    return bool(call.result()["deleted"])


def delete(
    path: PathLike, *, checkpointable_name: str | None = None, missing_ok: bool = False
) -> bool:
    """Delete a checkpoint, or one item of it. It becomes invisible in one instant.

    Args:
      path: directory of the checkpoint. Other directories are never deleted.
      checkpointable_name: name of the item; None deletes the checkpoint.
      missing_ok: True returns False if there is nothing to delete.

    Returns:
      True if something was deleted.

    Raises:
      FileNotFoundError: the checkpoint or the item does not exist.
      ValueError: the path holds no checkpoint, or the item is the last one.
    """
    call = _start_delete(path, checkpointable_name, missing_ok)
    return TranslatedResponse(call, _deleted, LAYOUT).result()


def delete_async(
    path: PathLike, *, checkpointable_name: str | None = None, missing_ok: bool = False
) -> AsyncResponse[bool]:
    """Delete a checkpoint, or one item of it, in the background.

    Args:
      path: directory of the checkpoint.
      checkpointable_name: name of the item; None deletes the checkpoint.
      missing_ok: True lets the result be False if there is nothing to delete.

    Returns:
      A response whose result is True if something was deleted. Errors of `delete` come from it.
    """
    call = _start_delete(path, checkpointable_name, missing_ok)
    return TranslatedResponse(call, _deleted, LAYOUT)


# The names that Orbax had before it said "state". They are deprecated there.
save_pytree = save
save_pytree_async = save_async
load_pytree = load
load_pytree_async = load_async
pytree_metadata = metadata
