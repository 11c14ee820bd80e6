"""Waiting: interrupts, threads, callbacks, and the memory that is held meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import eventually, stop
from lifecycle import PRELUDE, Program, output, save, sidecar_pid, whole

from bivouac import _client, _rooms, errors
from bivouac.checkpoint import _engine


class TestInterrupt:
    """Ctrl-C ends the wait at once, and the connection goes on."""

    def test_ctrl_c_while_waiting(self, program: Program, tmp_path: Path) -> None:
        process = program(
            PRELUDE
            + """
connection = _client.connection()
pid = connection._process.pid
os.kill(pid, signal.SIGSTOP)
time.sleep(0.2)  # until all its threads have stopped
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    connection.call("load", path="/none")
except KeyboardInterrupt:
    print("interrupted", flush=True)
os.kill(pid, signal.SIGCONT)
for i in range(20):
    try:
        connection.call("load", path="/none")
    except errors.NotFound:
        pass
assert _client.connection() is connection
save(sys.argv[1])
assert (load(sys.argv[1]) == 7.0).all()
print("ok")
""",
            str(tmp_path / "c"),
        )
        assert output(process) == "interrupted\nok\n"

    def test_interrupts_at_any_instant_lose_nothing(
        self, program: Program, tmp_path: Path
    ) -> None:
        """Signals come every fraction of a millisecond; every call still has its own answer."""
        process = program(
            PRELUDE
            + """
import itertools, random
connection = _client.connection()
rng = random.Random(5)
class Stop(Exception): pass
armed = False
def handler(*_):
    if armed:
        raise Stop
signal.signal(signal.SIGALRM, handler)
done = interrupted = 0
end = time.monotonic() + 6
other = []
def background():
    while time.monotonic() < end:
        try:
            connection.call("load", path="/background")
        except errors.NotFound as err:
            assert "/background" in str(err)
    other.append(1)
thread = threading.Thread(target=background)
thread.start()
while time.monotonic() < end:
    path = f"/none{done}"
    signal.setitimer(signal.ITIMER_REAL, rng.random() * 0.0015 + 1e-6)
    try:
        armed = True
        try:
            connection.call("load", path=path)
        except errors.NotFound as err:
            assert path in str(err), (path, str(err))
            done += 1
        armed = False
    except Stop:
        armed = False
        interrupted += 1
signal.setitimer(signal.ITIMER_REAL, 0)
thread.join(20)
assert other == [1], "the other thread hangs"
assert done > 20 and interrupted > 20, (done, interrupted)
save(sys.argv[1])
assert _client.connection() is connection
assert len(os.listdir("/proc/self/fd")) < 30
print("ok", file=sys.stdout)
""",
            str(tmp_path / "c"),
        )
        assert output(process) == "ok\n"

    @pytest.mark.parametrize("waits", [False, True])
    def test_an_interrupt_between_receiving_and_handling(self, waits: bool) -> None:
        """An answer that was received is handled, although the socket has nothing more."""

        class Stop(Exception):
            pass

        connection = _client.connection()
        reader = connection._reader
        receive = reader.receive
        armed = True

        def interrupted(*, wait: bool = True) -> bool:
            nonlocal armed
            received = receive(wait=wait)
            if received and armed:
                armed = False
                raise Stop
            return received

        reader.receive = interrupted  # type: ignore[method-assign]
        try:
            call = connection.start("load", path="/none")
            with pytest.raises(Stop):
                call.result(timeout=30)
            if waits:
                with pytest.raises(errors.NotFound):
                    call.result(timeout=30)
            else:
                assert call.done()
            assert not connection._calls
        finally:
            del reader.receive  # type: ignore[method-assign]
        assert _client.connection() is connection

    def test_interrupted_saves_never_mix_arrays(self, program: Program, tmp_path: Path) -> None:
        """An arena is not used again before the side-car has read it, and none is lost."""
        (tmp_path / "run").mkdir()
        process = program(
            PRELUDE
            + """
import random
class Stop(Exception): pass
armed = False
def handler(*_):
    if armed:
        raise Stop
signal.signal(signal.SIGALRM, handler)
rng = random.Random(1)
link = _client.connection()
def save_number(i):
    tree = {"a": np.full(10000, float(i))}
    args = {"path": f"{sys.argv[1]}/{i}"}
    _engine.start_save("save", {"s": tree}, background=False, args=args).result()
begin = time.monotonic()
for i in range(4):
    save_number(i)
usual = (time.monotonic() - begin) / 4
begin = time.monotonic()
ok = interrupted = 0
while time.monotonic() < begin + 6 or (ok < 6 and time.monotonic() < begin + 40):
    i += 1
    signal.setitimer(signal.ITIMER_REAL, rng.random() * max(0.03, 2 * usual) + 1e-5)
    try:
        armed = True
        save_number(i)
        armed = False
        ok += 1
    except Stop:
        armed = False
        interrupted += 1
signal.setitimer(signal.ITIMER_REAL, 0)
assert ok > 5 and interrupted > 5, (ok, interrupted)
assert _client.connection() is link
save_number(i + 1)  # gives back what interrupts left
deadline = time.monotonic() + 10
while link._calls and time.monotonic() < deadline:
    link._look()
    time.sleep(0.01)
assert not link._calls and not link._waiters and link.arenas.held() == 0
assert len(link.arenas._arenas) <= 2
for name in os.listdir(sys.argv[1]):
    assert (load(f"{sys.argv[1]}/{name}") == float(name)).all(), name
print("ok")
""",
            str(tmp_path / "run"),
        )
        assert output(process) == "ok\n"

    def test_a_late_pull_writes_into_no_other_save(
        self, program: Program, tmp_path: Path
    ) -> None:
        """An interrupt comes after a pull was sent, and before anything can cancel it."""
        (tmp_path / "run").mkdir()
        process = program(
            PRELUDE
            + """
class Stop(Exception): pass
link = _client.connection()
pid = link._process.pid
start = link.start
armed = False
def interrupted(op, /, **args):
    global armed
    call = start(op, **args)
    if armed and op == "arena.pull":
        armed = False
        raise Stop
    return call
link.start = interrupted
def save_number(i):
    args = {"path": f"{sys.argv[1]}/{i}"}
    tree = {"a": np.full(10000, float(i))}
    return _engine.start_save("save", {"s": tree}, background=False, args=args).result()
save_number(0)
stops = 0
for i in range(1, 20, 2):
    os.kill(pid, signal.SIGSTOP)  # the side-car finds both pulls, and begins with the last
    time.sleep(0.05)
    armed = True
    kept = np.full(10000, float(i))  # its memory stays as it is
    args = {"path": f"{sys.argv[1]}/{i}"}
    try:
        _engine.start_save("save", {"s": {"a": kept}}, background=False, args=args)
    except Stop:
        stops += 1
    assert link.arenas.held() == 1
    threading.Timer(0.1, os.kill, (pid, signal.SIGCONT)).start()
    save_number(i + 1)
    assert (load(f"{sys.argv[1]}/{i + 1}") == float(i + 1)).all(), i + 1
assert stops == 10
deadline = time.monotonic() + 10
while link.arenas.held() and time.monotonic() < deadline:
    link._look()
    time.sleep(0.01)
assert link.arenas.held() == 0
print("ok")
""",
            str(tmp_path / "run"),
        )
        assert output(process) == "ok\n"

    def test_a_signal_handler_may_save(self, program: Program, tmp_path: Path) -> None:
        process = program(
            PRELUDE
            + """
base = sys.argv[1]
count = 0
def handler(*_):
    global count
    count += 1
    save(f"{base}/h{count}", n=1000)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.02)
for i in range(30):
    save(f"{base}/m{i}", n=10000)
signal.signal(signal.SIGALRM, signal.SIG_IGN)
assert count > 3, count
for i in range(1, count + 1):
    assert (load(f"{base}/h{i}") == 7.0).all()
for i in range(30):
    assert (load(f"{base}/m{i}") == 7.0).all()
print("ok")
""",
            str(tmp_path),
        )
        assert output(process, 120) == "ok\n"

    def test_an_interrupted_save_is_cancelled(self, program: Program, tmp_path: Path) -> None:
        process = program(
            PRELUDE
            + """
pid = _client.connection()._process.pid
threading.Timer(0.2, os.kill, (pid, signal.SIGSTOP)).start()
threading.Timer(0.6, os.kill, (os.getpid(), signal.SIGINT)).start()
threading.Timer(0.8, os.kill, (pid, signal.SIGCONT)).start()
try:
    while True:
        save(sys.argv[1], n=1000, overwrite=True)
except KeyboardInterrupt:
    pass
time.sleep(0.5)
save(sys.argv[1] + "2")
print("ok")
""",
            str(tmp_path / "c"),
        )
        assert output(process) == "ok\n"


@pytest.mark.usefixtures("sidecar")
class TestThreads:
    """Many threads share the connection."""

    def test_each_gets_its_own_answer(self, tmp_path: Path) -> None:
        wrong: list[Any] = []

        def work(k: int) -> None:
            for i in range(50):
                path = str(tmp_path / f"none-{k}-{i}")
                try:
                    _client.connection().call("load", path=path)
                except errors.NotFound as err:
                    if path not in str(err):
                        wrong.append((path, str(err)))
                except BaseException as err:
                    wrong.append(err)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert wrong == []
        assert not _client.connection()._calls
        assert not _client.connection()._waiters

    def test_saves_side_by_side(self, tmp_path: Path) -> None:
        failed: list[BaseException] = []

        def work(k: int) -> None:
            try:
                for i in range(4):
                    save(tmp_path / f"{k}-{i}", n=1000 * (k + 1))
            except BaseException as err:
                failed.append(err)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert failed == []
        assert all(whole(tmp_path / f"{k}-{i}") for k in range(6) for i in range(4))

    def test_no_thread_is_left(self, tmp_path: Path) -> None:
        before = threading.active_count()
        call = save(tmp_path / "a", background=True)
        assert threading.active_count() == before
        ran: list[Any] = []
        call.add_done_callback(lambda c: ran.append(threading.current_thread()))
        call.result()
        assert eventually(lambda: len(ran) == 1)
        assert eventually(lambda: threading.active_count() == before)

    def test_callbacks_run_without_a_waiter(self, tmp_path: Path) -> None:
        from bivouac.checkpoint._response import CallResponse

        call = save(tmp_path / "a", background=True)
        response = CallResponse(call, lambda call: "value")
        ran: list[str] = []
        response.on_complete(ran.append)
        assert eventually(lambda: ran == ["value"])
        assert response.done() and response.result() == "value"
        response.on_complete(ran.append)
        assert ran == ["value", "value"]

    def test_a_timeout_leaves_the_call_alone(self, tmp_path: Path) -> None:
        pid = sidecar_pid()
        stop(pid)
        call = _client.connection().start("load", path=str(tmp_path / "none"))
        begin = time.monotonic()
        with pytest.raises(TimeoutError):
            call.result(0.2)
        assert 0.15 < time.monotonic() - begin < 5
        os.kill(pid, signal.SIGCONT)
        with pytest.raises(errors.NotFound):
            call.result(10)


@pytest.mark.usefixtures("sidecar")
class TestMemory:
    """Shared memory is given back."""

    def test_a_hundred_background_saves_are_flat(self, tmp_path: Path) -> None:
        def resident() -> int:
            """Return the bytes of shared memory of both processes."""
            total = 0
            for pid in (os.getpid(), sidecar_pid()):
                with open(f"/proc/{pid}/status") as file:
                    for line in file:
                        if line.startswith(("RssShmem", "RssAnon")):
                            total += int(line.split()[1]) << 10
            return total

        tree = {"a": np.ones(1 << 19)}
        after_ten = 0
        for i in range(100):
            _engine.start_save(
                "save",
                {"state": tree},
                background=True,
                args={"path": str(tmp_path / "c"), "overwrite": True},
            ).result()
            if i == 10:
                after_ten = resident()
        assert resident() - after_ten < 48 << 20
        assert len(os.listdir("/proc/self/fd")) < 40

    def test_the_memory_of_a_load_goes_with_its_last_view(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_rooms, "enabled", False)
        save(tmp_path / "a")

        def mapped() -> int:
            with open("/proc/self/maps") as maps:
                return sum("memfd" in line for line in maps)

        before = mapped()
        tree = _engine.load("load", {"path": str(tmp_path / "a")})
        view = tree["a"][10:20].reshape(2, 5)
        del tree
        assert mapped() == before + 1
        assert (view == 7.0).all()
        del view
        assert mapped() == before

    def test_an_arena_is_used_again(self, tmp_path: Path) -> None:
        save(tmp_path / "a")
        arenas = _client.connection().arenas
        assert arenas is not None
        (first,) = arenas._arenas.values()
        save(tmp_path / "b", n=1000)
        assert list(arenas._arenas.values()) == [first]
        save(tmp_path / "c", n=1 << 19)
        assert len(arenas._arenas) == 1 and first.number not in arenas._arenas
