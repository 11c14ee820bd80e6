"""StatefulDataLoader with elastic=True: its laws, beside an uninterrupted loader of one rank."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import loader_data as data
import numpy as np
import pytest

from bivouac import _client, errors
from bivouac.torch import Generator, RandomSampler, StatefulDataLoader, get_sample_seed

pytestmark = [
    pytest.mark.usefixtures("sidecar"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:the last batch of an epoch has"),
]


def make(dataset: Any, **args: Any) -> StatefulDataLoader:
    """Return an elastic loader whose batches are lists of samples."""
    args = {"batch_size": 3, "shuffle": True, "seed": 7, "collate_fn": data.keep, **args}
    if args.get("num_workers"):
        args.setdefault("multiprocessing_context", "fork")
    return StatefulDataLoader(dataset, elastic=True, **args)


def ids(loader: StatefulDataLoader) -> list[int]:
    """Return the samples of a pass."""
    return [i for batch in loader for i in batch]


class Run:
    """A Run is what a run of changing loaders must deliver: the epochs of one that does not."""

    def __init__(self, dataset: Any, epochs: int, **args: Any) -> None:
        loader = make(dataset, **{**args, "batch_size": 1})
        self.epochs = [ids(loader) for _ in range(epochs)]
        self.epoch = self.index = 0

    def batch(self, most: int, drop: bool) -> list[Any] | None:
        """Return the samples of the next step on all ranks, or None at the end of an epoch."""
        samples = self.epochs[self.epoch][self.index :][:most]
        if not samples or (drop and len(samples) < most):
            self.epoch, self.index = self.epoch + 1, 0
            return None
        self.index += len(samples)
        return samples


@pytest.mark.parametrize("chosen", range(24))
def test_resumed_pieces_are_the_unbroken_order(chosen: int) -> None:
    """Worlds, batches, workers, tails and cut points change; order and random numbers do not."""
    draw = random.Random(chosen)
    n = draw.choice([0, 1, draw.randrange(2, 12), draw.randrange(20, 60)])
    dataset = data.Augmented(n)
    same: dict[str, Any] = {"seed": draw.randrange(1 << 64), "shuffle": draw.random() < 0.7}
    if draw.random() < 0.5:
        same["name"] = "images"
    if n and not same["shuffle"] and draw.random() < 0.6:
        same["sampler"] = data.Turning([draw.randrange(n) for _ in range(draw.randrange(1, 40))])
    run = Run(dataset, 12, **copy.deepcopy(same))
    state: Any = None
    while run.epoch < 3:
        world, batch = draw.randrange(1, 5), draw.choice([1, 2, 3, 7, 20])
        drop = draw.random() < 0.3 and "sampler" not in same  # of a sampler, drawn samples count
        drop = drop and not 0 < n < world * batch  # which is refused
        loaders = []
        for rank in range(world):
            workers = draw.choice([0, 0, 0, 1, 3])
            uneven = draw.choice([None, "repeat sample"])
            args = {**copy.deepcopy(same), "num_workers": workers, "uneven": uneven}
            args.update(batch_size=batch, drop_last=drop, rank=rank, world=world)
            loader = make(dataset, **args)
            loader.load_state_dict(state)
            loaders.append(loader)
        passes = [iter(loader) for loader in loaders]
        for _ in range(draw.randrange(1, 9)):
            want = run.batch(world * batch, drop)
            got = []
            for loader, one in zip(loaders, passes, strict=True):
                part = next(one, None)
                assert (part is None) == (want is None)
                if part is not None and not loader.last_batch_repeated:
                    got += part
            assert got == (want or [])
            states = [loader.state_dict() for loader in loaders]
            assert all(one == states[0] for one in states)
            if want is None:
                passes = [iter(loader) for loader in loaders]
        state = json.loads(json.dumps(states[0]))


def test_uneven_ranks_repeat_or_end() -> None:
    for uneven, steps in (("repeat sample", [2, 2, 2]), ("end early", [1, 1, 2])):
        got = [
            list(make(data.Numbers(4), rank=r, world=3, batch_size=1, shuffle=False, uneven=uneven))
            for r in range(3)
        ]
        assert [len(batches) for batches in got] == steps
        assert got[2] == [[2], [3]]
    with pytest.warns(UserWarning, match='repeat what another rank has.*drop_last=True'):
        loader = make(data.Numbers(4), rank=0, world=3, batch_size=1, shuffle=False)
        repeated = [(batch, loader.last_batch_repeated) for batch in loader]
    assert repeated == [([0], 0), ([3], 1)]


def test_drop_last_that_leaves_nothing() -> None:
    for n, args in ((10, {"batch_size": 32}), (10, {"batch_size": 3, "rank": 1, "world": 4})):
        with pytest.raises(errors.Invalid, match="at most 10 samples.*leave drop_last out"):
            make(data.Numbers(n), drop_last=True, **args)
    with pytest.raises(errors.Invalid, match="at most 2 samples"):
        make(data.Numbers(9), drop_last=True, shuffle=False, sampler=[1, 2])
    assert list(make(data.Numbers(0), drop_last=True, shuffle=False)) == []
    assert ids(make(data.Numbers(3), drop_last=True, shuffle=False)) == [0, 1, 2]
    assert ids(make(data.Numbers(2), shuffle=False)) == [0, 1]


@pytest.mark.parametrize("workers", [0, 2])
def test_states_cover_what_was_delivered(workers: int) -> None:
    """The state between two batches does not know what the workers have read ahead."""
    loader = make(data.Numbers(40), num_workers=workers)
    iterator = iter(loader)
    before = loader.state_dict()
    assert before["position"] == 0
    for k in range(1, 14):
        next(iterator)
        state = loader.state_dict()
        assert state["position"] == min(3 * k, 39) and state["extra"]["step"] == k
    assert next(iterator) and loader.state_dict()["position"] == 40
    last = loader.state_dict()
    assert next(iterator, None) is None
    after = loader.state_dict()
    assert (last.get("epoch", 0), after["epoch"]) == (0, 1)
    again = make(data.Numbers(40), num_workers=workers)
    again.load_state_dict(last)
    assert ids(again) == []  # the end of the epoch comes once more
    assert again.state_dict() == after
    fresh = make(data.Numbers(40))
    fresh.load_state_dict(after)
    assert ids(again) == ids(fresh)


def test_a_state_needs_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = make(data.Numbers(40))
    iterator = iter(loader)
    next(iterator)
    monkeypatch.setattr(_client.Connection, "start", lambda *_, **__: pytest.fail("a call"))
    for _ in range(5):
        next(iterator)
        loader.state_dict()


def test_blocks_are_many_and_states_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds of blocks have no influence."""
    from bivouac.torch import _blocks

    want = list(make(data.Augmented(100)))
    for first, most, words in ((1, 1, 8), (2, 3, 5), (1, 2, 1)):
        monkeypatch.setattr(_blocks, "_FIRST", first)
        monkeypatch.setattr(_blocks, "_MOST", most)
        monkeypatch.setattr(_blocks, "_IDS", words)
        for workers in (0, 2):
            loader = make(data.Augmented(100), num_workers=workers)
            assert list(loader) == want
            assert loader.state_dict()["epoch"] == 1


def test_epochs_follow_each_other() -> None:
    loader = make(data.Numbers(20))
    first, second, third = ids(loader), ids(loader), ids(loader)
    assert sorted(first) == sorted(second) == list(range(20)) and first != second != third
    broken = make(data.Numbers(20))
    for batch in broken:
        assert batch == first[:3]
        break
    assert broken.epoch == 0
    assert ids(broken) == second  # as in Go, a loop that was left is not taken up by the next one
    unread = make(data.Numbers(20))
    iter(unread)
    assert ids(unread) == first  # nothing was read of the first iterator


def test_set_epoch_goes_forward() -> None:
    loader = make(data.Numbers(20))
    epochs = [ids(loader) for _ in range(5)]
    loader = make(data.Numbers(20))
    for epoch in range(2):  # as with DistributedSampler
        loader.set_epoch(epoch)
        assert loader.epoch == epoch and ids(loader) == epochs[epoch]
    loader.set_epoch(4)
    assert loader.epoch == 4 and ids(loader) == epochs[4]
    with pytest.raises(errors.Sequence, match="want 5, where the loader stands.*got 3"):
        loader.set_epoch(3)
    loader = make(data.Numbers(20))
    next(iter(loader))
    state = loader.state_dict()
    loader.set_epoch(0)
    assert ids(loader) == epochs[0][3:]  # the rest
    loader.load_state_dict(state)
    loader.set_epoch(0)
    assert ids(loader) == epochs[0][3:]
    loader.load_state_dict(state)
    loader.set_epoch(1)
    assert ids(loader) == epochs[1]


def test_a_new_state_ends_the_iterator() -> None:
    for workers in (0, 2):
        loader = make(data.Numbers(20), num_workers=workers)
        iterator = iter(loader)
        next(iterator)
        loader.load_state_dict(loader.state_dict())
        with pytest.raises(errors.Sequence, match="newer iterator, or another state"):
            next(iterator)
        assert len(ids(loader)) == 17
        assert next(iter(loader)) is not None


def test_samples_without_batches() -> None:
    loader = make(data.Numbers(9), batch_size=None)
    whole = list(loader)
    assert sorted(whole) == list(range(9)) and len(loader) == 9
    loader = make(data.Numbers(9), batch_size=None, num_workers=2)
    iterator = iter(loader)
    head = [next(iterator) for _ in range(4)]
    rest = make(data.Numbers(9), batch_size=2)
    rest.load_state_dict(loader.state_dict())
    assert head + ids(rest) == whole


def test_lengths() -> None:
    cases = ((10, 3, 1, False), (10, 3, 1, True), (10, 2, 3, False), (0, 1, 1, True))
    for n, batch, world, drop in cases:
        loader = make(data.Numbers(n), batch_size=batch, world=world, rank=0, drop_last=drop)
        assert len(loader) == len(list(loader)) == len(iter(loader))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_random_numbers_do_not_depend_on_the_start_method(method: str) -> None:
    want = list(make(data.Augmented(12)))
    assert list(make(data.Augmented(12), num_workers=2, multiprocessing_context=method)) == want


def test_generators_of_the_trainer_are_left_alone() -> None:
    random.seed(1)
    np.random.seed(2)
    before = random.getstate(), str(np.random.get_state())
    loader = make(data.Augmented(12))
    drawn = [batch for batch in loader]
    assert (random.getstate(), str(np.random.get_state())) == before
    assert get_sample_seed() is None and len({sample[1] for b in drawn for sample in b}) == 12
    bits = np.random.mtrand._rand._bit_generator  # type: ignore[attr-defined]
    with pytest.raises(LookupError):
        list(make(data.Fails(12)))
    assert np.random.mtrand._rand._bit_generator is bits  # type: ignore[attr-defined]
    assert get_sample_seed() is None and random.getstate() == before[0]


def test_seeds_can_be_left_out() -> None:
    for workers in (0, 2):
        loader = make(data.Augmented(12), sample_seeds=False, num_workers=workers)
        assert {sample[1] for batch in loader for sample in batch} == {None}


class Together(data.Augmented):
    """A data set that counts how it is read."""

    def __getitems__(self, ids: list[int]) -> list[Any]:
        return [(i, "together") for i in ids]


def test_seeded_samples_are_read_one_by_one() -> None:
    assert len(next(iter(make(Together(12))))[0]) > 2
    assert next(iter(make(Together(12), sample_seeds=False)))[0][1] == "together"


def test_samplers_are_read_by_position() -> None:
    class Counts(data.Turning):
        read = 0

        def __getitem__(self, i: int) -> int:
            self.read += 1
            return super().__getitem__(i)

    n = 100_000
    sampler: Any = data.Turning(list(range(n)))
    loader = make(data.Numbers(n), shuffle=False, sampler=sampler, batch_size=500)
    iterator = iter(loader)
    for _ in range(190):
        next(iterator)
    sampler = Counts(list(range(n)))
    sampler.fingerprint = f"{data.Turning.__module__}.{data.Turning.__qualname__}"
    rest = make(data.Numbers(n), shuffle=False, sampler=sampler, batch_size=499)
    rest.load_state_dict(loader.state_dict())
    assert ids(rest) == list(range(95_000, n)) and sampler.read <= 5000
    assert ids(rest)[:3] == [n - 1, n - 2, n - 3]  # the next epoch
    for kind in ([5, 4, 3], (5, 4, 3), np.array([5, 4, 3]), range(5, 2, -1)):
        assert ids(make(data.Numbers(6), shuffle=False, sampler=kind)) == [5, 4, 3]
    with pytest.raises(errors.Invalid, match="id 6 from the order.*want an id from 0 to 5"):
        ids(make(data.Numbers(6), shuffle=False, sampler=[1, 2, 6]))


REFUSED: list[tuple[Any, dict[str, Any], str, str]] = [
    (data.Counted(9), {}, "dataset", "get_sample_seed"),
    (type("Endless", (), {"__getitem__": lambda _, i: i})(), {}, "dataset", "__len__"),
    (data.Numbers(9), {"batch_sampler": [[1]]}, "batch_sampler", "give a sampler"),
    (data.Numbers(9), {"generator": Generator()}, "generator", "function of the seed"),
    (data.Numbers(9), {"in_order": False, "num_workers": 1}, "in_order", "leave in_order"),
    (data.Numbers(9), {"sampler": iter([1])}, "sampler", "list or an array"),
    (data.Numbers(9), {"sampler": RandomSampler(data.Numbers(9))}, "sampler", "shuffle=True"),
    (data.Numbers(9), {"seed": -1}, "seed", ""),
    (data.Numbers(9), {"seed": 1 << 64}, "seed", ""),
    (data.Numbers(9), {"seed": 1.5}, "seed", ""),
    (data.Numbers(9), {"name": 3}, "name", ""),
    (data.Numbers(9), {"rank": 0}, "world", ""),
    (data.Numbers(9), {"world": 2}, "rank", ""),
    (data.Numbers(9), {"rank": 2, "world": 2}, "rank", ""),
    (data.Numbers(9), {"rank": "0", "world": 2}, "rank", ""),
    (data.Numbers(9), {"uneven": "odd"}, "uneven", ""),
    (data.Printed(9, 7), {}, "fingerprint", "text"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("dataset, args, subject, text", REFUSED)
def test_what_is_not_elastic_is_refused_by_name(
    dataset: Any, args: dict[str, Any], subject: str, text: str
) -> None:
    with pytest.raises(errors.BivouacError) as raised:
        StatefulDataLoader(dataset, elastic=True, **args)
    assert raised.value.subject == subject and text in str(raised.value)


@pytest.mark.parametrize(
    "name", ["seed", "name", "rank", "world", "uneven", "streams", "sample_seeds"]
)
def test_arguments_of_elastic_loaders_are_refused_elsewhere(name: str) -> None:
    with pytest.raises(errors.Invalid, match=f"{name}: invalid: want elastic=True"):
        StatefulDataLoader(data.Numbers(9), **{name: 0})  # type: ignore[arg-type]
    loader = StatefulDataLoader(data.Numbers(9))
    assert not hasattr(loader, "set_epoch") and loader.elastic is False


def saved(dataset: Any = data.Numbers(20), **args: Any) -> dict[str, Any]:
    """Return a state after two batches."""
    loader = make(dataset, **args)
    iterator = iter(loader)
    next(iterator), next(iterator)
    return loader.state_dict()


def test_states_of_others_are_refused_by_name() -> None:
    state = saved()
    for dataset, args, subject, text in (
        (data.Numbers(21), {}, "dataset", "want the 20 samples of the state, got 21"),
        (data.Numbers(19), {}, "dataset", "want the 20 samples of the state, got 19"),
        (data.Printed(20, "b"), {}, "dataset", "want the fingerprint '', got 'b'"),
        (data.Numbers(20), {"seed": 8}, "seed", "want '7', got '8'"),
        (data.Numbers(20), {"name": "b"}, "name", "want '', got 'b'"),
        (data.Numbers(20), {"shuffle": False}, "shuffle", "shuffled.*got shuffle=False"),
        (data.Numbers(20), {"shuffle": False, "sampler": [1, 2]}, "sampler", "got builtins.list"),
    ):
        loader = make(dataset, **args)
        want = make(dataset, **args).state_dict()
        with pytest.raises(errors.Mismatch, match=text) as raised:
            loader.load_state_dict(state)
        assert raised.value.subject == subject
        assert loader.state_dict() == want  # it stays where it is
    with pytest.raises(errors.Mismatch, match="want the fingerprint 'a', got 'b'"):
        make(data.Printed(20, "b")).load_state_dict(saved(data.Printed(20, "a")))
    with pytest.raises(errors.Mismatch, match="want the fingerprint 'a', got none"):
        make(data.Numbers(20)).load_state_dict(saved(data.Printed(20, "a")))
    make(data.Printed(20, "a")).load_state_dict(saved(data.Printed(20, "a")))


def test_forms_of_states() -> None:
    state = saved()
    want = ids(make(data.Numbers(20)))[6:]
    text = json.dumps(state, indent=1)
    for form in (state, text, text.encode(), pickle.loads(pickle.dumps(state))):
        loader = make(data.Numbers(20))
        loader.load_state_dict(form)
        assert ids(loader) == want
    loader.load_state_dict(None)  # type: ignore[arg-type]
    assert len(ids(loader)) == 20


def test_damaged_and_newer_states_are_refused() -> None:
    state = saved()
    loader = make(data.Numbers(20))
    want = loader.state_dict()
    changes: list[Any] = [{}, "", "nothing", b"\xff", {"a": {1, 2}}, {"version": float("nan")}]
    for key in state:
        changes.append({k: v for k, v in state.items() if k != key})
    changes.append({**state, "position": 9})
    changes.append({**state, "extra": {**state["extra"], "index": 9}})
    changes.append({**state, "extra": {**state["extra"], "index": "x"}})
    changes.append(json.dumps(state)[:-9])
    for change in changes:
        with pytest.raises(errors.Corrupt):
            loader.load_state_dict(change)
    with pytest.raises(errors.Unsupported, match="newer"):
        loader.load_state_dict({**state, "version": 3})
    with pytest.raises(errors.Invalid, match="type list"):
        loader.load_state_dict([])  # type: ignore[arg-type]
    assert loader.state_dict() == want


def test_states_of_torchdata_and_ours_are_told_apart() -> None:
    plain = StatefulDataLoader(data.Numbers(20), batch_size=3)
    next(iter(plain))
    with pytest.raises(errors.Mismatch, match="elastic: mismatch.*torchdata"):
        make(data.Numbers(20)).load_state_dict(plain.state_dict())
    for workers in (0, 1):
        loader = StatefulDataLoader(data.Numbers(20), num_workers=workers)
        with pytest.raises(errors.Mismatch, match="set elastic=True"):
            loader.load_state_dict(saved())


def test_a_data_set_that_changes_its_length_is_refused() -> None:
    dataset = data.Numbers(20)
    loader = make(dataset)
    ids(loader)
    dataset.n = 21
    with pytest.raises(errors.Mismatch, match="want 20 samples.*got 21"):
        iter(loader)


def command(*args: str) -> str:
    """Run the command, and return what it prints."""
    program = os.environ.get("BIVOUAC_BINARY")
    if not program:
        pytest.skip("no binary")
    done = subprocess.run([program, *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_reads_the_state(tmp_path: Path) -> None:
    """`bivouac data` finds the samples of each step of each rank in the state alone."""
    loaders = [make(data.Numbers(50), rank=r, world=2, batch_size=4) for r in range(2)]
    passes = [iter(loader) for loader in loaders]
    steps = [[next(one) for one in passes] for _ in range(5)]
    path = tmp_path / "state.json"
    path.write_text(json.dumps(loaders[0].state_dict()))
    for k, ranks in enumerate(steps):
        lines = command("data", "peek", str(path), "--step", str(k)).splitlines()
        shown = [[int(word) for word in line.split()[2:]] for line in lines[1:3]]
        assert shown == ranks
    assert "sound: 40 samples in 5 batches" in command("data", "verify", str(path))
    seek = tmp_path / "seek.json"
    command("data", "seek", str(path), "--step", "3", "-o", str(seek))
    rest = make(data.Numbers(50), batch_size=8)
    rest.load_state_dict(seek.read_text())
    assert next(iter(rest)) == sum(steps[3], [])


EXCHANGE = Path(__file__).resolve().parents[2] / "loader" / "testdata" / "python"


def rest_of(case: dict[str, Any], **args: Any) -> tuple[list[int], list[str]]:
    """Return ids and seeds of the rest of an epoch and of the next one, after a case."""
    loader = exchanging(case, **args)
    loader.load_state_dict(case["state"])
    samples = [sample for _ in range(2) for batch in loader for sample in batch]
    return [sample[0] for sample in samples], [str(sample[1]) for sample in samples]


def exchanging(case: dict[str, Any], **args: Any) -> StatefulDataLoader:
    """Return the loader of a case."""
    dataset = data.Augmented(case["samples"])
    if case["fingerprint"]:
        dataset.fingerprint = case["fingerprint"]  # type: ignore[attr-defined]
    args = {"batch_size": 1, **args}
    same = {"shuffle": case["shuffle"], "seed": int(case["seed"]), "name": case["name"]}
    return make(dataset, **same, **args)


def test_go_opens_what_python_writes() -> None:
    """The file is what Python writes. TestStatesOfPython in Go opens it."""
    cases = []
    for i in range(14):
        world, batch = 1 + i % 3, 1 + i % 4
        case: dict[str, Any] = {
            "samples": 4 + 9 * i,
            "fingerprint": "v1" if i % 3 == 0 else "",
            "batch_size": batch,
            "shuffle": i % 4 != 1,
            "seed": str((i << 60) + i),
            "name": "images" if i % 2 else "",
            "drop_last": i % 5 == 4,
            "rank": i % world,
            "world": world,
        }
        rank = {name: case[name] for name in ("rank", "world", "batch_size", "drop_last")}
        loader = exchanging(case, **rank)
        for _ in range(1 + i % 3):
            for k, _ in enumerate(loader):
                if k == i:
                    break
        case["state"] = loader.state_dict()
        case["rest"], case["seeds"] = rest_of(case)
        cases.append(case)
    text = "[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n"
    path = EXCHANGE / "python.json"
    if os.environ.get("BIVOUAC_UPDATE"):
        path.write_text(text)
    assert path.read_text() == text, "BIVOUAC_UPDATE=1 writes it anew"


def test_python_opens_what_go_writes() -> None:
    cases = json.loads((EXCHANGE / "go.json").read_text())
    assert len(cases) > 10
    for i, case in enumerate(cases):
        args = {"batch_size": 1 + i % 7, "num_workers": i % 2}
        assert rest_of(case, **args) == (case["rest"], case["seeds"])


def test_no_import_of_torch() -> None:
    code = (
        "import sys, bivouac.torch as t\n"
        "class D:\n    def __len__(self): return 5\n    def __getitem__(self, i): return i\n"
        "n = sum(len(b) for b in t.StatefulDataLoader(D(), 2, True, elastic=True))\n"
        "assert n == 5 and not {'torch', 'torchdata'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
