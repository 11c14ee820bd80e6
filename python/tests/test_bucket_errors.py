"""What a person sees when a bucket cannot be used: the cause, a remedy, and no secret."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac as bv
import bivouac.checkpoint as ocp
from bivouac import _client, errors
from bivouac.checkpoint import partial
from bivouac.checkpoint.training import Checkpointer, Tier
from buckets import BUCKET, SECRET, Door, Server
from conftest import eventually, running
from jobs import Batches, new_state
from lifecycle import Program

STATE = {"w": np.arange(1000.0)}


def _open(url: str) -> None:
    with Checkpointer(url) as run:
        run.save(0, STATE)


def _job(url: str) -> None:
    with bv.Job(url, Batches(), new_state(), steps=2) as job:
        list(job)


def _tier(url: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as near:
        _tiered(near, url)


def _tiered(near: str, url: str) -> None:
    with Checkpointer(near, tiers=[Tier(directory=url)]) as run:
        run.save(0, STATE)


WRITES: dict[str, Callable[[str], Any]] = {
    "save": lambda url: ocp.save(url, STATE),
    "save_async": lambda url: ocp.save_async(url, STATE).result(),
    "save_checkpointables": lambda url: ocp.save_checkpointables(url, {"state": STATE}),
    "partial.save": lambda url: partial.save(url, STATE),
    "Checkpointer": _open,
    "Job": _job,
}
READS: dict[str, Callable[[str], Any]] = {
    "load": ocp.load,
    "load_async": lambda url: ocp.load_async(url).result(),
    "load_checkpointables": ocp.load_checkpointables,
    "metadata": ocp.metadata,
    "verify": ocp.verify,
    "load_and_transform": lambda url: ocp.load_and_transform(url, lambda tree: tree),
    "delete": ocp.delete,
    "partial.finalize": partial.finalize,
}
ALL = {**WRITES, **READS}


def chain(error: BaseException | None) -> str:
    """Return all that a person may see of an error and of its causes."""
    out = ""
    while error is not None:
        out += f"{error} {error!r} {getattr(error, 'remedy', '')} {getattr(error, 'subject', '')} "
        error = error.__cause__ or error.__context__
    return out


@pytest.mark.parametrize("call", ALL)
def test_wrong_credentials(bucket: str, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden/" + SECRET)
    with pytest.raises(errors.BivouacError) as raised:
        ALL[call](f"{bucket}/a")
    text = chain(raised.value)
    assert "hidden/" not in text and SECRET not in text
    assert isinstance(raised.value, errors.Permission), raised.value


@pytest.mark.parametrize("call", ALL)
def test_no_bucket(bucket: str, call: str) -> None:
    url = bucket.replace(f"//{BUCKET}/", "//no-such-bucket/")
    with pytest.raises(errors.BivouacError, match="no-such-bucket") as raised:
        ALL[call](f"{url}/a")
    assert isinstance(raised.value, (errors.NotFound, errors.Invalid, ValueError)), raised.value


@pytest.mark.parametrize(
    "place",
    [
        "s3://AKIDEXAMPLE:hidden-secret@bucket/a",
        "s3://AKIDEXAMPLE:hidden-se/cret@bucket/a",
        "s3://hidden-secret@bucket?region=x",
        f"s3://{BUCKET}/a?secret_key=hidden-secret",
        f"s3://{BUCKET}/a?X-Amz-Signature=hidden-secret",
        f"s3://{BUCKET}/a?endpoint=http://me:hidden-secret@127.0.0.1:1",
        "gs://hidden-secret@bucket/a",
        "gs://bucket/a?token=hidden-secret",
        "az://account/c/a?sig=hidden-secret",
        "az://me:hidden-secret@account/c/a",
        "ftp://me:hidden-secret@host/a",
        "abfss://c@account.dfs.core.windows.net/a?sig=hidden-secret",
    ],
)
def test_secrets_in_urls_are_not_repeated(
    bucket: str, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name, call in {**ALL, "tier": _tier}.items():
        with caplog.at_level(0), pytest.raises(errors.BivouacError) as raised:
            call(place)
        seen = chain(raised.value) + caplog.text
        assert "hidden-se" not in seen, name
    process = _client.connection()._process
    assert process is not None and "hidden-se" not in process.log()


def test_an_unknown_scheme_names_those_that_work(bucket: str) -> None:
    with pytest.raises(errors.Unsupported, match=r"s3://.*scheme ftp") as raised:
        ocp.save("ftp://host/a", STATE)
    assert "s3://bucket/name?endpoint" in raised.value.remedy


def test_a_bucket_that_may_only_be_read(
    bucket: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ocp.save(f"{bucket}/run/5", STATE)
    door = Door(server)
    door.read_only = True
    monkeypatch.setenv("AWS_ENDPOINT_URL", door.endpoint)
    assert np.array_equal(ocp.load(f"{bucket}/run/5")["w"], STATE["w"])
    assert ocp.verify(f"{bucket}/run/5").sound
    with Checkpointer(f"{bucket}/run") as run:
        assert [c.step for c in run.checkpoints] == [5]
        assert np.array_equal(run.load()["w"], STATE["w"])
    for name in ("save", "save_async", "partial.save"):
        with pytest.raises(errors.Permission):
            WRITES[name](f"{bucket}/b")
    with pytest.raises(errors.Permission):
        with Checkpointer(f"{bucket}/run") as run:
            run.save(6, STATE)
    with pytest.raises(errors.BivouacError):
        ocp.delete(f"{bucket}/run/5")
    door.read_only = False
    assert ocp.is_orbax_checkpoint(f"{bucket}/run/5")
    ocp.save(f"{bucket}/b", STATE)
    door.shutdown()


# A server that is away.


@pytest.fixture
def silent() -> Iterator[str]:
    """The endpoint of a server that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def _interrupt(after: float) -> None:
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()


@pytest.mark.parametrize("call", ["save", "load", "metadata", "verify", "Checkpointer"])
def test_ctrl_c_while_a_server_does_not_answer(
    bucket: str, silent: str, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", silent)
    ocp.is_orbax_checkpoint("/nowhere")  # the side-car runs
    began = time.monotonic()
    _interrupt(0.5)
    with pytest.raises(KeyboardInterrupt):
        ALL[call](f"{bucket}/a")
    assert time.monotonic() - began < 3.0
    monkeypatch.undo()
    assert ocp.load is not None


def test_ctrl_c_in_a_save(bucket: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ocp.save(f"{bucket}/a", STATE)
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        _interrupt(0.5)
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            ocp.save(f"{bucket}/b", STATE)
        assert time.monotonic() - began < 3.0
    finally:
        os.kill(server.process.pid, signal.SIGCONT)
    assert eventually(lambda: _works(f"{bucket}/c"), 30)
    assert not ocp.is_orbax_checkpoint(f"{bucket}/b") or ocp.verify(f"{bucket}/b").sound


def _works(url: str) -> bool:
    ocp.save(url, STATE, overwrite=True)
    return bool(np.array_equal(ocp.load(url)["w"], STATE["w"]))


def test_a_response_has_a_deadline(bucket: str, server: Server) -> None:
    ocp.save(f"{bucket}/a", STATE)
    with Checkpointer(f"{bucket}/run") as run:
        run.save(0, STATE)
        door = threading.Timer(1.0, os.kill, (server.process.pid, signal.SIGCONT))
        response = run.save_async(1, STATE, force=True)
        assert response is not None
        os.kill(server.process.pid, signal.SIGSTOP)
        door.start()
        try:
            response.result(timeout=0.2)
        except TimeoutError:
            pass
        door.join()
        assert response.result(timeout=60)
        assert np.array_equal(run.load(1)["w"], STATE["w"])


def test_a_server_that_comes_back(bucket: str, tmp_path_factory: Any, server: Server) -> None:
    ocp.save(f"{bucket}/a", STATE)
    server.stop()
    back = threading.Timer(1.5, server.again)
    back.start()
    try:
        ocp.save(f"{bucket}/b", STATE)
        assert np.array_equal(ocp.load(f"{bucket}/b")["w"], STATE["w"])
    finally:
        back.join()


WAITS = """
import sys
import numpy as np
import bivouac.checkpoint as ocp
try:
    ocp.save(sys.argv[1], {"w": np.arange(10)})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_a_program_ends_soon_after_ctrl_c(
    bucket: str, silent: str, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", silent)
    head = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    run = program(head + WAITS, f"{bucket}/a")
    time.sleep(3.0)
    began = time.monotonic()
    os.kill(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert out == "interrupted\n", err
    assert time.monotonic() - began < 12.0


# Kills.

KILLED = """
import sys, os
import numpy as np
from bivouac import _client
from bivouac.checkpoint.training import Checkpointer
run = Checkpointer(sys.argv[1])
print(_client.connection().server["pid"], [c.step for c in run.checkpoints], flush=True)
w = np.random.default_rng(0).normal(size=1 << 20)
step = run.latest.step + 1 if run.latest else 0
while True:
    assert run.save(step, {"w": w, "n": step}, force=True)
    print("saved", step, flush=True)
    step += 1
"""


def test_kill_9_in_the_middle_of_saves(bucket: str, program: Program) -> None:
    """The next process finds every step that was acknowledged, and saves on at once."""
    acknowledged = -1
    for turn in range(4):
        run = program(KILLED, f"{bucket}/run")
        assert run.stdout is not None
        first = run.stdout.readline()
        assert first, run.communicate()[1]
        pid = int(first.split()[0])
        there = eval(first.split(" ", 1)[1])
        assert acknowledged < 0 or acknowledged in there, (acknowledged, there)
        for _ in range(2):
            line = run.stdout.readline()
            assert line.startswith("saved"), run.communicate()[1]
            acknowledged = int(line.split()[1])
        time.sleep(0.03 * turn)
        if turn % 2:
            os.kill(pid, signal.SIGKILL)  # the side-car dies with the trainer
        run.kill()
        rest = run.communicate()[0].splitlines()
        acknowledged = max([acknowledged, *(int(t.split()[1]) for t in rest if " " in t)])
        assert eventually(lambda: not running(pid), 30)
    began = time.monotonic()
    with Checkpointer(f"{bucket}/run", cleanup_tmp_directories=True) as after:
        steps = [c.step for c in after.checkpoints]
        assert acknowledged in steps
        for step in steps:
            assert after.load(step)["n"] == step
        assert after.save(1000, {"n": 1000}, force=True)
    assert time.monotonic() - began < 60.0


SHARED = """
import os, sys
import numpy as np
import bivouac.checkpoint as ocp
os.environ["AWS_SECRET_ACCESS_KEY"] = "of-this-program"
ocp.save(sys.argv[1], {"w": np.arange(10)})
print("saved")
"""


def test_a_shared_side_car_has_credentials_of_its_own(
    bucket: str, server: Server, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "shared" / "serve.sock")
    binary = os.environ.get("BIVOUAC_BINARY") or str(
        Path(bv.__file__).parent / "bin" / "bivouac"
    )
    serve = subprocess.Popen([binary, "serve", "--listen", path], env=dict(os.environ))
    try:
        assert eventually(lambda: os.path.exists(path))
        monkeypatch.setenv("BIVOUAC_SERVE", path)
        out, err = program(SHARED, f"{bucket}/a").communicate(timeout=60)
        assert out == "saved\n", err
    finally:
        serve.kill()
        serve.wait()


