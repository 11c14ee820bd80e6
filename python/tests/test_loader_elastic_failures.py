"""Elastic loaders when processes are killed, data sets fail, and programs fork or are stopped."""

from __future__ import annotations

import logging
import os
import pickle
import signal
from pathlib import Path
from typing import Any

import loader_data as data
import pytest
from conftest import eventually, running

from bivouac import _client, errors
from bivouac.torch import StatefulDataLoader

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


def sidecar_pid() -> int:
    """Return the process of the side-car."""
    process = _client.connection()._process
    assert process is not None
    return process.pid


@pytest.mark.parametrize("workers", [0, 2])
def test_a_killed_sidecar_changes_nothing(
    workers: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bivouac.torch import _blocks

    monkeypatch.setattr(_blocks, "_FIRST", 2)
    monkeypatch.setattr(_blocks, "_MOST", 3)
    want = list(make(data.Augmented(60)))
    got = []
    loader = make(data.Augmented(60), num_workers=workers)
    with caplog.at_level(logging.WARNING, "bivouac.torch"):
        for batch in loader:
            got.append(batch)
            os.kill(sidecar_pid(), signal.SIGKILL)
    assert got == want
    assert "killed by signal 9" in caplog.text


@pytest.mark.parametrize("workers", [0, 2])
def test_without_a_sidecar_the_error_says_so_and_the_place_stays(
    workers: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A side-car that dies again and again is Died; the loader, or a new one, goes on exactly."""
    from bivouac.torch import _blocks

    monkeypatch.setattr(_blocks, "_FIRST", 2)
    monkeypatch.setattr(_blocks, "_MOST", 3)
    want = list(make(data.Augmented(60)))
    dies = tmp_path / "dies"
    dies.write_text("#!/bin/sh\nexit 3\n")
    dies.chmod(0o755)
    loader = make(data.Augmented(60), num_workers=workers)
    iterator = iter(loader)
    got = [next(iterator)]
    with monkeypatch.context() as broken:
        broken.setenv("BIVOUAC_BINARY", str(dies))
        os.kill(sidecar_pid(), signal.SIGKILL)
        with pytest.raises(errors.Died, match="exit status 3"):
            for batch in iterator:
                got.append(batch)
        state = loader.state_dict()
    assert len(got) < len(want)
    resumed = make(data.Augmented(60))
    resumed.load_state_dict(state)
    assert got + list(resumed) == want
    assert got + list(iterator) == want


def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    for at in (0, 7, 19):
        dataset = data.MortalAugmented(20, at, str(tmp_path / f"note{at}"))
        got = list(make(dataset, num_workers=3))
        assert got == list(make(data.Augmented(20))) and os.path.exists(dataset.note)


def test_a_sample_that_kills_its_workers_is_an_error() -> None:
    loader = make(data.Mortal(20, 5), num_workers=2)
    delivered = []
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        for batch in loader:
            delivered += batch
    assert loader.state_dict()["position"] == len(delivered)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_failure_is_told_once_and_the_state_is_before_it(workers: int) -> None:
    order = ids(make(data.Numbers(20), batch_size=1))
    at = order.index(5)
    loader = make(data.Fails(20), batch_size=1, num_workers=workers)
    iterator = iter(loader)
    got = [next(iterator)[0] for _ in range(at)]
    with pytest.raises(LookupError, match="no item 5"):
        next(iterator)
    again = make(data.Numbers(20), batch_size=1)
    again.load_state_dict(loader.state_dict())
    assert got + ids(again) == order  # a data set that was repaired loses nothing
    got += [batch[0] for batch in iterator]
    assert got == order[:at] + order[at + 1 :]
    assert loader.state_dict()["epoch"] == 1


class Interrupted(data.Augmented):
    """A data set whose reading is interrupted at an item, once."""

    done = False

    def __getitem__(self, i: int) -> Any:
        if i == 5 and not self.done:
            self.done = True
            raise KeyboardInterrupt
        return super().__getitem__(i)


def going_on(iterator: Any) -> list[Any]:
    """Return the rest of a pass, over interrupts."""
    got: list[Any] = []
    while True:
        try:
            got.append(next(iterator))
        except KeyboardInterrupt:
            continue
        except StopIteration:
            return got


def test_an_interrupt_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a batch is read, and before and after each message of the workers."""
    want = list(make(data.Augmented(40)))
    assert going_on(iter(make(Interrupted(40)))) == want
    from bivouac.torch._crew import Crew

    send, receive = Crew.send, Crew.receive
    for name in ("send", "receive"):
        for after in (False, True):
            count = 0

            def stop(crew: Any, *args: Any) -> Any:
                nonlocal count
                count += 1
                if count % 3 == 0 and (name == "send" or not after):
                    if after:
                        send(crew, *args)
                    raise KeyboardInterrupt
                return (send if name == "send" else receive)(crew, *args)

            loader = make(data.Augmented(40), num_workers=2)
            iterator = iter(loader)
            with monkeypatch.context() as patched:
                patched.setattr(Crew, name, stop)
                got = going_on(iterator)
            assert got == want and count > 5, (name, after)
            assert loader.state_dict()["epoch"] == 1


def test_persistent_workers_stay() -> None:
    loader = make(data.Augmented(20), num_workers=2, persistent_workers=True)
    want = make(data.Augmented(20))
    pids = None
    for _ in range(2):
        assert list(loader) == list(want)
        crew = loader._elastic._iterator._crew  # type: ignore[union-attr]
        assert pids in (None, crew.pids())
        pids = crew.pids()
    next(iter(loader)), next(iter(want))  # in the midst of an epoch
    assert list(loader) == list(want)
    assert loader._elastic._iterator._crew.pids() == pids  # type: ignore[union-attr]
    del loader, crew
    assert eventually(lambda: not any(running(pid) for pid in pids))


def test_loaders_travel_in_pickles() -> None:
    loader = make(data.Augmented(20))
    want = list(make(data.Augmented(20)))
    assert list(pickle.loads(pickle.dumps(loader))) == want
    next(iter(loader))
    twin = pickle.loads(pickle.dumps(loader))
    assert twin.state_dict() == loader.state_dict()
    assert list(twin) == want[1:]


def test_a_fork_goes_on_with_a_sidecar_of_its_own() -> None:
    loader = make(data.Numbers(20))
    iterator = iter(loader)
    head = next(iterator)
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        whole = head + [i for batch in iterator for i in batch]
        os._exit(0 if sorted(whole + ids(loader)) == sorted([*range(20)] * 2) else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert len([i for batch in iterator for i in batch]) == 17


def test_workers_have_seeds_of_seed_and_epoch() -> None:
    def seeds(loader: StatefulDataLoader) -> set[int]:
        return {seed for _, _, seed in loader}

    args: dict[str, Any] = {"num_workers": 2, "collate_fn": data.who}
    first, again = make(data.Numbers(20), **args), make(data.Numbers(20), **args)
    epoch = seeds(first)
    assert seeds(again) == epoch and len(epoch) == 2 and seeds(first) != epoch
    assert seeds(make(data.Numbers(20), **{**args, "seed": 8})) != epoch
