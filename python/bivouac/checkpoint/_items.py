"""Items on their way to the server and back: which handler takes them, and in which form."""

from __future__ import annotations

import json
import pathlib
import shutil
from collections.abc import Mapping
from typing import Any

from bivouac.checkpoint import _describe, _engine, _walk
from bivouac.checkpoint import options as opts
from bivouac.checkpoint._context import Context
from bivouac.checkpoint._engine import Wire
from bivouac.checkpoint._leaves import Leaves
from bivouac.checkpoint._metadata import CheckpointMetadata
from bivouac.checkpoint.errors import NoEntryError
from bivouac.checkpoint.handlers import _builtin, _registry, _run, _types
from bivouac.errors import BivouacError, Invalid, NotFound, Unsupported

JSON_KINDS = (_builtin.JsonHandler, _builtin.MetricsHandler)


def check_json(name: str, value: Any) -> Any:
    """Return a value, or raise TypeError if it is no JSON."""
    if value is not None:
        json.dumps(value)
    return value


def check_state(state: Any) -> None:
    """Raise ValueError for a state that holds nothing."""
    if state is None:
        raise Invalid(op="save", subject="state", want="a tree", got="None")


def check_name(name: str | None) -> None:
    """Raise ValueError for the name of an item that is empty or reserved. None passes."""
    if name is not None and (
        not isinstance(name, str) or name in ("", _describe.METRICS, _describe.AUTO)
    ):
        raise Invalid(
            op="checkpoint",
            subject=f"item {name!r}",
            got="an empty or reserved name",
            remedy="use another name",
        )


def to_save(checkpointables: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Return the items as the engine takes them. Handlers write their files.

    Raises:
      ValueError: there are no items, or the name of an item is empty or reserved.
      NoEntryError: no handler takes an item.
    """
    if not isinstance(checkpointables, Mapping) or not checkpointables:
        raise Invalid(
            op="save_checkpointables", want="a dictionary of items", got=repr(checkpointables)
        )
    for name in checkpointables:
        check_name(name)
    registry = context.checkpointables.registry
    kinds = {n: _registry.for_save(registry, n, v) for n, v in checkpointables.items()}
    out: dict[str, Any] = {}
    try:
        for name, value in checkpointables.items():
            out[name] = _one_to_save(kinds[name], value)
    except BaseException:
        drop(out)
        raise
    return out


def _one_to_save(kind: type[Any], value: Any) -> Any:
    if kind is _builtin.PyTreeHandler:
        return value
    if kind in JSON_KINDS:
        return Wire({"json": json.dumps(value)})
    if kind is _builtin.ProtoHandler:
        return Wire({"proto": _builtin.proto_text(value)})
    directory = _run.save(kind(), value)
    return Wire({"files": str(directory), "type": _types.typestr(kind)})


def drop(items: Mapping[str, Any]) -> None:
    """Remove the private directories of items that will not be saved."""
    for item in items.values():
        if isinstance(item, Wire) and "files" in item:
            shutil.rmtree(item["files"], ignore_errors=True)


def context_json(context: Context, items: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the options of a save as JSON, with what the user's function says of each array."""
    out = context.as_json()
    creator = context.array.saving.scoped_storage_options_creator
    leaves = Leaves.of(context)
    takes = None if leaves is None else leaves.takes
    entries: list[dict[str, Any]] = []
    if creator is not None:
        for item in items.values():
            if isinstance(item, Wire):
                continue
            for at, leaf in _walk.leaves(item, takes):
                if not _walk.is_array(leaf) or (takes is not None and takes(leaf)):
                    continue
                storage = creator(at, leaf)
                if storage is not None:
                    entries.append(_scoped(at, storage))
    if entries:
        group = out.setdefault("bivouac", {})
        group["leaf_storage"] = entries + list(group.get("leaf_storage", ()))
    return out or None


def _scoped(
    at: tuple[Any, ...], storage: opts.ArrayOptions.Saving.StorageOptions
) -> dict[str, Any]:
    keys = [_walk.key_text(key) for key in at]
    if any("/" in key or key == "**" for key in keys):
        raise Unsupported(
            op="save",
            subject=".".join(keys),
            want="keys without '/' for scoped_storage_options_creator",
            remedy="set the storage of all arrays, or rename the key",
        )
    match = "/".join("".join("\\" + c if c in "\\*?[" else c for c in key) for key in keys)
    return {"match": match, "storage_options": storage.wire()}


def wanted(abstract: Any) -> Any:
    """Return the tree of a description, or the abstract tree as it is."""
    return abstract.metadata if isinstance(abstract, CheckpointMetadata) else abstract


def load(
    op: str,
    args: Mapping[str, Any],
    found: Mapping[str, Any] | None,
    abstract: Mapping[str, Any] | None,
    context: Context,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """Load items.

    Args:
      op: "load_items" or "training.load_items".
      args: arguments of the operation.
      found: what the server says of the checkpoint; None if the items need no handler.
      abstract: what to load by name; None and {} load all.
      context: the options.
      more: other arguments of the engine.
    """
    registry = context.checkpointables.registry
    more = {**more, "leaves": Leaves.of(context)}
    if found is None:
        loaded = _engine.load_items(op, args, dict(abstract or {}) or None, **more)
        return {n: _plain(n, v) for n, v in loaded.items() if n != _describe.METRICS}
    there = _describe.items(found)
    asked = dict(abstract) if abstract else dict.fromkeys(there)
    missing = sorted(set(asked) - set(there))
    if missing:
        raise NotFound(
            op=op, subject=f"items {missing}", got=f"items {sorted(there)}", want="items that exist"
        )
    kinds = {
        name: _registry.for_load(registry, name, value, there[name].get("handler"))
        for name, value in asked.items()
    }
    for name, kind in kinds.items():
        foreign = there[name]["kind"] not in ("tree",) and kind is _builtin.PyTreeHandler
        if foreign:
            raise NoEntryError(
                op=op,
                subject=f"item {name!r}",
                want=f"the handler {there[name].get('handler')!r}",
                got=_registry.describe(registry.get_all_entries()),
                remedy="add the handler that saved it to the registry",
            )
    request = {name: _request(kind, asked[name]) for name, kind in kinds.items()}
    loaded = _engine.load_items(op, args, request, **more)
    try:
        return {n: _finish(kinds[n], loaded.pop(n), asked[n]) for n in asked}
    finally:
        drop(loaded)


def own_item(found: Mapping[str, Any], name: str | None, context: Context) -> str | None:
    """Return the name of an item that a load of a tree gives to a handler of the user, or None.

    Args:
      found: what the server says of the checkpoint.
      name: name of the item; None means "state".
      context: the options.
    """
    name = name or _describe.STATE
    item = _describe.items(found).get(name)
    if item is None:
        return None
    kind = _registry.for_load(context.checkpointables.registry, name, None, item.get("handler"))
    return None if kind.__module__ == _builtin.__name__ else name


def _request(kind: type[Any], abstract: Any) -> Any:
    if kind is _builtin.PyTreeHandler:
        return abstract
    if kind in JSON_KINDS:
        return Wire({"json": True})
    if kind is _builtin.ProtoHandler:
        return Wire({"proto": True})
    return Wire({"files": True})


def _finish(kind: type[Any], value: Any, abstract: Any) -> Any:
    if kind is _builtin.ProtoHandler:
        return _builtin.parse_proto(value["proto"], abstract)
    if isinstance(value, Wire) and "files" in value:
        return _run.load(kind(), pathlib.Path(value["files"]), abstract)
    return json.loads(value["json"]) if isinstance(value, Wire) else value


def _plain(name: str, value: Any) -> Any:
    """Return an item that the server resolved by its type string."""
    if not isinstance(value, Wire):
        return value
    if "json" in value:
        return json.loads(value["json"])
    if "proto" in value:
        return _builtin.parse_proto(value["proto"], None)
    drop({name: value})
    raise NoEntryError(
        op="load_checkpointables",
        subject=f"item {name!r}",
        want=f"the handler {value.get('type')!r}",
        remedy="add the handler that saved it to the registry",
    )


def describe(
    found: Mapping[str, Any], op: str, args: Mapping[str, Any], context: Context
) -> dict[str, Any]:
    """Return the description of each item by name; None where its handler cannot describe it."""
    registry = context.checkpointables.registry
    leaves = Leaves.of(context)
    out: dict[str, Any] = {}
    for name, item in _describe.items(found).items():
        if item["kind"] == "tree":
            node = item.get("tree")
            described = _engine.describe_leaves(args, name or None, node, leaves)
            out[name] = _describe.tree(node, described)
            continue
        out[name] = None
        kind = _registry.for_load(registry, name, None, item.get("handler"))
        if kind in (*JSON_KINDS, _builtin.ProtoHandler, _builtin.PyTreeHandler):
            continue
        try:
            loaded = _engine.load_items(op, args, {name: Wire({"files": True})})
            out[name] = _run.metadata(kind(), pathlib.Path(loaded[name]["files"]))
        except (BivouacError, NotImplementedError):
            continue
    return out
