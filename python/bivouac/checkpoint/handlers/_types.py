"""The protocols of handlers, as Orbax has them."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, TypeVar, runtime_checkable

from bivouac.checkpoint.path import Path, PathAwaitingCreation

T = TypeVar("T")
AbstractT = TypeVar("AbstractT")


class Checkpointable:
    """A value that is saved as an item of its own. The class is only an annotation."""


class AbstractCheckpointable:
    """A description of a `Checkpointable`, which a load takes. The class is only an annotation."""


@runtime_checkable
class CheckpointableHandler(Protocol[T, AbstractT]):
    """A handler saves and loads values of one kind as items of a checkpoint.

    A handler can be made without arguments. Its type string, the module and the qualified name of
    its class, is recorded with each item.

    `save` and `load` have two phases. The first phase, the coroutine, copies what the caller may
    change afterwards. The second phase, the awaitable that it returns, reads or writes the files.
    Bivouac runs both before `save_checkpointables_async` returns.
    """

    async def save(self, directory: PathAwaitingCreation, checkpointable: T) -> Awaitable[None]:
        """Copy a value, and return an awaitable that writes it.

        Args:
          directory: a private directory. The server moves its files into the checkpoint.
          checkpointable: the value.
        """
        ...

    async def load(
        self, directory: Path, abstract_checkpointable: AbstractT | None = None
    ) -> Awaitable[T]:
        """Return an awaitable that reads a value.

        Args:
          directory: a private copy of the item's files. It is removed after the load.
          abstract_checkpointable: what the caller wants; None means as saved.
        """
        ...

    async def metadata(self, directory: Path) -> AbstractT:
        """Return a description of the value without reading all of it.

        Args:
          directory: a private copy of the item's files.
        """
        ...

    def is_handleable(self, checkpointable: Any) -> bool:
        """Return True if the handler can save the value."""
        ...

    def is_abstract_handleable(self, abstract_checkpointable: Any) -> bool | None:
        """Return True if the handler can load a value of this description.

        None means that the type string decides.
        """
        ...


@runtime_checkable
class StatefulCheckpointable(Protocol):
    """An object that saves and loads itself. A load needs an object, changes it and returns it."""

    async def save(self, directory: PathAwaitingCreation) -> Awaitable[None]:
        """Copy the state, and return an awaitable that writes it.

        Args:
          directory: a private directory. The server moves its files into the checkpoint.
        """
        ...

    async def load(self, directory: Path) -> Awaitable[None]:
        """Return an awaitable that reads the state into this object.

        Args:
          directory: a private copy of the item's files. It is removed after the load.
        """
        ...


def typestr(handler_type: type[Any]) -> str:
    """Return the type string of a handler's class."""
    own = handler_type.__dict__.get("_orbax_typestr")
    return own if isinstance(own, str) else f"{handler_type.__module__}.{handler_type.__qualname__}"


def saves_itself(value: Any) -> bool:
    """Return True for an object that is a `StatefulCheckpointable`."""
    return isinstance(value, StatefulCheckpointable)
