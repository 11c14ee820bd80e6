"""The lifecycle of trainer and side-car: each test is a line of the table of failures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import eventually, running, stop
from lifecycle import PRELUDE, Program, output, save, sidecar_pid, whole

from bivouac import _client, errors
from bivouac.checkpoint import _engine


@pytest.mark.usefixtures("sidecar")
class TestDeath:
    """The side-car dies."""

    def test_waiters_get_died_at_once(self, tmp_path: Path) -> None:
        connection = _client.connection()
        pid = sidecar_pid()
        stop(pid)  # so that no call ends
        calls = [connection.start("load", path=str(tmp_path / "none")) for _ in range(3)]
        seen: list[tuple[float, BaseException]] = []

        def wait(call: _client.Call) -> None:
            try:
                call.result()
            except BaseException as err:
                seen.append((time.monotonic(), err))

        threads = [threading.Thread(target=wait, args=(call,)) for call in calls]
        for thread in threads:
            thread.start()
        time.sleep(0.1)
        killed = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        for thread in threads:
            thread.join(10)
        assert len(seen) == 3
        for at, err in seen:
            assert isinstance(err, errors.Died)
            assert err.exit_code == -signal.SIGKILL
            assert at - killed < 0.5

    def test_the_next_use_starts_another(self, tmp_path: Path) -> None:
        save(tmp_path / "a")
        before = sidecar_pid()
        connection = _client.connection()
        os.kill(before, signal.SIGKILL)
        assert eventually(lambda: not connection.alive())
        save(tmp_path / "b")
        assert sidecar_pid() != before
        assert whole(tmp_path / "a") and whole(tmp_path / "b")

    def test_loaded_arrays_outlive_it(self, tmp_path: Path) -> None:
        save(tmp_path / "a")
        array = _engine.load("load", {"path": str(tmp_path / "a")})["a"]
        os.kill(sidecar_pid(), signal.SIGKILL)
        time.sleep(0.1)
        assert (array == 7.0).all()
        array[:] = 1

    def test_a_background_save_fails_with_died(self, tmp_path: Path) -> None:
        call = save(tmp_path / "a", background=True)
        os.kill(sidecar_pid(), signal.SIGKILL)
        try:
            call.result(10)
        except errors.Died:
            pass  # it may have been committed before

    def test_the_log_is_in_the_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        script = tmp_path / "bivouac"
        script.write_text("#!/bin/sh\necho one >&2\necho the reason >&2\nexit 7\n")
        script.chmod(0o755)
        monkeypatch.setenv("BIVOUAC_BINARY", str(script))
        _client._close()
        with pytest.raises(errors.Died, match="exit status 7.*the reason") as caught:
            _client.connection()
        assert caught.value.exit_code == 7
        assert caught.value.log == "one\nthe reason"

    def test_a_missing_binary_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _client._close()
        monkeypatch.setenv("BIVOUAC_BINARY", str(tmp_path / "none"))
        with pytest.raises(errors.NotFound, match="BIVOUAC_BINARY"):
            _client.connection()

    def test_another_version_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        _client._close()
        monkeypatch.setattr("bivouac.__version__", "0.0.0.dev1")
        with pytest.raises(errors.Mismatch, match="version"):
            _client.connection().call("arena.new", bytes=1)

    def test_no_process_is_left_after_close(self) -> None:
        pid = sidecar_pid()
        _client._close()
        assert eventually(lambda: not os.path.exists(f"/proc/{pid}"))

    def test_kills_leak_nothing(self, tmp_path: Path) -> None:
        """Many deaths leave neither descriptors nor processes nor mappings."""

        def counts() -> tuple[int, int]:
            with open("/proc/self/maps") as maps:
                memfds = sum("memfd" in line for line in maps)
            return len(os.listdir("/proc/self/fd")), memfds

        rng = np.random.default_rng(1)
        before: tuple[int, int] | None = None

        def die(i: int) -> None:
            call = save(tmp_path / f"c{i}", n=1 << 12, background=True)
            connection = _client.connection()
            time.sleep(float(rng.random()) * 0.01)
            os.kill(sidecar_pid(), signal.SIGKILL)
            try:
                call.result(10)
            except errors.Died:
                pass
            assert eventually(lambda: not connection.alive())

        for i in range(12):
            die(i)
            if i == 3:
                before = counts()
        assert before is not None
        assert counts() <= before


class TestTrainer:
    """The trainer dies or ends."""

    def test_a_killed_trainer_leaves_a_committed_save_and_nothing_else(
        self, program: Program, sidecar: None, tmp_path: Path
    ) -> None:
        process = program(
            PRELUDE
            + """
call = save(sys.argv[1], n=4 << 20, background=True)
print(_client.connection()._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
""",
            str(tmp_path / "c"),
        )
        out, _ = process.communicate(timeout=60)
        pid = int(out)
        assert process.returncode == -signal.SIGKILL
        assert eventually((tmp_path / "c").exists, 30.0)
        assert eventually(lambda: not running(pid), 1.0)
        assert whole(tmp_path / "c")
        assert [p.name for p in tmp_path.iterdir() if "tmp" in p.name] == []

    def test_random_kills_leave_whole_checkpoints_and_no_process(
        self, program: Program, sidecar: None, tmp_path: Path
    ) -> None:
        rng = np.random.default_rng(11)
        pids = []
        for k in range(10):
            process = program(
                PRELUDE
                + """
print(_client.connection()._process.pid, flush=True)
for i in range(1000):
    save(f"{sys.argv[1]}/{sys.argv[2]}-{i}", n=1 << 14, background=i % 2 == 0)
""",
                str(tmp_path / "run"),
                str(k),
            )
            assert process.stdout is not None
            pids.append(int(process.stdout.readline()))
            time.sleep(float(rng.random()) * 0.4)
            process.kill()
            process.wait()
        assert eventually(lambda: not any(map(running, pids)), 10.0)
        left = sorted((tmp_path / "run").iterdir())
        assert len(left) > 10
        for path in left:
            assert "tmp" not in path.name
            assert whole(path)

    def test_exit_waits_for_saves_and_says_so(
        self, program: Program, sidecar: None, tmp_path: Path
    ) -> None:
        process = program(
            PRELUDE + "save(sys.argv[1], n=8 << 20, background=True)\n", str(tmp_path / "c")
        )
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert err.startswith("bivouac: waiting for 1 save(s) before exit: ")
        assert whole(tmp_path / "c")

    def test_a_failed_save_that_nobody_awaited_fails_the_program(
        self, program: Program, tmp_path: Path
    ) -> None:
        process = program(
            PRELUDE
            + """
import atexit
atexit.register(lambda: print("other handlers run"))
call = save(sys.argv[1], n=8 << 20, background=True)
os.kill(_client.connection()._process.pid, signal.SIGKILL)
print("end of the program")
""",
            str(tmp_path / "c"),
        )
        out, err = process.communicate(timeout=60)
        assert process.returncode != 0
        assert "save failed" in err and str(tmp_path / "c") in err
        assert "Traceback" not in err
        assert out.splitlines() == ["end of the program", "other handlers run"]

    def test_a_failed_save_that_was_awaited_does_not(
        self, program: Program, tmp_path: Path
    ) -> None:
        process = program(
            PRELUDE
            + """
call = save(sys.argv[1], n=8 << 20, background=True)
os.kill(_client.connection()._process.pid, signal.SIGKILL)
try:
    call.result()
except errors.Died:
    print("seen")
""",
            str(tmp_path / "c"),
        )
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        assert out == "seen\n"

    def test_a_child_of_multiprocessing_waits_for_its_saves(
        self, program: Program, sidecar: None, tmp_path: Path
    ) -> None:
        process = program(
            PRELUDE
            + """
import multiprocessing

def child(path):
    save(path, n=4 << 20, background=True)

if __name__ == "__main__":
    c = multiprocessing.get_context("fork").Process(target=child, args=(sys.argv[1],))
    c.start()
    c.join()
    assert c.exitcode == 0
    assert os.path.exists(sys.argv[1])
""",
            str(tmp_path / "c"),
        )
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert err.startswith("bivouac: waiting for 1 save(s) before exit: ")
        assert whole(tmp_path / "c")

    def test_exit_is_quiet_and_warns_of_nothing(self, program: Program, tmp_path: Path) -> None:
        process = program(
            "import sys\nimport warnings\nwarnings.simplefilter('error')\n"
            + PRELUDE
            + "save(sys.argv[1], n=100); load(sys.argv[1])\n",
            str(tmp_path / "c"),
        )
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")


class TestFork:
    """Children have connections of their own; the parent's goes on."""

    def test_a_forked_child_uses_its_own_connection(
        self, program: Program, tmp_path: Path
    ) -> None:
        process = program(
            PRELUDE
            + """
base = sys.argv[1]
save(base + "/parent")
view = load(base + "/parent")
old = _client.connection()
pending = old.start("load", path=base + "/parent")
child = os.fork()
if child == 0:
    try:
        assert (view == 7.0).all()
        try:
            pending.result()
            os._exit(3)
        except errors.Closed as err:
            assert "parent" in str(err)
        try:
            old.call("load", path=base)
            os._exit(4)
        except errors.Closed:
            pass
        save(base + "/child")
        assert (load(base + "/child") == 7.0).all()
        assert _client.connection() is not old
        _client._close()
        os._exit(0)
    except BaseException as err:
        print(repr(err), flush=True)
        os._exit(5)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert pending.result()["bytes"] > 0
assert _client.connection() is old
save(base + "/after")
print("ok")
""",
            str(tmp_path),
        )
        assert output(process) == "ok\n"

    def test_the_side_car_sees_the_trainers_death_despite_a_child(
        self, program: Program, tmp_path: Path
    ) -> None:
        process = program(
            PRELUDE
            + """
save(sys.argv[1], n=100)
print(_client.connection()._process.pid, flush=True)
if os.fork() == 0:
    os.close(1)
    os.close(2)
    time.sleep(600)
    os._exit(0)
time.sleep(600)
""",
            str(tmp_path / "c"),
        )
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        time.sleep(0.2)
        process.kill()
        try:
            assert eventually(lambda: not running(pid), 5.0)
        finally:
            os.killpg(process.pid, signal.SIGKILL)

    def test_a_fork_during_a_wait_of_another_thread(
        self, program: Program, tmp_path: Path
    ) -> None:
        process = program(
            PRELUDE
            + """
base = sys.argv[1]
stop = []
def work():
    i = 0
    while not stop:
        save(f"{base}/t{i % 2}", n=1000, overwrite=True)
        i += 1
threads = [threading.Thread(target=work) for _ in range(1)]
for t in threads: t.start()
for i in range(8):
    child = os.fork()
    if child == 0:
        save(f"{base}/f{i}", n=1000)
        _client._close()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
stop.append(1)
for t in threads: t.join()
print("ok")
""",
            str(tmp_path),
        )
        assert output(process) == "ok\n"

    @pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
    def test_multiprocessing(self, method: str, program: Program, tmp_path: Path) -> None:
        process = program(
            PRELUDE
            + """
import multiprocessing

def child(path):
    save(path)

if __name__ == "__main__":
    base = sys.argv[1]
    save(base + "/parent")
    context = multiprocessing.get_context(sys.argv[2])
    children = [context.Process(target=child, args=(f"{base}/{i}",)) for i in range(2)]
    for c in children: c.start()
    for c in children: c.join()
    assert [c.exitcode for c in children] == [0, 0]
    assert all((load(f"{base}/{i}") == 7.0).all() for i in range(2))
    print("ok")
""",
            str(tmp_path),
            method,
        )
        assert output(process) == "ok\n"


def test_import_is_lazy() -> None:
    """Importing bivouac starts nothing and imports no numpy."""
    code = "import sys, bivouac; print('numpy' in sys.modules, len(sys.modules))"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert out.stdout.startswith("False"), out
