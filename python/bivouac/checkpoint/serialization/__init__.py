"""Leaf handlers save and load leaves that are not arrays, numbers or strings.

A leaf handler is a class with the methods of `LeafHandler`. Add it to a registry, and give the
registry to the options of trees:

    registry = StandardLeafHandlerRegistry()
    registry.add(Point, AbstractPoint, PointHandler)
    context = Context(pytree_options=PyTreeOptions(leaf_handler_registry=registry))
    with context:
        save(path, {"w": w, "origin": Point(0, 0)})

The handler runs in this process. It writes its files into a private directory, and the server moves
them beside the arrays of the tree, into the same commit and the same manifest. The names are those
that Orbax had in its module `serialization`, and has in `_src.serialization` since 0.12.
"""

from __future__ import annotations

from bivouac.checkpoint.errors import AlreadyRegisteredTypeError, UnregisteredTypeError
from bivouac.checkpoint.serialization._registry import (
    BaseLeafHandlerRegistry,
    BuiltinLeafHandler,
    LeafHandlerRegistry,
    StandardLeafHandlerRegistry,
    typestr,
)
from bivouac.checkpoint.serialization._types import (
    ByteLimiter,
    DeserializationContext,
    DeserializationParam,
    LeafHandler,
    SerializationContext,
    SerializationParam,
)

__all__ = [
    "AlreadyRegisteredTypeError",
    "BaseLeafHandlerRegistry",
    "BuiltinLeafHandler",
    "ByteLimiter",
    "DeserializationContext",
    "DeserializationParam",
    "LeafHandler",
    "LeafHandlerRegistry",
    "SerializationContext",
    "SerializationParam",
    "StandardLeafHandlerRegistry",
    "UnregisteredTypeError",
    "typestr",
]
