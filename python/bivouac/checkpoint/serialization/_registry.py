"""Registries of leaf handlers: which handler has which type of leaves."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bivouac._tree import type_text
from bivouac.checkpoint.arrays import AbstractArray, AbstractShardedArray
from bivouac.checkpoint.errors import AlreadyRegisteredTypeError, UnregisteredTypeError
from bivouac.errors import Invalid, Unsupported

LeafHandlerType = type[Any]


def typestr(handler_type: LeafHandlerType) -> str:
    """Return the type string of the class of a leaf handler."""
    return f"{handler_type.__module__}.{handler_type.__qualname__}"


class BuiltinLeafHandler:
    """The handler of arrays, numbers and strings. The server does its work."""

    def __init__(self, *, context: Any = None) -> None:
        """Make a handler.

        Args:
          context: the options; they act in the server.
        """

    async def serialize(self, params: Any, serialization_context: Any) -> Any:
        """Raise an error: the server saves such leaves."""
        raise self._of_the_server("serialize")

    async def deserialize(self, params: Any, deserialization_context: Any) -> Any:
        """Raise an error: the server loads such leaves."""
        raise self._of_the_server("deserialize")

    async def metadata(self, params: Any, deserialization_context: Any) -> Any:
        """Raise an error: the server describes such leaves."""
        raise self._of_the_server("metadata")

    def _of_the_server(self, method: str) -> Unsupported:
        return Unsupported(
            op=f"BuiltinLeafHandler.{method}",
            got="a call in this process",
            remedy="leave arrays, numbers and strings to the server: save them in the tree",
        )


def is_builtin(handler_type: LeafHandlerType) -> bool:
    """Return True for the handler of arrays, numbers and strings, here or in Orbax."""
    module = handler_type.__module__
    return issubclass(handler_type, BuiltinLeafHandler) or module.startswith("orbax.checkpoint.")


@runtime_checkable
class LeafHandlerRegistry(Protocol):
    """Finds the leaf handler of a type of leaves, or of a type that describes leaves."""

    def get(self, leaf_type: type[Any]) -> LeafHandlerType:
        """Return the handler of a type of leaves, or raise ValueError."""
        ...

    def get_abstract(self, abstract_type: type[Any]) -> LeafHandlerType:
        """Return the handler of a type that describes leaves, or raise ValueError."""
        ...

    def get_all(self) -> Sequence[tuple[type[Any], type[Any], LeafHandlerType]]:
        """Return leaf type, abstract type and handler of each entry."""
        ...

    def add(
        self,
        leaf_type: type[Any],
        abstract_type: type[Any],
        handler_type: LeafHandlerType,
        override: bool = False,
        secondary_typestrs: Sequence[str] | None = None,
    ) -> None:
        """Add a handler.

        Args:
          leaf_type: class of the leaves; subclasses count.
          abstract_type: class of their descriptions.
          handler_type: class of the handler.
          override: True removes the entries that are in the way.
          secondary_typestrs: type strings. The first is recorded instead of the handler's own;
            leaves that were recorded under any of them are loaded.

        Raises:
          ValueError: one of the types has another handler (`AlreadyRegisteredTypeError`).
        """
        ...

    def is_handleable(self, leaf_type: type[Any]) -> bool:
        """Return True if a type of leaves has a handler."""
        ...

    def is_abstract_handleable(self, abstract_type: type[Any]) -> bool:
        """Return True if a type that describes leaves has a handler."""
        ...

    def get_secondary_typestrs(self, handler_type: LeafHandlerType) -> Sequence[str]:
        """Return the secondary type strings of a handler."""
        ...


@dataclasses.dataclass
class _Entry:
    leaf: type[Any]
    abstract: type[Any]
    handler: LeafHandlerType
    secondary: list[str]


def fits(cls: type[Any], wanted: type[Any]) -> bool:
    """Return True if a class is, or has the members of, a class or protocol."""
    try:
        return issubclass(cls, wanted)
    except TypeError:  # a protocol with attributes
        members = {n for c in wanted.__mro__ for n in getattr(c, "__annotations__", {})}
        fields = {n for c in cls.__mro__ for n in getattr(c, "__annotations__", {})}
        return all(n in fields or hasattr(cls, n) for n in members if not n.startswith("_"))


class BaseLeafHandlerRegistry:
    """A registry without entries. The most specific entry of a type counts, and the last of those.

    With this registry, arrays have no handler either: see `StandardLeafHandlerRegistry`.
    """

    def __init__(self) -> None:
        """Make a registry."""
        self._lock = threading.RLock()
        self._entries: list[_Entry] = []

    def __repr__(self) -> str:
        names = [f"{type_name(e.leaf)}: {e.handler.__name__}" for e in self._all()]
        return f"{type(self).__name__}({', '.join(names)})"

    def _all(self) -> list[_Entry]:
        """Return the entries in their order."""
        with self._lock:
            return list(self._entries)

    def _find(self, cls: type[Any], of: Callable[[_Entry], type[Any]]) -> _Entry | None:
        """Return the most specific entry for a class."""
        able = [entry for entry in self._all() if fits(cls, of(entry))]
        for entry in reversed(able):
            if not any(of(o) is not of(entry) and fits(of(o), of(entry)) for o in able):
                return entry
        return able[-1] if able else None

    def get(self, leaf_type: type[Any]) -> LeafHandlerType:
        """Return the handler of a type of leaves, or raise `UnregisteredTypeError`."""
        found = self._find(leaf_type, lambda e: e.leaf)
        if found is None:
            raise unregistered("a leaf", type_name(leaf_type))
        return found.handler

    def get_abstract(self, abstract_type: type[Any]) -> LeafHandlerType:
        """Return the handler of a type that describes leaves; or `UnregisteredTypeError`."""
        found = self._find(abstract_type, lambda e: e.abstract)
        if found is None:
            raise unregistered("a description of a leaf", type_name(abstract_type))
        return found.handler

    def get_all(self) -> Sequence[tuple[type[Any], type[Any], LeafHandlerType]]:
        """Return leaf type, abstract type and handler of each entry, general leaf types first."""
        entries = self._all()
        above = {id(e): sum(fits(e.leaf, o.leaf) for o in entries if o is not e) for e in entries}
        entries.sort(key=lambda e: above[id(e)])
        return [(e.leaf, e.abstract, e.handler) for e in entries]

    def add(
        self,
        leaf_type: type[Any],
        abstract_type: type[Any],
        handler_type: LeafHandlerType,
        override: bool = False,
        secondary_typestrs: Sequence[str] | None = None,
    ) -> None:
        """Add a handler; see `LeafHandlerRegistry.add`."""
        given = {"leaf_type": leaf_type, "abstract_type": abstract_type, "handler": handler_type}
        for name, value in given.items():
            if not isinstance(value, type):
                raise Invalid(
                    op="registry.add", subject=name, want="a class", got=f"a {type_text(value)}"
                )
        secondary = list(secondary_typestrs or ())
        with self._lock:
            kept = []
            for e in self._all():
                same = (e.leaf, e.abstract, e.handler) == (leaf_type, abstract_type, handler_type)
                if same and (not override or not secondary):
                    return
                clash = e.leaf is leaf_type or (
                    e.abstract is abstract_type and e.handler is not handler_type
                )
                if clash and not override:
                    raise AlreadyRegisteredTypeError(
                        op="registry.add",
                        subject=type_name(leaf_type if e.leaf is leaf_type else abstract_type),
                        got=f"the leaf handler {typestr(e.handler)}",
                        remedy="use override=True to replace it, or give the handler other types",
                    )
                if not clash:
                    kept.append(e)
            self._entries = [*kept, _Entry(leaf_type, abstract_type, handler_type, secondary)]

    def is_handleable(self, leaf_type: type[Any]) -> bool:
        """Return True if a type of leaves has a handler."""
        return self._find(leaf_type, lambda e: e.leaf) is not None

    def is_abstract_handleable(self, abstract_type: type[Any]) -> bool:
        """Return True if a type that describes leaves has a handler."""
        return self._find(abstract_type, lambda e: e.abstract) is not None

    def get_secondary_typestrs(self, handler_type: LeafHandlerType) -> Sequence[str]:
        """Return the secondary type strings of a handler."""
        for e in self._all():
            if e.handler is handler_type:
                return list(e.secondary)
        return []


class StandardLeafHandlerRegistry(BaseLeafHandlerRegistry):
    """A registry with the entries of arrays, numbers and strings, which the server handles.

    Arrays of JAX have an entry when JAX is imported.
    """

    def __init__(self) -> None:
        """Make a registry."""
        super().__init__()
        self._jax = False
        self.add(np.ndarray, AbstractArray, BuiltinLeafHandler, secondary_typestrs=["np.ndarray"])
        for scalar in (int, float, bytes):
            self.add(scalar, scalar, BuiltinLeafHandler, secondary_typestrs=["scalar"])
        self.add(str, str, BuiltinLeafHandler, secondary_typestrs=["string"])

    def _all(self) -> list[_Entry]:
        """Return the entries in their order, with that of JAX once it is imported."""
        array = getattr(sys.modules.get("jax"), "Array", None)
        with self._lock:
            if array is not None and not self._jax:
                self._jax = True
                if all(e.leaf is not array for e in self._entries):
                    entry = _Entry(array, AbstractShardedArray, BuiltinLeafHandler, ["jax.Array"])
                    self._entries.insert(0, entry)
            return list(self._entries)


def type_name(cls: type[Any]) -> str:
    """Return the full name of a class."""
    return cls.__qualname__ if cls.__module__ == "builtins" else typestr(cls)


def unregistered(what: str, got: str, subject: str = "") -> UnregisteredTypeError:
    """Return the error of a type without a handler."""
    return UnregisteredTypeError(
        op="LeafHandlerRegistry",
        subject=subject,
        want=f"{what} of a type with a leaf handler",
        got=got,
        remedy="add a leaf handler to the leaf_handler_registry of PyTreeOptions",
    )
