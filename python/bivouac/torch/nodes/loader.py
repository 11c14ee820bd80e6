"""Loader: a node, epoch by epoch."""

from __future__ import annotations

from typing import Any, Generic

from bivouac.torch.nodes._document import member
from bivouac.torch.nodes.base_node import BaseNode, T

__all__ = ["Loader", "LoaderIterator"]

_NOTHING: Any = object()


class Loader(Generic[T]):
    """A Loader yields the values of a node. Each `iter()` begins an epoch.

    Args:
      root: the outermost node.
      restart_on_stop_iteration: begin the next epoch where a state was taken at the end of one.
        False yields nothing first.
    """

    def __init__(self, root: BaseNode[T], restart_on_stop_iteration: bool = True) -> None:
        super().__init__()
        self.root = root
        self.restart_on_stop_iteration = restart_on_stop_iteration
        self._it: LoaderIterator[T] | None = None
        self._pending: dict[str, Any] | None = None  # the state that the next iter() begins with
        self._made_for_state = False  # state_dict has begun the epoch, and no iter() has taken it

    def __iter__(self) -> LoaderIterator[T]:
        """Begin an epoch, or go on where the state was taken that was loaded."""
        if self._it is None:
            self._it = LoaderIterator(self)
        elif self._made_for_state:
            self._made_for_state = False
            return self._it
        if self._pending is None:
            self._it.reset(None)
            return self._it
        self._it.reset(self._pending)
        self._pending = None
        if self.restart_on_stop_iteration and not self._it.has_next():
            self._it._restart()
        return self._it

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state in the next iter().

        Args:
          state_dict: what `state_dict` has returned, here or in torchdata.
        """
        self._pending = state_dict
        self._made_for_state = False

    def state_dict(self) -> dict[str, Any]:
        """Return the state. It covers the values that were delivered.

        Before the first epoch it begins one, and the next iter() goes on with it. In a later epoch,
        a state that was loaded and not yet used is the state.
        """
        if self._it is None:
            iter(self)
            self._made_for_state = True
        elif self._pending is not None:
            return self._pending
        assert self._it is not None
        return self._it.state_dict()


class LoaderIterator(BaseNode[T]):
    """A LoaderIterator counts the values of an epoch of a Loader.

    Args:
      loader: the loader.
    """

    NUM_YIELDED_KEY = "num_yielded"
    ROOT_KEY = "root"

    def __init__(self, loader: Loader[T]) -> None:
        super().__init__()
        self.root = loader.root
        self._num_yielded = 0
        self._ahead: T = _NOTHING  # a value that was read to see whether there is one
        self._before: dict[str, Any] | None = None  # the state before that value

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        if initial_state is None:
            self.root.reset(None)
            self._num_yielded = 0
        else:
            self.root.reset(member(initial_state, self.ROOT_KEY, self))
            self._num_yielded = member(initial_state, self.NUM_YIELDED_KEY, self)
        self._ahead, self._before = _NOTHING, None

    def _restart(self) -> None:
        """Begin the next epoch. The state is the end of the last one until a value is read."""
        before = self._before
        self.reset(None)
        self._before = before

    def has_next(self) -> bool:
        """Report whether there is another value."""
        if self._ahead is _NOTHING:
            self._before = self.state_dict()
            try:
                self._ahead = next(self.root)
            except StopIteration:
                return False
        return True

    def next(self) -> T:
        if self._ahead is _NOTHING:
            item = next(self.root)
        else:
            item, self._ahead = self._ahead, _NOTHING
        self._before = None
        self._num_yielded += 1
        return item

    def get_state(self) -> dict[str, Any]:
        if self._before is not None:
            return self._before
        return {
            self.ROOT_KEY: self.root.state_dict(),
            self.NUM_YIELDED_KEY: self._num_yielded,
        }
