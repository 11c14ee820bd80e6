"""Iterators over epochs of one or several pipelines, as nvidia.dali.plugin.base_iterator.

An iterator counts samples, and cuts the last batches of an epoch. Each pipeline reads a shard of
the data set.
"""

from __future__ import annotations

import enum
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from bivouac._pipeline.refusals import Unmet
from bivouac._pipeline.running import PipelineAPIType
from bivouac._pipeline.tensors import TensorListCPU
from bivouac.plugin._epochs import EpochCount

__all__ = ["LastBatchPolicy"]


class LastBatchPolicy(enum.Enum):
    """What the last batch of an epoch has if the samples do not fill it.

    FILL: the last sample again, or samples of the next epoch, as the reader fills it.
    DROP: it is left out.
    PARTIAL: only samples of the epoch.
    """

    FILL = 0
    DROP = 1
    PARTIAL = 2


Outputs = tuple[TensorListCPU, ...]


class DaliBaseIterator:
    """What the iterators of all libraries have in common.

    Args:
      pipelines: one pipeline, or a list with one for each shard. All have one batch size.
      size: samples of an epoch over all pipelines, if no reader tells them. -1 without a reader
        lets the epoch end with the source of the only pipeline.
      reader_name: the reader that tells the size of the epoch.
      auto_reset: "yes" or True begins the next epoch by itself; "no", False and None do not.
      fill_last_batch: an older name: True is FILL, False is PARTIAL.
      last_batch_padded: whether the last batch is padded, if there is no reader_name.
      last_batch_policy: a LastBatchPolicy.
      prepare_first_batch: make the first batch at once.
    """

    def __init__(
        self,
        pipelines: Any,
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        if pipelines is None:
            raise Unmet("iterator: want at least one pipeline, got None")
        self._pipes: list[Any] = (
            list(pipelines) if isinstance(pipelines, (list, tuple)) else [pipelines]
        )
        if not self._pipes:
            raise Unmet("iterator: want at least one pipeline, got none")
        self._auto_reset = _choice(auto_reset)
        if fill_last_batch is not None:
            warnings.warn("fill_last_batch is an older name of last_batch_policy", stacklevel=3)
            policy = LastBatchPolicy.FILL if fill_last_batch else LastBatchPolicy.PARTIAL
        else:
            policy = last_batch_policy
        if not isinstance(policy, LastBatchPolicy):
            raise ValueError(
                f"iterator: last_batch_policy: want a LastBatchPolicy, got {policy!r}"
            )
        if size == 0 or (size < 0 and size != -1):
            raise Unmet(f"iterator: size: want -1, or more than 0, got {size}")
        if reader_name and size != -1:
            raise Unmet(
                "iterator: want size or reader_name, got both; the reader tells the size"
            )
        if reader_name and last_batch_padded:
            raise Unmet(
                "iterator: want last_batch_padded or reader_name, got both; the reader tells it"
            )
        if not reader_name and size < 0 and len(self._pipes) > 1:
            raise Unmet(
                "iterator: want size or reader_name for several pipelines, got neither"
            )
        batch = self._pipes[0].max_batch_size
        for pipe in self._pipes:
            if pipe.max_batch_size != batch:
                raise Unmet(
                    f"iterator: want pipelines of one batch size, {batch}, got "
                    f"{pipe.max_batch_size}"
                )
            pipe._set_api_type(PipelineAPIType.ITERATOR)
        self.batch_size = batch
        self._num_gpus = len(self._pipes)
        self._reader_name = reader_name
        self._last_batch_policy = policy
        self._count = EpochCount(batch, len(self._pipes), policy.value, last_batch_padded, size)
        if reader_name:
            self._count.shard([pipe.reader_meta(reader_name) for pipe in self._pipes])
        elif size < 0:
            self._count.last, self._count.padded = LastBatchPolicy.FILL.value, False
        self._begun = False  # batches were scheduled
        self._first: Any = None  # made ahead
        self._ended = False  # the end came instead
        self._consumed = False  # a batch was asked for
        resumed = self._resume()
        self._initial = self._states() if self._checkpointing() else None
        if prepare_first_batch:
            try:
                self._first = self._make()
            except StopIteration:
                if not resumed:
                    raise RuntimeError(
                        "iterator: want data for a batch, got none; with DROP, no batch of a shard "
                        "is full"
                    ) from None
                self._ended = True

    # Batches.

    def __iter__(self) -> Any:
        if self._count.counter != 0 and self._consumed:
            self.reset()
        return self

    def __next__(self) -> Any:
        self._consumed = True
        if self._first is not None:
            batch, self._first = self._first, None
            return batch
        if self._ended:
            self._ended = False
            raise StopIteration
        return self._make()

    def next(self) -> Any:
        """Return the next batch."""
        return self.__next__()

    def __len__(self) -> int:
        if self._count.size < 0:
            raise TypeError(
                "iterator: the length is not known before the end; give size or reader_name"
            )
        return self._count.length()

    @property
    def size(self) -> int:
        """The samples of an epoch: of each pipeline if a reader tells it; -1 if not known."""
        return self._count.size

    def _convert(self, outputs: list[Outputs]) -> Any:
        """Make the batch of the library from the outputs of each pipeline."""
        raise NotImplementedError

    def _make(self) -> Any:
        """Make the next batch."""
        outputs = self._share()
        self._schedule()
        if self._count.advance():
            self._end()
        return self._convert(self._trim(outputs))

    def _share(self) -> list[Outputs]:
        """Take a batch of each pipeline, unless the epoch has ended."""
        if not self._begun:
            self._schedule()
        if self._count.over():
            self._end()
        outputs: list[Outputs] = []
        try:
            for pipe in self._pipes:
                outputs.append(pipe._outputs())
        except StopIteration:
            if self._count.size < 0 and self._auto_reset:
                self.reset()
            raise
        if self._count.size > 0:
            for batch in outputs:
                for output in batch:
                    if len(output) != self.batch_size:
                        raise Unmet(
                            f"iterator: want full batches of {self.batch_size} samples, got "
                            f"{len(output)}; leave size and reader_name out for such pipelines"
                        )
        return outputs

    def _schedule(self) -> None:
        """Begin a batch in every pipeline."""
        self._begun = True
        for pipe in self._pipes:
            pipe._begin(pipe._opened())

    def _end(self) -> None:
        """End an epoch."""
        if self._auto_reset:
            self.reset()
        raise StopIteration

    def _trim(self, outputs: list[Outputs]) -> list[Outputs]:
        """Cut samples that do not belong to the epoch from the batches."""
        kept = self._count.kept()
        if kept is None:
            return outputs
        cut = [
            batch if n >= len(batch[0]) else tuple([output._first(n) for output in batch])
            for batch, n in zip(outputs, kept)
        ]
        return cut if self._reader_name else [batch for batch in cut if len(batch[0])]

    def reset(self) -> None:
        """Begin the next epoch at the end of an epoch.

        Before the end it does nothing. With DROP, an epoch of which only samples are left that are
        dropped has ended.
        """
        if self._count.drops_next() and not self._count.over():
            self._share()
            self._schedule()
            self._count.advance()
        if self._count.size > 0 and not self._count.over():
            return
        self._count.reset()
        for pipe in self._pipes:
            pipe.reset()
            if pipe.empty():
                pipe._begin(pipe._opened())

    # States.

    def _checkpointing(self) -> bool:
        return all(getattr(pipe, "_enable_checkpointing", False) for pipe in self._pipes)

    def _states(self) -> list[bytes]:
        return [pipe._opened().state(self._count.text()) for pipe in self._pipes]

    def checkpoints(self) -> list[bytes]:
        """Return a state of each pipeline, which has the counters of the iterator as well.

        Give each to its pipeline as `checkpoint`, and make an iterator of the pipelines.
        """
        if not self._checkpointing():
            raise ValueError(
                "checkpoints: want pipelines with enable_checkpointing=True, got others"
            )
        if not self._consumed and self._initial is not None:
            return list(self._initial)
        return self._states()

    def _resume(self) -> bool:
        """Restore the counters in the states of the pipelines."""
        texts = {pipe._opened().consumer for pipe in self._pipes}
        if len(texts) > 1:
            raise ValueError(
                f"iterator: want states of one iterator, got different counters: {sorted(texts)}"
            )
        text = texts.pop()
        if not text:
            return False
        self._count.parse(text)
        return True


_DaliBaseIterator = DaliBaseIterator


def _choice(value: str | bool | None) -> bool:
    """Return the meaning of auto_reset."""
    text = str(value).lower()
    if text in ("yes", "true"):
        return True
    if text in ("no", "false", "none"):
        return False
    raise ValueError(f"iterator: auto_reset: want yes, no, True, False or None, got {value!r}")


def check_names(names: Sequence[str]) -> list[str]:
    """Return the names of the outputs, which must differ."""
    listed = [str(name) for name in names]
    if len(set(listed)) != len(listed):
        raise ValueError(f"iterator: output_map: want names that differ, got {listed}")
    return listed


def named(names: Iterable[str], batch: Outputs) -> dict[str, TensorListCPU]:
    """Return the outputs of a batch by their names."""
    names = list(names)
    if len(names) != len(batch):
        raise ValueError(
            f"iterator: output_map: want a name for each of {len(batch)} outputs, got {names}"
        )
    return dict(zip(names, batch))
