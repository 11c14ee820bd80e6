"""Iterators of batches whose samples differ in shape: lists of tensors, and sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bivouac import fn, pipeline_def
from bivouac.plugin.base_iterator import LastBatchPolicy
from bivouac.plugin.pytorch import DALIRaggedIterator

pytestmark = [pytest.mark.usefixtures("sidecar"), pytest.mark.filterwarnings("ignore")]
torch: Any = pytest.importorskip("torch")


def batches(samples: list[Any], tag: str, **kwargs: Any) -> list[Any]:
    """Return two batches of the samples, or as many as the arguments of the iterator say."""
    given = iter([samples] * 4)

    def source() -> Any:
        return next(given)

    made: Any = pipeline_def(batch_size=len(samples), num_threads=1, device_id=None)
    pipe = made(lambda: fn.external_source(source=source))()
    iterator = DALIRaggedIterator([pipe], ["x"], output_types=[tag], **kwargs)
    if kwargs:
        return [batch[0]["x"] for batch in iterator]
    return [next(iterator)[0]["x"] for _ in range(2)]


def counted(*lengths: int) -> list[Any]:
    return [np.arange(n, dtype=np.int32) + 1 for n in lengths]


def test_tags_are_the_texts_of_dali() -> None:
    tags = (
        DALIRaggedIterator.DENSE_TAG,
        DALIRaggedIterator.SPARSE_LIST_TAG,
        DALIRaggedIterator.SPARSE_COO_TAG,
    )
    assert tags == ("dense", "sparse_list", "sparse_coo")
    with pytest.raises(ValueError, match="want DENSE_TAG, .* got 'sparse'"):
        batches(counted(1), "sparse")


def test_lists() -> None:
    for batch in batches(counted(2, 0, 1), "sparse_list"):
        assert [sample.tolist() for sample in batch] == [[1, 2], [], [1]]


def test_sparse_tensors_of_vectors() -> None:
    """The indices, values and shapes are those that DALI 2.4.0 makes."""
    for batch in batches(counted(2, 0, 3), "sparse_coo"):
        assert batch._indices().tolist() == [[0, 0, 2, 2, 2], [0, 1, 0, 1, 2]]
        assert batch._values().tolist() == [1, 2, 1, 2, 3]
        assert batch.dtype is torch.int32 and tuple(batch.shape) == (3, 3)
    for batch in batches(counted(2, 0), "sparse_coo"):
        assert tuple(batch.shape) == (1, 2)


def test_sparse_tensors_that_dali_refuses() -> None:
    samples = [np.full((n, 2), n, np.float32) for n in (1, 2)]
    for batch in batches(samples, "sparse_coo"):
        assert batch._indices().tolist() == [[0, 1, 1], [0, 0, 1]]
        assert batch.to_dense().tolist() == [[[1, 1], [0, 0]], [[2, 2], [2, 2]]]
    for batch in batches([np.zeros(0, np.float32)] * 2, "sparse_coo"):
        assert tuple(batch.shape) == (2, 0)
    with pytest.raises(ValueError, match="x: SPARSE_COO_TAG: want samples with axes"):
        batches([np.float32(1)] * 2, "sparse_coo")
    with pytest.raises(ValueError, match=r"in their first axis only, got \[\(1,\), \(2,\)\]"):
        batches([np.zeros((1, n), np.float32) for n in (1, 2)], "sparse_coo")


def test_the_last_batch_is_cut() -> None:
    cut = batches(
        counted(2, 1, 1), "sparse_coo", size=4, last_batch_policy=LastBatchPolicy.PARTIAL
    )
    assert [tuple(batch.shape) for batch in cut] == [(3, 2), (1, 2)]
    assert cut[1]._values().tolist() == [1, 2]
