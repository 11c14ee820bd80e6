"""bivouac.Job with an elastic loader: a job resumes with other workers, batches and ranks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import loader_data as data
import numpy as np
import pytest

import bivouac as bv
from bivouac import errors
from bivouac.torch import StatefulDataLoader

pytestmark = [
    pytest.mark.usefixtures("sidecar"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
]


def make(n: int = 40, **args: Any) -> StatefulDataLoader:
    """Return an elastic loader whose batches are lists of samples."""
    args = {"batch_size": 4, "shuffle": True, "seed": 7, "collate_fn": data.keep, **args}
    return StatefulDataLoader(data.Augmented(n), elastic=True, **args)


def test_a_job_resumes_with_other_workers_and_batches(tmp_path: Path) -> None:
    whole = make()
    want = [sample for _ in range(3) for batch in whole for sample in batch]
    got: list[Any] = []
    changes = [(4, 0, 7), (3, 2, 11), (8, 1, 15), (5, 0, None)]
    for batch, workers, steps in changes:
        state = {"seen": np.zeros(1, np.int64)}
        loader = make(batch_size=batch, num_workers=workers)
        more = {"steps": steps} if steps else {"epochs": 3}
        with bv.Job(tmp_path / "run", loader, state, save_every=2, **more) as job:
            assert state["seen"][0] == len(got)
            for samples in job:
                got += samples
                state["seen"] += len(samples)
    assert got == want


def test_a_job_refuses_the_loader_of_another_run(tmp_path: Path) -> None:
    state = {"a": np.zeros(1)}
    with bv.Job(tmp_path, make(), state, steps=3) as job:
        for _ in job:
            pass
    for loader, text in ((make(41), "want the 40 samples"), (make(seed=8), "seed")):
        with pytest.raises(errors.Mismatch, match=text):
            bv.Job(tmp_path, loader, state, steps=5)
    plain = StatefulDataLoader(data.Augmented(40), 4)
    with pytest.raises(errors.Mismatch, match="elastic=True"):
        bv.Job(tmp_path, plain, state, steps=5)


def test_the_command_finds_the_samples_in_the_run(tmp_path: Path) -> None:
    program = os.environ.get("BIVOUAC_BINARY")
    if not program:
        pytest.skip("no binary")
    seen = []
    with bv.Job(tmp_path / "run", make(), {"a": np.zeros(1)}, steps=12, save_every=5) as job:
        for samples in job:
            seen.append([sample[0] for sample in samples])
    for step in (0, 7, 11):
        done = subprocess.run(
            [program, "data", "peek", str(tmp_path / "run"), "--step", str(step)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert [int(word) for word in done.stdout.splitlines()[1].split()[2:]] == seen[step]


TRAIN = """
    import json, os, signal, sys
    import numpy as np
    import bivouac as bv
    import loader_data as data
    from bivouac.torch import StatefulDataLoader
    batch, workers, stop = map(int, sys.argv[2:])
    loader = StatefulDataLoader(
        data.Augmented(40), batch, True, num_workers=workers, collate_fn=data.keep, elastic=True
    )
    state = {"sum": np.zeros(1), "seen": np.zeros(1, np.int64)}
    with bv.Job(sys.argv[1], loader, state, epochs=2, save_every=1) as job:
        for samples in job:
            state["sum"] += sum(sample[2] for sample in samples)
            state["seen"] += len(samples)
            if job.step == stop:
                os.kill(os.getpid(), signal.SIGKILL)
    print(json.dumps([state["sum"][0], int(state["seen"][0])]))
"""


def test_a_killed_job_resumes_with_other_workers(
    tmp_path: Path, program: Callable[..., subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    whole = StatefulDataLoader(
        data.Augmented(40), 1, True, collate_fn=data.keep, elastic=True
    )
    want = sum(batch[0][2] for _ in range(2) for batch in whole)
    run = str(tmp_path / "run")
    for batch, workers, stop in ((4, 2, 3), (7, 0, 6), (3, 1, 9)):
        killed = program(TRAIN, run, str(batch), str(workers), str(stop))
        killed.communicate(timeout=120)
        assert killed.returncode == -signal.SIGKILL
    last = program(TRAIN, run, "5", "2", "-1")
    out, err = last.communicate(timeout=120)
    assert last.returncode == 0, err
    total, seen = json.loads(out)
    assert seen == 80 and abs(total - want) < 1e-9
