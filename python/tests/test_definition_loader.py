"""bivouac.Loader: the batches of a data.yaml and of pipelines, and their states."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
from bivouac import _client, errors, fn, types
from lifecycle import output
from test_pipeline_feeding import run_interrupted

pytestmark = pytest.mark.usefixtures("sidecar")

Told = dict[str, Any]


def texts(root: Path, n: int = 10) -> dict[str, Any]:
    """Make files of different lengths, and return their definition."""
    folder = root / "texts"
    for i in range(n):
        place = folder / f"class{i % 2}" / f"{i:03}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(chr(97 + i % 26) * (i + 1))
    return {
        "path": folder,
        "reader": "file",
        "args": {"file_filters": ["*.txt"]},
        "fields": {"text": "files", "label": "labels"},
        "shuffle": True,
        "seed": np.int64(5),
        "batch_size": 3,
    }


def told(batch: Any) -> Told:
    """Return a copy of a batch that can be compared."""
    out = {}
    for name, value in batch.items():
        views = value.views() if hasattr(value, "views") else [value]
        out[name] = [(v.dtype.name, v.shape, v.tobytes()) for v in views]
    return out


def step(loader: Any) -> Told | None:
    """Return the next batch, or None at the end of an epoch."""
    batch = next(loader, None)
    return None if batch is None else told(batch)


def graph(root: Path, **options: Any) -> Any:
    @bivouac.pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=5)
    def made() -> Any:
        data, label = fn.readers.file(
            file_root=str(root / "texts"), file_filters=["*.txt"], random_shuffle=True, name="files"
        )
        return fn.pad(data, fill_value=0), data, label, fn.random.uniform(shape=[2])

    return made(**options)


def definitions(tmp_path: Path) -> dict[str, Callable[[], Any]]:
    """Return loaders of each kind of definition."""
    settings = texts(tmp_path)
    settings.pop("path")
    settings["seed"] = 5
    yaml = tmp_path / "data.yaml"
    rest = "".join(f"{name}: {json.dumps(value)}\n" for name, value in settings.items())
    yaml.write_text("path: texts\n" + rest)
    raw = tmp_path / "graph.bin"
    graph(tmp_path).serialize(filename=raw)
    names = ["padded", "data", "label", "noise"]
    return {
        "file": lambda: bivouac.Loader(yaml),
        "text": lambda: bivouac.Loader(yaml.read_text(), base=tmp_path),
        "dictionary": lambda: bivouac.Loader(texts(tmp_path)),
        "pipeline": lambda: bivouac.Loader(graph(tmp_path), names=names),
        "bytes": lambda: bivouac.Loader(raw.read_bytes(), names=names),
        "serialized file": lambda: bivouac.Loader(raw, names=names),
        "partial": lambda: bivouac.Loader(graph(tmp_path), names=names, last_batch="partial"),
    }


KINDS = ("file", "text", "dictionary", "pipeline", "bytes", "serialized file", "partial")


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_leads_to_the_same_batches(kind: str, tmp_path: Path) -> None:
    """Each batch of three epochs is followed by the same ones, in this loader and a new one."""
    make = definitions(tmp_path)[kind]
    loader = make()
    states = [loader.state_dict()]
    batches: list[tuple[int, Told]] = []
    for epoch in range(3):
        assert loader.epoch == epoch or loader._engine.kind == "pipeline"
        before, length = len(batches), len(loader)
        for batch in loader:
            batches.append((epoch, told(batch)))
            states.append(json.loads(json.dumps(loader.state_dict())))
        assert len(batches) - before == length
    first = [epoch for epoch, _ in batches].index(1)
    assert any(a[1] != b[1] for a, b in zip(batches, batches[first:]))
    for i in (0, 1, first - 1, first, first + 1):
        for again in (make(), loader):
            again.load_state_dict(states[i])
            epoch = batches[i][0]
            seen: list[tuple[int, Told]] = []
            if i == first:  # the state after the last batch: its epoch ends
                assert list(again) == []
            while len(seen) < len(batches) - i:
                seen += [(epoch, told(batch)) for batch in again]
                epoch += 1
            assert seen == batches[i:]
            again.load_state_dict(states[i])


def test_all_definitions_of_one_data_set_are_equal(tmp_path: Path) -> None:
    makes = definitions(tmp_path)
    for kinds in (KINDS[:3], KINDS[3:6]):
        seen = [[told(batch) for batch in makes[kind]()] for kind in kinds]
        assert seen[0] == seen[1] == seen[2]


def test_batches_are_views_in_the_documented_form(tmp_path: Path) -> None:
    loader = bivouac.Loader(texts(tmp_path))
    lengths = []
    for batch in loader:
        assert sorted(batch) == ["label", "text", "text_ends"]
        assert batch["text"].dtype == np.uint8 and not batch["text"].flags.owndata
        begins = [0, *batch["text_ends"][:-1]]
        for begin, end in zip(begins, batch["text_ends"]):
            one = bytes(batch["text"][begin:end])
            assert one == one[:1] * len(one) and one[0] == 97 + len(one) - 1
            lengths.append(len(one))
    assert sorted(lengths) == list(range(1, 11))
    batch = next(bivouac.Loader(graph(tmp_path)))
    assert list(batch) == ["output0", "output1", "output2", "output3"]
    padded, ragged = batch["output0"], batch["output1"]
    for row, view in zip(padded, ragged.views()):
        assert np.array_equal(row[: len(view)], view) and not row[len(view) :].any()


def test_torch_and_jax(tmp_path: Path) -> None:
    texts(tmp_path)
    loader = bivouac.Loader(graph(tmp_path))
    for module, convert in (("torch", "torch"), ("jax", "jax")):
        with contextlib.suppress(ImportError):
            __import__(module)
            batch = next(loader)
            made = getattr(batch, convert)()
            for name, value in batch.items():
                if hasattr(value, "views"):
                    for a, b in zip(value.views(), made[name]):
                        assert np.array_equal(a, np.asarray(b))
                else:
                    assert np.array_equal(value, np.asarray(made[name]))


@pytest.mark.parametrize(
    ("world", "policy"), [(2, "repeat sample"), (3, "repeat sample"), (3, "end early")]
)
def test_ranks_share_each_batch(world: int, policy: str, tmp_path: Path) -> None:
    """A state of any rank fits any number of ranks."""
    settings = {**texts(tmp_path), "batch_size": None, "global_batch": 6, "uneven": policy}
    settings.pop("batch_size")
    alone = bivouac.Loader(settings)
    want = [told(batch) for batch in alone]
    ranks = [bivouac.Loader(settings, rank=r, world=world) for r in range(world)]
    firsts = [next(rank) for rank in ranks]
    joined = np.concatenate([batch["text"] for batch in firsts])
    assert joined.tobytes() == want[0]["text"][0][2]
    states = [rank.state_dict() for rank in ranks]
    assert all(state == states[0] for state in states) and ranks[0].elastic
    alone.load_state_dict(states[0])
    assert [told(batch) for batch in alone] == want[1:]


def test_variables_are_those_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The side-car has started before the program sets them."""
    settings = {**texts(tmp_path), "rank": "env MY_RANK", "world": "env MY_WORLD or 1"}
    bivouac.Loader(texts(tmp_path))
    with pytest.raises(errors.Invalid, match="MY_RANK"):
        bivouac.Loader(settings)
    batches = []
    for rank in range(2):
        monkeypatch.setenv("MY_RANK", str(rank))
        monkeypatch.setenv("MY_WORLD", "2")
        batches.append(told(next(bivouac.Loader(settings))))
    assert batches[0] != batches[1]


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ("bacth_size: 3", r"line 8 of .*data.yaml.*batch_size"),
        ("num_workers: -1", r"num_workers in line 8"),
        ("reader: nothing", r"line 8|reader"),
        ("pack: {length: 0}", r"length in line 8"),
        ("{", r"line"),
    ],
)
def test_a_mistake_in_a_definition_has_its_line(change: str, want: str, tmp_path: Path) -> None:
    definitions(tmp_path)
    yaml = tmp_path / "data.yaml"
    yaml.write_text(yaml.read_text() + change + "\n")
    with pytest.raises(errors.BivouacError, match=want):
        bivouac.Loader(yaml)


def test_other_mistakes(tmp_path: Path) -> None:
    root = tmp_path
    settings = texts(root)
    for definition, options, want in (
        (7, {}, "type int"),
        (root / "no.yaml", {}, "no.yaml"),
        (root, {}, "a directory"),
        (b"no pipeline", {}, "pipeline"),
        ({**settings, "seed": object()}, {}, "type object"),
        (settings, {"names": ["a"]}, "names"),
        (settings, {"rank": 2, "world": 2}, "Rank"),
        (settings, {"most_held": -1}, "hold"),
        (graph(root), {"rank": 0}, "rank"),
        (graph(root), {"names": ["a"]}, "each of 4 outputs"),
        (graph(root), {"last_batch": "half"}, "partial"),
        (graph(root), {"reader": "other"}, "other"),
    ):
        with pytest.raises((errors.BivouacError, RuntimeError), match=want):
            bivouac.Loader(definition, **options)
    loader = bivouac.Loader(settings)
    next(loader)
    before = loader.state_dict()
    other = {**settings, "seed": 6}
    for state in (
        {},
        None,
        {**before, "engine": "pipeline"},
        bivouac.Loader(other).state_dict(),
        {**before, "state": before["state"][:-9]},
    ):
        with pytest.raises((errors.Mismatch, errors.Corrupt)):
            loader.load_state_dict(state)  # type: ignore[arg-type]
        assert loader.state_dict() == before


@pytest.mark.parametrize("workers", [0, 2])
def test_interrupts_anywhere(tmp_path: Path, workers: int) -> None:
    """Batches and ends come in order, and a state leads to what comes next.

    A state right after an interrupted `next` does not count what the program did not get.
    """
    settings = {**texts(tmp_path, 14), "num_workers": workers}
    plain = bivouac.Loader(settings)
    want = [step(plain) for _ in range(40)]
    assert want.count(None) == 6
    came = at_end = 0
    for seed in range(8):
        rng = random.Random(seed)
        loader, at = bivouac.Loader(settings), 0
        while at < 30:
            line = rng.randint(1, 70) if rng.random() < 0.7 else 1 << 30
            interrupted, got = run_interrupted(loader, line, "__next__", ends=True)
            if interrupted:
                came += 1
                at_end += want[at] is None
                again = bivouac.Loader(settings)
                again.load_state_dict(loader.state_dict())
                assert [step(again) for _ in range(4)] == want[at : at + 4], (seed, at)
                if rng.random() < 0.2:
                    loader = again
                    loader.load_state_dict(loader.state_dict())
                    at += 4
                elif rng.random() < 0.1:  # the rest of the epoch is left out
                    loader.reset()
                    if at > 0 and want[at - 1] is not None:
                        at = want.index(None, at) + 1
                continue
            assert (None if got is None else told(got)) == want[at], (seed, at)
            at += 1
    assert came > 60 and at_end > 3, (came, at_end)


def test_reset_leaves_the_rest_of_an_epoch_out(tmp_path: Path) -> None:
    for make in definitions(tmp_path).values():
        straight, loader = make(), make()
        list(straight)
        loader.reset()  # nothing was read yet
        next(loader)
        loader.reset()
        second = [told(b) for b in straight]
        assert [told(b) for b in loader] == second
        loader.reset()  # the end was seen
        state = loader.state_dict()
        loader.load_state_dict(state)
        loader.reset()
        assert [told(b) for b in loader] == [told(b) for b in straight]


def test_a_closed_loader(tmp_path: Path) -> None:
    for make in definitions(tmp_path).values():
        with make() as loader:
            batch = next(loader)
            before = told(batch)
        loader.close()
        assert told(batch) == before
        for call in (loader.state_dict, loader.reset, loader.__next__, loader.__len__):
            with pytest.raises(errors.Closed):
                call()


def test_a_pipeline_that_ends_with_its_source() -> None:
    def source(info: Any) -> Any:
        if info.iteration == 3:
            raise StopIteration
        return np.full((2, 1), info.epoch_idx * 10 + info.iteration, np.int32)

    @bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def made() -> Any:
        return fn.external_source(source=source, batch_info=True, dtype=types.INT32)

    loader = bivouac.Loader(made(), names=["x"])
    with pytest.raises(TypeError, match="not known"):
        len(loader)
    seen = [[int(b["x"][0, 0]) for b in loader] for _ in range(2)]
    assert seen == [[0, 1, 2], [10, 11, 12]]
    next(loader)
    state = loader.state_dict()
    again = bivouac.Loader(made(), names=["x"])
    again.load_state_dict(state)
    assert [int(b["x"][0, 0]) for b in again] == [21, 22] == [int(b["x"][0, 0]) for b in loader]


def test_threads_take_turns(tmp_path: Path) -> None:
    want = sorted(str(told(b)) for b in bivouac.Loader({**texts(tmp_path), "batch_size": 1}))
    loader = bivouac.Loader({**texts(tmp_path), "batch_size": 1})
    half = threading.Barrier(2)
    seen: list[list[str]] = [[], []]

    def work(mine: list[str]) -> None:
        half.wait()
        mine.extend(str(told(next(loader))) for _ in range(5))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sum(seen, [])) == want


def test_a_dead_sidecar(tmp_path: Path) -> None:
    for make in definitions(tmp_path).values():
        straight, loader = [told(b) for b in make()], make()
        batch = next(loader)
        state = loader.state_dict()
        process = _client.connection()._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(errors.Died):
            loader.state_dict()
        assert told(batch) == straight[0]
        again = make()
        again.load_state_dict(state)
        assert [told(b) for b in again] == straight[1:]


JOB = """
import json, os, signal, sys
import numpy as np
import bivouac
from test_definition_loader import graph, texts, told
from pathlib import Path
root, run, kind, at = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
if kind == "data":
    loader = bivouac.Loader(texts(root))
else:
    loader = bivouac.Loader(graph(root), last_batch="partial")
state = {"w": np.zeros(3)}
with bivouac.Job(run, loader, state, save_every=2, epochs=3) as job:
    for batch in job:
        step = job.step + 1
        print(json.dumps([step, str(told(batch))]), flush=True)
        state["w"] += 1
        if step == at:
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("kind", ["data", "pipeline"])
def test_a_killed_job_goes_on(
    kind: str, tmp_path: Path, program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts(tmp_path)
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
    )

    def run(name: str, at: int) -> dict[int, str]:
        process = program(JOB, str(tmp_path), str(tmp_path / name), kind, str(at))
        text, errors_of = process.communicate(timeout=60)
        assert process.returncode == (0 if at < 0 else -signal.SIGKILL), errors_of
        return dict(json.loads(line) for line in text.splitlines())

    want = run("straight", -1)
    assert len(want) >= 9
    seen: dict[int, str] = {}
    for at in (3, 5, -1):
        part = run("killed", at)
        assert all(seen.get(step, text) == text for step, text in part.items())
        seen.update(part)
    assert seen == want
