"""Tensors on CUDA devices are staged: pinned memory, side streams, one wait.

The device is a fake.
"""

from __future__ import annotations

import copy
import gc
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bivouac as bv
import bivouac.checkpoint as ocp
from bivouac import _arena, _client, _restore, _stage
from bivouac.checkpoint import _engine

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import fake_tensors  # noqa: E402
from fake_cuda import Gpu, Stream  # noqa: E402
from fake_tensors import DeviceTensor, device_tensor, read  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("sidecar")]


@pytest.fixture
def gpu(sidecar: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    """Stand in for torch.cuda.

    At the end, all memory must be unregistered, and no copy under way.
    """
    fake = Gpu()
    monkeypatch.setattr(_stage, "namespace", lambda kind: fake if kind == "cuda" else None)
    fake_tensors.install(fake)
    yield fake
    _client._close()
    gc.collect()
    fake.check()
    assert fake.registered == {} and fake.in_flight == []
    fake_tensors.install(None)
    _stage._sides.clear()


def host() -> dict[str, Any]:
    """Return tensors of all layouts, in the memory of the host."""
    base = torch.arange(24.0).reshape(2, 3, 4)
    return {
        "plain": base.clone(),
        "transposed": base.clone().permute(2, 0, 1),
        "strided": base.clone()[:, ::2, 1:],
        "expanded": torch.ones(1, 3).expand(4, 3),
        "half": base.to(torch.bfloat16),
        "bool": base > 7,
        "float8": base.to(torch.float8_e4m3fn),
        "conjugate": torch.complex(base, base + 1).conj(),
        "long": torch.arange(5),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
    }


def onto(tree: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return {name: device_tensor(tensor, index) for name, tensor in tree.items()}


def equal(a: Any, b: Any) -> bool:
    """Report whether two tensors have the same type, shape and bits."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    flat = [t.resolve_conj().contiguous().reshape(-1).view(torch.uint8) for t in (a, b)]
    return bool(torch.equal(*flat))


def check(path: Path, want: dict[str, Any]) -> None:
    loading = ocp.options.PyTreeOptions.Loading(partial_load=True)
    wanted = {name: torch.empty(t.shape, dtype=t.dtype) for name, t in want.items()}
    with ocp.Context(pytree_options=ocp.options.PyTreeOptions(loading=loading)):
        got = ocp.load(path, wanted)
    for name, tensor in want.items():
        assert equal(got[name], tensor), name


def test_a_save(gpu: Gpu, tmp_path: Path) -> None:
    """Copies run on a side stream into registered memory, and are waited for once."""
    tree = onto(host())
    ocp.save(tmp_path / "a", {**tree, "cpu": torch.ones(3), "step": 7})
    check(tmp_path / "a", host())
    assert ocp.load(tmp_path / "a", {"step": 0, **{n: ... for n in (*tree, "cpu")}})["step"] == 7
    copies = [entry for entry in gpu.log if entry.startswith("copy")]
    assert copies == ["copy out on side cuda:0"] * (len(tree) - 1)  # one is empty
    assert gpu.log[:2] == ["register", "side cuda:0 waits for current cuda:0"]
    assert gpu.log[-1] == "synchronize side cuda:0"
    assert gpu.log.count("synchronize side cuda:0") == 1 and gpu.pageable == 0
    assert not any(entry.startswith("synchronize current") for entry in gpu.log)


def test_work_before_the_save_counts(gpu: Gpu, tmp_path: Path) -> None:
    """The kernels that the program has launched are done before the copies, and none after."""
    tree = {"a": device_tensor(torch.zeros(1000)), "b": device_tensor(torch.ones(50, 20)).T}
    for _ in range(3):
        tree["a"].add_(1)
    tree["b"].mul_(5)
    response = ocp.save_async(tmp_path / "a", tree)
    for tensor in tree.values():
        tensor.fill_(-1)
        assert (read(tensor) == -1).all()
    response.result()
    check(tmp_path / "a", {"a": torch.full((1000,), 3.0), "b": torch.full((20, 50), 5.0)})


def test_saves_register_an_arena_once(gpu: Gpu, tmp_path: Path) -> None:
    tree = {"a": device_tensor(torch.arange(1 << 16))}
    responses = [ocp.save_async(tmp_path / str(i), tree) for i in range(6)]
    for i, response in enumerate(responses):
        response.result()
        check(tmp_path / str(i), {"a": torch.arange(1 << 16)})
    assert 1 <= len(gpu.registered) <= 2
    gpu.log.clear()
    for i in range(3):
        ocp.save(tmp_path / f"again{i}", tree)
    assert "register" not in gpu.log
    larger = {"a": device_tensor(torch.arange(1 << 18))}
    ocp.save(tmp_path / "larger", larger)
    check(tmp_path / "larger", {"a": torch.arange(1 << 18)})
    assert gpu.log.count("unregister") >= 1 and len(gpu.registered) == 1
    gpu.check()


def test_several_devices(gpu: Gpu, tmp_path: Path) -> None:
    tree = {"a": device_tensor(torch.arange(5), 0), "b": device_tensor(torch.arange(7), 1)}
    tree["b"].add_(1)
    ocp.save(tmp_path / "a", tree)
    check(tmp_path / "a", {"a": torch.arange(5), "b": torch.arange(7) + 1})
    synced = sorted(entry for entry in gpu.log if entry.startswith("synchronize"))
    assert synced == ["synchronize side cuda:0", "synchronize side cuda:1"]
    assert gpu.log.count("register") == 1


def test_a_load_into_tensors(gpu: Gpu, tmp_path: Path) -> None:
    """The targets are written after the kernels that the program has launched."""
    ocp.save(tmp_path / "a", host())
    target = onto({name: torch.zeros_like(tensor) for name, tensor in host().items()})
    del target["expanded"]  # its elements share memory
    held = dict(target)
    for tensor in target.values():
        tensor.fill_(1)
    gpu.log.clear()
    loading = ocp.options.PyTreeOptions.Loading(partial_load=True)
    with ocp.Context(pytree_options=ocp.options.PyTreeOptions(loading=loading)):
        assert ocp.load(tmp_path / "a", into=target) is target
    for name, tensor in target.items():
        assert tensor is held[name] and equal(read(tensor), host()[name]), name
    copies = {entry for entry in gpu.log if entry.startswith("copy")}
    assert copies == {"copy in on side cuda:0"}
    assert gpu.log.count("synchronize side cuda:0") == 1
    assert gpu.log[0] == "register" and gpu.log[-1] == "unregister"


def test_a_load_of_new_tensors(gpu: Gpu, tmp_path: Path) -> None:
    ocp.save(tmp_path / "a", host())
    wanted = onto(host())
    wanted["plain"].requires_grad_()
    wanted["long"] = torch.arange(5)
    got = ocp.load(tmp_path / "a", wanted)
    for name, tensor in got.items():
        on_device = isinstance(tensor, DeviceTensor)
        assert on_device == (name != "long") and tensor.device == wanted[name].device
        assert equal(read(tensor) if on_device else tensor, host()[name]), name
    assert got["plain"].requires_grad and gpu.log[-1] == "unregister"
    both = ocp.load_checkpointables(tmp_path / "a", {"state": onto(host())})["state"]
    assert equal(read(both["half"]), host()["half"])


def test_parts(gpu: Gpu, tmp_path: Path) -> None:
    """A Part may have its data on a device."""
    part = bv.Part((6, 2), (0, 0), device_tensor(torch.arange(12.0).reshape(6, 2)))
    ocp.save(tmp_path / "a", {"w": part})
    check(tmp_path / "a", {"w": torch.arange(12.0).reshape(6, 2)})
    half = bv.Part((6, 2), (3, 0), device_tensor(torch.zeros(3, 2)))
    ocp.load(tmp_path / "a", into={"w": half})
    assert equal(read(half.data), torch.arange(12.0).reshape(6, 2)[3:])


def test_without_registered_memory(gpu: Gpu, tmp_path: Path) -> None:
    """If CUDA does not register the memory, saves and loads are slower, and right."""
    gpu.refuses = True
    tree = onto(host())
    with pytest.warns(RuntimeWarning, match="does not register"):
        ocp.save(tmp_path / "a", tree)
    check(tmp_path / "a", host())
    target = {"long": device_tensor(torch.zeros(5, dtype=torch.int64))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = ocp.load(tmp_path / "a", {**dict.fromkeys(tree, ...), **target})
    assert equal(read(got["long"]), torch.arange(5)) and gpu.pageable > 0
    assert "unregister" not in gpu.log


def test_a_device_that_fails(gpu: Gpu, tmp_path: Path) -> None:
    """Its error comes out of the save, nothing is saved, and the next save works."""
    tree = onto(host())
    gpu.failing = "device-side assert"
    with pytest.raises(RuntimeError, match="device-side assert"):
        ocp.save_async(tmp_path / "a", tree)
    assert os.listdir(tmp_path) == []
    gpu.failing = ""
    ocp.save(tmp_path / "a", tree)
    check(tmp_path / "a", host())
    gpu.failing = "device-side assert"
    with pytest.raises(RuntimeError, match="device-side assert"):
        ocp.load(tmp_path / "a", into=onto(host()))
    gpu.failing = ""


def test_a_copy_of_the_host_fails(
    gpu: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies of the device that are under way are waited for before the arena is free again."""

    def broken(memory: Any, copies: Any) -> None:
        assert gpu.in_flight
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_arena, "copy_all", broken)
        with pytest.raises(KeyboardInterrupt):
            ocp.save(tmp_path / "a", onto(host()))
    assert gpu.in_flight == [] and gpu.log[-1] == "synchronize side cuda:0"
    arenas = _client.connection().arenas
    assert arenas is not None and arenas.held() == 0
    ocp.save(tmp_path / "a", onto(host()))
    check(tmp_path / "a", host())


def test_the_side_car_dies(gpu: Gpu, tmp_path: Path) -> None:
    """The memory of a connection that has ended is unregistered before it is unmapped."""
    ocp.save(tmp_path / "a", onto(host()))
    link = _client.connection()
    assert len(gpu.registered) == 1
    os.kill(link._process.pid, signal.SIGKILL)
    with pytest.raises(bv.errors.BivouacError):
        link.call("is_checkpoint", path=str(tmp_path / "a"))
    gc.collect()
    assert gpu.registered == {} and gpu.faults == []
    ocp.save(tmp_path / "b", onto(host()))
    check(tmp_path / "b", host())


def test_a_leaf_that_is_refused_leaves_nothing(gpu: Gpu, tmp_path: Path) -> None:
    tree = {**onto(host()), "bad": object()}
    with pytest.raises(ValueError, match="bad"):
        ocp.save(tmp_path / "a", tree)
    assert gpu.log == []


# The fake sees what would go wrong on a device.


def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stream, "wait_stream", lambda self, other: None)


def no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stream, "synchronize", lambda self: None)


def no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeviceTensor, "record_stream", lambda self, stream: None)


def no_unregister(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_stage.Pinned, "release", lambda self: setattr(self, "_memory", None))


def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unregister while the copies run."""
    finish = _stage.Stage.finish

    def wrong(self: Any) -> None:
        while self._pinned:
            self._pinned.pop().release()
        finish(self)

    monkeypatch.setattr(_stage.Stage, "finish", wrong)


def blocking(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fake_tensors._copy
    monkeypatch.setattr(
        fake_tensors, "_copy", lambda target, source, non_blocking=False: plain(target, source)
    )


def scene(gpu: Gpu, directory: Path) -> None:
    """Save and load with work under way, and compare all."""
    tree = {"a": device_tensor(torch.zeros(3000)), "b": device_tensor(torch.ones(50, 20)).T}
    tree["a"].add_(1)
    tree["b"].mul_(5)
    want = {"a": torch.ones(3000), "b": torch.full((20, 50), 5.0)}
    ocp.save(directory / "a", tree)
    check(directory / "a", want)
    into = {"a": device_tensor(torch.zeros(3000)), "b": device_tensor(torch.zeros(20, 50))}
    into["a"].fill_(9)
    ocp.load(directory / "a", into=into)
    assert all(equal(read(into[name]), want[name]) for name in want)
    gpu.check()
    ocp.save(directory / "b", {"a": device_tensor(torch.zeros(1 << 20))})  # a larger arena
    gpu.check()


def test_the_scene_is_right(gpu: Gpu, tmp_path: Path) -> None:
    scene(gpu, tmp_path)


@pytest.mark.parametrize(
    ("sabotage", "says"),
    [
        (no_wait, "equal("),
        (no_end, "equal("),
        (no_record, "the allocator does not know"),
        (no_unregister, "unmapped while it was registered"),
        (early, "unregistered that a copy still uses"),
        (blocking, "a copy blocks"),
    ],
)
def test_the_fake_sees_faults(
    sabotage: Callable[[pytest.MonkeyPatch], None],
    says: str,
    sidecar: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = Gpu()
    monkeypatch.setattr(_stage, "namespace", lambda kind: fake if kind == "cuda" else None)
    fake_tensors.install(fake)
    try:
        sabotage(monkeypatch)
        with pytest.raises(AssertionError) as caught:
            scene(fake, tmp_path)
        assert says in str(caught.value)
    finally:
        _stage._sides.clear()
        fake_tensors.install(None)


def test_a_tensor_of_the_device_cannot_be_read_by_the_host(gpu: Gpu) -> None:
    tensor = device_tensor(torch.arange(3.0))
    for step in (tensor.tolist, tensor.numpy, tensor.cpu, lambda: tensor.to("cpu")):
        with pytest.raises(AssertionError, match="the host reads"):
            step()
    again = copy.copy(tensor)
    assert again.device.type == "cuda" and _stage.cuda_of(again) is gpu
    assert _stage.cuda_of(torch.zeros(1)) is None
    assert _restore.is_torch_tensor(tensor) and _engine.PLACEHOLDER is ...
