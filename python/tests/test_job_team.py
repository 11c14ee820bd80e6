"""Jobs of several processes of torch: one checkpoint of all, and an exact resume."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import eventually
from jobs import damage, names
from processes import Job, needs

import bivouac as bv

pytestmark = pytest.mark.torch

KILLS = int(os.environ.get("BIVOUAC_TEAM_KILLS", "4"))
PREEMPTED = bv.EXIT_PREEMPTED


def begin(directory: Path, size: int, **options: Any) -> Job:
    needs("torch")
    code = f"""
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    import team_scene
    team_scene.run(rank, size, directory, **{options!r})
    """
    return Job("torch", code, size, directory)


def finish(directory: Path, size: int, **options: Any) -> list[str]:
    """Run the loop to its end. Return the last line of each process."""
    return [text.splitlines()[-1] for text in begin(directory, size, **options).outputs()]


def lines(directory: Path, rank: int) -> list[str]:
    path = directory / f"log{rank}"
    text = path.read_text() if path.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()


def steps(directory: Path, size: int) -> list[dict[int, str]]:
    """Return what each process has recorded of each step. What was done twice is the same."""
    all_ = []
    for rank in range(size):
        found: dict[int, str] = {}
        for line in lines(directory, rank):
            if not line.startswith("begin"):
                number, rest = line.split(" ", 1)
                assert found.setdefault(int(number), rest) == rest, (rank, number)
        all_.append(found)
    return all_


def committed(directory: Path) -> list[int]:
    run = directory / "run"
    return sorted(int(name) for name in names(run) if name.isdigit()) if run.exists() else []


def begun(directory: Path, size: int, times: int) -> bool:
    def holds() -> bool:
        logs = [lines(directory, rank) for rank in range(size)]
        return all(sum(line.startswith("begin") for line in log) >= times for log in logs)

    return eventually(holds, 60)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Returns what a run without interruptions does: logs and last lines."""
    known: dict[Any, Any] = {}

    def of(size: int, kind: str) -> Any:
        if (size, kind) not in known:
            directory = tmp_path_factory.mktemp("unbroken")
            ends = finish(directory, size, kind=kind)
            known[size, kind] = steps(directory, size), ends
        return known[size, kind]

    return of


@pytest.mark.parametrize(("size", "kind"), [(2, "fsdp"), (4, "fsdp"), (2, "plain"), (2, "ddp")])
def test_torch_killed_and_resumed(unbroken: Any, tmp_path: Path, size: int, kind: str) -> None:
    """All processes are killed in a step. Samples, noise, weights and moments are as unbroken."""
    want, ends = unbroken(size, kind)
    assert len({ids.rsplit(" ", 2)[0] for log in want for ids in log.values()}) > 20
    run = begin(tmp_path, size, kind=kind, at=8, what="kill", who=list(range(size)))
    assert [status for status, _, _ in run.results()] == [-signal.SIGKILL] * size
    assert committed(tmp_path)[-1] in (3, 6)
    assert finish(tmp_path, size, kind=kind) == ends
    assert steps(tmp_path, size) == want
    step = bv.checkpoint.checkpointables_metadata(tmp_path / "run" / "20").metadata
    assert sorted(step) == ["data", "python", "ranks", "state"]


@pytest.mark.parametrize(("size", "who"), [(2, [0]), (4, [1]), (4, [0, 1, 2, 3])])
def test_torch_sigterm_ends_all_at_one_step(
    unbroken: Any, tmp_path: Path, size: int, who: list[int]
) -> None:
    want, ends = unbroken(size, "fsdp")
    run = begin(tmp_path, size, pause=0.05, at=7, what="term", who=who, grace=60)
    results = run.results()
    assert [status for status, _, _ in results] == [PREEMPTED] * size, results
    done = [int(lines(tmp_path, rank)[-1].split()[0]) for rank in range(size)]
    assert len(set(done)) == 1 and done[0] >= 7 and committed(tmp_path)[-1] == done[0]
    assert all(f"preempted at step {done[0]}, committed" in text for _, _, text in results)
    assert finish(tmp_path, size) == ends
    assert steps(tmp_path, size) == want
    for rank in range(size):  # nothing was done twice
        numbers = [line.split()[0] for line in lines(tmp_path, rank) if "begin" not in line]
        assert numbers == [str(n) for n in range(1, 21)]


def test_torch_sigterm_without_collectives(tmp_path: Path) -> None:
    """Processes that do not wait for each other in their steps end at one step, too."""
    run = begin(
        tmp_path, 4, kind="plain", lonely=True, pause=0.01, steps=10000, save_every=None, grace=60
    )
    assert begun(tmp_path, 4, 1)
    time.sleep(1.5)
    run.processes[2].send_signal(signal.SIGTERM)
    results = run.results()
    assert [status for status, _, _ in results] == [PREEMPTED] * 4, results
    done = {int(lines(tmp_path, rank)[-1].split()[0]) for rank in range(4)}
    assert committed(tmp_path) == list(done) and len(done) == 1


def test_torch_one_is_killed_at_random_instants(unbroken: Any, tmp_path: Path) -> None:
    """No half of a checkpoint is seen; the others end with an error; the run goes on exactly."""
    want, ends = unbroken(2, "fsdp")
    rng = random.Random(7)
    for kill in range(1, KILLS + 1):
        run = begin(tmp_path, 2, pause=0.02, save_every=1, wait=5)
        assert begun(tmp_path, 2, kill)
        time.sleep(rng.random() * 0.3)
        one = rng.randrange(2)
        pid = run.processes[one].pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        run.processes[one].kill()
        if rng.random() < 0.5:
            for child in children:  # the side-car too, perhaps in the middle of a save
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGKILL)
        results = run.results()
        assert results[one][0] == -signal.SIGKILL
        assert results[1 - one][0] not in (0, PREEMPTED), results[1 - one]
        for rank in range(2):  # a kill may have cut the last line
            path = tmp_path / f"log{rank}"
            path.write_text("".join(t + "\n" for t in lines(tmp_path, rank)))
    assert finish(tmp_path, 2) == ends
    assert steps(tmp_path, 2) == want


@pytest.mark.parametrize(("at", "size"), [(":begin", 2), (":plan", 2), (":written", 4)])
def test_torch_one_is_killed_in_a_save(tmp_path: Path, at: str, size: int) -> None:
    """The others are told who was missing. There is no checkpoint of that step."""
    needs("torch")
    code = f"""
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    import signal, team_scene
    from bivouac import _processes
    if rank == 1:
        barrier = _processes.World.barrier
        def killed(self, key, members, seconds):
            if "/6" in key and key.endswith({at!r}):
                os.kill(os.getpid(), signal.SIGKILL)
            barrier(self, key, members, seconds)
        _processes.World.barrier = killed
    team_scene.run(rank, size, directory, kind="plain", lonely=True, wait=4)
    """
    results = Job("torch", code, size, tmp_path).results()
    assert results[1][0] == -signal.SIGKILL
    for rank in range(size):
        status, _, text = results[rank]
        assert rank == 1 or status == 1 and "process 1" in text, text
    assert committed(tmp_path) == [3]
    assert all(end.startswith("end 20 ") for end in finish(tmp_path, size, kind="plain"))


def test_torch_one_fails_in_a_step(tmp_path: Path) -> None:
    """The others do not wait for it until the timeout: they are told what has happened."""
    began = time.monotonic()
    run = begin(tmp_path, 2, kind="plain", lonely=True, at=5, what="raise", who=[1], wait=300)
    results = run.results()
    assert results[1][0] == 1 and "ZeroDivisionError: as the test wants" in results[1][2]
    assert results[0][0] == 1
    assert "process 1" in results[0][2] and "ZeroDivisionError after step 4" in results[0][2]
    assert time.monotonic() - began < 120 and committed(tmp_path) == [3]


def test_torch_fewer_and_more_processes(unbroken: Any, tmp_path: Path) -> None:
    """With an elastic loader 4 processes become 2, then 1, then 3: model and optimizer go on."""
    options = {"elastic": True, "kind": "fsdp"}
    assert len(finish(tmp_path, 4, steps=6, **options)) == 4
    before = state_of(tmp_path / "run" / "6")
    for size, to in ((2, 9), (1, 12), (3, 15)):
        finish(tmp_path, size, steps=to, **options)
        log = lines(tmp_path, size - 1)
        assert log[-4].startswith("begin") and log[-1].startswith(f"{to} ")
    # No sample was lost or read twice.
    seen: dict[int, list[int]] = {}
    for rank in range(4):
        for line in lines(tmp_path, rank):
            if not line.startswith("begin"):
                number, ids = line.split(" ", 1)
                seen.setdefault(int(number), []).extend(eval(ids.rsplit(" ", 2)[0]))
    assert {n: sorted(ids) for n, ids in seen.items()} == {
        n: sorted(i % 48 for i in range(4 * n - 4, 4 * n)) for n in range(1, 16)
    }
    assert sorted(state_of(tmp_path / "run" / "15")) == sorted(before)
    random_states = bv.checkpoint.load_checkpointables(tmp_path / "run" / "15")["ranks"]["rows"]
    assert len({bytes(row) for row in random_states}) == 3


def state_of(step: Path) -> dict[str, bytes]:
    """Return the leaves of the model and of the optimizer."""
    tree = bv.checkpoint.load_checkpointables(step, {"state": None})["state"]
    out = {name: value.tobytes() for name, value in tree["model"].items()}
    for number, parts in tree["optimizer"]["state"].items():
        out.update({f"{number}.{name}": value.tobytes() for name, value in parts.items()})
    return out


def test_torch_the_state_is_the_same_on_another_number(tmp_path: Path) -> None:
    """A step that nobody trains on is saved again by 2 processes: every element is the same."""
    finish(tmp_path, 4, steps=6, elastic=True)
    want = state_of(tmp_path / "run" / "6")
    code = f"""
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    import team_scene, bivouac
    loader, state = team_scene.made(rank, size, "fsdp", True)
    with bivouac.Job(directory + "/run", loader, state, steps=6) as job:
        assert job.step == 6 and loader.place == 24
        job._saved = None
        job._step = 7
        job.save()
    print(type(state["optimizer"].state_dict()["state"][0]["exp_avg"]).__name__)
    """
    assert Job("torch", code, 2, tmp_path).outputs() == ["DTensor"] * 2
    assert state_of(tmp_path / "run" / "7") == want


def test_torch_another_number_is_refused_by_name(tmp_path: Path) -> None:
    finish(tmp_path, 4, steps=3)
    for size in (2, 1):
        for status, _, text in begin(tmp_path, size).results():
            assert status == 1
            want = "loader: mismatch: want 4 processes, which saved the step"
            assert f"{want}, got {size} processes" in text
            assert "elastic = True" in text
    assert committed(tmp_path) == [3]


def test_torch_a_damaged_newest_step(unbroken: Any, tmp_path: Path) -> None:
    """Damage that one process reads makes all continue from the step before."""
    want, ends = unbroken(2, "fsdp")
    finish(tmp_path, 2, steps=9)
    damage(tmp_path / "run" / "9")
    assert finish(tmp_path, 2) == ends
    assert steps(tmp_path, 2) == want
    assert "9.damaged" in names(tmp_path / "run")
    assert [line for line in lines(tmp_path, 1) if "begin" in line] == ["begin 0", "begin 6"]


def test_torch_refusals_reach_all(tmp_path: Path) -> None:
    """What one process refuses ends all of them, with the number of the process."""
    finish(tmp_path, 2, steps=3, kind="plain")
    needs("torch")
    code = f"""
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    import team_scene, bivouac

    def attempt(change=lambda state: None, **options):
        loader, state = team_scene.made(rank, size, "plain")
        change(state)
        try:
            bivouac.Job(directory + "/run", loader, state, **options)
        except errors.BivouacError as err:
            print(type(err).__name__, str(err).replace("\\n", " "))

    def wider(state):
        if rank == 1:
            state["model"] = torch.nn.Linear(3, 3)

    def strange(state):
        if rank == 1:
            state["strange"] = object()

    attempt(wider)
    attempt(strange)
    attempt(identity="b")
    for name, value in (("primary_host", None), ("active_processes", [0])):
        context = bivouac.checkpoint.Context()
        setattr(context.multiprocessing, name, value)
        attempt(context=context)
    """
    one, two = (text.splitlines() for text in Job("torch", code, 2, tmp_path).outputs())
    assert one[0].startswith("Mismatch bivouac.Job: process 1: state.model") and "Linear" in one[0]
    assert two[0].startswith("Mismatch bivouac.Job: state.model") and "Linear" in two[0]
    assert one[1].startswith("Invalid") and "process 1: state.strange" in one[1]
    assert "identity of the run" in one[2] and "identity of the run" in two[2]
    assert "primary_host None" in one[3] and "active_processes [0]" in two[4]


def test_torch_unequal_loaders_are_named(tmp_path: Path) -> None:
    needs("torch")
    code = """
    import bivouac
    class Counter:
        def __init__(self, n):
            self.at, self.n = 0, n
        def __iter__(self):
            while self.at < self.n:
                self.at += 1
                yield self.at
            self.at = 0
        def state_dict(self):
            return {"at": self.at}
        def load_state_dict(self, state):
            self.at = state["at"]
    try:
        with bivouac.Job(directory + "/run", Counter(4 + rank), {"n": 0}, epochs=1) as job:
            for _ in job:
                pass
    except errors.BivouacError as err:
        print(type(err).__name__, err)
    """
    for text in Job("torch", code, 2, tmp_path).outputs():
        assert text.startswith("Mismatch bivouac.Job: processes")
        assert "process 0 after step 4, process 1 after step 5" in text


def test_torch_the_primary_decides(tmp_path: Path) -> None:
    """Policies and metrics are those of the primary, also if they would decide otherwise."""
    needs("torch")
    code = f"""
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    import team_scene, bivouac
    from bivouac.checkpoint import training

    class Odd:
        def should_save(self, step, previous_steps, *, context):
            return rank == 0 and step.step % 2 == 1

    class Keep:
        def should_preserve(self, steps, *, context):
            return [rank == 0 and s.metrics["loss"] != 3 for s in steps]

    loader, state = team_scene.made(rank, size, "plain")
    with bivouac.Job(directory + "/run", loader, state, steps=8, save_decision_policy=Odd(),
                     preservation_policy=Keep()) as job:
        for _ in job:
            job.metrics = {{"loss": job.step + 1 if rank == 0 else -1}}
        job.wait()
        print(job.latest)
    """
    assert Job("torch", code, 2, tmp_path).outputs() == ["8", "8"]
    assert committed(tmp_path) == [1, 5, 7, 8]


class Torchrun:
    """A Torchrun is the example, which torchrun starts. torchrun holds the store."""

    def __init__(self, directory: Path, run: str) -> None:
        root = Path(__file__).resolve().parents[2]
        example = root / "examples" / "python" / "torch_ranks.py"
        if not example.is_file():
            pytest.skip("the examples are not here")
        path = os.pathsep.join([str(root / "python"), os.environ.get("PYTHONPATH", "")])
        self.logs = directory / f"logs{len(list(directory.glob('logs*')))}"
        command = ["--standalone", "--nproc-per-node", "2", "--redirects", "3"]
        command += ["--log-dir", str(self.logs), str(example), str(directory / run), "200"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )

    def lines(self, word: str) -> list[str]:
        """Return the lines of both workers that begin with a word, sorted."""
        texts = [path.read_text() for path in self.logs.rglob("stdout.log")]
        return sorted(t for text in texts for t in text.splitlines() if t.startswith(word))

    def end(self) -> str:
        """Wait for the end, and return what torchrun says."""
        _, error = self.process.communicate(timeout=240)
        return error + "".join(path.read_text() for path in self.logs.rglob("stderr.log"))


def test_torch_the_example_with_torchrun(tmp_path: Path) -> None:
    """A worker of torchrun gets SIGTERM: both commit, and the next start goes on exactly."""
    needs("torch")
    whole = Torchrun(tmp_path, "unbroken")
    error = whole.end()
    want, weights = whole.lines("samples "), whole.lines("weights ")
    assert len(want) == 400 and len(set(weights)) == 1, error
    first = Torchrun(tmp_path, "run")
    pid = first.process.pid
    assert eventually(lambda: any(line.startswith("samples 27 ") for line in first.lines("s")), 90)
    workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    os.kill(int(workers[-1]), signal.SIGTERM)
    error = first.end()
    assert "exitcode  : 75" in error and "committed" in error, error
    again = Torchrun(tmp_path, "run")
    error = again.end()
    begin = set(again.lines("begin"))
    assert len(begin) == 1 and int(begin.pop().split()[-1]) >= 27, error
    assert sorted(first.lines("samples ") + again.lines("samples ")) == want
    assert again.lines("weights ") == weights
