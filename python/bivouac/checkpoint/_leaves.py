"""Leaves of leaf handlers on their way to the server and back.

A save writes the files of the handlers of a tree into a private directory, which the server moves
into the item. A load gets private directories with such files, and a node "h" for each leaf.
"""

from __future__ import annotations

import contextlib
import inspect
import pathlib
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bivouac import errors
from bivouac._tree import PLACEHOLDER, children, is_container, type_text
from bivouac.checkpoint import _phases, _walk
from bivouac.checkpoint.arrays import ArrayMetadata
from bivouac.checkpoint.serialization import _registry, _types

if TYPE_CHECKING:
    from bivouac.checkpoint._context import Context
    from bivouac.checkpoint.serialization import LeafHandlerRegistry

__all__ = ["Leaves", "Recorded", "private", "recorded"]

Handler = type[Any]
Keys = tuple[str, ...]
Recorded = dict[Keys, str]
Groups = dict[Handler, list[Any]]

_MOST = 3  # names of leaves in an error


class Leaves:
    """The leaf handlers of a call: those of a registry that the server does not stand in for."""

    def __init__(self, registry: LeafHandlerRegistry, context: Context) -> None:
        """Find the handlers.

        Args:
          registry: the registry.
          context: the options, with which handlers are made.
        """
        self._registry = registry
        self._context = context
        entries = registry.get_all()
        self._standard = any(_registry.is_builtin(handler) for _, _, handler in entries)
        self._by_type: dict[str, Handler] = {}
        for _, _, handler in entries:
            if not _registry.is_builtin(handler):
                for text in (*registry.get_secondary_typestrs(handler), _registry.typestr(handler)):
                    if _is_type_string(text):
                        self._by_type[text] = handler
        self._taken: dict[type[Any], Handler | None] = {}

    @classmethod
    def of(cls, context: Context, registry: LeafHandlerRegistry | None = None) -> Leaves | None:
        """Return the leaf handlers of the options, or None if there are none.

        Args:
          context: the options.
          registry: the registry to use instead of that of the options.
        """
        registry = registry or context.pytree.leaf_handler_registry
        if registry is None:
            return None
        found = cls(registry, context)
        return found if found._by_type or not found._standard else None

    def types(self) -> list[str]:
        """Return the type strings whose leaves can be loaded."""
        return sorted(self._by_type)

    # Which handler has which value.

    def takes(self, value: Any) -> bool:
        """Return True for a leaf that a handler saves."""
        return self._saver(value) is not None

    def describes(self, value: Any) -> bool:
        """Return True for a value of an abstract tree that asks for a leaf of a handler."""
        if value is None or value is PLACEHOLDER or is_container(value):
            return False
        cls = value if isinstance(value, type) else type(value)
        return self._by_abstract(cls) is not None or self._by_leaf(cls) is not None

    def type_of(self, value: Any) -> str | None:
        """Return the type string under which a value is saved; None if the server saves it."""
        handler = self._saver(value)
        if handler is None:
            return None
        secondary = self._registry.get_secondary_typestrs(handler)
        text = secondary[0] if secondary else _registry.typestr(handler)
        if not _is_type_string(text):
            raise errors.Invalid(
                op="save",
                subject=f"type string {text!r} of {_registry.typestr(handler)}",
                want="a dot in it, and not the type string of arrays",
                remedy='name it like "example.Tokens"',
            )
        return text

    def _saver(self, value: Any) -> Handler | None:
        """Return the handler that saves a value, or None if the server saves it."""
        cls = type(value)
        if cls not in self._taken:
            node = value is None or value is PLACEHOLDER or is_container(value)
            self._taken[cls] = None if node else self._by_leaf(cls)
        return self._taken[cls]

    def _by_leaf(self, cls: type[Any]) -> Handler | None:
        found = self._registry.get(cls) if self._registry.is_handleable(cls) else None
        return None if found is None or _registry.is_builtin(found) else found

    def _by_abstract(self, cls: type[Any]) -> Handler | None:
        known = self._registry.is_abstract_handleable(cls)
        found = self._registry.get_abstract(cls) if known else None
        return None if found is None or _registry.is_builtin(found) else found

    def _make(self, handler: Handler) -> Any:
        """Make a handler."""
        try:
            return handler(context=self._context)
        except TypeError as err:
            raise errors.Invalid(
                op="LeafHandler",
                subject=_registry.typestr(handler),
                want="a class that is made with the keyword argument context",
                got=str(err),
            ) from err

    # Saves.

    def write(self, tree: Any) -> _phases.Writing | None:
        """Run the first phase of the handlers of a tree; None if it has no leaves of handlers.

        Raises:
          UnregisteredTypeError: a leaf has a type without a handler, and neither has the server.
        """
        groups: Groups = {}
        for keypath, value in _walk.leaves(tree, self.takes):
            handler = self._saver(value)
            if handler is not None:
                groups.setdefault(handler, []).append(_types.SerializationParam(keypath, value))
            elif not self._standard and not self._registry.is_handleable(type(value)):
                name = _types.name_of(keypath)
                raise _registry.unregistered("a leaf", f"type {type_text(value)}", name)
        if not groups:
            return None
        memory = self._context.memory

        async def first(directory: _phases.Directory) -> list[Awaitable[Any]]:
            context = _types.SerializationContext(
                directory,
                byte_limiter=_types.ByteLimiter(memory.write_concurrent_bytes),
                device_host_byte_limiter=_types.ByteLimiter(memory.transfer_concurrent_bytes),
            )
            second = []
            try:
                for handler, params in groups.items():
                    made = self._make(handler)
                    left = await _phases.awaited(made.serialize(params, context))
                    if inspect.isawaitable(left):
                        second.append(left)
            except BaseException:
                _phases.close(second)
                raise
            return second

        writing = _phases.Writing("; ".join(_names(h, p) for h, p in groups.items()))
        writing.begin(first)
        return writing

    # Loads.

    def handled(self, known: Recorded | None) -> Callable[[Keys, Any], bool]:
        """Return the function that tells which values of an abstract tree ask for such leaves.

        Args:
          known: the leaves of leaf handlers in the checkpoint; None if they are not known. Then the
            class of the value decides.
        """

        def ask(keys: Keys, value: Any) -> bool:
            if value is PLACEHOLDER:
                return False
            if known is not None and keys in known:
                return True
            plain = known is not None and _walk.is_abstract_leaf(value)
            return not plain and self.describes(value)

        return ask

    def fill(self, node: Any, wanted: Any, directories: Directories) -> None:
        """Put the values of leaves into the tree of a load, in the place of the nodes "h".

        Args:
          node: the tree. A node "h" becomes `["v", value]`.
          wanted: the abstract tree, or the tree that is filled.
          directories: the files of the handlers.
        """
        groups: dict[tuple[int, Handler], list[tuple[list[Any], Any]]] = {}
        for keypath, found, asked in _nodes(node, wanted, ()):
            handler = self._by_type[found[1]]
            value = self._wish(asked, found[1], handler, keypath)
            param = _types.DeserializationParam(_original(keypath, found[3]), value)
            groups.setdefault((found[2], handler), []).append((found, param))
        for (at, handler), leaves in groups.items():
            values = self._read("deserialize", handler, [p for _, p in leaves], directories[at])
            for (found, _), value in zip(leaves, values):
                found[:] = ["v", value]

    def describe(self, node: Any, directories: Directories) -> dict[Keys, Any]:
        """Return the descriptions of the leaves of the tree of a load, by path."""
        out: dict[Keys, Any] = {}
        groups: dict[tuple[int, Handler], list[Any]] = {}
        for keypath, found, _ in _nodes(node, None, ()):
            param: Any = _types.DeserializationParam(keypath)
            groups.setdefault((found[2], self._by_type[found[1]]), []).append(param)
        for (at, handler), params in groups.items():
            try:
                values = self._read("metadata", handler, params, directories[at])
            except NotImplementedError:
                continue
            for param, value in zip(params, values):
                out[tuple(_walk.key_text(key) for key in param.keypath)] = value
        return out

    def _read(
        self, method: str, handler: Handler, params: list[Any], directory: Mapping[str, Any]
    ) -> list[Any]:
        """Call a method of a handler that reads, and return one value for each leaf."""
        context = _types.DeserializationContext(
            pathlib.Path(directory["files"]),
            bool(directory["use_ocdbt"]),
            bool(directory["use_zarr3"]),
            byte_limiter=None,
        )

        async def call() -> Any:
            most = self._context.memory.read_concurrent_bytes
            context.byte_limiter = _types.ByteLimiter(most)
            made = getattr(self._make(handler), method)
            return await _phases.awaited(await _phases.awaited(made(params, context)))

        try:
            values = list(_phases.run(call))
        except BaseException as err:
            if hasattr(err, "add_note"):
                err.add_note(f"bivouac: in {method} of {_names(handler, params)}")
            raise
        if len(values) != len(params):
            raise errors.Mismatch(
                op=f"LeafHandler.{method}",
                subject=_names(handler, params),
                want=f"{len(params)} values",
                got=str(len(values)),
                remedy="the handler is at fault",
            )
        return values

    def _wish(self, asked: Any, text: str, handler: Handler, keypath: tuple[Any, ...]) -> Any:
        """Return what a handler is asked for: a description, or None for the leaf as saved."""
        if asked is None or (isinstance(asked, ArrayMetadata) and asked.value_type == text):
            return None
        cls = asked if isinstance(asked, type) else type(asked)
        by = None if is_container(asked) else self._by_abstract(cls)
        if by is handler:
            return asked
        if by is None and not is_container(asked) and self._by_leaf(cls) is handler:
            return None
        raise errors.Mismatch(
            op="load",
            subject=_types.name_of(keypath),
            want=f"None, PLACEHOLDER or what describes a leaf of type {text}",
            got=_registry.type_name(cls),
        )


Directories = list[dict[str, Any]]


@contextlib.contextmanager
def private(value: Mapping[str, Any]) -> Iterator[Directories]:
    """Give the private directories of the value of a load, and remove them."""
    directories: Directories = value.get("leaves") or []
    try:
        yield directories
    finally:
        for directory in directories:
            shutil.rmtree(directory["files"], ignore_errors=True)


def recorded(node: Any, at: Keys = ()) -> Recorded:
    """Return the leaves of leaf handlers in the tree of metadata."""
    if type(node) is not list:
        return {}
    if node[0] == "h":
        return {at: node[1]}
    out: Recorded = {}
    for key, child in _children(node):
        out.update(recorded(child, (*at, str(key))))
    return out


def only(node: Any, types: set[str]) -> Any:
    """Return an abstract tree that asks for the leaves of some type strings, and no others.

    Args:
      node: the tree of metadata.
      types: the type strings.
    """
    if type(node) is list and node[0] == "h" and node[1] in types:
        return None
    if type(node) is not list or node[0] not in ("d", "l", "t", "n"):
        return ["x"]
    return [*node[:-1], [only(child, types) for child in node[-1]]]


def _children(node: list[Any]) -> list[tuple[Any, Any]]:
    """Return keys and children of a node of the protocol."""
    tag = node[0]
    if tag == "d":
        return list(zip(node[1], node[2]))
    if tag == "n":
        return list(zip(node[2], node[3]))
    return list(enumerate(node[1])) if tag in ("l", "t") else []


def _nodes(
    node: Any, wanted: Any, at: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], list[Any], Any]]:
    """Yield path, node and wish of each leaf of a handler, in the order of `jax.tree`."""
    if type(node) is not list:
        return
    if node[0] == "h":
        yield at, node, wanted
        return
    found = None if wanted is None or _walk.is_abstract_leaf(wanted) else children(wanted)
    wishes: dict[str, Any] = {}
    if found is not None:
        _, keys, values = found
        wishes = {str(k): v for k, v in zip(keys or range(len(values)), values)}
    pairs = _children(node)
    if node[0] == "d":
        pairs.sort(key=lambda pair: str(pair[0]))
    make = _walk.key_types()["dltn".index(node[0])] if pairs else None
    for key, child in pairs:
        assert make is not None
        yield from _nodes(child, wishes.get(str(key)), (*at, make(key)))


def _original(keypath: tuple[Any, ...], keys: list[str]) -> tuple[Any, ...]:
    """Return the path under which a leaf was saved."""
    if [_walk.key_text(key) for key in keypath] == keys:
        return keypath
    make = _walk.key_types()[0]
    return tuple(make(key) for key in keys)


def _is_type_string(text: str) -> bool:
    """Return True if the server can tell a type string from those of arrays and numbers."""
    return "." in text and text not in ("np.ndarray", "jax.Array")


def _names(handler: Handler, params: list[Any]) -> str:
    """Return a handler and its leaves, for errors."""
    names = [repr(param.name) for param in params[:_MOST]]
    if len(params) > _MOST:
        names.append(f"{len(params) - _MOST} more")
    return f"leaf handler {_registry.typestr(handler)} of leaf {', '.join(names)}"
