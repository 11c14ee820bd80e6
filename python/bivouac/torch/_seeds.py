"""Seeds of samples: the generators of Python, numpy and torch, seeded for each sample.

The seed of a sample is a number of its position in the stream (`loader.Random.Seed` in Go). So what
a data set draws for a sample does not depend on workers, ranks, the size of batches or resumes.

    random            the seed
    numpy.random      its upper 32 bits
    torch             the seed, of which torch uses the lower 32 bits

`torch.manual_seed` is not called: it takes 100 times as long, because it prepares the generators of
devices too. The generators of devices are not seeded.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

from bivouac.torch._fetch import MapFetcher

__all__ = ["Seeder", "SeededFetcher", "get_sample_seed"]

_numpy: Any = np.random  # not all versions of numpy tell types of what is used here
_seed: int | None = None  # of the sample that is being read


def get_sample_seed() -> int | None:
    """Return the seed of the sample that an elastic loader is reading, and None elsewhere.

    It is for generators of the data set's own, such as `numpy.random.default_rng`.
    """
    return _seed


class Seeder:
    """A Seeder seeds the global generators.

    In the trainer they are set back behind each batch.
    """

    def __init__(self, restore: bool) -> None:
        """Take whether the generators are set back by `end`."""
        self._torch: Any = None
        self._restore = restore
        self._own: Any = np.random.MT19937(0)
        self._swap = hasattr(_numpy, "set_bit_generator")  # numpy 1.24
        self._saved: Any = None
        if not restore and self._swap:
            _numpy.set_bit_generator(self._own)

    def begin(self) -> None:
        """Keep the state of the generators, before a batch is read."""
        torch: Any = sys.modules.get("torch")
        self._torch = None if torch is None else torch.default_generator
        if not self._restore:
            return
        if self._swap:
            held: Any = _numpy.get_bit_generator()
            _numpy.set_bit_generator(self._own)
        else:  # pragma: no cover
            held = np.random.get_state(legacy=False)
        torch_state = None if self._torch is None else self._torch.get_state()
        self._saved = random.getstate(), held, torch_state

    def seed(self, seed: int) -> None:
        """Seed the generators for a sample."""
        global _seed
        _seed = seed
        random.seed(seed)
        np.random.seed(seed >> 32)
        if self._torch is not None:
            self._torch.manual_seed(seed)

    def end(self) -> None:
        """Set the generators back, behind a batch."""
        global _seed
        _seed = None
        saved, self._saved = self._saved, None
        if saved is None:
            return
        random.setstate(saved[0])
        if self._swap:
            _numpy.set_bit_generator(saved[1])
        else:  # pragma: no cover
            np.random.set_state(saved[1])
        if self._torch is not None and saved[2] is not None:
            self._torch.set_state(saved[2])


class SeededFetcher(MapFetcher):
    """A SeededFetcher reads the batches of an elastic loader.

    A task is a list of ids, and the seeds of the samples or None. With seeds the samples are read
    one by one, also from a data set with `__getitems__`.
    """

    def __init__(self, dataset: Any, batched: bool, collate: Any, restore: bool) -> None:
        super().__init__(dataset, batched, collate, False)
        self._seeder: Seeder | None = None
        self._restore = restore

    def fetch(self, index: Any) -> Any:
        """Return the batch of a task."""
        ids, seeds = index
        if seeds is None:
            return super().fetch(ids if self._batched else ids[0])
        if self._seeder is None:
            self._seeder = Seeder(self._restore)
        seeder = self._seeder
        words = np.frombuffer(seeds, np.uint64).tolist()
        seeder.begin()
        try:
            dataset, seed = self.dataset, seeder.seed
            data = []
            for i, word in zip(ids, words, strict=True):
                seed(word)
                data.append(dataset[i])
            return self._collate(data if self._batched else data[0])
        except StopIteration as err:
            raise RuntimeError(f"the data set raised StopIteration: {err}") from err
        finally:
            seeder.end()
