"""What a job refuses, and what it tells of failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import eventually
from jobs import PROGRAM, Batches, damage, equal, names, new_state, run
from lifecycle import Program, output

import bivouac as bv
from bivouac import errors
from bivouac.checkpoint import training

pytestmark = pytest.mark.usefixtures("sidecar")


def test_wrong_arguments(tmp_path: Path) -> None:
    for options in ({"save_every": 0}, {"keep": 0}, {"steps": -1}, {"epochs": 0}, {"grace": -1}):
        with pytest.raises(errors.Invalid, match=next(iter(options))):
            bv.Job(tmp_path, Batches(), new_state(), **options)
    with pytest.raises(errors.Invalid, match="loader.*state_dict.*got type list"):
        bv.Job(tmp_path, [1, 2], new_state())
    states: list[tuple[Any, str]] = [(None, "state"), ({}, "state.*empty tree")]
    states.append(({"a": {"b": object()}}, r"state\.a\.b"))
    for state, text in states:
        with pytest.raises(errors.Invalid, match=text):
            bv.Job(tmp_path, Batches(), state)
    assert names(tmp_path) == []


def test_a_damaged_newest_step(tmp_path: Path) -> None:
    want, _ = run(tmp_path / "unbroken", 12)
    run(tmp_path / "run", 8)
    damage(tmp_path / "run" / "8")
    events: list[dict[str, Any]] = []
    got, ids = run(tmp_path / "run", 12, on_event=events.append)
    assert equal(got, want) and len(ids) == 8
    assert "8.damaged" in names(tmp_path / "run") and "8" in names(tmp_path / "run")
    assert {"quarantined", "resumed"} <= {event["event"] for event in events}


def test_a_damaged_run_is_refused_whole(tmp_path: Path) -> None:
    run(tmp_path, 8)
    for name in names(tmp_path):
        damage(tmp_path / name)
    before = names(tmp_path)
    with pytest.raises(errors.Corrupt, match="8, 4, none of which is whole.*start_fresh=True"):
        run(tmp_path, 12)
    assert names(tmp_path) == before
    _, ids = run(tmp_path, 12, start_fresh=True)
    assert len(ids) == 12
    aside = next(p for p in tmp_path.iterdir() if p.name.startswith("aside-"))
    assert names(aside) == before


def test_remains_are_refused(tmp_path: Path) -> None:
    run(tmp_path, 8, keep=1)
    (tmp_path / "8").rename(tmp_path / "8.damaged")
    with pytest.raises(errors.Corrupt, match=r"8\.damaged"):
        run(tmp_path, 12)


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    run(tmp_path, 8)
    path = tmp_path / "8" / "bivouac.manifest"
    rest = path.read_bytes().split(b"\n", 1)[1]
    body = b"bivouac.manifest 99\n" + rest[: rest.rindex(b"end ")]
    path.write_bytes(body + b"end %08x\n" % crc32c(body))
    before = names(tmp_path)
    with pytest.raises(errors.Unsupported, match="got 8, written by a newer version"):
        run(tmp_path, 12)
    assert names(tmp_path) == before


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_a_document_that_no_job_wrote(tmp_path: Path) -> None:
    with training.Checkpointer(tmp_path) as steps:
        document = {"version": 2, "step": 9, "stream": {}}
        steps.save_checkpointables(9, {"state": {"w": np.zeros(1)}, "data": document}, force=True)
    with pytest.raises(errors.Mismatch, match="step 9: item data.*not written by a job"):
        run(tmp_path, 12)


def test_a_step_that_no_job_wrote(tmp_path: Path) -> None:
    with training.Checkpointer(tmp_path) as steps:
        steps.save(3, {"w": np.zeros(1)}, force=True)
    with pytest.raises(errors.Mismatch, match="step 3: item data.*not written by a job"):
        run(tmp_path, 12)


def test_another_loader(tmp_path: Path) -> None:
    run(tmp_path, 4)
    with pytest.raises(errors.Mismatch, match="loader: batch_size, batches.*batch_size 3.*size 5"):
        bv.Job(tmp_path, Batches(batch_size=5), new_state())

    class Other(Batches):
        def load_state_dict(self, state: dict[str, int]) -> None:
            raise KeyError("sampler")

    with pytest.raises(errors.Mismatch, match="loader.*refuses: KeyError: 'sampler'"):
        bv.Job(tmp_path, Other(), new_state())


def test_fingerprints(tmp_path: Path) -> None:
    class Printed(Batches):
        def fingerprint(self) -> str:
            return f"seed {self.seed}"

    with bv.Job(tmp_path, Printed(), new_state(), steps=1) as job:
        for _ in job:
            pass
    bv.Job(tmp_path, Printed(batch_size=9), new_state()).close()
    match = 'want fingerprint "seed 1", got fingerprint "seed 2"'
    with pytest.raises(errors.Mismatch, match=match):
        bv.Job(tmp_path, Printed(seed=2), new_state())


def test_another_state(tmp_path: Path) -> None:
    run(tmp_path, 4)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"w": np.zeros(6)}, "w"),
        ({"w": np.zeros(5, np.float32)}, "w"),
        ({"v": 0}, "v"),
    ]
    for change, name in cases:
        state = {**new_state(), **change}
        with pytest.raises(errors.Mismatch, match=rf"\b4: .*\b{name}\b"):
            bv.Job(tmp_path, Batches(), state)
    short = new_state()
    del short["n"]
    with pytest.raises(errors.Mismatch, match=r"\bn\b"):
        bv.Job(tmp_path, Batches(), short)
    assert names(tmp_path) == ["4"]


def test_another_identity(tmp_path: Path) -> None:
    run(tmp_path, 4, identity="a")
    with pytest.raises(errors.Mismatch, match="identity of the run: .*want 'b', got 'a'"):
        run(tmp_path, 8, identity="b")


def test_two_jobs_on_one_directory(tmp_path: Path, program: Program) -> None:
    log = tmp_path / "log"
    other = program(PROGRAM, str(tmp_path / "run"), str(log), "1000000", "{'pause': 0.01}")
    assert eventually(lambda: log.exists() and "begin" in log.read_text(), 60)
    with pytest.raises(errors.Busy, match="process"):
        run(tmp_path / "run", 8)
    assert other.poll() is None
    other.kill()
    other.communicate()
    assert eventually(lambda: _opens(tmp_path / "run"), 20)


def _opens(directory: Path) -> bool:
    try:
        bv.Job(directory, Batches(), new_state()).close()
    except errors.Busy:
        return False
    return True


# Failing saves.


class Unsavable:
    """An Unsavable is a state that fails at the second save."""

    def __init__(self) -> None:
        self.calls = 0
        self.fails = True

    def state_dict(self) -> dict[str, Any]:
        self.calls += 1
        if self.calls > 3 and self.fails:
            raise errors.Exhausted(op="test", got="no room")
        return {"n": self.calls}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.calls = state["n"]


def test_a_failed_save_is_raised_and_tried_again(tmp_path: Path) -> None:
    state = Unsavable()
    with bv.Job(tmp_path, Batches(), {"s": state}, steps=6, save_every=2, keep=None) as job:
        with pytest.raises(errors.Exhausted, match="no room"):
            for _ in job:
                pass
        assert job.step == 6 and job.latest == 4
        at = job.step
        state.fails = False
        job.save()
        assert job.latest == at
        for _ in job:
            pass
    assert names(tmp_path)[-1] == "6"


def test_a_full_disk_is_told(tmp_path: Path, program: Program) -> None:
    code = """
    import resource, sys
    import numpy as np
    import bivouac as bv
    from bivouac import errors
    sys.path.insert(0, sys.argv[2])
    from jobs import Batches
    state = {"w": np.zeros(4)}
    with bv.Job(sys.argv[1], Batches(), state, steps=2, save_every=1) as job:
        for _ in job:
            pass
    from bivouac import _client
    resource.prlimit(_client.connection()._process.pid, resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
    state["w"] = np.zeros(4)
    try:
        with bv.Job(sys.argv[1], Batches(), state, steps=6, save_every=1) as job:
            big = job.state
            for _ in job:
                big["more"] = np.zeros(1 << 20)
    except errors.BivouacError as err:
        print(type(err).__name__, err)
    """
    said = output(program(code, str(tmp_path / "run"), str(Path(__file__).parent)))
    assert "File too large" in said or "file too large" in said
    assert "2" in names(tmp_path / "run")


def test_a_failure_of_the_last_save_is_raised_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "3").mkdir()
    (tmp_path / "3" / "mine").write_text("x")
    with pytest.raises(errors.BivouacError, match="3"):
        run(tmp_path, 3)
    assert (tmp_path / "3" / "mine").exists()


# Several processes.


def test_a_job_of_processes_without_a_store_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes could not agree on a step."""
    from bivouac import _processes

    job = _processes.World(0, 2, "torch.distributed", None)
    monkeypatch.setattr(_processes, "world", lambda: job)
    match = "torch.distributed without a store.*init_method tcp:// or env://"
    with pytest.raises(errors.Unsupported, match=match):
        bv.Job(tmp_path / "run", Batches(), new_state(), steps=1)
    assert not (tmp_path / "run").exists()
