"""Dynamic mode with torch and with nodes of torchdata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from dynamic_machine import tree  # noqa: E402

import bivouac.dynamic as dyn  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("sidecar")]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16", "float32"])
def test_torch_tensors_go_there_and_back(dtype: str) -> None:
    given = torch.arange(12).reshape(3, 4).to(getattr(torch, dtype))
    for made in (
        dyn.tensor(given),
        dyn.as_tensor(given),
        dyn.copy(given),
        dyn.copy(given.T).torch().T,
    ):
        got = made if isinstance(made, torch.Tensor) else made.torch()
        assert got.dtype == given.dtype and torch.equal(got, given)
    assert torch.equal(
        torch.from_dlpack(dyn.copy(dyn.as_tensor(given.to(torch.int32)))), given.to(torch.int32)
    )
    assert dyn.as_tensor(given).torch().data_ptr() == given.data_ptr()
    assert dyn.as_tensor(given).torch(copy=True).data_ptr() != given.data_ptr()


def test_torch_batches() -> None:
    ragged = dyn.batch([torch.ones(2), torch.zeros(3)])
    assert ragged.torch(pad=True).tolist() == [[1, 1, 0], [0, 0, 0]]
    with pytest.raises(ValueError):
        ragged.torch()
    with pytest.raises(ValueError):
        ragged.torch(copy=False)
    whole = dyn.batch(torch.arange(6).reshape(2, 3)) + 1
    assert whole.torch().tolist() == [[1, 2, 3], [4, 5, 6]]


def test_torch_nodes_go_on_from_their_states(tmp_path: Path) -> None:
    pytest.importorskip("torchdata.nodes", reason="torchdata is not installed")
    nodes = dyn.pytorch.nodes
    root = tree(tmp_path, 7)

    def graph(**more: Any) -> Any:
        reader = nodes.Reader(dyn.readers.File, batch_size=3, file_root=root, **more)
        return nodes.ToTorch(
            nodes.DictMapper(reader, lambda files: dyn.cast(files, dtype=dyn.int32))
        )

    first = graph(enable_checkpointing=True)
    with pytest.raises(RuntimeError):
        nodes.Reader(dyn.readers.File, batch_size=3, file_root=root).next()
    first.reset()
    found = [next(first)[0].reshape(-1).tolist() for _ in range(2)]
    assert found == [[48, 49, 50], [51, 52, 53]]
    state = first.state_dict()
    following = next(first)[0]
    other = graph(enable_checkpointing=True)
    other.reset(state)
    assert torch.equal(next(other)[0], following)
    plain = graph()
    plain.reset()
    assert sum(1 for _ in plain) == 3
    with pytest.raises(NotImplementedError):
        graph().reset(plain.state_dict())
    with pytest.raises(ValueError):
        nodes.Reader(dyn.readers.File, batch_size=1, output_names=["a"], file_root=root)
    assert np.array_equal(
        nodes.Reader(dyn.readers.File, batch_size=2, file_root=root).get_metadata()["epoch_size"], 7
    )
