"""Sources: nodes over iterables, samplers and map-style data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from bivouac.torch._state import Stateful
from bivouac.torch.nodes._document import fast_forward, member
from bivouac.torch.nodes.base_node import BaseNode, T
from bivouac.torch.nodes.map import Mapper

__all__ = ["IterableWrapper", "MapStyleWrapper", "SamplerWrapper"]

K = TypeVar("K", covariant=True)


class IterableWrapper(BaseNode[T]):
    """An IterableWrapper yields the items of an iterable.

    A resume loads the state of the iterable, if it has `state_dict` and `load_state_dict`. Else it
    goes to the place in a list, tuple, range, text or another sequence, and reads any other
    iterable up to there.

    Args:
      iterable: the iterable. Its own state counts, not that of its iterator.
    """

    NUM_YIELDED_KEY = "_num_yielded"
    ITERABLE_KEY = "iterable"

    def __init__(self, iterable: Iterable[T]) -> None:
        super().__init__()
        self.iterable = iterable
        self._it: Iterator[T] | None = None
        self._num_yielded = 0

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        self._it = None
        self._num_yielded = 0
        if initial_state is None:
            self._it = iter(self.iterable)
            return
        self._num_yielded = member(initial_state, self.NUM_YIELDED_KEY, self)
        if isinstance(self.iterable, Stateful):
            self.iterable.load_state_dict(member(initial_state, self.ITERABLE_KEY, self))
            self._it = iter(self.iterable)
        else:
            self._it = iter(self.iterable)
            fast_forward(self._it, self._num_yielded)

    def next(self) -> T:
        item = next(self._it)  # type: ignore[arg-type]
        self._num_yielded += 1
        return item

    def get_state(self) -> dict[str, Any]:
        state: dict[str, Any] = {self.NUM_YIELDED_KEY: self._num_yielded}
        if isinstance(self.iterable, Stateful):
            state[self.ITERABLE_KEY] = self.iterable.state_dict()
        return state


def MapStyleWrapper(map_dataset: Mapping[K, T], sampler: Iterable[K]) -> BaseNode[T]:
    """Return the node that yields the items of a map-style data set in the order of a sampler.

    Use a ParallelMapper over a SamplerWrapper to read items in parallel.

    Args:
      map_dataset: has `__getitem__`.
      sampler: yields the keys.
    """
    return Mapper(SamplerWrapper(sampler), map_dataset.__getitem__)


class SamplerWrapper(BaseNode[T]):
    """A SamplerWrapper yields the items of a sampler, and counts epochs.

    It calls `set_epoch` of the sampler with the number of the epoch, if there is such a method. An
    epoch counts if something was read of it, before a resume or after it.

    Args:
      sampler: the sampler, any iterable.
      initial_epoch: the number of the first epoch.
      epoch_updater: returns the number that follows a number. The default adds 1.
    """

    NUM_YIELDED_KEY = "_num_yielded"
    EPOCH_KEY = "_epoch"
    SAMPLER_KEY = "_sampler"

    def __init__(
        self,
        sampler: Iterable[T],
        initial_epoch: int = 0,
        epoch_updater: Callable[[int], int] | None = None,
    ) -> None:
        super().__init__()
        self.sampler = sampler
        self.epoch = initial_epoch
        self.epoch_updater = epoch_updater or self._default_epoch_updater
        self._num_yielded = 0
        self._started = False
        self._it: Iterator[T] | None = None

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        if initial_state is None:
            self._num_yielded = 0
            if self._started:
                self.epoch = self.epoch_updater(self.epoch)
            self._set_epoch()
            self._it = iter(self.sampler)
        else:
            self._num_yielded = member(initial_state, self.NUM_YIELDED_KEY, self)
            self.epoch = member(initial_state, self.EPOCH_KEY, self)
            if isinstance(self.sampler, Stateful):
                state = member(initial_state, self.SAMPLER_KEY, self)
                if hasattr(self.sampler, "next_yielded"):
                    # A StatefulDistributedSampler. Its own count is wrong until the first item of
                    # an epoch, or of a resume, is drawn.
                    state = {**state, "yielded": self._num_yielded}
                self.sampler.load_state_dict(state)
                self._it = iter(self.sampler)
            else:
                self._set_epoch()
                self._it = iter(self.sampler)
                fast_forward(self._it, self._num_yielded)
        self._started = self._num_yielded > 0

    def _set_epoch(self) -> None:
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(self.epoch)

    def next(self) -> T:
        self._started = True
        item = next(self._it)  # type: ignore[arg-type]
        self._num_yielded += 1
        return item

    def get_state(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            self.NUM_YIELDED_KEY: self._num_yielded,
            self.EPOCH_KEY: self.epoch,
        }
        if isinstance(self.sampler, Stateful):
            state[self.SAMPLER_KEY] = self.sampler.state_dict()
        return state

    @classmethod
    def _default_epoch_updater(cls, epoch: int) -> int:
        return epoch + 1
