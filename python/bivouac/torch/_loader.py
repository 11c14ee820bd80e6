"""StatefulDataLoader: the arguments, and the iterators that it makes."""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.context
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from bivouac.torch import _collate, _elastic, _elastic_checks
from bivouac.torch._elastic import Elastic, Pass
from bivouac.torch._fetch import is_iterable
from bivouac.torch._iterator import LoaderIterator, SingleIterator
from bivouac.torch._samplers import BatchSampler, Endless, RandomSampler, SequentialSampler
from bivouac.torch._state import refuse_elastic
from bivouac.torch._workers import WorkersIterator

__all__ = ["StatefulDataLoader"]

logger = logging.getLogger("bivouac.torch")

_FIXED = (
    "batch_size",
    "batch_sampler",
    "sampler",
    "drop_last",
    "dataset",
    "persistent_workers",
    "elastic",
)
_OF_ELASTIC = ("epoch", "set_epoch", "last_batch_repeated", "merge_states")


class StatefulDataLoader:
    """A StatefulDataLoader reads batches of a data set, and goes on in mid-epoch from a state.

    It takes the arguments of torchdata's StatefulDataLoader. It yields the same batches, and each
    of the two goes on from the other's states.

    Args:
      dataset: a map-style data set (`__getitem__`, `__len__`), or an iterable one: an
        `IterableDataset` of torch, or a value with `__iter__` and without `__getitem__`.
      batch_size: samples of a batch. None yields the samples themselves.
      shuffle: draw a new permutation for each epoch.
      sampler: yields the index of each sample.
      batch_sampler: yields the list of indices of each batch.
      num_workers: processes that read the data set. 0 reads it in the trainer.
      collate_fn: makes a batch of a list of samples. The default is `default_collate`, or
        `default_convert` without batches.
      pin_memory: copy tensors to pinned memory, if torch has an accelerator.
      drop_last: leave out a last batch that is shorter.
      timeout: seconds to wait for a batch of a worker. 0 waits for ever.
      worker_init_fn: is called in each worker with its number.
      multiprocessing_context: a start method, or a context of multiprocessing.
      generator: draws the permutations and the seeds of the workers. The default is torch's
        default generator.
      prefetch_factor: batches that each worker reads ahead. The default is 2.
      persistent_workers: keep the workers from epoch to epoch.
      pin_memory_device: has no effect, as in torch, which warns of it.
      in_order: False yields batches as they come. A state is exact then, too.
      snapshot_every_n_steps: batches after which the workers report their states. After a resume,
        the batches since the last report are read again and left out. 0 and None report the
        beginning only. The sign has no effect.
      elastic: use Bivouac's own order and state, for any number of workers and ranks and any
        batch_size on resume. See docs/guide/elastic.md. The arguments below belong to it.
      seed: the order of shuffle, and the random numbers of samples. The default is 0.
      name: tells the loaders of one program apart; loaders of different names have different
        orders under one seed.
      rank, world: the part of this process. The default is what torch.distributed says, or 0 of 1.
        batch_size counts the samples of one rank.
      uneven: what a rank does that gets no sample of the last batch of an epoch: "repeat sample",
        the default, or "end early".
      streams: how many streams read an iterable data set; it is in the state. The default is one
        for each worker of each rank.
      sample_seeds: seed the generators of Python, numpy and torch for each sample. The default is
        True.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        snapshot_every_n_steps: int | None = 1,
        elastic: bool = False,
        seed: int | None = None,
        name: str | None = None,
        rank: int | None = None,
        world: int | None = None,
        uneven: str | None = None,
        streams: int | None = None,
        sample_seeds: bool | None = None,
    ) -> None:
        prefetch_factor = _check_workers(
            num_workers, timeout, prefetch_factor, persistent_workers, snapshot_every_n_steps
        )
        _refuse_pipes(dataset)
        self._iterable = is_iterable(dataset)
        own: dict[str, Any] = dict(
            seed=seed,
            name=name,
            rank=rank,
            world=world,
            uneven=uneven,
            streams=streams,
            sample_seeds=sample_seeds,
        )
        if elastic:
            _elastic_checks.check(
                dataset,
                self._iterable,
                batch_sampler,
                generator,
                in_order,
                persistent_workers,
                uneven,
                streams,
            )
        else:
            _elastic_checks.only_elastic(**own)
        if self._iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        shuffle = bool(shuffle)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None and not elastic:
            if self._iterable:
                sampler = Endless()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)  # checks its arguments
        self._batched = batch_sampler is not None
        if elastic:
            batch_sampler = None
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            whole, single = _collate.default_collate, _collate.default_convert
            collate_fn = whole if self._batched else single
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.snapshot_every_n_steps = snapshot_every_n_steps
        self._len_called: int | None = None
        self._iterator: LoaderIterator | None = None
        self.elastic = elastic
        self._elastic: Elastic | None = None
        if elastic:
            self._elastic = _elastic.make(self, shuffle, sampler, **own)
        self._next_state: dict[str, Any] | None = None
        self._made_for_state = False  # the iterator was made by state_dict
        self.check_worker_number_rationality()
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and self.__dict__.get("_initialized"):
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        """Return what only elastic loaders have: the names of `_OF_ELASTIC`."""
        elastic = self.__dict__.get("_elastic") if name in _OF_ELASTIC else None
        if elastic is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(elastic, name)

    @property
    def multiprocessing_context(self) -> Any:
        """The context that starts the workers, or None for the default one."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if self.num_workers <= 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading "
                    f"(num_workers > 0), but got num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                valid = multiprocessing.get_all_start_methods()
                if context not in valid:
                    raise ValueError(
                        "multiprocessing_context option should specify a valid start method in "
                        f"{valid!r}, but got multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string "
                    "specifying the start method, but got "
                    f"multiprocessing_context={context}"
                )
        self._context = context

    @property
    def _index_sampler(self) -> Any:
        """What yields the indices of each task."""
        return self.batch_sampler if self._batched else self.sampler

    def __len__(self) -> int:
        """Return how many batches an epoch has.

        The length of an iterable is what it announces. More batches cause a warning.
        """
        if self._elastic is not None:
            return self._elastic.length()
        if not self._iterable:
            n: int = len(self._index_sampler)
            return n
        length: int = len(self.dataset)
        self._len_called = length
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def __iter__(self) -> LoaderIterator | Pass:
        """Begin an epoch, or go on where the state was taken that was loaded."""
        if self._elastic is not None:
            return self._elastic.iterate(self)
        keep = self.persistent_workers and self.num_workers > 0
        if self._made_for_state:
            self._made_for_state = False
        elif keep and isinstance(self._iterator, WorkersIterator):
            self._iterator.reset(self)
        else:
            self._renew()
        iterator = self._iterator
        assert iterator is not None
        if iterator._finished:
            if keep and isinstance(iterator, WorkersIterator):
                iterator.reset(self)
            else:
                self._renew()
        assert self._iterator is not None
        return self._iterator

    def _renew(self) -> None:
        """Make an iterator. The state that was loaded is used once."""
        state = self._next_state
        made = SingleIterator if self.num_workers == 0 else WorkersIterator
        self._iterator = made(self, state)
        self._next_state = None

    def state_dict(self) -> dict[str, Any]:
        """Return the state. It covers the batches that were delivered.

        Before the first epoch it begins one, as torchdata does. The next iter() goes on with it.
        The state of an elastic loader is the document of docs/format/state.md.
        """
        if self._elastic is not None:
            return self._elastic.state_dict()
        if self._iterator is None:
            self._renew()
            self._made_for_state = True
        assert self._iterator is not None
        return self._iterator.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state of this class or of torchdata's in the next epoch.

        An empty state only ends the epoch. An elastic loader takes the state of an elastic loader,
        in Python or Go, or None for the start.
        """
        if self._elastic is not None:
            self._elastic.load(state_dict)
            return
        self._iterator = None
        self._made_for_state = False
        if state_dict == {}:
            return
        refuse_elastic(state_dict)
        self._next_state = state_dict

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors that this process may use."""
        if not self.num_workers:
            return
        try:
            most = len(os.sched_getaffinity(0))
        except AttributeError:  # pragma: no cover
            most = os.cpu_count() or self.num_workers
        if self.num_workers > most:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {most}, which is smaller "
                "than what this DataLoader is going to create. Please be aware that excessive "
                "worker creation might get DataLoader running slow or even freeze, lower the "
                "worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )


def _check_workers(
    workers: int, timeout: float, prefetch: int | None, persistent: bool, interval: Any
) -> int | None:
    """Check the arguments that are about workers, and return the prefetch factor."""
    if workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; "
            "use num_workers=0 to disable multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if workers == 0 and timeout:
        raise ValueError("timeout option needs num_workers > 0")
    if workers == 0 and prefetch is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if workers > 0 and prefetch is None:
        prefetch = 2
    elif prefetch is not None and prefetch < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if workers > 0 and prefetch == 0:
        raise ValueError("prefetch_factor option should be 1 or more with workers")
    if persistent and workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if interval is not None and not isinstance(interval, int):
        raise ValueError(f"snapshot_every_n_steps option should be a number, got {interval!r}")
    return prefetch


def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    """Refuse what does not go with an iterable data set."""
    if shuffle not in (False, None):
        name, value = "shuffle", shuffle
    elif sampler is not None:
        name, value = "sampler", sampler
    elif batch_sampler is not None:
        name, value = "batch_sampler", batch_sampler
    else:
        return
    raise ValueError(
        f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
        f"{name}={value}"
    )


def _refuse_pipes(dataset: Any) -> None:
    """Refuse DataPipes, which torch has deprecated."""
    module = sys.modules.get("torch.utils.data.datapipes.datapipe")
    if module is not None and isinstance(dataset, (module.IterDataPipe, module.MapDataPipe)):
        raise TypeError(
            "StatefulDataLoader: dataset: want a map-style or iterable data set, got a DataPipe "
            "(wrap it in an IterableDataset)"
        )
