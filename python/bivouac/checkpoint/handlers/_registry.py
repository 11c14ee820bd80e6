"""Registries of handlers, and which handler saves and loads what."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from bivouac.checkpoint.errors import AlreadyExistsError, NoEntryError
from bivouac.checkpoint.handlers import _builtin
from bivouac.checkpoint.handlers._types import CheckpointableHandler, saves_itself, typestr
from bivouac.errors import Invalid

Handler = CheckpointableHandler[Any, Any]
HandlerType = type[Any]
Entry = tuple[HandlerType, str | None]
C = TypeVar("C", bound=HandlerType)

_V0 = ("orbax.checkpoint._src.handlers.", "orbax.checkpoint.v0._src.handlers.")


@runtime_checkable
class CheckpointableHandlerRegistry(Protocol):
    """An ordered list of handlers, some of which are bound to the name of an item."""

    def add(
        self,
        handler_type: HandlerType,
        *,
        checkpointable_name: str | None = None,
        secondary_typestrs: Sequence[str] | None = None,
    ) -> CheckpointableHandlerRegistry:
        """Add a handler. Later handlers are asked before earlier ones.

        Args:
          handler_type: class of the handler; it can be made without arguments.
          checkpointable_name: item to which the handler is bound; None asks it for any item.
          secondary_typestrs: other type strings whose items the handler can load.

        Raises:
          ValueError: the argument is no class; the name has a handler already; or the class is
            there already and no name is given (`AlreadyExistsError`).
        """
        ...

    def get(self, checkpointable_name: str) -> HandlerType:
        """Return the handler that is bound to a name, or raise `NoEntryError`, a KeyError."""
        ...

    def has(self, checkpointable_name: str) -> bool:
        """Return True if a handler is bound to the name."""
        ...

    def get_all_entries(self) -> Sequence[Entry]:
        """Return the pairs of handler and name, in their order."""
        ...

    def get_secondary_typestrs(self, handler_type: HandlerType) -> Sequence[str]:
        """Return the secondary type strings of a handler."""
        ...


class Registry:
    """The registry that `local_registry` and `global_registry` return."""

    def __init__(
        self, entries: Iterable[tuple[HandlerType, str | None, Sequence[str]]] = ()
    ) -> None:
        self._lock = threading.Lock()
        self._entries: list[Entry] = []
        self._secondary: dict[str, list[str]] = {}
        for kind, name, secondary in entries:
            self.add(kind, checkpointable_name=name, secondary_typestrs=secondary)

    def __repr__(self) -> str:
        return f"Registry({describe(self.get_all_entries())})"

    def add(
        self,
        handler_type: HandlerType,
        *,
        checkpointable_name: str | None = None,
        secondary_typestrs: Sequence[str] | None = None,
    ) -> Registry:
        """Add a handler; see `CheckpointableHandlerRegistry.add`."""
        if not isinstance(handler_type, type):
            raise Invalid(
                op="registry.add", subject="handler_type", want="a class", got=repr(handler_type)
            )
        with self._lock:
            for kind, name in self._entries:
                if checkpointable_name is not None and name == checkpointable_name:
                    raise AlreadyExistsError(
                        op="registry.add",
                        subject=f"item {name!r}",
                        got=f"bound to {typestr(kind)}",
                        remedy="bind it to another name, or to none",
                    )
                if checkpointable_name is None and kind is handler_type:
                    raise AlreadyExistsError(
                        op="registry.add",
                        subject=typestr(handler_type),
                        remedy="bind it to the name of an item",
                    )
            self._entries.append((handler_type, checkpointable_name))
            if secondary_typestrs:
                self._secondary[typestr(handler_type)] = list(secondary_typestrs)
        return self

    def get(self, checkpointable_name: str) -> HandlerType:
        """Return the handler that is bound to a name, or raise `NoEntryError`."""
        kind = _bound(self.get_all_entries(), checkpointable_name)
        if kind is None:
            raise NoEntryError(
                op="registry.get",
                subject=f"item {checkpointable_name!r}",
                want="a handler bound to it",
            )
        return kind

    def has(self, checkpointable_name: str) -> bool:
        """Return True if a handler is bound to the name."""
        return _bound(self.get_all_entries(), checkpointable_name) is not None

    def get_all_entries(self) -> Sequence[Entry]:
        """Return the pairs of handler and name, in their order."""
        with self._lock:
            return list(self._entries)

    def get_secondary_typestrs(self, handler_type: HandlerType) -> Sequence[str]:
        """Return the secondary type strings of a handler."""
        with self._lock:
            return list(self._secondary.get(typestr(handler_type), ()))


def _v0(*names: str) -> list[str]:
    return [prefix + name for name in names for prefix in _V0]


_global = Registry(
    [
        (_builtin.ProtoHandler, None, _v0("proto_checkpoint_handler.ProtoCheckpointHandler")),
        (_builtin.JsonHandler, None, _v0("json_checkpoint_handler.JsonCheckpointHandler")),
        (_builtin.StatefulCheckpointableHandler, None, ()),
        (_builtin.MetricsHandler, "metrics", ()),
        (
            _builtin.PyTreeHandler,
            None,
            _v0(
                "pytree_checkpoint_handler.PyTreeCheckpointHandler",
                "standard_checkpoint_handler.StandardCheckpointHandler",
            ),
        ),
        (_builtin.PyTreeHandler, "state", ()),
    ]
)
_builtin_entries = list(_global.get_all_entries())


def global_registry() -> CheckpointableHandlerRegistry:
    """Return the registry of the process."""
    return _global


def local_registry(
    other_registry: CheckpointableHandlerRegistry | None = None,
    *,
    include_global_registry: bool = True,
) -> CheckpointableHandlerRegistry:
    """Return a new registry for a `Context`.

    Args:
      other_registry: a registry whose entries are copied; None copies none.
      include_global_registry: True copies the entries of the registry of the process first.

    Raises:
      ValueError: both registries have an entry (`AlreadyExistsError`).
    """
    made = Registry()
    sources = ([_global] if include_global_registry else []) + (
        [other_registry] if other_registry is not None else []
    )
    for source in sources:
        for kind, name in source.get_all_entries():
            made.add(
                kind,
                checkpointable_name=name,
                secondary_typestrs=source.get_secondary_typestrs(kind),
            )
    return made


def register_handler(
    cls: C,
    *,
    checkpointable_name: str | None = None,
    secondary_typestrs: Sequence[str] | None = None,
) -> C:
    """Add a handler to the registry of the process, and return its class. It can be a decorator.

    Args:
      cls: class of the handler.
      checkpointable_name: item to which the handler is bound; None asks it for any item.
      secondary_typestrs: other type strings whose items the handler can load.

    Raises:
      ValueError: the registry has the class or the name already (`AlreadyExistsError`).
    """
    _global.add(cls, checkpointable_name=checkpointable_name, secondary_typestrs=secondary_typestrs)
    return cls


def only_builtin(registry: CheckpointableHandlerRegistry) -> bool:
    """Return True if a registry has the built-in entries and no others."""
    return list(registry.get_all_entries()) == _builtin_entries


def for_save(registry: CheckpointableHandlerRegistry, name: str, value: Any) -> HandlerType:
    """Return the handler that saves a value as an item.

    An object that saves itself gets the last handler without a name that takes it. Else the handler
    of the name counts, whether it takes the value or not. Else the last handler without a name that
    takes the value counts.
    """
    if value is None:
        raise Invalid(
            op="save_checkpointables", subject=f"item {name!r}", want="a value", got="None"
        )
    entries = registry.get_all_entries()
    able = _last(entries, lambda kind: kind().is_handleable(value))
    if able is not None and saves_itself(value):
        return able
    found = _bound(entries, name) or able
    if found is None:
        raise NoEntryError(
            op="save_checkpointables",
            subject=f"item {name!r}",
            want=f"a handler that takes a {type(value).__name__}",
            got=describe(entries),
            remedy="add a handler to the registry, or bind one to the name",
        )
    return found


def for_load(
    registry: CheckpointableHandlerRegistry, name: str, abstract: Any, recorded: str | None
) -> HandlerType:
    """Return the handler that loads an item. The order is documented in docs/compat/python.md.

    Args:
      registry: the handlers.
      name: name of the item.
      abstract: what the caller wants; None means as saved.
      recorded: type string that the checkpoint has for the item; None or "" if it has none.
    """
    entries = registry.get_all_entries()

    def takes(kind: HandlerType | None) -> bool:
        return kind is not None and kind().is_abstract_handleable(abstract) is True

    bound = _bound(entries, name)
    typed = _typed(registry, entries, recorded)
    if saves_itself(abstract) and typed is not None and takes(typed):
        return typed
    for kind in (bound, typed):
        if kind is not None and (abstract is None or takes(kind)):
            return kind
    found = None if abstract is None else _last(entries, takes)
    found = found or bound or _bound(entries, "state")
    if found is None:
        raise NoEntryError(
            op="load_checkpointables",
            subject=f"item {name!r}",
            want=f"a handler of type string {recorded!r}",
            got=describe(entries),
            remedy="add the handler that saved it to the registry",
        )
    return found


def _bound(entries: Sequence[Entry], name: str) -> HandlerType | None:
    return next((kind for kind, bound in entries if bound is not None and bound == name), None)


def _last(entries: Sequence[Entry], able: Callable[[HandlerType], bool]) -> HandlerType | None:
    return next((kind for kind, name in reversed(entries) if name is None and able(kind)), None)


def _typed(
    registry: CheckpointableHandlerRegistry, entries: Sequence[Entry], recorded: str | None
) -> HandlerType | None:
    if not recorded:
        return None
    for kind, _ in reversed(entries):
        if typestr(kind) == recorded or recorded in registry.get_secondary_typestrs(kind):
            return kind
    return None


def describe(entries: Sequence[Entry]) -> str:
    """Return the entries of a registry in words."""
    names = [k.__name__ + (f"({name})" if name is not None else "") for k, name in entries]
    return ", ".join(names) or "an empty registry"
