"""Objects that one thread at a time uses."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

__all__ = ["Turns", "in_turn"]


class Turns:
    """An object whose methods in turn are for one thread at a time."""

    def __init__(self) -> None:
        self._turn = threading.RLock()
        _all.add(self)


_all: weakref.WeakSet[Turns] = weakref.WeakSet()


def _after_fork() -> None:
    """Renew the locks in a forked child: a thread of the parent may have had the turn."""
    for one in _all:
        one._turn = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)

_S = TypeVar("_S", bound=Turns)
_P = ParamSpec("_P")
_T = TypeVar("_T")


def in_turn(method: Callable[Concatenate[_S, _P], _T]) -> Callable[Concatenate[_S, _P], _T]:
    """Let one thread at a time call this method and the other ones of the object in turn."""

    @functools.wraps(method)
    def call(self: _S, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self._turn:
            return method(self, *args, **kwargs)

    return call
