"""How the processes of a job agree, with threads for processes and a dictionary for the store."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bivouac import errors
from bivouac._job.team import Team
from bivouac._processes import World


class Memory:
    """A Memory is a store in this process."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.lock = threading.Lock()

    def arrive(self, key: str, self_: int, members: Sequence[int]) -> None:
        raise AssertionError

    def wait(self, key: str, members: Sequence[int], seconds: float) -> bool:
        raise AssertionError

    def is_there(self, key: str, member: int) -> bool:
        raise AssertionError

    def forget(self, key: str, self_: int) -> None:
        raise AssertionError

    def put(self, key: str, text: str) -> None:
        with self.lock:
            self.texts[key] = text

    def put_first(self, key: str, text: str) -> str:
        with self.lock:
            return self.texts.setdefault(key, text)

    def get(self, key: str) -> str | None:
        with self.lock:
            return self.texts.get(key)

    def drop(self, key: str) -> None:
        with self.lock:
            self.texts.pop(key, None)


_names = iter(range(1 << 30))


def teams(size: int, seconds: float = 20.0, primary: int = 0) -> tuple[list[Team], Memory]:
    store = Memory()
    made = [Team(World(i, size, "test", store), f"t{i}", primary, seconds) for i in range(size)]
    base = f"bivouac/job/{next(_names)}"
    for team in made:
        team._base = base  # threads of one process would count their jobs together
    return made, store


def each(made: list[Team], function: Callable[[Team], Any]) -> list[Any]:
    """Call a function for each team in a thread. Return the values and the errors."""
    out: dict[int, Any] = {}

    def run(team: Team) -> None:
        try:
            out[team.index] = function(team)
        except BaseException as err:
            out[team.index] = err

    threads = [threading.Thread(target=run, args=(team,), daemon=True) for team in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a process waits for ever"
    return [out[team.index] for team in made]


@pytest.mark.parametrize("primary", [0, 2])
def test_decisions(primary: int) -> None:
    made, store = teams(4, primary=primary)

    def run(team: Team) -> Any:
        got = [team.decide("a", team.index * 10, sum)]
        got.append(team.tell("b", lambda: f"from {team.index}"))
        got += [team.tell("c", lambda: n) for n in range(5)]
        got.append(team.decide("d", {"i": team.index}, lambda all_: [v["i"] for v in all_]))
        return got

    assert each(made, run) == [[60, f"from {primary}", 0, 1, 2, 3, 4, [0, 1, 2, 3]]] * 4
    # The keys of earlier decisions are gone.
    assert len(store.texts) <= 4


def test_the_missing_are_named() -> None:
    made, _ = teams(4, seconds=0.5)
    for found in each([made[0], made[2]], lambda team: team.decide("a save", 1, sum)):
        assert isinstance(found, errors.DeadlineExceeded)
        assert "processes 1, 3" in str(found) and "a save" in str(found)
    made, _ = teams(2, seconds=0.2)
    made[1]._seconds = -4.8  # and the primary is missing
    with pytest.raises(errors.DeadlineExceeded, match="process 0"):
        made[1].decide("a save", 1, sum)


def test_errors_reach_all() -> None:
    made, _ = teams(3)

    def run(team: Team) -> Any:
        def fail() -> None:
            if team.index == 1:
                raise errors.Mismatch(op="o", subject="leaf w", want="a", got="b")

        team.together("a load", fail)

    one, two, three = each(made, run)
    assert str(two).startswith("o: leaf w: mismatch: want a, got b")
    for other in (one, three):
        assert type(other) is errors.Mismatch and other.subject == "process 1: leaf w"
    made, _ = teams(2)
    one, two = each(made, lambda team: team.tell("x", lambda: 1 / 0))
    assert isinstance(one, ZeroDivisionError)
    assert isinstance(two, errors.IOError_) and "division by zero" in str(two)


@pytest.mark.parametrize("gone", [0, 1])
def test_a_process_that_leaves_ends_the_others_soon(gone: int) -> None:
    made, _ = teams(3, seconds=50)
    began = time.monotonic()

    def run(team: Team) -> Any:
        if team.index == gone:
            team.leave("ZeroDivisionError: x")
            return None
        return team.decide("a save", 1, sum)

    for i, found in enumerate(each(made, run)):
        if i != gone:
            assert isinstance(found, errors.Canceled) and f"process {gone}" in str(found)
            assert "its end: ZeroDivisionError: x" in str(found)
    assert time.monotonic() - began < 10
    each(made, lambda team: team.part())


def test_a_store_that_has_ended_is_told() -> None:
    made, store = teams(2)

    def ended(*args: str) -> Any:
        raise ConnectionError("reset by peer")

    for name in ("put", "get", "put_first", "drop"):
        setattr(store, name, ended)
    with pytest.raises(errors.IOError_, match="process 0 or the launcher.*reset by peer"):
        made[1].decide("a", 1, sum)
    with pytest.raises(errors.IOError_):
        made[1].ends(3, True)
    made[1].leave("x")
    made[1].part()


@pytest.mark.parametrize("seed", range(60))
def test_all_end_at_one_step(seed: int) -> None:
    """Whoever gets the signal, whenever, and however far the processes are apart.

    The processes meet in each step, in each fourth step, or never. A process that waited for the
    others between two steps would hang where they meet in the next one.
    """
    rng = random.Random(seed)
    size = rng.choice((2, 3, 5))
    meets = rng.choice((1, 4, 0))
    made, _ = teams(size)
    meeting = threading.Barrier(size)
    signals = {
        i: rng.randrange(1, 120) for i in range(size) if i == 0 or rng.random() < 0.4
    }
    order = list(range(size))
    rng.shuffle(order)
    pauses = [rng.choice((0.0, 0.0, 0.001, 0.003)) for _ in range(size)]
    for team in made:
        team._steps = rng.choice((1, 1, 7))  # the first lease

    def run(team: Team) -> int:
        step, got = 0, False
        while True:
            got = got or step >= signals.get(order[team.index], 1 << 30)
            if team.ends(step, got):
                return step
            if meets and (step + 1) % meets == 0:
                meeting.wait(30)
            time.sleep(pauses[team.index])
            step += 1
            assert step < 100000

    done = each(made, run)
    assert len(set(done)) == 1, done
    assert done[0] >= min(signals.values())


def test_leases_are_short_in_time() -> None:
    made, store = teams(1)
    team = made[0]
    for step in range(40):
        assert not team.ends(step, False)
        time.sleep(0.02)
    assert team._until is not None and 1 <= team._until - 39 <= 40
    assert store.get(f"{team._base}/until/0") == str(team._until)
    fast = teams(1)[0][0]
    began = time.monotonic()
    for step in range(20000):
        fast.ends(step, False)
    assert time.monotonic() - began < 2
