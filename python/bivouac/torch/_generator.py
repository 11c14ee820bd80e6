"""Random numbers of torch: its own generator where torch is imported, else an equal one.

The functions take a `torch.Generator`, a `Generator` of this module, or None, which is torch's
default generator. Permutations and states are equal whichever generator draws them.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

__all__ = [
    "Generator",
    "base_seed",
    "multinomial",
    "new_generator",
    "numpy_seed",
    "randint",
    "randperm",
]

_WORDS = 624
_BYTES = 5056  # of a state
_DEFAULT_SEED = 67280421310721
_MASK = (1 << 64) - 1
_LARGE = (2**32 - 1) // 20  # elements from which torch shuffles in another way
_WIDE = 1 << 28  # range from which torch takes two words


class Generator:
    """A Generator draws the random numbers of `torch.Generator` without torch.

    Its states are the bytes of torch's states, as an array of uint8.
    """

    def __init__(self) -> None:
        self.manual_seed(_DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Seed the generator, and return it."""
        self._seed = seed & _MASK
        self._bits: Any = np.random.MT19937(0)
        self._bits._legacy_seeding(self._seed & 0xFFFFFFFF)
        self._fresh = True
        self._tail = bytes(_BYTES - 5016)
        return self

    def initial_seed(self) -> int:
        """Return the seed."""
        return self._seed

    def words(self, n: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """Draw n words of 32 bits."""
        if n:
            self._fresh = False
        words: np.ndarray[Any, np.dtype[np.uint64]] = self._bits.random_raw(n)
        return words

    def wide(self, n: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """Draw n words of 64 bits."""
        pairs = self.words(2 * n)
        return pairs[0::2] << np.uint64(32) | pairs[1::2]

    def get_state(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Return the state: the 5,056 bytes of torch's."""
        state = self._bits.state["state"]
        used = int(state["pos"])
        head = np.zeros(3, np.uint64)
        head[0] = self._seed
        head[1] = (_WORDS + 1 - used) | 1 << 32
        head[2] = 0 if self._fresh else used
        body = head.tobytes() + state["key"].astype("<u8").tobytes() + self._tail
        return np.frombuffer(bytearray(body), np.uint8)

    def set_state(self, state: Any) -> Generator:
        """Take over a state of torch or of a Generator, and return the generator."""
        raw = np.ascontiguousarray(np.asarray(state), dtype=np.uint8).tobytes()
        if len(raw) != _BYTES:
            raise ValueError(f"state of a generator: want {_BYTES} bytes, got {len(raw)}")
        head = np.frombuffer(raw, "<u8", 3)
        left, seeded, used = int(head[1]) & 0xFFFFFFFF, int(head[1]) >> 32, int(head[2])
        fresh = used == 0 and left == 1
        if seeded != 1 or not (fresh or (1 <= used <= _WORDS and left + used == _WORDS + 1)):
            raise ValueError("state of a generator: the bytes are not of mt19937")
        self._seed, self._fresh, self._tail = int(head[0]), fresh, raw[5016:]
        key = np.frombuffer(raw, "<u8", _WORDS, 24).astype(np.uint32)
        self._bits.state = {
            "bit_generator": "MT19937",
            "state": {"key": key, "pos": _WORDS if fresh else used},
        }
        return self


_default = Generator()


def seed_default(seed: int) -> None:
    """Seed the default generator that stands for torch's where torch is not imported."""
    _default.manual_seed(seed)


def _torch(generator: Any) -> Any:
    """Return torch if it draws the numbers of the generator, else None."""
    if isinstance(generator, Generator):
        return None
    torch = sys.modules.get("torch")
    if torch is None and generator is not None:
        raise TypeError(
            f"generator: want a torch.Generator or a bivouac.torch.Generator, got {generator!r}"
        )
    return torch


def base_seed(generator: Any = None) -> int:
    """Draw a number of 63 bits: `torch.empty((), dtype=torch.int64).random_()`."""
    torch = _torch(generator)
    if torch is not None:
        return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())
    own = _default if generator is None else generator
    return int(own.wide(1)[0]) & (_MASK >> 1)


def new_generator(seed: int) -> Any:
    """Return a new generator: of torch where torch is imported, else of this module."""
    torch = sys.modules.get("torch")
    made = Generator() if torch is None else torch.Generator()
    made.manual_seed(seed)
    return made


def randperm(n: int, generator: Any) -> list[int]:
    """Return `torch.randperm(n, generator=generator)` as a list."""
    torch = _torch(generator)
    if torch is not None:
        permutation: list[int] = torch.randperm(n, generator=generator).tolist()
        return permutation
    own = _default if generator is None else generator
    ids = list(range(n))
    if n >= _LARGE:
        places = (own.wide(n) % np.arange(1, n + 1, dtype=np.uint64)).tolist()
        for i, z in enumerate(places):
            ids[i] = ids[z]
            ids[z] = i
        return ids
    if n > 1:
        rest = np.arange(n, 1, -1, dtype=np.uint64)
        places = (own.words(n - 1) % rest + np.arange(n - 1, dtype=np.uint64)).tolist()
        for i, z in enumerate(places):
            ids[i], ids[z] = ids[z], ids[i]
    return ids


def randint(high: int, size: int, generator: Any) -> list[int]:
    """Return `torch.randint(high, (size,), generator=generator)` as a list."""
    torch = _torch(generator)
    if torch is not None:
        drawn: list[int] = torch.randint(
            high=high, size=(size,), dtype=torch.int64, generator=generator
        ).tolist()
        return drawn
    own = _default if generator is None else generator
    words = own.words(size) if high < _WIDE else own.wide(size)
    numbers: list[int] = (words % np.uint64(high)).tolist()
    return numbers


def multinomial(weights: list[float], size: int, generator: Any) -> list[int]:
    """Return `torch.multinomial(weights, size, replacement=True, generator=generator)` as a list.

    The weights are taken as float64.
    """
    torch = _torch(generator)
    if torch is not None:
        drawn: list[int] = torch.multinomial(
            torch.tensor(weights, dtype=torch.float64), size, replacement=True, generator=generator
        ).tolist()
        return drawn
    own = _default if generator is None else generator
    sums = np.cumsum(np.array(weights, np.float64))
    sums /= sums[-1]
    sums[-1] = 1.0
    uniform = (own.wide(size) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0**-53
    places: list[int] = np.searchsorted(sums, uniform, side="left").tolist()
    return places


def set_state(generator: Any, state: Any) -> None:
    """Set the state of a generator. A state of either kind of generator fits both kinds."""
    if not isinstance(generator, Generator) and isinstance(state, np.ndarray):
        torch = sys.modules["torch"]
        state = torch.from_numpy(np.array(state, np.uint8))
    generator.set_state(state)


def numpy_seed(base: int, worker: int) -> list[int]:
    """Return the seed of numpy in a worker, as torch makes it.

    It is the hash of numpy's SeedSequence over the worker and the base seed.
    """
    mask = 0xFFFFFFFF
    h = 0x43B0D7E5

    def hashed(value: int) -> int:
        nonlocal h
        value ^= h
        h = h * 0x931E8875 & mask
        value = value * h & mask
        return value ^ value >> 16

    pool = [hashed(v) for v in (worker & mask, base & mask, base >> 32 & mask, 0)]
    for source in range(4):
        for target in range(4):
            if source != target:
                mixed = (0xCA01F9DD * pool[target] - 0x4973F715 * hashed(pool[source])) & mask
                pool[target] = mixed ^ mixed >> 16
    h = 0x8B51F9DD
    out = []
    for value in pool:
        value ^= h
        h = h * 0x58F38DED & mask
        value = value * h & mask
        out.append(value ^ value >> 16)
    return out
