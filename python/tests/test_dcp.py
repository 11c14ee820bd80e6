"""Checkpoints of torch.distributed.checkpoint and torch.save load as torch loads them."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import bivouac.checkpoint as ocp  # noqa: E402
from bivouac import errors  # noqa: E402

RECORDED = Path(__file__).resolve().parents[2] / "testdata" / "dcp"
EXPECTED = json.loads((RECORDED / "expect.json").read_text())

pytestmark = pytest.mark.usefixtures("sidecar")


def describe(value: Any) -> Any:
    """Return a value as expect.json has it."""
    if isinstance(value, torch.Tensor):
        value = value.detach().contiguous()
        raw = value.reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""
        name = str(value.dtype).removeprefix("torch.")
        return {"tensor": name, "shape": list(value.shape), "hex": raw.hex()}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, dict):
        return {"dict": [[key, describe(item)] for key, item in value.items()]}
    if isinstance(value, list):
        return {"list": [describe(item) for item in value]}
    if isinstance(value, tuple):
        return {"tuple": [describe(item) for item in value]}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return {"value": value}
    assert type(value) is int, value
    return {"int": str(value)}


@pytest.mark.parametrize("name", [name for name in EXPECTED if name != "hf-sharded"])
def test_loads_what_torch_loads(name: str) -> None:
    want, got = EXPECTED[name], describe(ocp.load(RECORDED / name))
    if name.startswith("ranks"):  # another writer, and another order
        want, got = ordered(want), ordered(got)
    assert got == want


def ordered(value: Any) -> Any:
    """Return a described value whose dictionaries are sorted."""
    if "dict" in value:
        return {"dict": sorted([key, ordered(item)] for key, item in value["dict"])}
    return value


def test_sharded_safetensors() -> None:
    loaded = ocp.load(RECORDED / "hf-sharded", {k: torch.Tensor for k, _ in pairs("hf-sharded")})
    assert dict(describe(loaded)["dict"]) == dict(pairs("hf-sharded"))


def pairs(name: str) -> list[Any]:
    """Return keys and values of a recorded dictionary."""
    found: list[Any] = EXPECTED[name]["dict"]
    return found


def test_without_torch(program: Callable[..., Any]) -> None:
    code = """
        import sys
        import bivouac.checkpoint as ocp
        state = ocp.load(sys.argv[1])
        w = state["w"]
        print(type(w).__module__, w.dtype, w.shape, float(w[1, 2]), state["m"]["b"])
        assert "torch" not in sys.modules
        """
    out, err = program(code, str(RECORDED / "small")).communicate(timeout=60)
    assert out == "numpy float32 (4, 3) 3.0 (1, 2)\n", err


def source(seed: int) -> dict[str, Any]:
    """Return a state with many kinds of leaves."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.BatchNorm1d(5)).to(torch.bfloat16)
    optim = torch.optim.SGD(model.parameters(), lr=0.1 * seed)
    return {
        "model": model.state_dict(),
        "optim": optim.state_dict(),
        "half": torch.randn(3, 4, dtype=torch.float64).half(),
        "flags": torch.rand(9) > 0.5,
        "counts": torch.randint(0, 2**60, (2, 2)),
        "step": seed,
        "loader": {"rank_0": os.urandom(20), "epoch": (seed, "x")},
    }


def leaves(value: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    """Return the leaves of nested dictionaries, lists and tuples by path."""
    if isinstance(value, dict):
        items = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list | tuple):
        items = [(str(index), item) for index, item in enumerate(value)]
    else:
        return {path: value}
    return {p: v for key, item in items for p, v in leaves(item, (*path, key)).items()}


def assert_same(want: Any, got: Any) -> None:
    """Compare two states leaf by leaf."""
    left, right = leaves(want), leaves(got)
    assert left.keys() == right.keys()
    for path, value in left.items():
        if isinstance(value, torch.Tensor):
            assert value.dtype == right[path].dtype, path
            assert torch.equal(value, right[path]), path
        else:
            assert type(value) is type(right[path]) and value == right[path], path


def save(state: Any, path: Path) -> None:
    """Save a state with torch."""
    import torch.distributed.checkpoint as dcp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save(state, checkpoint_id=path)


def test_into_the_state_of_a_program(tmp_path: Path) -> None:
    want = source(3)
    save(want, tmp_path / "c")
    target = source(4)
    weight = target["model"]["0.weight"]
    got = ocp.load(tmp_path / "c", into=target)
    assert got is target and target["model"]["0.weight"] is weight
    assert_same(want, target)
    assert target["optim"]["state"] == {}, "an empty dictionary, which the format does not record"


def test_as_an_abstract_tree(tmp_path: Path) -> None:
    want = source(5)
    save(want, tmp_path / "c")
    with torch.device("meta"):
        model = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.BatchNorm1d(5))
    abstract: dict[str, Any] = {key: ocp.PLACEHOLDER for key in want}
    abstract["model"] = model.state_dict()
    abstract["half"] = torch.empty(3, 4, dtype=torch.float32, device="meta")
    got = ocp.load(tmp_path / "c", abstract)
    assert got["step"] is ocp.PLACEHOLDER
    assert got["model"]["0.weight"].dtype == torch.float32
    assert torch.equal(got["model"]["0.weight"], want["model"]["0.weight"].float())
    assert torch.equal(got["half"], want["half"].float())
    abstract["half"] = torch.empty(4, 3)
    with pytest.raises(errors.Mismatch, match="half"):
        ocp.load(tmp_path / "c", abstract)


def test_file_of_torch_save(tmp_path: Path) -> None:
    want = source(6)
    torch.save(want, tmp_path / "c.pt")
    assert_same(want, ocp.load(tmp_path / "c.pt"))
    ocp.save(tmp_path / "o", ocp.load(tmp_path / "c.pt")["model"])
    again = ocp.load(tmp_path / "o", {name: torch.Tensor for name in want["model"]})
    assert_same(want["model"], again)


def test_metadata(tmp_path: Path) -> None:
    save({"model": {"w": torch.ones(5, 7)}, "lr": 0.5}, tmp_path / "c")
    found = ocp.metadata(tmp_path / "c").metadata
    assert tuple(found["model"]["w"].shape) == (5, 7)
    assert ocp.is_orbax_checkpoint(tmp_path / "c")


def test_code_is_refused_by_name() -> None:
    with pytest.raises(errors.Unsupported, match=r'"x".*posix.system'):
        ocp.load(RECORDED / "attack")
    got = ocp.load(RECORDED / "attack", {"w": None, "x": ocp.PLACEHOLDER, "big": ocp.PLACEHOLDER})
    assert torch.equal(got["w"], torch.ones(2))
    with pytest.raises(errors.Unsupported, match=r"posix.system"):
        ocp.load(RECORDED / "refused" / "attack.pt")
    assert not Path("/tmp/bivouac-attack").exists()


def test_missing_file_is_named(tmp_path: Path) -> None:
    save({"w": torch.ones(3)}, tmp_path / "c")
    (tmp_path / "c" / "__0_0.distcp").unlink()
    with pytest.raises(errors.Corrupt, match=r'"w".*__0_0.distcp.*missing'):
        ocp.load(tmp_path / "c")
    (tmp_path / "c" / ".metadata").unlink()
    with pytest.raises(ValueError, match="empty directory"):
        ocp.load(tmp_path / "c")


RESHARD = """
    import os, sys, warnings
    warnings.simplefilter("ignore")
    import torch, torch.distributed as dist, torch.multiprocessing as mp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard
    import bivouac.checkpoint as ocp

    def run(rank, path, init):
        dist.init_process_group("gloo", init_method=init, rank=rank, world_size=3)
        mesh = init_device_mesh("cpu", (3,))
        def empty(shape, dtype, placement):
            full = torch.zeros(shape, dtype=dtype)
            parts = full.chunk(3, placement.dim) if placement.is_shard() else [full] * 3
            return DTensor.from_local(parts[rank].contiguous(), mesh, [placement], run_check=False,
                                      shape=full.shape, stride=full.stride())
        into = {
            "both": empty((6, 8), torch.float32, Shard(0)),
            "other": empty((6, 8), torch.bfloat16, Shard(1)),
            "twice": empty((10, 2), torch.int32, Shard(0)),
            "copies": empty((3,), torch.float64, Replicate()),
        }
        state = {key: ocp.PLACEHOLDER for key in ("plain", "step")}
        names = "rows columns tiny uneven fp8 scalar".split()
        state["model"] = {**{name: ocp.PLACEHOLDER for name in names}, **into}
        ocp.load(path, into=state)
        for name, tensor in into.items():
            whole = tensor.full_tensor().contiguous()
            if rank == 0:
                print(name, whole.reshape(-1).view(torch.uint8).numpy().tobytes().hex())
        dist.destroy_process_group()

    if __name__ == "__main__":
        mp.spawn(run, (sys.argv[1], "file://" + sys.argv[2]), 3)
    """


def test_resharding(program: Callable[..., Any], tmp_path: Path) -> None:
    run = program(RESHARD, str(RECORDED / "mesh"), str(tmp_path / "rendezvous"))
    out, err = run.communicate(timeout=120)
    assert run.returncode == 0, err
    want = dict(dict(pairs("mesh"))["model"]["dict"])
    got = dict(line.split() for line in out.splitlines())
    assert got.keys() == {"both", "other", "twice", "copies"}
    for name, text in got.items():
        assert text == want[name]["hex"], name
