"""What DALI recorded of its dynamic mode, run by the client: generators, readers, checkpoints."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dynamic_machine import Machine, indices, tree

import bivouac.dynamic as dyn

VECTORS = Path(__file__).resolve().parents[2] / "testdata" / "dali" / "ckpt" / "dynamic"

KINDS = {"Error": ValueError, "JSONDecodeError": ValueError}
"""The errors of modules, by the built-in ones that they are."""

DIVERGENT = {"rules-save_seq_hex": 10}
"""Programs that differ from a step on: a file is found by the digits that its pattern writes."""

pytestmark = pytest.mark.skipif(not VECTORS.is_dir(), reason="the recorded cases are not here")


def read(name: str) -> Any:
    return json.loads((VECTORS / name).read_text())


def names(pattern: str) -> list[str]:
    return sorted(path.name for path in VECTORS.glob(pattern))


def bits(value: Any) -> Any:
    """Return a value as the cases have it: the shape of a sample and its floats, or integers."""
    if isinstance(value, dyn.Batch):
        return [bits(sample) for sample in value]
    array = np.asarray(value)
    if array.dtype == np.float32:
        words = [f"{word:08x}" for word in array.reshape(-1).view(np.uint32).tolist()]
        return {"shape": list(array.shape), "f32": words}
    return array


def same(got: Any, want: Any) -> bool:
    """Compare values of a case. Integers have their own form there."""
    if isinstance(want, list):
        return len(got) == len(want) and all(same(g, w) for g, w in zip(got, want))
    if "f32" in want:
        return bool(got == want)
    shape, data = want["shape"], want.get("data", want.get("value"))
    return list(got.shape) == shape and np.array_equal(got.reshape(-1), np.array(data).reshape(-1))


@pytest.mark.parametrize("name", names("rng_*.json"))
def test_generators(name: str) -> None:
    case = read(name)
    rng = dyn.random.RNG(seed=case["params"]["seed"])
    assert str(rng.state) == case["initial"]
    for step in case["steps"]:
        op, args = step["op"], step["args"]
        if op == "call":
            assert [rng() for _ in range(args)] == step["value"]
        elif op == "advance":
            rng.advance(args)
        elif op == "clone":
            other = rng.clone()
            assert [other() for _ in range(args)] == step["value"]
        else:
            value = getattr(dyn.random, op)(rng=rng, **args)
            assert same(bits(value), step["value"]), step
        assert str(rng.state) == step["state_after"]


@pytest.mark.parametrize("name", names("reader_*.json"))
def test_readers(name: str, tmp_path: Path) -> None:
    case = read(name)
    params = case["params"]
    root = tree(tmp_path / "data", params["n"])

    def make() -> tuple[Any, Any, Any]:
        reader = dyn.readers.File(file_root=root, enable_checkpointing=True, **params["args"])
        rngs = [dyn.random.RNG(seed=params["rng_seed"] + i) for i in range(2)]
        return reader, *rngs

    def register(checkpoint: Any, objects: tuple[Any, Any, Any]) -> None:
        checkpoint.register(objects[0], "reader")
        checkpoint.register(objects[1], "rng")
        checkpoint.register(objects[2])

    def numbers(files: Any) -> list[int]:
        return indices(files if isinstance(files, dyn.Batch) else [files])

    def uniform(rng: Any) -> Any:
        size = params["batch_size"]
        return dyn.random.uniform(range=[0.0, 1.0], rng=rng, batch_size=size)

    objects = make()
    reader, rng, _ = objects
    checkpoint = dyn.checkpoint.Checkpoint()
    register(checkpoint, objects)
    texts: dict[tuple[int, int], str] = {}
    for e, epoch in enumerate(case["epochs"]):
        got = 0
        for b, (files, _) in enumerate(reader.next_epoch(batch_size=params["batch_size"])):
            want = epoch[b]
            of_samples = params["batch_size"] is None
            assert numbers(files) == ([want["indices"]] if of_samples else want["indices"])
            drawn = bits(uniform(rng))
            assert same(drawn, want["uniform"])
            assert str(reader.get_state()) == want["reader_state"]
            assert str(rng.get_state()) == want["rng_state"]
            checkpoint.collect()
            texts[e, b] = checkpoint.serialize()
            assert texts[e, b] == want["checkpoint_json"]
            got += 1
        assert got == len(epoch)
    meta = reader.get_metadata(params["batch_size"])
    assert meta == case["metadata"]
    for restored in case["restored"]:
        objects = make()
        reader, rng, _ = objects
        checkpoint = dyn.checkpoint.Checkpoint()
        checkpoint.deserialize(texts[restored["after_epoch"], restored["after_batch"]])
        register(checkpoint, objects)
        epochs = []
        for _ in restored["next_epochs"]:
            epochs.append([])
            for files, _ in reader.next_epoch(batch_size=params["batch_size"]):
                if params["batch_size"] is None:
                    epochs[-1] += numbers(files)
                else:
                    epochs[-1].append(numbers(files))
                uniform(rng)
        assert epochs == restored["next_epochs"]
        assert str(reader.get_state()) == restored["reader_state_end"]
        assert str(rng.get_state()) == restored["rng_state_end"]


def programs() -> list[Any]:
    found = []
    for name in ("rules.json", "rules_recorded.json"):
        if (VECTORS / name).is_file():
            for program in read(name):
                title = f"{name[:-5]}-{program['name']}"
                program["until"] = DIVERGENT.get(title)
                found.append(pytest.param(program, id=title))
    return found


@pytest.mark.parametrize("program", programs())
def test_programs(program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    dyn.checkpoint.current().clear()
    machine = Machine(tmp_path / "data")
    try:
        steps = list(zip(program["program"], program["expect"]))
        for i, (step, want) in enumerate(steps[: program["until"]]):
            try:
                got = {"value": machine.step(*step)}
            except Exception as err:
                name = want.get("error", "")
                kind = KINDS.get(name) or getattr(builtins, name, None)
                assert kind is not None and isinstance(err, kind), (i, step, want, repr(err))
                got = {"error": want["error"]}
            want.pop("message", None)
            assert got == want, (i, step)
            c = machine.checkpoint
            state = [c.is_complete, c.is_loaded, len(c)]
            assert state == program["complete_loaded_len"][i], (i, step)
    finally:
        end = machine.end()
    assert end == program["flags"] or program["until"] is not None
