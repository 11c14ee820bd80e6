"""Samplers that the loader makes from its arguments, with the states of torchdata's samplers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sized
from typing import Any

from bivouac.torch import _generator
from bivouac.torch._state import is_stateful

__all__ = ["BatchSampler", "Endless", "RandomSampler", "SequentialSampler"]

_BLOCK = 32  # numbers that are drawn at a time with replacement, as torchdata draws them


class Endless:
    """An Endless sampler yields None for ever. It stands for the sampler of an iterable."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class SequentialSampler:
    """A SequentialSampler yields 0, 1, 2 … below the length of its data set."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler:
    """A RandomSampler yields a permutation of a data set, or random numbers below its length.

    Args:
      data_source: the data set.
      replacement: draw each number anew.
      num_samples: how many numbers an epoch has. The default is the length of the data set.
      generator: a `torch.Generator` or a `Generator`. The default is a new one, whose seed is
        drawn from torch's default generator.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        if generator is None:
            generator = _generator.new_generator(_generator.base_seed())
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                "num_samples should be a positive integer value, "
                f"but got num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """How many numbers an epoch has. It follows the length of the data set."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> RandomIterator:
        return RandomIterator(self)

    def __len__(self) -> int:
        return self.num_samples


class RandomIterator:
    """A RandomIterator is an epoch of a RandomSampler.

    Its state is the state of the generator at the beginning of the epoch, and how many numbers
    were drawn.
    """

    def __init__(self, sampler: RandomSampler) -> None:
        self._sampler = sampler
        self._generator_state = sampler.generator.get_state()
        self._n = len(sampler.data_source)
        self._most = sampler.num_samples
        self._yielded = 0
        self._at = 0
        self._ids = self._draw()

    def _draw(self) -> list[int]:
        if self._sampler.replacement:
            return _generator.randint(self._n, _BLOCK, self._sampler.generator)
        return _generator.randperm(self._n, self._sampler.generator)

    def __iter__(self) -> RandomIterator:
        return self

    def __next__(self) -> int:
        if self._yielded == self._most:
            raise StopIteration
        if self._at == len(self._ids):
            self._ids, self._at = self._draw(), 0
        value = self._ids[self._at]
        self._at += 1
        self._yielded += 1
        return value

    def take(self, n: int) -> list[int]:
        """Return the next n numbers, or fewer at the end."""
        end = self._at + n
        if end <= len(self._ids) and self._yielded + n <= self._most:
            taken = self._ids[self._at : end]
            self._at = end
            self._yielded += n
            return taken
        return list(itertools.islice(self, n))

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""
        return {"yielded": self._yielded, "generator": self._generator_state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of this class or of torchdata's."""
        self._generator_state = state["generator"]
        _generator.set_state(self._sampler.generator, self._generator_state)
        wanted = state["yielded"]
        self._ids, self._at = self._draw(), 0
        if wanted is None:
            return
        self._yielded = 0
        self._pass(wanted)
        self._yielded = wanted

    def skip(self, n: int) -> int:
        """Leave out the next n numbers. Return how many there were."""
        n = min(n, self._most - self._yielded)
        self._pass(n)
        self._yielded += n
        return n

    def _pass(self, left: int) -> None:
        """Leave out numbers, which are not made one by one."""
        while left > 0:
            step = min(left, len(self._ids) - self._at)
            if step == 0:
                self._ids, self._at = self._draw(), 0
                continue
            self._at += step
            left -= step


class BatchSampler:
    """A BatchSampler yields lists of the numbers that a sampler yields.

    Args:
      sampler: the sampler, any iterable.
      batch_size: how many numbers a list has.
      drop_last: leave out a last list that is shorter.
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(
                f"drop_last should be a boolean value, but got drop_last={drop_last}"
            )
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> BatchIterator:
        return BatchIterator(self.sampler, self.batch_size, self.drop_last)

    def __len__(self) -> int:
        n: int = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


class BatchIterator:
    """A BatchIterator is an epoch of a BatchSampler."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        self._sampler = sampler
        self._batch_size = batch_size
        self._drop_last = drop_last
        self._yielded = 0
        self._endless = [None] * batch_size if isinstance(sampler, Endless) else None
        self._open()

    def _open(self) -> None:
        self._iterator: Any = iter(self._sampler)
        self._take = self._iterator.take if type(self._iterator) is RandomIterator else None

    def __iter__(self) -> BatchIterator:
        return self

    def __next__(self) -> list[Any]:
        size = self._batch_size
        if self._endless is not None:
            self._yielded += size
            return self._endless
        if self._take is not None:
            batch: list[Any] = self._take(size)
        else:
            batch = list(itertools.islice(self._iterator, size))
        self._yielded += len(batch)
        if len(batch) == size or (batch and not self._drop_last):
            return batch
        raise StopIteration

    def state_dict(self) -> dict[str, Any]:
        """Return the state: the numbers that were drawn, and the states of the sampler."""
        state: dict[str, Any] = {"samples_yielded": self._yielded}
        if is_stateful(self._sampler):
            state["sampler_state"] = self._sampler.state_dict()
        if is_stateful(self._iterator):
            state["sampler_iter_state"] = self._iterator.state_dict()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of this class or of torchdata's.

        If the sampler has no state, the numbers of the state are drawn from it and left out.
        """
        self._yielded = state["samples_yielded"]
        if "sampler_state" in state:
            self._sampler.load_state_dict(state["sampler_state"])
        self._open()
        if "sampler_iter_state" in state:
            self._iterator.load_state_dict(state["sampler_iter_state"])
        stateful = is_stateful(self._sampler) or is_stateful(self._iterator)
        if not stateful and self._endless is None:
            skip(self._iterator, self._yielded)


def skip(iterator: Iterator[Any], n: int) -> None:
    """Draw n values and leave them out. It ends early at the end of the iterator."""
    next(itertools.islice(iterator, n, n), None)
