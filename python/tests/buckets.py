"""A real S3 server for tests: versitygw over a temporary directory, and a door in front of it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import http.client
import http.server
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

REQUIRE = "BIVOUAC_REQUIRE_VERSITYGW"
"""Fail, rather than skip, if the server cannot be built."""

ACCESS = "testaccesskey"
SECRET = "test/secret+key/of=no+use"
BUCKET = "trials"
TOOL = Path(__file__).resolve().parents[2] / "tools" / "versitygw"


def build() -> Path:
    """Return the server's program. The tests of Go build the same one, under the same name."""
    sources = [TOOL / name for name in ("main.go", "go.mod", "go.sum")]
    digest = hashlib.sha256(b"".join(s.read_bytes() for s in sources)).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bivouac"
    cache.mkdir(parents=True, exist_ok=True)
    program = cache / f"versitygw-{digest}"
    with open(f"{program}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            made = f"{program}.{os.getpid()}"
            go = os.environ.get("GO") or shutil.which("go") or "go"
            settings = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
            subprocess.run(
                [go, "build", "-trimpath", "-ldflags", "-s -w", "-o", made, "."],
                cwd=TOOL,
                env={**os.environ, **settings, "GODEBUG": "http2client=0"},
                check=True,
                timeout=480,
                capture_output=True,
            )
            os.rename(made, program)
    return program


class Server:
    """A Server is a running versitygw. It ends when its standard input does, so with the test."""

    def __init__(self, program: Path, directory: Path) -> None:
        self._data, self._notes = directory / "buckets", directory / "notes"
        (self._data / BUCKET).mkdir(parents=True)
        self._notes.mkdir()
        self._program = program
        self.port = _free_port()
        self.process = self._start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _start(self) -> subprocess.Popen[bytes]:
        keys = {"ROOT_ACCESS_KEY_ID": ACCESS, "ROOT_SECRET_ACCESS_KEY": SECRET}
        where = ["-dir", str(self._data), "-side", str(self._notes)]
        process = subprocess.Popen(
            [str(self._program), *where, "-addr", f"127.0.0.1:{self.port}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **keys},
        )
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return process
            time.sleep(0.02)
        process.kill()
        raise RuntimeError("versitygw does not listen")

    def stop(self) -> None:
        """End the server."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def again(self) -> None:
        """Start the server again, with what it had."""
        self.process = self._start()

    def keys(self, below: str = "") -> list[str]:
        """Return the names of the objects below a name, sorted."""
        root = self._data / BUCKET
        files = (p for p in (root / below).rglob("*") if p.is_file())
        return sorted(str(p.relative_to(root)) for p in files)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def variables(endpoint: str) -> dict[str, str]:
    """Return the environment with which a program finds a server."""
    return {
        "AWS_ACCESS_KEY_ID": ACCESS,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }


_DENIED = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>no</Message></Error>"


class Door(http.server.ThreadingHTTPServer):
    """A Door passes requests on to a server. It can be read-only, and count the requests.

    Attributes:
      read_only: True denies all requests other than GET and HEAD.
      seen: method and path of each request.
    """

    daemon_threads = True

    def __init__(self, server: Server) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.target = server.port
        self.read_only = False
        self.seen: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Passing(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Door

    def _pass(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        self.server.seen.append(f"{self.command} {self.path}")
        if self.server.read_only and self.command not in ("GET", "HEAD"):
            self._answer(403, [("Content-Type", "application/xml")], _DENIED)
            return
        link = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=60)
        link.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            link.putheader(name, value)
        link.endheaders(body or None)
        answer = link.getresponse()
        data = answer.read()
        dropped = ("transfer-encoding", "content-length", "connection")
        headers = [(n, v) for n, v in answer.getheaders() if n.lower() not in dropped]
        self._answer(answer.status, headers, data, answer.getheader("Content-Length"))
        link.close()

    def _answer(
        self, status: int, headers: list[tuple[str, str]], data: bytes, size: str | None = None
    ) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        head = self.command == "HEAD"
        self.send_header("Content-Length", size if head and size else str(len(data)))
        self.end_headers()
        if not head:
            self.wfile.write(data)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass

    def log_message(self, *args: object) -> None:
        """Write nothing."""


def running(factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a server. Skip if it cannot be built, or fail if the environment demands it."""
    try:
        program = build()
    except (OSError, subprocess.SubprocessError) as err:
        text = getattr(err, "stderr", None) or b""
        why = f"versitygw cannot be built: {err} {text.decode(errors='replace')[-400:]}"
        if os.environ.get(REQUIRE):
            pytest.fail(f"{REQUIRE} is set, but {why}")
        pytest.skip(why)
    server = Server(program, factory.mktemp("server"))
    yield server
    server.stop()
