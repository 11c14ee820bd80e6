"""A Trainer that is killed resumes with Bivouac: weights, optimizer and samples bit for bit."""

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

import pytest
from jobs import damage, names

import bivouac as bv
from bivouac import errors

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")
transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")

pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("sidecar"),
    pytest.mark.filterwarnings("ignore"),
]
warnings.filterwarnings("ignore")

SCENE = Path(__file__).parent / "trainer_scene.py"


def train(directory: Path, **options: Any) -> Any:
    import trainer_scene

    return trainer_scene.train(directory, **options)


def train_after(directory: Path) -> Any:
    """Train after a program was killed. Its side-car may still commit its last save."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return train(directory)
        except errors.Busy:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def steps(directory: Path) -> list[int]:
    return sorted(int(name) for name in names(directory) if name.isdigit())


def child(directory: Path, dies: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the program in a child that ends in a step."""
    path = os.pathsep.join([str(Path(bv.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, str(SCENE), str(directory), dies, repr(options)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=240,
    )


def logged(trainer: Any) -> list[dict[str, Any]]:
    """Return what a trainer has logged, without times."""
    return [
        {k: v for k, v in entry.items() if "_per_" not in k and "_runtime" not in k}
        for entry in trainer.state.log_history
        if "train_loss" not in entry
    ]


KINDS: list[dict[str, Any]] = [
    {},
    {"gradient_accumulation_steps": 2},
    {"max_steps": 13, "warmup_steps": 3},
    {"save_strategy": "epoch", "evaluates": True, "eval_strategy": "epoch"},
    {"evaluates": True, "eval_strategy": "steps", "eval_steps": 3, "save_steps": 5},
    {"accelerator_config": {"use_seedable_sampler": False}},
]


@pytest.mark.parametrize("options", KINDS)
def test_an_interrupted_run_resumes_exactly(tmp_path: Path, options: dict[str, Any]) -> None:
    want, ids, first = train(tmp_path / "unbroken", **options)
    for at in (2, 6, 7, 9):
        run = tmp_path / str(at)
        with pytest.raises(ZeroDivisionError):
            train(run, dies=f"raise {at}", **options)
        got, rest, trainer = train(run, **options)
        assert got == want and rest == ids[len(ids) - len(rest) :]
        assert len(rest) < len(ids) or at == 2 or "epoch" in options.values()
        assert logged(first) == logged(trainer)


@pytest.mark.parametrize("dies", ["exit 8", "kill 11"])
def test_a_killed_run_resumes_exactly(tmp_path: Path, dies: str) -> None:
    want, ids, _ = train(tmp_path / "unbroken")
    run = child(tmp_path / "run", dies)
    assert run.returncode == (-signal.SIGKILL if "kill" in dies else 9), run.stderr
    before = [eval(line) for line in run.stdout.splitlines() if line.startswith("[")]
    got, rest, _ = train_after(tmp_path / "run")
    assert before == ids[: len(before)] and rest == ids[len(ids) - len(rest) :]
    assert got == want and len(rest) < len(ids)


@pytest.mark.parametrize("at", [3, 5, 15])
def test_sigterm_commits_the_step(tmp_path: Path, at: int) -> None:
    """The step in which the signal comes is committed, also if it is the last of an epoch."""
    want, ids, _ = train(tmp_path / "unbroken")
    run = child(tmp_path / "run", f"term {at}")
    assert run.returncode == (0 if at == 15 else bv.EXIT_PREEMPTED), run.stderr
    assert steps(tmp_path / "run")[-1] == at
    assert at == 15 or f"preempted at step {at}, committed" in run.stderr
    got, rest, _ = train(tmp_path / "run")
    assert got == want and rest == ids[at:]


def test_the_samples_are_those_of_trainer(tmp_path: Path) -> None:
    _, ids, _ = train(tmp_path / "ours")
    _, theirs, _ = train(tmp_path / "theirs", kind=transformers.Trainer, resume=None)
    assert ids == theirs
    _, mixed, _ = train(tmp_path / "mixed", kind=__import__("trainer_scene").Mixed)
    assert mixed == theirs


def test_workers(tmp_path: Path) -> None:
    want, ids, _ = train(tmp_path / "unbroken", dataloader_num_workers=2)
    with pytest.raises(ZeroDivisionError):
        train(tmp_path / "run", dies="raise 8", dataloader_num_workers=2)
    _, rest, _ = train(tmp_path / "run", dataloader_num_workers=2)
    assert rest == ids[6:]
    del want  # workers draw noise of their own


def test_nothing_is_there_yet_and_all_is_done(tmp_path: Path) -> None:
    want, ids, _ = train(tmp_path)
    assert len(ids) == 15 and steps(tmp_path) == [2, 4, 6, 8, 10, 12, 14, 15]
    got, none, _ = train(tmp_path)
    assert none == [] and got == want
    _, more, _ = train(tmp_path, num_train_epochs=4)
    assert len(more) == 5
    match = r"train: .*steps up to 20.*resume_from_checkpoint=True"
    with pytest.raises(errors.Exists, match=match):
        train(tmp_path, resume=None)
    _, again, _ = train(tmp_path, start_fresh=True)
    assert again == ids


def test_a_path_is_the_newest_step(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        train(tmp_path, dies="raise 8")
    with pytest.raises(errors.Unsupported, match="the newest step"):
        train(tmp_path, resume=str(tmp_path / "4"))
    _, rest, _ = train(tmp_path, resume=str(tmp_path / "6"))
    assert len(rest) == 9


def test_a_damaged_newest_step(tmp_path: Path) -> None:
    want, ids, _ = train(tmp_path / "unbroken")
    with pytest.raises(ZeroDivisionError):
        train(tmp_path / "run", dies="raise 9")
    damage(tmp_path / "run" / "8")
    got, rest, _ = train(tmp_path / "run")
    assert got == want and rest == ids[6:]
    assert "8.damaged" in names(tmp_path / "run")
    for step in steps(tmp_path / "run"):
        damage(tmp_path / "run" / str(step))
    with pytest.raises(errors.Corrupt, match="train: .*none of which is whole"):
        train(tmp_path / "run")


def test_what_does_not_fit_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        train(tmp_path, dies="raise 5")
    match = r"train: state\.model.*Net.*size mismatch for layers\.0\.weight"
    with pytest.raises(errors.Mismatch, match=match):
        train(tmp_path, width=9)
    with pytest.raises(errors.Mismatch, match="train: loader: samples.*samples 14, got samples 13"):
        train(tmp_path, samples=13)
    with pytest.raises(errors.Mismatch, match="identity of the run: .*want 'b', got ''"):
        train(tmp_path, identity="b")
    with bv.checkpoint.training.Checkpointer(tmp_path / "other") as run:
        run.save(3, {"w": torch.zeros(1)}, force=True)
    with pytest.raises(errors.Mismatch, match="train: step 3: item data"):
        train(tmp_path / "other")


def test_what_would_not_resume_is_refused(tmp_path: Path) -> None:
    for options, name in (
        ({"save_only_model": True}, "save_only_model"),
        ({"ignore_data_skip": True}, "ignore_data_skip"),
    ):
        with pytest.raises(errors.Unsupported, match=name):
            train(tmp_path, **options)
    from trainer_scene import Mixed

    class Weighted(Mixed):  # type: ignore[misc]
        def _get_train_sampler(self, *args: Any) -> Any:
            return torch.utils.data.WeightedRandomSampler([1.0] * 14, 14)

    with pytest.raises(errors.Unsupported, match="sampler.*WeightedRandomSampler.*group_by_length"):
        train(tmp_path, kind=Weighted)
    assert steps(tmp_path) == []


def test_the_limit_and_the_best_model(tmp_path: Path) -> None:
    options = {
        "evaluates": True,
        "eval_strategy": "steps",
        "eval_steps": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": "loss",
        "save_total_limit": 2,
        "learning_rate": 0.5,
    }
    _, _, trainer = train(tmp_path, **options)
    best = trainer.state.best_global_step
    assert best in steps(tmp_path) and len(steps(tmp_path)) in (2, 3)
    saved = bv.checkpoint.load_checkpointables(tmp_path / str(best))["state"]["model"]
    for name, value in trainer.model.state_dict().items():
        assert saved[name].tobytes() == value.numpy().tobytes()


def test_early_stopping_goes_on_counting(tmp_path: Path) -> None:
    options = {
        "evaluates": True,
        "eval_strategy": "steps",
        "eval_steps": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": "loss",
        "learning_rate": 0.0,
    }

    def stopping() -> tuple[Any, ...]:
        return (transformers.EarlyStoppingCallback(3, early_stopping_threshold=1e3),)

    _, ids, _ = train(tmp_path / "unbroken", callbacks=stopping(), **options)
    assert 2 < len(ids) < 15
    with pytest.raises(ZeroDivisionError):
        train(tmp_path / "run", dies="raise 5", callbacks=stopping(), **options)
    _, rest, _ = train(tmp_path / "run", callbacks=stopping(), **options)
    assert rest == ids[4:]


def test_no_pickle_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        train(tmp_path, dies="raise 5")

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("unpickled")

    for name in ("load", "loads"):
        monkeypatch.setattr(pickle, name, fail)
    monkeypatch.setattr(torch, "load", fail)
    train(tmp_path)
