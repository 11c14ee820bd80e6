"""Tensors of torch are saved and loaded as what they are."""

from __future__ import annotations

import collections
import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_tree import load, same, save

from bivouac import errors

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("sidecar")]

DTYPES = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 "
    "bfloat16 complex64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz"
).split()


def equal(a: Any, b: Any) -> bool:
    """Report whether two trees of tensors are equal in structure, dtype and bits."""
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        flat = [t.detach().cpu().contiguous().reshape(-1).view(torch.uint8) for t in (a, b)]
        return torch.equal(*flat)
    if isinstance(a, dict):
        return type(a) is type(b) and list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("name", DTYPES)
def test_dtype(name: str, tmp_path: Path) -> None:
    dtype = getattr(torch, name)
    tensor = torch.arange(12, dtype=torch.float32).reshape(3, 4).to(dtype)
    tree = {"t": tensor, "scalar": tensor[1, 2].clone()}
    save(tree, tmp_path / "c")
    assert equal(load(tmp_path / "c", abstract=tree), tree)
    into = {"t": torch.zeros(3, 4).to(dtype), "scalar": torch.zeros(()).to(dtype)}
    held = into["t"]
    assert load(tmp_path / "c", into=into) is into
    assert into["t"] is held and equal(into, tree)


def test_layouts(tmp_path: Path) -> None:
    base = torch.arange(24.0).reshape(2, 3, 4)
    grad = base.clone().requires_grad_()
    tree = {
        "transposed": base.permute(2, 0, 1),
        "strided": base[:, ::2, 1:],
        "expanded": torch.ones(1, 3).expand(4, 3),
        "grad": grad,
        "parameter": torch.nn.Parameter(base.clone()),
        "conjugate": torch.complex(base, base).conj(),
        "half": base.to(torch.bfloat16).T if base.ndim == 2 else base.to(torch.bfloat16).mT,
    }
    save(tree, tmp_path / "c")
    got = load(tmp_path / "c", abstract=tree)
    assert equal({k: v.resolve_conj() for k, v in tree.items()}, got)
    assert got["grad"].requires_grad and isinstance(got["parameter"], torch.nn.Parameter)
    assert not got["transposed"].requires_grad


def test_module_and_optimizer(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def train() -> None:
        optimizer.zero_grad()
        model(torch.randn(5, 4)).square().sum().backward()
        optimizer.step()

    train()
    tree = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    saved = copy.deepcopy(tree)
    save(tree, tmp_path / "c")
    train()
    got = load(tmp_path / "c", abstract=tree)
    assert equal(got, saved)
    assert type(got["model"]) is collections.OrderedDict
    assert got["model"]._metadata == tree["model"]._metadata
    model.load_state_dict(got["model"])
    optimizer.load_state_dict(got["optimizer"])
    assert equal(optimizer.state_dict(), saved["optimizer"])
    train()
    load(tmp_path / "c", into={"model": model.state_dict(), "optimizer": {**saved["optimizer"]}})
    assert equal(dict(model.state_dict()), dict(saved["model"]))


def test_numpy_and_torch_read_each_others(tmp_path: Path) -> None:
    save({"a": torch.arange(4)}, tmp_path / "t")
    assert same(load(tmp_path / "t"), {"a": np.arange(4)})
    save({"a": np.arange(4)}, tmp_path / "n")
    for leaf in (torch.zeros(4, dtype=torch.int64), torch.Tensor):
        assert equal(load(tmp_path / "n", abstract={"a": leaf}), {"a": torch.arange(4)})


def test_refusals_name_the_path(tmp_path: Path) -> None:
    for tensor, text in (
        (torch.ones(3).to_sparse(), "sparse"),
        (torch.ones(3, device="meta"), "meta"),
        (torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "qint8"),
    ):
        with pytest.raises(errors.BivouacError, match=rf"a\.b.*{text}"):
            save({"a": {"b": tensor}}, tmp_path / "c")


needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.mark.cuda
@needs_cuda
def test_cuda(tmp_path: Path) -> None:
    tree = {"a": torch.arange(6.0, device="cuda").reshape(2, 3).T}
    save(tree, tmp_path / "c")
    got = load(tmp_path / "c", abstract=tree)
    assert got["a"].device == tree["a"].device and equal(got, tree)
    into = {"a": torch.zeros(3, 2, device="cuda")}
    load(tmp_path / "c", into=into)
    assert equal(into, tree)


@pytest.mark.cuda
@needs_cuda
@pytest.mark.parametrize("name", DTYPES)
def test_cuda_dtype(name: str, tmp_path: Path) -> None:
    tensor = torch.arange(12, dtype=torch.float32).reshape(3, 4).to(getattr(torch, name))
    tree = {"t": tensor.cuda(), "scalar": tensor[1, 2].cuda(), "host": tensor}
    save(tree, tmp_path / "c")
    assert equal(load(tmp_path / "c", abstract=tree), tree)


@pytest.mark.cuda
@needs_cuda
def test_cuda_snapshots(tmp_path: Path) -> None:
    """Kernels before the save count, and kernels after it do not. The arena is pinned."""
    from bivouac import _client
    from bivouac.checkpoint import _engine

    tree = {str(i): torch.zeros(1 << 22, device="cuda") for i in range(8)}
    for _ in range(20):
        for tensor in tree.values():
            tensor.add_(1)
    args = {"path": str(tmp_path / "c")}
    call = _engine.start_save("save", {"state": tree}, background=True, args=args)
    for tensor in tree.values():
        tensor.fill_(-1)
    call.result()
    arenas = _client.connection().arenas
    assert arenas is not None
    assert [a.pinned is not None and a.pinned.registered for a in arenas._arenas.values()] == [True]
    got = load(tmp_path / "c", abstract=tree)
    assert all(bool((tensor == 20).all()) for tensor in got.values())
    for tensor in tree.values():
        tensor.fill_(7)
    load(tmp_path / "c", into=tree)
    assert all(bool((tensor == 20).all()) for tensor in tree.values())
    save({"a": torch.zeros(1 << 26, device="cuda")}, tmp_path / "larger")  # a larger arena
