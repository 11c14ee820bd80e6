"""Fixtures. Tests that need the side-car are skipped, with a message, if there is no binary."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from buckets import BUCKET, Server, running as running_server, variables

SOURCE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE))

# A shell starts background jobs with SIGINT ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def has_binary() -> bool:
    """Report whether there is a side-car to test with."""
    if os.environ.get("BIVOUAC_BINARY"):
        return True
    return (SOURCE / "bivouac" / "bin" / "bivouac").is_file()


@pytest.fixture
def sidecar() -> Iterator[None]:
    """Skip without a binary. Close the connection after the test.

    Saves that a test did not wait for end first, and do not make the tests fail at their exit.
    """
    if not has_binary():
        pytest.skip("no binary: set BIVOUAC_BINARY, or build bivouac/bin/bivouac")
    yield
    from bivouac import _client, _exit

    for call in list(_exit._saves):
        with contextlib.suppress(Exception):
            call.result(60)
    _exit._saves.clear()
    _client._close()


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start Python programs of the test, in sessions of their own, and kill what is left."""
    if not has_binary():
        pytest.skip("no binary: set BIVOUAC_BINARY, or build bivouac/bin/bivouac")
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *args: str) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
        script = tmp_path / f"program{len(started)}.py"
        script.write_text(textwrap.dedent(code))
        process = subprocess.Popen(
            [sys.executable, str(script), *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real S3 server with a bucket."""
    yield from running_server(tmp_path_factory)


@pytest.fixture
def bucket(
    server: Server, sidecar: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """The URL of a place in a bucket that only this test uses. The environment leads there."""
    del sidecar
    for name in [n for n in os.environ if n.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in variables(server.endpoint).items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{tmp_path.parent.name}/{tmp_path.name}"


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Report whether something holds within some seconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def running(pid: int) -> bool:
    """Report whether a process runs. A zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def stop(pid: int) -> None:
    """Stop a process with SIGSTOP, and wait until all its threads have stopped."""

    def stopped() -> bool:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] not in ("T", "t"):
                    return False
        return True

    os.kill(pid, signal.SIGSTOP)
    assert eventually(stopped)
