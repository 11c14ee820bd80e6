"""bivouac.torch.StatefulDataLoader without torch and without workers."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import pickle
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
from bivouac import errors
from bivouac.torch import (
    BatchSampler,
    Generator,
    RandomSampler,
    StatefulDataLoader,
    StatefulDistributedSampler,
    _generator,
    get_worker_info,
)

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "testdata" / "torchdata"


def plain(batches: Any) -> Any:
    """Return batches as lists."""
    return [b.tolist() if hasattr(b, "tolist") else b for b in batches]


def shuffled(seed: int = 7, **args: Any) -> StatefulDataLoader:
    """Return a loader that shuffles 23 samples."""
    args = {"batch_size": 3, "shuffle": True, **args}
    return StatefulDataLoader(range(23), generator=Generator().manual_seed(seed), **args)


def test_order_and_batches() -> None:
    data = [10 * i for i in range(7)]
    assert plain(StatefulDataLoader(data)) == [[x] for x in data]
    assert plain(StatefulDataLoader(data, batch_size=3)) == [[0, 10, 20], [30, 40, 50], [60]]
    assert plain(StatefulDataLoader(data, 3, drop_last=True)) == [[0, 10, 20], [30, 40, 50]]
    assert plain(StatefulDataLoader(data, batch_size=None)) == data
    assert plain(StatefulDataLoader(data, 2, sampler=[6, 0, 1])) == [[60, 0], [10]]
    assert plain(StatefulDataLoader(data, batch_sampler=[[1, 2], [3]])) == [[10, 20], [30]]
    assert plain(StatefulDataLoader(data, 2, collate_fn=sum)) == [10, 50, 90, 60]
    assert sorted(sum(plain(shuffled()), [])) == list(range(23))
    assert len(StatefulDataLoader(data, 3)) == 3
    assert len(StatefulDataLoader(data, 3, drop_last=True)) == 2
    assert len(StatefulDataLoader(data, 8, drop_last=True)) == 0
    assert plain(StatefulDataLoader(data, 8, drop_last=True)) == []


def test_a_data_set_may_read_batches() -> None:
    class Bulk(list[int]):
        def __getitems__(self, ids: list[int]) -> list[int]:
            return [100 + i for i in ids]

    assert plain(StatefulDataLoader(Bulk(range(4)), 2)) == [[100, 101], [102, 103]]


@pytest.mark.parametrize("args", [{}, {"batch_size": None}, {"drop_last": True}])
@pytest.mark.parametrize("at", range(9))
def test_resume_skips_nothing(args: dict[str, Any], at: int) -> None:
    whole, loader = plain(shuffled(**args)), shuffled(**args)
    iterator = iter(loader)
    before = plain(next(iterator) for _ in range(min(at, len(whole))))
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    resumed = shuffled(seed=99, **args)
    resumed.load_state_dict(state)
    assert before + plain(resumed) == whole
    assert plain(iterator) == whole[len(before) :]
    # The state of a resumed loader is the state of a loader that was not interrupted.
    resumed.load_state_dict(state)
    again = iter(resumed)
    assert str(resumed.state_dict()) == str(state)
    next(again, None)


def test_a_state_in_the_epoch_of_a_sampler_without_a_state() -> None:
    loader = StatefulDataLoader(range(9), 2, sampler=[8, 7, 6, 5, 4, 3, 2, 1, 0])
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    rest = plain(iterator)
    loader.load_state_dict(state)
    assert plain(loader) == rest == [[6, 5], [4, 3], [2, 1], [0]]


class Stream:
    """An iterable without a state."""

    def __iter__(self) -> Iterator[int]:
        return (i for i in range(10))


class Place:
    """An iterator with a state."""

    def __init__(self) -> None:
        self.i = 0

    def __iter__(self) -> Place:
        return self

    def __next__(self) -> int:
        if self.i >= 10:
            raise StopIteration
        self.i += 1
        return self.i - 1

    def state_dict(self) -> dict[str, int]:
        return {"i": self.i}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.i = state["i"]


class Stateful:
    """An iterable whose iterator has a state."""

    def __iter__(self) -> Place:
        return Place()


@pytest.mark.parametrize("data", [Stream(), Stateful()])
@pytest.mark.parametrize("at", range(5))
def test_iterables_resume(data: Any, at: int, caplog: pytest.LogCaptureFixture) -> None:
    whole = plain(StatefulDataLoader(data, 3))
    assert whole == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    loader = StatefulDataLoader(data, 3)
    iterator = iter(loader)
    before = plain(next(iterator) for _ in range(at))
    for _ in range(3):  # a second and a third resume, too
        state = loader.state_dict()
        loader = StatefulDataLoader(data, 3)
        loader.load_state_dict(state)
        with caplog.at_level(logging.WARNING, "bivouac.torch"):
            iterator = iter(loader)
    told = [r for r in caplog.records if "fast-forwarding" in r.message]
    assert len(told) == (3 if at and isinstance(data, Stream) else 0)
    assert before + plain(iterator) == whole


def test_errors_keep_the_place() -> None:
    class Fails(list[int]):
        def __getitem__(self, i: Any) -> Any:
            if i == 3:
                raise KeyError("three")
            return super().__getitem__(i)

    loader = StatefulDataLoader(Fails(range(6)), 2)
    iterator = iter(loader)
    assert plain([next(iterator)]) == [[0, 1]]
    with pytest.raises(KeyError, match="three"):
        next(iterator)
    state = loader.state_dict()
    assert plain(iterator) == [[4, 5]]
    loader.load_state_dict(state)
    assert plain(loader) == [[4, 5]]


def test_stop_iteration_of_a_data_set_is_an_error() -> None:
    class Stops(list[int]):
        def __getitem__(self, i: Any) -> Any:
            raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        next(iter(StatefulDataLoader(Stops(range(3)))))


def test_a_state_of_another_number_of_workers_is_refused() -> None:
    loader = StatefulDataLoader(range(4))
    state = loader.state_dict()
    other = StatefulDataLoader(range(4), num_workers=1)
    other.load_state_dict(state)
    with pytest.raises(errors.Mismatch, match="number of workers"):
        iter(other)


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"num_workers": -1}, ValueError, "num_workers"),
    ({"timeout": -1}, ValueError, "timeout"),
    ({"timeout": 1}, ValueError, "timeout"),
    ({"prefetch_factor": 2}, ValueError, "prefetch_factor"),
    ({"num_workers": 1, "prefetch_factor": 0}, ValueError, "prefetch_factor"),
    ({"persistent_workers": True}, ValueError, "persistent_workers"),
    ({"sampler": [0], "shuffle": True}, ValueError, "sampler"),
    ({"batch_sampler": [[0]], "batch_size": 2}, ValueError, "batch_sampler"),
    ({"batch_size": None, "drop_last": True}, ValueError, "drop_last"),
    ({"batch_size": 0}, ValueError, "batch_size"),
    ({"multiprocessing_context": "fork"}, ValueError, "multiprocessing_context"),
    ({"num_workers": 1, "multiprocessing_context": "x"}, ValueError, "multiprocessing_context"),
    ({"num_workers": 1, "multiprocessing_context": 3}, TypeError, "multiprocessing_context"),
    ({"snapshot_every_n_steps": "x"}, ValueError, "snapshot_every_n_steps"),
    ({"nonsense": 1}, TypeError, "nonsense"),
]


@pytest.mark.parametrize(("args", "error", "name"), REFUSED)
def test_arguments_are_refused_by_name(
    args: dict[str, Any], error: type[Exception], name: str
) -> None:
    with pytest.raises(error, match=name):
        StatefulDataLoader(range(4), **args)


def test_attributes_are_fixed_after_construction() -> None:
    loader = StatefulDataLoader(range(4))
    with pytest.raises(ValueError, match="batch_size attribute should not be set"):
        loader.batch_size = 2


def test_the_length_of_an_iterable_is_checked() -> None:
    class Lies(Stream):
        def __len__(self) -> int:
            return 4

    loader = StatefulDataLoader(Lies(), 2)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="reported to be 4"):
        assert len(list(loader)) == 5


def test_generators_are_those_of_torch() -> None:
    recorded = json.loads((VECTORS / "rng.json").read_text())
    assert recorded["randperm"] and recorded["randint"] and recorded["random_int64"]
    for e in recorded["randperm"]:
        g = Generator().manual_seed(int(e["seed"]))
        ids = np.array(_generator.randperm(e["n"], g), "<i8")
        assert hashlib.sha256(ids.tobytes()).hexdigest() == e["sha256_of_int64le"]
        state = g.get_state()
        assert hashlib.sha256(state.tobytes()).hexdigest() == e["state_after_sha256"]
        assert _generator.base_seed(Generator().set_state(state)) == _generator.base_seed(g)
    for e in recorded["randint"]:
        g = Generator().manual_seed(int(e["seed"]))
        assert list(map(str, _generator.randint(int(e["high"]), 12, g))) == e["values"]
    for e in recorded["random_int64"]:
        g = Generator().manual_seed(int(e["seed"]))
        assert [str(_generator.base_seed(g)) for _ in e["values"]] == e["values"]
    for e in recorded["worker_seeds"]:
        assert _generator.numpy_seed(int(e["base_seed"]), e["worker"]) == e["numpy_seed_words"]
    for e in recorded["states"]:
        for name in ("initial", "after_randperm_700", "after_randn_3"):
            if "hex" in e[name]:
                raw = np.frombuffer(bytes.fromhex(e[name]["hex"]), np.uint8)
                assert bytes(Generator().set_state(raw).get_state()) == bytes(raw)


def test_samplers_are_those_of_torchdata() -> None:
    recorded = json.loads((VECTORS / "rng.json").read_text())
    count = 0
    for e in recorded["samplers"]:
        if e["kind"] == "random":
            g = Generator().manual_seed(int(e["seed"]))
            sampler = RandomSampler(range(e["n"]), e["replacement"], e["num_samples"], g)
            assert [list(sampler), list(sampler)] == e["epochs"]
            g = Generator().manual_seed(int(e["seed"]))
            sampler = RandomSampler(range(e["n"]), e["replacement"], e["num_samples"], g)
            batches = list(BatchSampler(sampler, 4, False))
            assert sum(batches, []) == e["epochs"][0]
            count += 1
    for e in recorded["distributed"]:
        for rank, ids in enumerate(e["by_rank"]):
            shard = StatefulDistributedSampler(
                range(e["n"]), e["num_replicas"], rank, e["shuffle"], int(e["seed"]), e["drop_last"]
            )
            shard.set_epoch(e["epoch"])
            assert list(shard) == ids and len(shard) == len(ids)
            count += 1
    assert count > 100


def test_collating_without_torch_makes_arrays() -> None:
    code = """
        import sys, collections
        import numpy as np
        from bivouac.torch import default_collate
        P = collections.namedtuple("P", "x y")
        got = default_collate([{"a": P(1, 2.0), "b": [np.ones(2, np.int8), "s"]}] * 3)
        assert got["a"].x.tolist() == [1, 1, 1] and got["a"].y.dtype == np.float64
        assert got["b"][0].dtype == np.int8 and got["b"][0].shape == (3, 2)
        assert got["b"][1] == ("s", "s", "s")
        assert "torch" not in sys.modules and "torchdata" not in sys.modules
    """
    run(code)


def run(code: str) -> None:
    """Run a program."""
    source = str(Path(bivouac.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": source}
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=env, check=True)


def test_the_package_imports_neither_torchdata_nor_the_loader_of_torch() -> None:
    folder = Path(bivouac.__file__).parent / "torch"
    wrong = re.compile(r"^\s*(from|import)\s+(torch\b|torchdata)|import_module\(.torch")
    files = sorted(folder.glob("*.py"))
    assert len(files) > 10
    for path in files:
        for line in path.read_text().splitlines():
            assert not wrong.search(line), f"{path.name}: {line}"
            if "__import__" in line:
                assert '__import__("torch")' in line, f"{path.name}: {line}"
    run(
        """
        import sys
        from bivouac.torch import StatefulDataLoader
        loader = StatefulDataLoader(range(9), 2, shuffle=True, num_workers=1)
        list(loader), loader.state_dict()
        assert not [m for m in sys.modules if m.split(".")[0] in ("torch", "torchdata")]
        """
    )


def test_there_is_no_worker_in_the_trainer() -> None:
    assert get_worker_info() is None
