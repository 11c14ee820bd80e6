"""Accelerate saves and resumes with Bivouac: weights, optimizer and samples bit for bit."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import damage

import bivouac as bv
from bivouac import errors

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
accelerate: Any = pytest.importorskip("accelerate", reason="accelerate is not installed")

pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("sidecar"),
    pytest.mark.filterwarnings("ignore"),
]
warnings.filterwarnings("ignore")

SCENE = Path(__file__).parent / "accelerate_scene.py"


def scene() -> Any:
    """Return the module with the loop, which runs in this process or in a child."""
    import accelerate_scene

    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerate.state.GradientState._reset_state()
    return accelerate_scene


def train(directory: Path, epochs: int = 3, **options: Any) -> Any:
    return scene().train(directory, epochs, **options)


def child(directory: Path, dies: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the loop in a child that ends itself."""
    path = os.pathsep.join([str(Path(bv.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, str(SCENE), str(directory), dies, repr(options)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("dies", "options"),
    [
        ("exit 4", {}),
        ("kill 9", {"named": True, "background": True}),
        ("exit 6", {"registered": True}),
    ],
)
def test_a_killed_run_resumes_exactly(tmp_path: Path, dies: str, options: dict[str, Any]) -> None:
    want, ids = train(tmp_path / "unbroken", **options)
    run = child(tmp_path / "run", dies, **options)
    assert run.returncode == (-signal.SIGKILL if "kill" in dies else 9), run.stderr
    first = [eval(line) for line in run.stdout.splitlines() if line.startswith("[")]
    deadline = time.monotonic() + 20
    while True:
        try:
            got, rest = train(tmp_path / "run", **options)
            break
        except errors.Busy:  # the side-car of the program commits its last save
            assert time.monotonic() < deadline
            time.sleep(0.05)
    n = len(ids) - len(rest)
    assert 0 < n <= len(first) and first == ids[: len(first)] and rest == ids[n:]
    assert got == want


@pytest.mark.parametrize("dies", [3, 5, 6, 10, 11, 15])
@pytest.mark.parametrize("options", [{}, {"named": True}, {"registered": True}])
def test_an_interrupted_run_resumes_exactly(
    tmp_path: Path, dies: int, options: dict[str, Any]
) -> None:
    want, ids = train(tmp_path / "unbroken", **options)
    with pytest.raises(ZeroDivisionError):
        train(tmp_path / "run", dies=dies, **options)
    got, rest = train(tmp_path / "run", **options)
    assert got == want and rest == ids[(dies - 1) // 2 * 2 :]


@pytest.mark.parametrize("options", [{}, {"registered": True}])
def test_a_save_between_epochs(tmp_path: Path, options: dict[str, Any]) -> None:
    want, ids = train(tmp_path / "unbroken", between=True, **options)
    with pytest.raises(ZeroDivisionError):
        train(tmp_path / "run", dies="between 0", between=True, **options)
    got, rest = train(tmp_path / "run", between=True, **options)
    assert got == want and rest == ids[10:]


@pytest.mark.parametrize("background", [False, True])
def test_gradients_that_accumulate(tmp_path: Path, background: bool) -> None:
    options = {"accumulate": 2, "background": background, "careful": True}
    want, ids = train(tmp_path / "unbroken", **options)
    with pytest.raises(ZeroDivisionError):
        train(tmp_path / "run", dies=7, **options)
    got, rest = train(tmp_path / "run", **options)
    assert got == want and rest in (ids[4:], ids[2:])  # the last save may still go on
    with pytest.raises(errors.Unsupported, match="gradients.*after 1 of 2 batches.*sync_gradients"):
        train(tmp_path / "other", accumulate=2, every=3)


def test_nothing_is_there_yet(tmp_path: Path) -> None:
    module = scene()
    accelerator = module.made(tmp_path, named=True)[0]
    assert accelerator.resume() is False
    with pytest.raises(errors.NotFound, match="load_state.*resume"):
        accelerator.load_state()
    with pytest.raises(FileNotFoundError):
        accelerator.load_state(tmp_path / "none")
    assert accelerator.resume(tmp_path / "none") is False
    with pytest.raises(errors.Invalid, match="output_dir"):
        module.made(tmp_path)[0].save_state()


def test_a_damaged_newest_step(tmp_path: Path) -> None:
    want, ids = train(tmp_path / "unbroken", named=True)
    with pytest.raises(ZeroDivisionError):
        train(tmp_path / "run", dies=7, named=True)
    steps = tmp_path / "run" / "checkpoints"
    names = sorted(p.name for p in steps.iterdir() if p.is_dir() and p.name[0] != ".")
    assert names == ["checkpoint_0", "checkpoint_1", "checkpoint_2"]
    damage(steps / "checkpoint_2")
    got, rest = train(tmp_path / "run", named=True)
    assert got == want and rest == ids[4:]
    assert (steps / "checkpoint_2.damaged").is_dir()


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        train(tmp_path, dies=5)
    damage(tmp_path / "latest")
    with pytest.raises(errors.Corrupt, match="latest"):
        train(tmp_path)


def test_what_does_not_fit_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        train(tmp_path, dies=5)
    match = r"load_state: state\.models\.0.*Sequential.*size mismatch for 0\.weight"
    with pytest.raises(errors.Mismatch, match=match):
        train(tmp_path, width=9)
    with pytest.raises(errors.Mismatch, match="loader: batch_size, batches.*batch_size 4"):
        train(tmp_path, batch_size=4)
    with pytest.raises(errors.Mismatch, match="identity of the run: .*want 'b', got ''"):
        train(tmp_path, identity="b")
    module = scene()
    accelerator = module.made(tmp_path)[0]
    accelerator.prepare(torch.nn.Linear(2, 2))
    with pytest.raises(errors.Mismatch, match="latest: models: .*want 2, got 1"):
        accelerator.load_state(tmp_path / "latest")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "model.safetensors").write_bytes(b"x")
    with pytest.raises(errors.BivouacError, match="theirs"):
        accelerator.load_state(tmp_path / "theirs")


def test_a_run_that_was_not_loaded_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        train(tmp_path, dies=5, named=True)
    accelerator = scene().made(tmp_path, named=True)[0]
    with pytest.raises(errors.Exists, match="steps up to 1, none of which was loaded.*resume"):
        accelerator.save_state()


def test_total_limit(tmp_path: Path) -> None:
    train(tmp_path, named=True, limit=2)
    names = sorted(p.name for p in (tmp_path / "checkpoints").iterdir() if p.name[0] != ".")
    assert names == ["checkpoint_6", "checkpoint_7"]


def test_a_loader_without_a_position(tmp_path: Path) -> None:
    """A loader of torch can be prepared. Only a save in the middle of its epoch is refused."""
    module = scene()
    accelerator = module.made(tmp_path)[0]
    loader = accelerator.prepare(torch.utils.data.DataLoader(torch.ones(8, 3), batch_size=2))
    for _ in loader:
        with pytest.raises(errors.Unsupported, match="data loader.*DataLoader.*in the middle"):
            accelerator.save_state(tmp_path / "c")
        break
    for _ in loader:
        pass
    accelerator.gradient_state.dataloader_references = [None]  # the loop that was left
    accelerator.save_state(tmp_path / "c")
    assert bv.checkpoint.verify(tmp_path / "c")


def test_hooks_get_the_files_that_they_saved(tmp_path: Path) -> None:
    """A hook may save a model itself: its files are in the same checkpoint."""
    module = scene()
    accelerator, model, *_ = module.made(tmp_path)
    seen: list[list[str]] = []

    def save(models: list[Any], weights: list[Any], directory: str) -> None:
        weights.pop()
        Path(directory, "mine.bin").write_bytes(models[0].state_dict()["0.bias"].numpy().tobytes())

    def load(models: list[Any], directory: str) -> None:
        seen.append(sorted(os.listdir(directory)))
        values = np.frombuffer(Path(directory, "mine.bin").read_bytes(), np.float32)
        models.pop().state_dict()["0.bias"].copy_(torch.from_numpy(values.copy()))

    saving = accelerator.register_save_state_pre_hook(save)
    accelerator.register_load_state_pre_hook(load)
    want = model[0].bias.detach().clone()
    accelerator.save_state(tmp_path / "c")
    assert "models" not in bv.load(tmp_path / "c")
    with torch.no_grad():
        model[0].bias.zero_()
    accelerator.load_state(tmp_path / "c")
    assert torch.equal(model[0].bias, want) and seen == [["mine.bin"]]
    saving.remove()
    accelerator.save_state(tmp_path / "d")
    with pytest.raises(FileNotFoundError):
        accelerator.load_state(tmp_path / "d")
    assert seen == [["mine.bin"], []]


def test_objects_are_refused_by_name(tmp_path: Path) -> None:
    class Strange:
        def state_dict(self) -> dict[str, Any]:
            return {"a": {"b": object()}}

        def load_state_dict(self, state: dict[str, Any]) -> None:
            raise AssertionError

    accelerator = scene().made(tmp_path)[0]
    accelerator.register_for_checkpointing(Strange())
    with pytest.raises(errors.Invalid, match=r"save_state: state\.custom\.1\.a\.b.*type object"):
        accelerator.save_state(tmp_path / "c")
    assert not (tmp_path / "c").exists()
    with pytest.raises(errors.Unsupported, match="save_state: exclude.*leave them out"):
        accelerator.save_state(tmp_path / "c", exclude=1)


def test_no_pickle_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        train(tmp_path, dies=5)

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("unpickled")

    for name in ("load", "loads"):
        monkeypatch.setattr(pickle, name, fail)
    monkeypatch.setattr(torch, "load", fail)
    train(tmp_path)
