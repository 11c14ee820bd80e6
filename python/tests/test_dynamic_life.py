"""Dynamic mode when something ends: the side-car, a wait, the process; and with several threads."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dynamic_machine import indices, tree

import bivouac.dynamic as dyn
from bivouac import _client, errors
from bivouac._call import Call
from bivouac._dynamic import session as sessions

pytestmark = pytest.mark.usefixtures("sidecar")


def numbers(value: Any) -> Any:
    return np.asarray(value).tolist()


def kill() -> None:
    """Kill the side-car and wait until the client knows."""
    link = _client.connection()
    os.kill(link.server["pid"], signal.SIGKILL)
    with pytest.raises(errors.Died):
        while True:
            link.call("arena.new", bytes=1)


def test_values_of_a_side_car_that_died() -> None:
    x = dyn.tensor([1, 2])
    seen, unseen = x + 1, x + 2
    large = np.asarray(dyn.full(7, shape=[5000]))
    assert numbers(seen) == [2, 3]
    kill()
    assert numbers(x) == [1, 2] and numbers(seen) == [2, 3] and (large == 7).all()
    assert numbers(x + 1) == [2, 3] and numbers(seen + 1) == [3, 4]
    for use in (lambda: numbers(unseen), lambda: numbers(unseen + 1), unseen.evaluate):
        with pytest.raises(errors.Closed, match="compute it again"):
            use()
    assert numbers(x + 2) == [3, 4]


def test_readers_of_a_side_car_that_died(tmp_path: Path) -> None:
    root = tree(tmp_path, 7)
    reader = dyn.readers.File(file_root=root, enable_checkpointing=True)
    epoch = reader.next_epoch(batch_size=2)
    assert indices(next(epoch)[0]) == [0, 1]
    state = reader.get_state()
    kill()
    with pytest.raises(errors.Closed, match="set the state"):
        next(epoch)
    other = dyn.readers.File(file_root=root)
    other.set_state(state)
    assert indices(next(other.next_epoch(batch_size=2))[0]) == [2, 3]


@pytest.mark.parametrize("sent", [False, True])
def test_an_interrupt_loses_no_call(sent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x = dyn.tensor([1]) + 0
    x.evaluate()
    session = sessions.current()
    start = session.link.start
    stopped = []

    def interrupted(op: str, **args: Any) -> Call:
        if op == "dynamic.run" and not stopped:
            stopped.append(op)
            if sent:
                start(op, **args)
            raise KeyboardInterrupt
        return start(op, **args)

    monkeypatch.setattr(session.link, "start", interrupted)
    y = x
    failed = 0
    for _ in range(300):
        before = y
        try:
            y = y + 1
        except KeyboardInterrupt:  # of a call that was noted: its value is lost with the exception
            failed += 1
            y = before
    assert stopped and failed <= 1
    assert numbers(y) == [301 - failed]


def test_an_interrupted_wait_leaks_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    value = dyn.full(3, shape=[5000])
    value.evaluate()
    session = sessions.current()
    until = Call._until
    stops = [3]

    def interrupted(self: Call, ready: Callable[[], bool], timeout: float | None) -> None:
        until(self, ready, timeout)
        if self.op == "dynamic.run" and stops[0]:
            stops[0] -= 1
            raise KeyboardInterrupt

    monkeypatch.setattr(Call, "_until", interrupted)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            np.asarray(value)
    assert (np.asarray(value) == 3).all()
    held = len(session._slots._held)
    assert held <= 1 and not session._ended and not session._waiting


def test_an_interrupt_loses_no_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = dyn.readers.File(file_root=tree(tmp_path, 6))
    found = []
    epoch = reader.next_epoch(batch_size=2)
    found.append(indices(next(epoch)[0]))
    until = Call._until
    stops = [True]

    def interrupted(self: Call, ready: Callable[[], bool], timeout: float | None) -> None:
        if self.op == "dynamic.next" and stops.pop():
            stops.append(False)
            raise KeyboardInterrupt
        until(self, ready, timeout)

    monkeypatch.setattr(Call, "_until", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(epoch)
    monkeypatch.undo()
    found.append(indices(next(reader.next_epoch(batch_size=2))[0]))
    assert found == [[0, 1], [2, 3]]


def test_threads() -> None:
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            dyn.random.set_seed(seed)
            x = dyn.tensor([seed])
            for i in range(60):
                y = x * 2 + i
                drawn = dyn.random.uniform(range=[0.0, 1.0], shape=[3])
                if i % 5 == 0:
                    assert numbers(y) == [2 * seed + i]
            last = numbers(drawn)
            dyn.random.set_seed(seed)
            for _ in range(60):
                drawn = dyn.random.uniform(range=[0.0, 1.0], shape=[3])
            assert numbers(drawn) == last
        except BaseException as err:
            failures.append(err)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_context_is_for_one_thread_at_a_time() -> None:
    context = dyn.EvalContext()
    failures: list[str] = []

    def enter() -> None:
        try:
            with context:
                pass
        except RuntimeError as err:
            failures.append(str(err))

    with context:
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
    assert len(failures) == 1


def test_a_forked_child(program: Callable[..., subprocess.Popen[str]]) -> None:
    code = """
        import os
        import numpy as np
        import bivouac.dynamic as dyn
        from bivouac import errors

        x = dyn.tensor([1, 2])
        seen, unseen = x + 1, x + 2
        seen.evaluate()
        pid = os.fork()
        if pid == 0:
            assert np.asarray(seen).tolist() == [2, 3]
            try:
                np.asarray(unseen)
            except errors.Closed as err:
                print("child:", type(err).__name__, flush=True)
            print("child:", np.asarray(x * 5).tolist(), flush=True)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        print("parent:", np.asarray(unseen).tolist())
    """
    out, err = program(code).communicate(timeout=120)
    assert out.splitlines() == ["child: Closed", "child: [5, 10]", "parent: [3, 4]"], err
