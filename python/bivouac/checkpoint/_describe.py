"""Descriptions of checkpoints, made of the metadata that the server sends."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bivouac import _client, _dtypes, _url
from bivouac.checkpoint import _engine
from bivouac.checkpoint._leaves import Leaves
from bivouac.checkpoint._metadata import CheckpointMetadata
from bivouac.checkpoint.arrays import ArrayMetadata, StorageMetadata
from bivouac.checkpoint.errors import LAYOUT, NoCheckpointError, translated

AUTO = "AUTO"
STATE = "state"
METRICS = "metrics"

_Keys = tuple[str, ...]
_NONE: Mapping[_Keys, Any] = {}
_SCALARS: dict[str, Any] = {"int": 0, "float": 0.0, "bool": False, "str": "string"}


def info(
    path: str | os.PathLike[str],
    context: Mapping[str, Any] | None,
    allow_no_manifest: bool = False,
) -> dict[str, Any]:
    """Return what the server says of a checkpoint: `info` in docs/format/serve.md."""
    call = _client.connection().start(
        "metadata",
        path=_engine.absolute(path),
        context=context,
        allow_no_manifest=allow_no_manifest or None,
    )
    call.cancel_on_interrupt = True
    with translated(LAYOUT):
        return dict(call.result()["info"])


def fields(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a `CheckpointMetadata` other than its metadata."""
    return {
        "path": _url.located(found["path"]),
        "init_timestamp_nsecs": found.get("began_ns"),
        "commit_timestamp_nsecs": found.get("commit_ns"),
        "custom_metadata": found.get("custom"),
    }


def items(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the items of a checkpoint by name, without those of reserved names."""
    return {item["name"]: item for item in found["items"] if item["name"] != METRICS}


def pick(found: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    """Return the item of a name. AUTO and None take "state", or else the first tree."""
    named = {item["name"]: item for item in found["items"]}
    if name is None or name == AUTO:
        trees = sorted(n for n, item in named.items() if item["kind"] == "tree")
        if STATE in trees or trees:
            return dict(named[STATE if STATE in trees else trees[0]])
    elif name in named and named[name]["kind"] == "tree":
        return dict(named[name])
    raise NoCheckpointError(
        op="metadata",
        subject=str(found["path"]),
        want="an item that is a tree"
        if name in (None, AUTO)
        else f"an item {name!r} that is a tree",
        got=f"items {sorted(named)}",
    )


def checkpoint(
    path: str | os.PathLike[str],
    item: str | None = AUTO,
    context: Mapping[str, Any] | None = None,
    leaves: Leaves | None = None,
) -> CheckpointMetadata[Any]:
    """Return the description of a tree in a checkpoint."""
    found = info(path, context)
    args = {"path": _engine.absolute(path), "context": context}
    return CheckpointMetadata(metadata=item_tree(pick(found, item), args, leaves), **fields(found))


def item_tree(item: Mapping[str, Any], args: Mapping[str, Any], leaves: Leaves | None) -> Any:
    """Return the tree of an item with descriptions as leaves.

    Args:
      item: the item's metadata.
      args: arguments with which "load" finds the checkpoint.
      leaves: the leaf handlers; None if there are none.
    """
    node = item.get("tree")
    name = str(item["name"]) or None
    return tree(node, _engine.describe_leaves(args, name, node, leaves))


def tree(node: Any, handled: Mapping[tuple[str, ...], Any] = _NONE, at: _Keys = ()) -> Any:
    """Return the tree of a node of metadata, with descriptions as leaves.

    Arrays are `ArrayMetadata`; numbers are 0, 0.0 and False; strings are "string".

    Args:
      node: the node.
      handled: the descriptions that leaf handlers made, by path.
      at: path of the node.
    """
    if not isinstance(node, list):
        return node
    tag = node[0]
    if tag == "d":
        return {key: tree(c, handled, (*at, key)) for key, c in zip(node[1], node[2])}
    if tag == "n":
        return {key: tree(c, handled, (*at, key)) for key, c in zip(node[2], node[3])}
    if tag in ("l", "t"):
        children = [tree(c, handled, (*at, str(i))) for i, c in enumerate(node[1])]
        return children if tag == "l" else tuple(children)
    if tag == "y":
        return _SCALARS[node[1]]
    if tag == "s":
        return _array(node[1], node[2], node[3] if len(node) > 3 else {})
    if at in handled:
        return handled[at]
    return ArrayMetadata(value_type=str(node[1]) if tag == "h" else tag)


def _array(dtype: str | None, shape: list[int] | None, more: Mapping[str, Any]) -> ArrayMetadata:
    chunk, write = more.get("chunk_shape"), more.get("write_shape")
    storage = None
    if chunk is not None or write is not None:
        storage = StorageMetadata(
            None if chunk is None else tuple(chunk), None if write is None else tuple(write)
        )
    error = more.get("error")
    return ArrayMetadata(
        shape=None if shape is None else tuple(shape),
        dtype=None if dtype is None else _dtypes.numpy_dtype(dtype),
        storage_metadata=storage,
        value_type=str(more.get("value_type", "np.ndarray")),
        error="" if not error else str(error["text"]),
    )
