"""The client against a server of the test, which says whatever the test wants."""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import eventually, has_binary

from bivouac import _client, _process, _wire, errors
from bivouac.checkpoint import _engine


class Server:
    """The other end of a connection."""

    def __init__(self) -> None:
        ours, self.socket = socket.socketpair()
        self.reader = _wire.Reader(self.socket)
        self.connection = _client.Connection.__new__(_client.Connection)
        self.connection._process = None
        self.connection._setup(ours)

    def next(self) -> tuple[int, dict[str, Any]]:
        """Return the next frame of the client."""
        while (frame := self.reader.peek()) is None:
            assert not self.reader.ended
            self.reader.receive()
        self.reader.done(frame[3])
        return frame[0], json.loads(frame[1])

    def send(self, kind: int, fds: list[int] | None = None, **body: Any) -> None:
        frame = _wire.encode(kind, body)
        if fds:
            socket.send_fds(self.socket, [frame], fds)
        else:
            self.socket.sendall(frame)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.socket.close()
    made.connection.close()


def test_answers_come_in_any_order(server: Server) -> None:
    calls = [server.connection.start("op", n=i) for i in range(20)]
    asked = [server.next()[1] for _ in range(20)]
    random.Random(3).shuffle(asked)
    for body in asked:
        server.send(_wire.RESULT, id=body["id"], value={"n": body["args"]["n"]})
    assert [call.result()["n"] for call in calls] == list(range(20))
    assert not server.connection._calls


def test_arguments_that_are_none_are_left_out(server: Server) -> None:
    server.connection.start("op", a=None, b=0, c=False)
    assert server.next()[1]["args"] == {"b": 0, "c": False}


def test_what_json_cannot_say_is_an_error_of_the_caller(server: Server) -> None:
    for value in (float("nan"), object(), "\ud800"):
        with pytest.raises(errors.Invalid, match="op"):
            server.connection.start("op", a=value)
    assert not server.connection._calls


def test_an_interrupted_call_is_cancelled(server: Server) -> None:
    class Stop(Exception):
        pass

    ready = 0

    def interrupted() -> bool:
        nonlocal ready
        ready += 1
        if ready > 1:
            raise Stop
        return False

    call = server.connection.start("op")
    call.cancel_on_interrupt = True
    with pytest.raises(Stop):
        call._until(interrupted, None)
    assert server.next()[0] == _wire.CALL
    assert server.next() == (_wire.CANCEL, {"id": 1})
    server.send(_wire.ERROR, id=1, error={"kind": "canceled", "text": "op: canceled"})
    with pytest.raises(errors.Canceled):
        call.result()


def test_descriptors_of_an_abandoned_call_are_closed(server: Server) -> None:
    call = server.connection.start("op")
    r, w = os.pipe()
    server.send(_wire.RESULT, fds=[w], id=1, value={})
    os.close(w)
    call.result()
    assert len(call.fds) == 1
    del call
    assert os.read(r, 1) == b""  # nobody has the other end
    os.close(r)


def test_events_come_in_order_in_another_thread(server: Server) -> None:
    seen: list[Any] = []
    threads = set()

    def on_event(event: dict[str, Any]) -> None:
        seen.append(event["n"])
        threads.add(threading.current_thread())

    call = server.connection.start("op", on_event=on_event)
    server.next()
    for i in range(50):
        server.send(_wire.EVENT, id=1, event="progress", n=i)
    assert eventually(lambda: len(seen) == 50)
    server.send(_wire.RESULT, id=1, value={})
    call.result()
    assert seen == list(range(50))
    assert threading.current_thread() not in threads


def test_accepted_comes_before_the_last_word(server: Server) -> None:
    call = server.connection.start("save")
    server.send(_wire.EVENT, id=1, event="accepted")
    call.wait_accepted()
    assert call.accepted and not call.done()
    server.send(_wire.EVENT, id=1, event="released")
    assert not call.done() and call.released
    server.send(_wire.ERROR, id=1, error={"kind": "i/o error", "text": "disk"})
    assert eventually(call.done)
    with pytest.raises(OSError, match="disk"):
        call.result()


def test_questions_are_answered(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    def preserve(question: dict[str, Any]) -> dict[str, Any]:
        if question["n"] < 0:
            raise ValueError("negative")
        return {"keep": [True] * question["n"]}

    server.connection.on_ask("preserve", preserve)
    call = server.connection.start("training.save")
    server.next()
    server.send(_wire.ASK, ask=3, op="preserve", n=2)
    assert server.next() == (_wire.ANSWER, {"ask": 3, "value": {"keep": [True, True]}})
    server.send(_wire.ASK, ask=4, op="preserve", n=-1)
    assert server.next() == (_wire.ANSWER, {"ask": 4, "error": "ValueError: negative"})
    assert "Traceback" in capfd.readouterr().err
    server.send(_wire.ASK, ask=5, op="other")
    assert server.next() == (_wire.ANSWER, {"ask": 5, "error": "nobody answers 'other'"})
    server.send(_wire.RESULT, id=1, value={})
    call.result()
    assert eventually(lambda: server.connection._pump is None)


def test_events_without_a_call_reach_the_listener(server: Server) -> None:
    seen: list[Any] = []
    server.connection.on_event(seen.append)
    call = server.connection.start("training.save")
    server.send(_wire.EVENT, checkpointer=1, event="declined", step=7)
    assert eventually(lambda: len(seen) == 1)
    assert seen[0]["step"] == 7
    server.send(_wire.RESULT, id=1, value={})
    call.result()


@pytest.mark.parametrize(
    "garbage",
    [
        struct.pack("<I", 0),
        struct.pack("<IB", 0xFFFFFFFF, 3),
        struct.pack("<IB", 3, 3) + b"{x",
        struct.pack("<IB", 3, 3) + b"[]",
        struct.pack("<IB", 3, 9) + b"{}",
        struct.pack("<IB", 3, 3) + b"\xff\xff",
        _wire.encode(_wire.RESULT, {"id": 77, "value": {}}),
        _wire.encode(_wire.RESULT, {"value": {}}),
    ],
)
def test_garbage_ends_the_connection_with_an_error(server: Server, garbage: bytes) -> None:
    call = server.connection.start("op")
    server.socket.sendall(garbage)
    with pytest.raises(errors.Corrupt, match="protocol"):
        call.result(10)
    with pytest.raises(errors.Corrupt):
        server.connection.call("op")
    assert not server.connection.alive()


def test_an_error_of_the_connection_reaches_every_call(server: Server) -> None:
    calls = [server.connection.start("op") for _ in range(3)]
    server.send(_wire.ERROR, id=0, error={"kind": "mismatch", "text": "another version"})
    for call in calls:
        with pytest.raises(errors.Mismatch, match="another version"):
            call.result()


def test_the_last_frames_before_the_end_count(server: Server) -> None:
    first, second = server.connection.start("op"), server.connection.start("op")
    server.send(_wire.RESULT, id=1, value={"x": 1})
    server.socket.close()
    with pytest.raises(errors.Died):
        second.result()
    assert first.result() == {"x": 1}


def test_a_large_frame_waits_for_a_slow_reader(server: Server) -> None:
    text = "x" * (3 << 20)
    thread = threading.Thread(target=lambda: server.connection.start("op", text=text))
    thread.start()
    time.sleep(0.2)
    assert len(server.next()[1]["args"]["text"]) == len(text)
    thread.join(10)


def test_callbacks_that_fail_are_printed(
    server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    ran: list[int] = []

    def fail(call: _client.Call) -> None:
        raise ValueError("of the callback")

    call = server.connection.start("op")
    call.add_done_callback(fail)
    call.add_done_callback(lambda call: ran.append(1))
    server.send(_wire.RESULT, id=1, value={})
    assert eventually(lambda: ran == [1])
    assert "of the callback" in capfd.readouterr().err


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Any]]:
    """A shared side-car; BIVOUAC_SERVE has its path."""
    if not has_binary():
        pytest.skip("no binary: set BIVOUAC_BINARY, or build bivouac/bin/bivouac")
    path = tmp_path / "sockets" / "serve.sock"
    process = subprocess.Popen([_process.binary(), "serve", "--listen", str(path)])
    assert eventually(path.exists)
    _client._close()
    monkeypatch.setenv("BIVOUAC_SERVE", str(path))
    yield lambda: process
    _client._close()
    process.kill()
    process.wait()


def test_a_shared_side_car_serves_several(shared: Any, program: Any, tmp_path: Path) -> None:
    code = """
        import sys, numpy as np
        from bivouac import _client
        from bivouac.checkpoint import _engine
        assert _client.connection()._process is None
        for i in range(5):
            args = {"path": f"{sys.argv[1]}-{i}"}
            tree = {"s": {"a": np.arange(1000)}}
            _engine.start_save("save", tree, background=False, args=args).result()
            assert (_engine.load("load", args)["a"] == np.arange(1000)).all()
        print("ok")
    """
    programs = [program(code, str(tmp_path / f"p{k}")) for k in range(3)]
    for process in programs:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, "ok\n"), err


def test_the_end_of_a_shared_side_car_is_an_error(shared: Any, tmp_path: Path) -> None:
    args = {"path": str(tmp_path / "c")}
    tree = {"a": np.ones(3)}
    _engine.start_save("save", {"state": tree}, background=False, args=args).result()
    connection = _client.connection()
    shared().kill()
    shared().wait()
    assert eventually(lambda: not connection.alive())
    with pytest.raises(errors.Died, match="shared"):
        connection.call("load", **args)
    with pytest.raises(errors.IOError_, match="BIVOUAC_SERVE"):
        _client.connection()
