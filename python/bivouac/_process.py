"""The side-car's process: where the binary is, how it starts, what it wrote before its end."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import time

from bivouac import errors

__all__ = ["SHARED", "Process", "start"]

SHARED = "BIVOUAC_SERVE"
"""The environment variable with the path of a shared side-car's socket."""

BINARY = "BIVOUAC_BINARY"
"""The environment variable with the path of the binary."""

_ending: list[subprocess.Popen[bytes]] = []  # side-cars that were left while they finished saves
_KEPT = 64 << 10
_PIPE = 1 << 20
_LISTEN = 0.5  # seconds between the moment a shared side-car's socket exists and it listens


def binary() -> str:
    """Return the path of the binary, or raise NotFound."""
    path = os.environ.get(BINARY)
    if path:
        source, remedy = BINARY, f"set {BINARY} to the bivouac binary, or unset it"
    else:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "bivouac")
        source, remedy = "the package", f"install the wheel of this machine, or set {BINARY}"
    if not os.path.isfile(path):
        raise errors.NotFound(
            op="serve",
            subject=path,
            want=f"the bivouac binary of {source}",
            got="no such file",
            remedy=remedy,
        )
    return path


class Process:
    """A Process is a side-car that this process started."""

    def __init__(self, popen: subprocess.Popen[bytes], log_fd: int) -> None:
        self._popen = popen
        self._log = b""
        self.pid = popen.pid
        self.log_fd = log_fd  # -1 after the end of the log

    def read_log(self) -> bool:
        """Take what the side-car has written. Return False after the end of its log."""
        while self.log_fd >= 0:
            try:
                data = os.read(self.log_fd, _KEPT)
            except BlockingIOError:
                return True
            except OSError:
                data = b""
            if not data:
                fd, self.log_fd = self.log_fd, -1
                os.close(fd)
                break
            self._log = (self._log + data)[-_KEPT:]
        return False

    def log(self) -> str:
        """Return the last 64 KiB that the side-car has written."""
        self.read_log()
        return self._log.decode(errors="replace").strip()

    def reap(self, timeout: float) -> int | None:
        """Wait up to `timeout` seconds for the end, and return the exit status, or None."""
        deadline = time.monotonic() + timeout
        while (code := self._popen.poll()) is None:
            self.read_log()  # so that it does not block while it writes
            if time.monotonic() >= deadline:
                _ending.append(self._popen)
                return None
            time.sleep(0.001)
        return code

    def forget(self) -> None:
        """Let go of the parent's side-car in a forked child."""
        self._popen.returncode = 0  # it is no child of this process
        fd, self.log_fd = self.log_fd, -1
        if fd >= 0:
            os.close(fd)


def start() -> tuple[socket.socket, Process | None]:
    """Return a socket to the shared side-car, or to one that is started for this process."""
    path = os.environ.get(SHARED)
    if path:
        return _connect(path), None
    program = binary()
    _ending[:] = [popen for popen in _ending if popen.poll() is None]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    log, log_of_theirs = os.pipe()
    try:
        os.set_blocking(log, False)
        try:
            fcntl.fcntl(log, getattr(fcntl, "F_SETPIPE_SZ", 1031), _PIPE)
        except OSError:
            pass  # over the limit of the user; the log is read more often then
        fd = theirs.fileno()
        popen = subprocess.Popen(
            [program, "serve", "--fd", str(fd)],
            pass_fds=[fd],
            stdin=subprocess.DEVNULL,
            stdout=log_of_theirs,
            stderr=log_of_theirs,
            start_new_session=True,
        )
    except BaseException as err:
        ours.close()
        os.close(log)
        if isinstance(err, OSError):
            raise errors.IOError_(
                f"serve: {program}: {err}", op="serve", subject=program, got=str(err)
            ) from err
        raise
    finally:
        theirs.close()
        os.close(log_of_theirs)
    return ours, Process(popen, log)


def _connect(path: str) -> socket.socket:
    """Return a socket to a shared side-car."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    deadline = time.monotonic() + _LISTEN
    try:
        while True:
            try:
                sock.connect(path)
                break
            except ConnectionRefusedError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.01)
    except OSError as err:
        sock.close()
        raise errors.IOError_(
            op="serve",
            subject=path,
            want="a side-car that listens there",
            got=str(err),
            remedy=f"start one with `bivouac serve --listen {path}`, or unset {SHARED}",
        ) from err
    return sock
