"""Iterators and functions with tensors of torch, as nvidia.dali.plugin.pytorch.

The tensors are views of the memory of the batch. The memory takes another batch when nothing refers
to it any more, so a tensor never changes under its owner.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from bivouac._pipeline.tensors import TensorCPU, TensorListCPU
from bivouac.plugin.base_iterator import (
    DaliBaseIterator,
    LastBatchPolicy,
    Outputs,
    check_names,
    named,
)
from bivouac.plugin.pytorch import fn as fn
from bivouac.plugin.pytorch.function import TorchPythonFunction

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIRaggedIterator",
    "LastBatchPolicy",
    "TorchPythonFunction",
    "feed_ndarray",
    "to_torch_tensor",
]


def _tensor(array: np.ndarray[Any, Any]) -> Any:
    """Return a tensor that shares the memory of an array."""
    torch: Any = importlib.import_module("torch")
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_torch_tensor(tensor: Any, copy: bool = False) -> Any:
    """Return a tensor of torch for a TensorCPU or a TensorListCPU."""
    if isinstance(tensor, TensorListCPU):
        array = tensor.as_array()
    else:
        array = TensorCPU(tensor)._array
    return _tensor(array.copy() if copy else array)


def feed_ndarray(
    dali_tensor: Any, arr: Any, cuda_stream: Any = None, non_blocking: bool = False
) -> Any:
    """Copy a TensorCPU or a TensorListCPU into a tensor of torch of the same shape."""
    del cuda_stream
    arr.copy_(to_torch_tensor(dali_tensor), non_blocking=non_blocking)
    return arr


def _sparse(name: str, samples: list[np.ndarray[Any, Any]]) -> Any:
    """Return the samples of a batch as one sparse tensor in coordinate format."""
    torch: Any = importlib.import_module("torch")
    if any(sample.ndim == 0 for sample in samples):
        raise ValueError(f"iterator: {name}: SPARSE_COO_TAG: want samples with axes, got numbers")
    inner = {sample.shape[1:] for sample in samples}
    if len(inner) != 1:
        raise ValueError(
            f"iterator: {name}: SPARSE_COO_TAG: want samples that differ in their first axis only, "
            f"got {sorted(inner)} for the other axes; use SPARSE_LIST_TAG"
        )
    rows = np.repeat(np.arange(len(samples)), [len(sample) for sample in samples])
    columns = np.concatenate([np.arange(len(sample)) for sample in samples])
    indices = torch.from_numpy(np.stack([rows, columns]))
    values = torch.cat([_tensor(sample) for sample in samples])
    if len(rows) == 0:  # torch cannot tell how many samples there are
        return torch.sparse_coo_tensor(indices, values, (len(samples), 0, *inner.pop()))
    return torch.sparse_coo_tensor(indices, values)


class DALIGenericIterator(DaliBaseIterator):
    """An iterator that returns a list with a dictionary of tensors for each pipeline.

    Args:
      pipelines: one pipeline or a list of them.
      output_map: a name for each output.
      dynamic_shape: has no effect.
      arguments: see bivouac.plugin.base_iterator.
    """

    def __init__(
        self,
        pipelines: Any,
        output_map: Any,
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: Any = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        del dynamic_shape
        self.output_map = check_names(output_map)
        super().__init__(
            pipelines,
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )

    def _convert(self, outputs: list[Outputs]) -> list[dict[str, Any]]:
        return [
            {name: _tensor(out.as_array()) for name, out in named(self.output_map, batch).items()}
            for batch in outputs
        ]


class DALIClassificationIterator(DALIGenericIterator):
    """A DALIGenericIterator with the outputs "data" and "label"."""

    def __init__(
        self,
        pipelines: Any,
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: Any = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        super().__init__(
            pipelines,
            ["data", "label"],
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            dynamic_shape,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )


class DALIRaggedIterator(DaliBaseIterator):
    """An iterator whose outputs may have samples of different shapes.

    Args:
      pipelines: one pipeline or a list of them.
      output_map: a name for each output.
      output_types: DENSE_TAG gives one tensor, SPARSE_LIST_TAG a list with a tensor for each
        sample, and SPARSE_COO_TAG one sparse tensor in coordinate format. Its first index is the
        sample, its second the place along the first axis. By default all are DENSE_TAG.
      arguments: see bivouac.plugin.base_iterator.
    """

    DENSE_TAG = "dense"
    SPARSE_LIST_TAG = "sparse_list"
    SPARSE_COO_TAG = "sparse_coo"

    def __init__(
        self,
        pipelines: Any,
        output_map: Any,
        size: int = -1,
        reader_name: str | None = None,
        output_types: Any = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: Any = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        del dynamic_shape
        self.output_map = check_names(output_map)
        types = list(output_types or [self.DENSE_TAG] * len(self.output_map))
        if len(types) != len(self.output_map):
            raise ValueError(
                f"iterator: output_types: want one for each of {len(self.output_map)} outputs, got "
                f"{len(types)}"
            )
        for tag in types:
            if tag not in (self.DENSE_TAG, self.SPARSE_LIST_TAG, self.SPARSE_COO_TAG):
                raise ValueError(
                    "iterator: output_types: want DENSE_TAG, SPARSE_LIST_TAG or SPARSE_COO_TAG, "
                    f"got {tag!r}"
                )
        self._types = types
        super().__init__(
            pipelines,
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )

    def _convert(self, outputs: list[Outputs]) -> list[dict[str, Any]]:
        batches = []
        for batch in outputs:
            made: dict[str, Any] = {}
            for (name, out), tag in zip(named(self.output_map, batch).items(), self._types):
                if tag == self.SPARSE_LIST_TAG:
                    made[name] = [_tensor(view) for view in out.views()]
                elif tag == self.SPARSE_COO_TAG:
                    made[name] = _sparse(name, out.views())
                else:
                    made[name] = _tensor(out.as_array())
            batches.append(made)
        return batches
