"""The two engines of a Loader: a data set of a data.yaml, and a pipeline."""

from __future__ import annotations

import base64
import json
import warnings
from typing import Any

from bivouac import errors
from bivouac._loader.batch import Batch
from bivouac._loader.definition import Text
from bivouac._pipeline.pipeline import Pipeline
from bivouac._pipeline.remote import Remote
from bivouac._pipeline.tensors import TensorListCPU
from bivouac.plugin.base_iterator import DaliBaseIterator, LastBatchPolicy, check_names

__all__ = ["DataSet", "Piped"]


class DataSet:
    """A loader of the data set that a data.yaml describes."""

    kind = "data"
    elastic = True

    def __init__(
        self, text: Text, rank: int | None, world: int | None, most_held: int | None
    ) -> None:
        self._remote: Remote | None = Remote(
            definition=text.text,
            name=text.name,
            base=text.base,
            environment=text.environment(),
            rank=rank,
            world=world,
            hold=most_held,
        )
        for warning in self._remote.warnings:
            warnings.warn(warning, stacklevel=4)

    def _opened(self) -> Remote:
        if self._remote is None:
            raise errors.Closed(op="bivouac.Loader", remedy="make another loader")
        return self._remote

    def next(self) -> Batch:
        outputs = self._opened().take(1)
        if outputs is None:
            raise StopIteration
        return Batch({one._name: one.views()[0] for one in outputs})

    def state(self) -> str:
        return self._opened().state().decode()

    def restore(self, state: str) -> None:
        self._opened().restore(state.encode())

    def reset(self) -> None:
        self._opened().leave()

    def epoch(self) -> int:
        return int(json.loads(self.state()).get("epoch", 0))

    def length(self) -> int | None:
        return self._opened().batches

    def close(self) -> None:
        remote, self._remote = self._remote, None
        if remote is not None:
            remote.close()


class _Iterator(DaliBaseIterator):
    """The epochs of one pipeline."""

    names: list[str]

    def _convert(self, outputs: list[tuple[TensorListCPU, ...]]) -> Batch:
        (batch,) = outputs
        if len(self.names) != len(batch):
            raise errors.Mismatch(
                op="bivouac.Loader",
                subject="names",
                want=f"a name for each of {len(batch)} outputs",
                got=str(self.names),
            )
        return Batch(
            {
                name: one.as_array() if one.is_dense_tensor() else one
                for name, one in zip(self.names, batch)
            }
        )


class Piped:
    """The epochs of a pipeline, as the iterators of DALI count them."""

    kind = "pipeline"
    elastic = False

    def __init__(
        self,
        pipeline: Pipeline,
        names: Any,
        reader: str | None,
        last_batch: str,
        most_held: int | None,
    ) -> None:
        policies = {policy.name.lower(): policy for policy in LastBatchPolicy}
        if last_batch not in policies:
            raise errors.Invalid(
                op="bivouac.Loader",
                subject="last_batch",
                want='"fill", "drop" or "partial"',
                got=repr(last_batch),
            )
        self._policy = policies[last_batch]
        if pipeline._bytes is None:
            pipeline._enable_checkpointing = True
        if most_held is not None:
            pipeline.most_held = most_held
        pipeline.build()
        self._pipeline: Pipeline | None = pipeline
        count = pipeline.num_outputs
        self._names = check_names(names or [f"output{i}" for i in range(count)])
        if len(self._names) != count:
            raise errors.Mismatch(
                op="bivouac.Loader",
                subject="names",
                want=f"a name for each of {count} outputs",
                got=str(self._names),
            )
        readers = pipeline.reader_meta()
        if reader is None and len(readers) > 1:
            raise errors.Invalid(
                op="bivouac.Loader",
                subject="reader",
                want=f"the reader that tells the epochs, one of {sorted(readers)}",
                got="None",
            )
        self._reader = reader or next(iter(readers), None)
        self._iterator = self._begin()
        self._at_start = self._iterator._count.counter == 0  # nothing of the epoch was read

    def _begin(self) -> _Iterator:
        iterator = _Iterator(
            self._opened(),
            reader_name=self._reader,
            auto_reset=True,
            last_batch_policy=self._policy,
            prepare_first_batch=False,
        )
        iterator.names = self._names
        return iterator

    def _opened(self) -> Pipeline:
        if self._pipeline is None:
            raise errors.Closed(op="bivouac.Loader", remedy="make another loader")
        return self._pipeline

    def next(self) -> Batch:
        self._opened()
        try:
            batch: Batch = next(self._iterator)
        except StopIteration:
            self._at_start = True
            raise
        self._at_start = False
        return batch

    def state(self) -> str:
        self._opened()
        return base64.b64encode(self._iterator.checkpoints()[0]).decode()

    def restore(self, state: str) -> None:
        pipeline = self._opened()
        pipeline._move(base64.b64decode(state))
        self._iterator = self._begin()
        self._at_start = self._iterator._count.counter == 0

    def reset(self) -> None:
        """Read the rest of an epoch that was begun, and drop it."""
        self._opened()
        while not self._at_start:
            try:
                self.next()
            except StopIteration:
                return

    def epoch(self) -> int:
        return self._opened()._epoch_idx

    def length(self) -> int | None:
        self._opened()
        return len(self._iterator) if self._iterator.size > 0 else None

    def close(self) -> None:
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None and pipeline._pool is not None:
            pipeline._pool.close()
        if pipeline is not None and pipeline._remote is not None:
            pipeline._remote.close()
