"""Iterators of a loader: what they share, and the iterator without workers."""

from __future__ import annotations

import itertools
import logging
import warnings
from typing import TYPE_CHECKING, Any

from bivouac import errors
from bivouac.torch import _generator, _state
from bivouac.torch._fetch import Fetcher, IterableFetcher, make_fetcher
from bivouac.torch._pin import pin, pins
from bivouac.torch._samplers import Endless
from bivouac.torch._state import is_stateful, load_into

if TYPE_CHECKING:
    from bivouac.torch._loader import StatefulDataLoader

__all__ = ["LoaderIterator", "SingleIterator"]

logger = logging.getLogger("bivouac.torch")


class LoaderIterator:
    """A LoaderIterator is an epoch of a loader.

    It takes the same random numbers from the same generators as torchdata's iterators, at the same
    times.
    """

    def __init__(self, loader: StatefulDataLoader) -> None:
        self._dataset = loader.dataset
        self._iterable = loader._iterable
        self._batched = loader._batched
        self._collate = loader.collate_fn
        self._drop_last = loader.drop_last
        self._pin = pins(loader)
        self._sampler = loader._index_sampler
        self._announced = loader._len_called
        self._indices: Any = iter(self._sampler)
        self._base_seed = _generator.base_seed(loader.generator)
        self._drawn = 0
        self._yielded = 0
        self._faults = 0  # tasks that raised
        self._finished = False  # the state says so
        self._over = False  # there is nothing left

    def __iter__(self) -> LoaderIterator:
        return self

    def __next__(self) -> Any:
        """Return the next batch."""
        raise NotImplementedError

    def __len__(self) -> int:
        n: int = len(self._sampler)
        return n

    def _open_samplers(self, loader: StatefulDataLoader) -> None:
        """Begin an epoch of the samplers."""
        self._indices = iter(self._sampler)
        self._announced = loader._len_called
        self._drawn = self._yielded = 0
        self._finished = self._over = False

    def _load_samplers(self, state: dict[str, Any]) -> None:
        """Go on where the samplers were. Numbers of samplers without a state are passed over."""
        self._drawn = state[_state.DRAWN]
        if is_stateful(self._sampler) or is_stateful(self._indices):
            load_into(self._sampler, state[_state.INDEX_SAMPLER])
            self._indices = iter(self._sampler)
            if state[_state.SAMPLER_ITER] is not None:
                load_into(self._indices, state[_state.SAMPLER_ITER])
        elif not isinstance(self._sampler, Endless):
            self._indices = itertools.islice(self._sampler, self._drawn, None)

    def _fast_forward(self, steps: int) -> None:
        """Read again what was delivered of an iterable without a state."""
        if steps <= 0:
            return
        logger.warning(
            "Neither dataset nor iter(dataset) defines state_dict/load_state_dict so we are "
            "naively fast-forwarding your dataset by %d steps. For more efficient resumes, please "
            "implement `state_dict` and `load_state_dict` in your IterableDataset and/or iterator.",
            steps,
        )
        self._replay(steps)

    def _replay(self, steps: int) -> None:
        """Read again what was delivered. What failed then was reported then."""
        while steps > 0:
            faults = self._faults
            try:
                self._next()
            except StopIteration:
                raise errors.Mismatch(
                    op="load_state_dict",
                    want=f"{steps} more batches that were delivered before",
                    got="the end of the data set",
                    remedy="the data set may have changed",
                ) from None
            except Exception:
                if self._faults == faults:
                    raise  # it is not of the data set
                continue
            steps -= 1

    def _next(self) -> Any:
        """Return the next batch, and nothing more."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Return the state. It covers the batches that were delivered."""
        raise NotImplementedError

    def _check_length(self) -> None:
        """Warn if an iterable gives more than its announced length."""
        announced = self._announced
        if announced is None or self._yielded <= announced or not self._iterable:
            return
        hint = self._length_hint
        warnings.warn(
            f"Length of IterableDataset {self._dataset} was reported to be {announced}"
            f"(when accessing len(dataloader)), but {self._yielded} samples have been fetched. "
            f"{hint}",
            stacklevel=3,
        )

    _length_hint = ""

    def close(self) -> None:
        """End the workers, if there are any."""


class SingleIterator(LoaderIterator):
    """A SingleIterator reads the data set in the trainer."""

    def __init__(self, loader: StatefulDataLoader, state: dict[str, Any] | None) -> None:
        super().__init__(loader)
        if loader.timeout:
            raise ValueError("timeout option needs num_workers > 0")
        if state is None:
            self._fetcher = self._make_fetcher()
        else:
            self._load(state)
        self._fetch = self._fetcher.fetch

    def _make_fetcher(self) -> Fetcher:
        return make_fetcher(
            self._iterable, self._dataset, self._batched, self._collate, self._drop_last
        )

    def __next__(self) -> Any:
        if self._over:
            raise StopIteration
        try:
            index = next(self._indices)
            self._drawn += 1
            data = self._fetch(index)
        except StopIteration:
            self._finished = self._over = True
            raise
        if self._pin:
            data = pin(data)
        self._yielded += 1
        if self._announced is not None:
            self._check_length()
        return data

    def _next(self) -> Any:
        index = next(self._indices)
        self._drawn += 1
        try:
            data = self._fetcher.fetch(index)
        except StopIteration:
            raise
        except Exception:
            self._faults += 1
            raise
        self._yielded += 1
        return data

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""
        dataset, iterator, ended, _ = self._fetcher.state()
        fetcher = None
        if self._iterable:
            fetcher = {_state.DATASET_ITER: iterator, _state.ENDED: ended}
        state = _state.sampler_states(self._sampler, self._indices, self._drawn, self._announced)
        return {
            _state.INDEX_SAMPLER: state[_state.INDEX_SAMPLER],
            _state.SAMPLER_ITER: state[_state.SAMPLER_ITER],
            _state.DRAWN: state[_state.DRAWN],
            _state.YIELDED: self._yielded,
            _state.LEN_CALLED: state[_state.LEN_CALLED],
            _state.SHARED_SEED: None,
            _state.FETCHER: fetcher,
            _state.DATASET: dataset,
            _state.FINISHED: self._finished,
        }

    def _load(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        if _state.YIELDED not in state:
            raise errors.Mismatch(
                op="load_state_dict",
                subject=_state.YIELDED,
                want="a state of a loader without workers",
                got="a state without that key",
                remedy="use the number of workers of the loader that was saved",
            )
        saved, fetcher_state = state[_state.DATASET], state[_state.FETCHER]
        if saved is not None and is_stateful(self._dataset):
            load_into(self._dataset, saved)
        self._announced = state[_state.LEN_CALLED]
        self._fetcher = self._make_fetcher()
        fetcher = self._fetcher
        if isinstance(fetcher, IterableFetcher) and not fetcher.stateful():
            self._fast_forward(state[_state.YIELDED])
        else:
            self._load_samplers(state)
            self._yielded = state[_state.YIELDED]
            if isinstance(fetcher, IterableFetcher) and fetcher_state is not None:
                fetcher.load(_state.lane_of(state))
                fetcher.ended = bool(fetcher_state[_state.ENDED])
        self._finished = state[_state.FINISHED]


