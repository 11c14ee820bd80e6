"""The generator of dynamic mode: Philox4x32-10, with DALI's states."""

from __future__ import annotations

import operator
import re
import secrets
import threading
from typing import Any, final

from bivouac import errors
from bivouac._pipeline.refusals import WrongType

__all__ = ["RNG", "State", "draw", "get_default_rng", "set_seed"]

_WORDS = 7  # that a call draws: they are the state of its own generator
_64 = (1 << 64) - 1
_128 = (1 << 128) - 1
_text = re.compile(r"Philox_([0-9A-Fa-f]{16})_([0-9A-Fa-f]{16}):([0-9A-Fa-f]{16})_([0-3])")


def _block(key: int, counter: int) -> tuple[int, int, int, int]:
    """Return the four words of a key and a counter."""
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    c0, c1 = counter & 0xFFFFFFFF, counter >> 32 & 0xFFFFFFFF
    c2, c3 = counter >> 64 & 0xFFFFFFFF, counter >> 96
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (
            (p1 >> 32) ^ c1 ^ k0,
            p1 & 0xFFFFFFFF,
            (p0 >> 32) ^ c3 ^ k1,
            p0 & 0xFFFFFFFF,
        )
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


class State:
    """A State is the state of an RNG. `str` is its text, which `set_state` takes too."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"State({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (State, str)) and str(other) == self._text

    def __hash__(self) -> int:
        return hash(self._text)


@final
class RNG:
    """An RNG draws numbers. The same seed gives the same numbers, and those of DALI.

    Args:
      seed: an integer, of which 64 bits count. None is a random one.
      state: a state of another RNG, or its text, instead of a seed.
    """

    __slots__ = ("__weakref__", "_at", "_key", "_lock")

    def __init__(self, seed: int | None = None, state: Any = None) -> None:
        self._lock = threading.Lock()
        self._key = self._at = 0  # words since the beginning of sequence 0, modulo 2^130
        if state is not None:
            if seed is not None:
                raise errors.Invalid(subject="RNG", want="seed or state", got="both")
            self.set_state(state)
        else:
            self.seed = secrets.randbits(64) if seed is None else seed

    @property
    def seed(self) -> int:
        """Setting it begins the numbers of a seed. It cannot be read."""
        raise AttributeError("seed of an RNG: it can be set, not read")

    @seed.setter
    def seed(self, value: int) -> None:
        self._key, self._at = operator.index(value) & _64, 0

    def __call__(self) -> int:
        """Return the next number of 32 bits."""
        with self._lock:
            at = self._at
            self._at = self._after(1)
        return _block(self._key, at >> 2)[at & 3]

    def _after(self, n: int) -> int:
        """Return the place n words further on."""
        at = self._at + n
        return (at >> 2 & _128) << 2 | at & 3

    def advance(self, n: Any) -> None:
        """Skip n numbers."""
        n = operator.index(n)
        if n < 0:
            raise errors.Invalid(subject="advance", want="0 or more", got=str(n))
        with self._lock:
            self._at = self._after(n)

    def clone(self) -> RNG:
        """Return another RNG at the same place."""
        return RNG(state=self.get_state())

    @property
    def state(self) -> State:
        """The state. Setting it moves the generator; see `set_state`."""
        return self.get_state()

    @state.setter
    def state(self, value: Any) -> None:
        self.set_state(value)

    def get_state(self, *, cuda_stream: Any = None) -> State:
        """Return the state."""
        del cuda_stream
        return State(self._state())

    def _state(self) -> str:
        counter = self._at >> 2
        return f"Philox_{self._key:016X}_{counter >> 64:016X}:{counter & _64:016X}_{self._at & 3}"

    def set_state(self, value: Any) -> None:
        """Move the generator to a state, or to the text of one."""
        if isinstance(value, (bytes, bytearray)):
            value = value.decode("latin-1")
        if not isinstance(value, (State, str)):
            raise WrongType(
                subject="state of an RNG", want="a state or its text", got=type(value).__name__
            )
        found = _text.fullmatch(str(value))
        if found is None:
            raise errors.Invalid(
                subject="state of an RNG", want=f"a text such as {self._state()}", got=repr(value)
            )
        key, high, low, phase = found.groups()
        counter = int(high, 16) << 64 | int(low, 16)
        self._key, self._at = int(key, 16), counter << 2 | int(phase)

    def _draw(self) -> str:
        """Draw the words of a call. Return the state before them."""
        with self._lock:
            state = self._state()
            self._at = self._after(_WORDS)
        return state

    def __repr__(self) -> str:
        return f"RNG(state='{self._state()}')"


_local = threading.local()


def get_default_rng() -> RNG:
    """Return the RNG of this thread, which calls without one draw from."""
    found: RNG | None = getattr(_local, "rng", None)
    if found is None:
        found = _local.rng = RNG()
    return found


def set_seed(seed: int) -> None:
    """Seed the RNG of this thread."""
    get_default_rng().seed = seed


def draw(rng: Any) -> str:
    """Draw for a call from an RNG, or from that of this thread. Return the state before."""
    if rng is None:
        rng = get_default_rng()
    if not isinstance(rng, RNG):
        raise errors.Invalid(subject="rng", want="an RNG", got=type(rng).__name__)
    return rng._draw()
