"""BaseNode: what every node is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

__all__ = ["BaseNode", "T"]

T = TypeVar("T", covariant=True)


class BaseNode(Iterator[T]):
    """A BaseNode is an iterator whose position can be saved, and which can begin again.

    A node reads other nodes, its sources. `Loader` reads the outermost node epoch by epoch.

    A subclass has `reset`, `next` and `get_state`, and calls `super().__init__()` and
    `super().reset(initial_state)` in its own. Users call `next(node)` and `node.state_dict()`. Both
    reset the node first, if it was never reset.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__initialized = False

    def __iter__(self) -> Iterator[T]:
        return self

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        """Go to a state, or to the beginning of the next epoch without one.

        A node resets its sources, too. This is the place for what takes long to prepare.

        Args:
          initial_state: what `get_state` has returned.
        """
        self.__initialized = True

    def get_state(self) -> dict[str, Any]:
        """Return the state. Subclasses implement this method, and users call `state_dict`."""
        raise NotImplementedError(type(self))

    def next(self) -> T:
        """Return the next value, or raise StopIteration.

        Subclasses implement this method, and users call the function `next`.
        """
        raise NotImplementedError(type(self))

    def __next__(self) -> T:
        try:
            if not self.__initialized:
                self.__begin()
        except AttributeError:
            self.__check()
            raise
        return self.next()

    def state_dict(self) -> dict[str, Any]:
        """Return the state. `reset` goes on from it."""
        self.__check()
        if not self.__initialized:
            self.__begin()
        return self.get_state()

    def __begin(self) -> None:
        """Reset the node for the first time."""
        self.reset(None)
        if not self.__initialized:
            raise NotImplementedError(
                "Failed to initialize after .reset(), did you call super().reset() in your "
                f".reset() method? {type(self)=}"
            )

    def __check(self) -> None:
        """Raise an error if the subclass does not call __init__ of this class."""
        try:
            self.__initialized
        except AttributeError:
            raise NotImplementedError(
                f"self.__initialized not found, did you call super().__init__()? {type(self)=}"
            ) from None
