"""Jobs of torch: modules, optimizers, schedulers, dropout and torchdata's loader."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac as bv
from bivouac import _process, errors

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
loaders: Any = pytest.importorskip("torchdata.stateful_dataloader", reason="no torchdata")

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("sidecar")]
warnings.filterwarnings("ignore", module="torch")


class Noisy(torch.utils.data.Dataset):  # type: ignore[misc]
    """A Noisy draws from the global generator for each sample, as augmentations do."""

    def __len__(self) -> int:
        return 24

    def __getitem__(self, i: int) -> Any:
        return i, torch.full((4,), float(i)) + torch.rand(4), np.random.rand()


def make(workers: int = 0, generator: Any = None) -> tuple[Any, dict[str, Any]]:
    """Return loader and state of a fresh process."""
    torch.manual_seed(11)
    np.random.seed(11)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(), torch.nn.Linear(8, 1)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
    loader = loaders.StatefulDataLoader(
        Noisy(), batch_size=5, shuffle=True, num_workers=workers, generator=generator
    )
    state = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    if generator is not None:
        state["generator"] = generator
    return loader, state


def train(state: dict[str, Any], batch: Any) -> None:
    _, x, noise = batch
    state["optimizer"].zero_grad()
    (state["model"](x).square().mean() + noise.mean() * 0).backward()
    state["optimizer"].step()
    state["scheduler"].step()


def run(
    directory: Path, steps: int, stop_at: int = -1, workers: int = 0, own: bool = False
) -> tuple[dict[str, Any], list[list[int]]]:
    loader, state = make(workers, torch.Generator().manual_seed(3) if own else None)
    seen = []
    with bv.Job(directory, loader, state, steps=steps, save_every=2) as job:
        for batch in job:
            train(state, batch)
            seen.append(batch[0].tolist())
            if job.step + 1 == stop_at:
                break
    return state, seen


def same(a: Any, b: Any) -> bool:
    """Report whether two state dictionaries are equal bit for bit."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, torch.Tensor):
        return bool(a.dtype == b.dtype and torch.equal(a, b))
    return bool(a == b)


def equal(a: dict[str, Any], b: dict[str, Any]) -> bool:
    names = ("model", "optimizer", "scheduler")
    return all(same(a[name].state_dict(), b[name].state_dict()) for name in names)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("stop_at", [1, 3, 4, 5, 6, 7, 10, 11])
def test_a_resumed_run_is_equal(tmp_path: Path, stop_at: int, own: bool) -> None:
    want, ids = run(tmp_path / "unbroken", 12, own=own)
    after = torch.rand(3)
    run(tmp_path / "run", 12, stop_at, own=own)
    got, rest = run(tmp_path / "run", 12, own=own)
    begin = (stop_at - 1) // 2 * 2
    assert rest == ids[begin:]
    assert equal(got, want) and torch.equal(torch.rand(3), after)


def test_the_command_tells_the_samples(tmp_path: Path) -> None:
    _, ids = run(tmp_path, 8)
    binary = _process.binary()
    peek = [binary, "data", "peek", str(tmp_path), "--step", "1"]  # of this epoch
    said = subprocess.run(
        [*peek, "--samples", "24", "--batch-size", "5"], capture_output=True, text=True
    )
    assert said.returncode == 0, said.stderr
    assert " ".join(map(str, ids[6])) in " ".join(said.stdout.replace(",", " ").split())


def test_a_signal_before_the_first_step(tmp_path: Path) -> None:
    want, ids = run(tmp_path / "unbroken", 12)
    loader, state = make()
    with pytest.raises(bv.Preempted, match="step 0, committed"):
        with bv.Job(tmp_path / "run", loader, state, steps=12) as job:
            first = iter(job)
            job._notice.start()
            signal.raise_signal(signal.SIGTERM)
            next(first)
    got, rest = run(tmp_path / "run", 12)
    assert rest == ids and equal(got, want)


def test_workers(tmp_path: Path) -> None:
    want, ids = run(tmp_path / "unbroken", 8, workers=2)
    run(tmp_path / "run", 8, 6, workers=2)
    got, rest = run(tmp_path / "run", 8, workers=2)
    assert rest == ids[4:]
    del got, want  # workers draw noise of their own, which torchdata does not restore


def test_a_module_as_the_state(tmp_path: Path) -> None:
    for steps in (2, 3):
        loader, state = make()
        model = state["model"]
        with bv.Job(tmp_path, loader, model, steps=steps) as job:
            assert job.state is model
            if steps == 3:
                assert same(model.state_dict(), kept)
            for _ in job:
                with torch.no_grad():
                    model[0].weight += 1
        kept = {name: value.clone() for name, value in model.state_dict().items()}


def test_tensors_are_filled_in_place(tmp_path: Path) -> None:
    for steps in (1, 2):
        loader, _ = make()
        parameter = torch.nn.Parameter(torch.ones(2))
        state = {"ema": torch.zeros(3, dtype=torch.bfloat16), "p": parameter}
        held = state["ema"]
        with bv.Job(tmp_path, loader, state, steps=steps) as job:
            assert state["ema"] is held
            assert held.tolist() == [steps - 1] * 3
            for _ in job:
                held += 1


def test_another_model_is_refused(tmp_path: Path) -> None:
    run(tmp_path, 2)
    loader, state = make()
    state["model"] = torch.nn.Linear(4, 1)
    with pytest.raises(errors.Mismatch, match=r"state\.model.*Linear.*refuses"):
        bv.Job(tmp_path, loader, state)
    loader, state = make()
    with pytest.raises(errors.Mismatch, match="batch_size 5.*batch_size 6"):
        other = loaders.StatefulDataLoader(Noisy(), batch_size=6)
        bv.Job(tmp_path, other, state)


def test_no_other_package_is_imported() -> None:
    code = "import bivouac; bivouac.Job; import sys; print('torch' in sys.modules)"
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert said.stdout == "False\n", said.stderr
