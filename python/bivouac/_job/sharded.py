"""State dictionaries with DTensors: what each process asks for when it loads them.

A state dictionary is loaded as it was saved. Where the object has a DTensor now, the process asks
for its own part, for any mesh. The state of an optimizer that has made no step is empty, so its
tensors are asked for like the parameters that they belong to.
"""

from __future__ import annotations

import sys
from typing import Any

from bivouac import _dtypes, _shards

__all__ = ["at", "unwrapped", "wanted"]

Keys = tuple[str, ...]


def unwrapped(value: Any) -> Any:
    """Return the module in a DistributedDataParallel, so that a checkpoint fits without it too."""
    cls = getattr(sys.modules.get("torch.nn.parallel"), "DistributedDataParallel", None)
    return value.module if cls is not None and isinstance(value, cls) else value


def at(node: Any, keys: Keys) -> Any:
    """Return the node at a path of a description, or None."""
    for key in keys:
        found = _children(node)
        node = None if found is None else found.get(key)
    return node


def _children(node: Any) -> dict[str, Any] | None:
    """Return the children of a node by name, or None for a leaf."""
    if not isinstance(node, list):
        return None
    if node[0] == "d":
        return dict(zip(node[1], node[2]))
    if node[0] == "n":
        return dict(zip(node[2], node[3]))
    if node[0] in ("l", "t"):
        return {str(i): child for i, child in enumerate(node[1])}
    return None


def wanted(value: Any, node: Any) -> Any:
    """Return the abstract tree of a state dictionary. None loads all of it as it was saved.

    Args:
      value: the object that gets the state dictionary.
      node: the description of what was saved.
    """
    tensors = sys.modules.get("torch.distributed.tensor")
    if node is None or getattr(tensors, "DTensor", None) is None:
        return None
    own = value.state_dict()
    optimizer = getattr(sys.modules.get("torch.optim"), "Optimizer", None)
    parameters: list[Any] = []
    if optimizer is not None and isinstance(value, optimizer):
        parameters = [p for group in value.param_groups for p in group["params"]]
    if not any(map(_shards.is_dtensor, parameters)) and not _has_dtensor(own):
        return None
    return _walk(node, own, (), parameters)


def _has_dtensor(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_dtensor(part) for part in value.values())
    if isinstance(value, list | tuple):
        return any(_has_dtensor(part) for part in value)
    return _shards.is_dtensor(value)


def _walk(node: Any, own: Any, keys: Keys, parameters: list[Any]) -> Any:
    found = _children(node)
    if found is None:
        return _like(node, own, keys, parameters)
    names = _named(own)
    parts = {k: _walk(c, names.get(k), (*keys, k), parameters) for k, c in found.items()}
    return list(parts.values()) if node[0] in ("l", "t") else parts


def _named(own: Any) -> dict[str, Any]:
    if isinstance(own, dict):
        return {str(key): part for key, part in own.items()}
    if isinstance(own, list | tuple):
        return {str(i): part for i, part in enumerate(own)}
    return {}


def _like(node: Any, own: Any, keys: Keys, parameters: list[Any]) -> Any:
    """Return the DTensor that a leaf is loaded like, or None."""
    if not isinstance(node, list) or node[0] != "s":
        return None
    if own is None and len(keys) == 3 and keys[0] == "state" and keys[1].isdigit():
        number = int(keys[1])
        own = parameters[number] if number < len(parameters) else None
        if own is not None and _shards.is_dtensor(own) and list(own.shape) == node[2]:
            return _typed(own, node[1])
        return None
    return own if _shards.is_dtensor(own) else None


def _typed(like: Any, dtype: str) -> Any:
    """Return a DTensor with the mesh, placements and shape of another one, without memory."""
    torch = sys.modules["torch"]
    cls = sys.modules["torch.distributed.tensor"].DTensor
    shape = _shards.dtensor_local(like).shape
    return cls.from_local(
        torch.empty(shape, dtype=_dtypes.torch_dtype(dtype), device="meta"),
        like.device_mesh,
        like.placements,
        run_check=False,
        shape=like.shape,
        stride=like.stride(),
    )
