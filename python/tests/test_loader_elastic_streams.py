"""Elastic loaders of iterable data sets: any number of workers reads a number of streams."""

from __future__ import annotations

import json
import logging
import os
import pickle
import random
import signal
from pathlib import Path
from typing import Any

import loader_data as data
import numpy as np
import pytest

import bivouac as bv
from bivouac import _client, errors
from bivouac.torch import StatefulDataLoader, get_worker_info, merge_states

pytestmark = [
    pytest.mark.usefixtures("sidecar"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
]

KINDS = {"iterator": data.Drawing, "dataset": data.Passes, "itself": data.Itself}


def make(dataset: Any, **args: Any) -> StatefulDataLoader:
    """Return an elastic loader whose batches are lists of samples."""
    args = {"batch_size": 3, "seed": 7, "collate_fn": data.keep, "streams": 6, **args}
    if args.get("num_workers"):
        args.setdefault("multiprocessing_context", "fork")
    return StatefulDataLoader(dataset, elastic=True, **args)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chosen", range(6))
def test_resumed_pieces_are_the_unbroken_order(kind: str, chosen: int) -> None:
    """Workers and cut points change; the batches of three epochs do not."""
    draw = random.Random(chosen)
    n, streams = draw.choice([0, 5, 40, 61]), draw.choice([1, 3, 6])
    drop = draw.random() < 0.3
    args = {"streams": streams, "drop_last": drop, "batch_size": draw.choice([1, 4])}
    whole = make(KINDS[kind](n), **args)
    want = [batch for _ in range(3) for batch in [*whole, "end"]]
    got: list[Any] = []
    state: Any = None
    while len(got) < len(want):
        workers = draw.choice([0, 0, 1, 2, 4])
        loader = make(KINDS[kind](n), **args, num_workers=workers)
        loader.load_state_dict(state)
        steps = draw.randrange(1, 9)
        iterator = iter(loader)
        for _ in range(steps):
            batch = next(iterator, "end")
            got.append(batch)
            if batch == "end":
                iterator = iter(loader)
        state = json.loads(json.dumps(loader.state_dict()))
    assert got[: len(want)] == want


def test_ranks_are_elastic() -> None:
    """3, 2, 1 ranks, each item once and in the order of one rank."""
    whole = [sample for batch in make(data.Drawing(200)) for sample in batch]
    got: list[Any] = []
    state: Any = None
    for world, steps, batch in ((3, 4, 3), (2, 6, 3), (6, 3, 3), (1, None, 3)):
        ranks = [
            make(data.Drawing(200), rank=r, world=world, num_workers=r % 3, batch_size=batch)
            for r in range(world)
        ]
        for loader in ranks:
            loader.load_state_dict(state)
        passes = [iter(loader) for loader in ranks]
        for _ in range(steps or 1000):
            parts = [next(one, None) for one in passes]
            if parts[0] is None:
                break
            got += [sample for part in parts if part is not None for sample in part]
        state = merge_states([loader.state_dict() for loader in ranks])
    assert got == whole
    alone = make(data.Drawing(200), rank=0, world=2)
    next(iter(alone))
    with pytest.raises(errors.Mismatch, match="merge_states"):
        make(data.Drawing(200)).load_state_dict(alone.state_dict())


def test_states_cover_what_was_delivered() -> None:
    for workers in (0, 2):
        loader = make(data.Drawing(40), num_workers=workers)
        iterator = iter(loader)
        for k in range(1, 8):
            next(iterator)
            state = loader.state_dict()
            assert state["extra"]["step"] == k and state["position"] == 3 * k
        rest = list(iterator)
        again = make(data.Drawing(40))
        again.load_state_dict(state)
        assert list(again) == rest
        assert loader.state_dict() == again.state_dict() and loader.epoch == 1


def test_long_runs_are_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    from bivouac.torch import _streams

    want = list(make(data.Passes(100)))
    monkeypatch.setattr(_streams, "_SYNC", 3)
    monkeypatch.setattr(_streams, "_SEEDS", 2)
    for workers in (0, 2):
        loader = make(data.Passes(100), num_workers=workers)
        assert list(loader) == want
        assert loader.state_dict()["extra"]["step"] == len(want)


def test_epochs_and_breaks() -> None:
    loader = make(data.Drawing(30))
    epochs = [list(loader) for _ in range(4)]
    loader = make(data.Drawing(30), num_workers=2)
    for batch in loader:
        assert batch == epochs[0][0]
        break
    assert list(loader) == epochs[1]
    loader = make(data.Drawing(30))
    loader.set_epoch(2)
    assert loader.epoch == 2 and list(loader) == epochs[2]
    with pytest.raises(errors.Sequence):
        loader.set_epoch(1)


def test_batches_are_told_where_they_are() -> None:
    samples = [sample for batch in make(data.Drawing(40), num_workers=2) for sample in batch]
    assert {sample[1:3] for sample in samples} == {(i, 6) for i in range(6)}
    assert len({sample[3] for sample in samples}) == 40
    assert get_worker_info() is None
    list(make(data.Drawing(40)))
    assert get_worker_info() is None


def test_generators_of_the_trainer_are_left_alone() -> None:
    random.seed(1)
    before = random.getstate(), str(np.random.get_state())
    list(make(data.Drawing(12)))
    assert (random.getstate(), str(np.random.get_state())) == before
    assert {s[3] for b in make(data.Drawing(12), sample_seeds=False) for s in b} == {None}


def test_samples_without_batches() -> None:
    loader = make(data.Drawing(20), batch_size=None, num_workers=2)
    assert sorted(sample[0] for sample in loader) == list(range(20))


def test_what_is_refused() -> None:
    for args, subject in (
        ({"persistent_workers": True, "num_workers": 1}, "persistent_workers"),
        ({"uneven": "end early"}, "uneven"),
        ({"streams": 0}, "streams"),
        ({"streams": 3, "world": 2, "rank": 0}, "streams"),
    ):
        with pytest.raises(errors.Invalid) as raised:
            make(data.Drawing(9), **args)
        assert raised.value.subject == subject
    with pytest.raises(errors.Invalid, match="streams"):
        StatefulDataLoader(data.Numbers(9), elastic=True, streams=2)
    with pytest.raises(errors.Invalid, match="streams: invalid: want elastic=True"):
        StatefulDataLoader(data.Stream(9), streams=2)
    for workers in (0, 1):
        with pytest.raises(NotImplementedError, match="an iterable without a state"):
            iter(make(data.Stream(9), num_workers=workers))
    state = make(data.Drawing(9)).state_dict()
    for dataset, args, text in (
        (data.Numbers(9), {"streams": None}, "want a state of a map-style data set, got"),
        (data.Drawing(9), {"seed": 8}, "seed"),
        (data.Drawing(9), {"world": 4, "rank": 0, "streams": 4}, "divisor of the 6 streams"),
    ):
        with pytest.raises(errors.Mismatch, match=text):
            make(dataset, **args).load_state_dict(state)
    with pytest.raises(errors.Corrupt):
        make(data.Drawing(9)).load_state_dict({**state, "position": 3})
    mapped = StatefulDataLoader(data.Numbers(9), elastic=True, seed=7).state_dict()
    with pytest.raises(errors.Mismatch, match="got a state of a map-style data set"):
        make(data.Drawing(9)).load_state_dict(mapped)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_killed_sidecar_changes_nothing(
    workers: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bivouac.torch import _streams

    monkeypatch.setattr(_streams, "_SYNC", 2)
    monkeypatch.setattr(_streams, "_SEEDS", 3)
    want = list(make(data.Drawing(60)))
    loader = make(data.Drawing(60), num_workers=workers)
    got = []
    with caplog.at_level(logging.WARNING, "bivouac.torch"):
        for batch in loader:
            got.append(batch)
            process = _client.connection()._process
            assert process is not None
            os.kill(process.pid, signal.SIGKILL)
    assert got == want and "killed by signal 9" in caplog.text


def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    want = list(make(data.Drawing(40)))
    for at in (0, 7, 39):
        dataset = data.MortalDrawing(40, at, str(tmp_path / f"note{at}"))
        assert list(make(dataset, num_workers=3)) == want and os.path.exists(dataset.note)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_failure_keeps_the_place(workers: int, tmp_path: Path) -> None:
    want = list(make(data.Drawing(40)))
    loader = make(data.FailingDrawing(40, 20, str(tmp_path / "note")), num_workers=workers)
    iterator = iter(loader)
    got = []
    with pytest.raises(LookupError, match="no item 20"):
        for batch in iterator:
            got.append(batch)
    with pytest.raises(errors.Sequence, match="begin a new iterator"):
        next(iterator)
    assert got + list(loader) == want


def test_loaders_travel_in_pickles() -> None:
    loader = make(data.Drawing(20))
    want = list(make(data.Drawing(20)))
    next(iter(loader))
    assert list(pickle.loads(pickle.dumps(loader))) == want[1:]


def test_a_job_goes_on_with_other_workers(tmp_path: Path) -> None:
    whole = make(data.Drawing(50))
    want = [sample for _ in range(2) for batch in whole for sample in batch]
    got: list[Any] = []
    for workers, steps in ((2, 5), (0, 11), (3, None)):
        loader = make(data.Drawing(50), num_workers=workers)
        more = {"steps": steps} if steps else {"epochs": 2}
        with bv.Job(tmp_path / "run", loader, {"a": np.zeros(1)}, save_every=2, **more) as job:
            for samples in job:
                got += samples
    assert got == want
