"""Frames of the side-car's protocol, docs/format/serve.md.

A Reader keeps everything that was received until the frames in it were handled. An exception of a
signal handler (KeyboardInterrupt) can come between any two bytecodes. So received bytes go from the
system call into a list within one C call, and every other change of the state is one store. Whoever
reads next finds the state as it was, at worst with a frame that was handled once already; handling
a frame twice must do no harm. The Writer counts sent bytes in the same way.
"""

from __future__ import annotations

import array
import collections
import itertools
import json
import select
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

HELLO, CALL, RESULT, ERROR, EVENT, CANCEL, ASK, ANSWER = range(1, 9)

LIMIT = 1 << 30
"""The greatest number of bytes that the length of a frame may say."""

_PIECE = 64 << 10
_MOST_PIECE = 4 << 20
_ANCILLARY = socket.CMSG_SPACE(16 * 4)
_DONTWAIT = socket.MSG_DONTWAIT
_FLAGS = getattr(socket, "MSG_CMSG_CLOEXEC", 0)

_length = struct.Struct("<I")
_head = struct.Struct("<IB")



def _encoder() -> Callable[[Any], str]:
    """Return a function that writes JSON: json's encoder in C, made once, if there is one."""
    encoder = json.JSONEncoder(
        ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    string = getattr(json.encoder, "encode_basestring", None)
    if make is not None and string is not None:
        try:
            in_c = make(None, encoder.default, string, None, ":", ",", False, False, False)
            if "".join(in_c({"a": [1, "ü"]}, 0)) == '{"a":[1,"ü"]}':
                return lambda value: "".join(in_c(value, 0))
        except (TypeError, ValueError):
            pass  # another version of Python
    return encoder.encode


_encode = _encoder()


class ProtocolError(Exception):
    """The peer sent what is not a frame."""


_scan: Any = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def decode(body: bytes) -> Any:
    """Return the JSON value of a body, or raise ValueError."""
    text = body.decode()
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("no JSON") from None
    if end != len(text):
        return json.loads(text)  # white space, or an error
    return value


def encode(kind: int, body: Any) -> bytes:
    """Return a frame.

    ValueError is raised if the body has NaN or an infinity, or a string that is not Unicode
    (surrogates). TypeError is raised if it has a value that JSON does not have.
    """
    data = _encode(body).encode()
    if len(data) >= LIMIT:
        raise ValueError(f"want a frame of at most {LIMIT} bytes, got {len(data) + 1}")
    return _head.pack(len(data) + 1, kind) + data


_Message = tuple[bytes, list[tuple[int, int, bytes]], int, Any]


class _Input:
    """What was received up to message `following`: the frames in `data` from `position` on."""

    __slots__ = ("data", "descriptors", "following", "position")

    def __init__(
        self, data: bytes, descriptors: list[tuple[int, int, list[int]]], following: int
    ) -> None:
        self.data = data
        self.position = 0  # of the first byte that was not handled
        self.descriptors = descriptors  # (first byte, end, descriptors) of messages that had some
        self.following = following  # number of the next message


class Reader:
    """A Reader takes frames from a stream socket. One thread at a time may use it.

    A signal handler that interrupts this thread may use it as well.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._recvmsg = sock.recvmsg  # the method of the C type: calling it runs no bytecode
        self._inbox: collections.deque[tuple[_Message, int]] = collections.deque()
        self._numbers = itertools.count()
        self._input = _Input(b"", [], 0)
        self._want = 4  # bytes of the next frame, as far as they are known
        self.ended = False

    def receive(self, *, wait: bool = True) -> bool:
        """Take one message from the socket. Return False if there is none and `wait` is false."""
        size = _PIECE
        if self._want > size:
            size = min(max(self._want - self._have(), size), _MOST_PIECE)
        flags = _FLAGS if wait else _FLAGS | _DONTWAIT
        messages = map(self._recvmsg, (size,), (_ANCILLARY,), (flags,))
        try:
            # One C call: what recvmsg returns is in the inbox before a signal handler can run.
            self._inbox.extend(zip(messages, self._numbers))
        except BlockingIOError:
            return False
        except ConnectionError:
            self.ended = True
            return True
        if self._inbox and not self._inbox[-1][0][0]:
            self.ended = True
        return True

    def feed(self, data: bytes, descriptors: list[int] | None = None) -> None:
        """Take a message that the caller received."""
        packed = array.array("i", descriptors or []).tobytes()
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, packed)] if packed else []
        self._inbox.extend(zip([(data, control, 0, None)], self._numbers))

    def _have(self) -> int:
        """Return how many bytes were received and not handled."""
        held = self._input
        new = [len(m[0]) for m, number in list(self._inbox) if number >= held.following]
        return len(held.data) - held.position + sum(new)

    def peek(self) -> tuple[int, bytes, list[int], Any] | None:
        """Return kind, body and descriptors of the next frame, and a token for `done`.

        It returns None if no whole frame was received. The frame stays the next until `done`.
        """
        held = self._input
        if held.position == len(held.data):
            if not self._inbox:
                return None
            self._join(held)
        while True:
            # Both are read once in a turn: a signal handler may read and handle frames meanwhile.
            held = self._input
            begin = held.position
            have = len(held.data) - begin
            if have >= 4:
                (n,) = _length.unpack_from(held.data, begin)
                if not 1 <= n <= LIMIT:
                    raise ProtocolError(f"a frame of {n} bytes")
                self._want = 4 + n
                if have >= 4 + n:
                    break
            else:
                self._want = 4
            if self._have() < self._want:
                return None
            self._join(held)
        end = begin + 4 + n
        descriptors: list[int] = []
        for first, last, values in held.descriptors:
            # Descriptors come with the first byte of a frame, and end a message of the socket.
            if first <= begin < last <= end:
                descriptors = values
        token = (held, begin, end)
        return held.data[begin + 4], held.data[begin + 5 : end], descriptors, token

    def done(self, token: Any) -> None:
        """Forget the frame of a token of `peek`."""
        held, _, end = token
        if end > held.position:
            held.position = end
        self._want = 4

    def fresh(self, token: Any) -> bool:
        """Report whether the frame of a token is still the next one.

        It is not if a signal handler has read in the meantime.
        """
        held, begin, _ = token
        return held is self._input and held.position == begin

    def _join(self, held: _Input) -> _Input:
        """Put the messages of the inbox behind the bytes that are left."""
        messages = [item for item in list(self._inbox) if item[1] >= held.following]
        if not messages:
            return held
        position = held.position
        if position == len(held.data) and len(messages) == 1 and not messages[0][0][1]:
            # The usual case: one message with whole frames.
            joined = _Input(messages[0][0][0], [], messages[0][1] + 1)
            return self._take(held, position, joined)
        descriptors = [
            (first - position, last - position, values)
            for first, last, values in held.descriptors
            if last > position
        ]
        pieces = [held.data[position:]]
        at = len(pieces[0])
        for (data, control, _, _), _ in messages:
            values: list[int] = []
            for level, kind, packed in control:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    numbers = array.array("i")
                    numbers.frombytes(packed[: len(packed) - len(packed) % numbers.itemsize])
                    values.extend(numbers)
            if values:
                descriptors.append((at, at + len(data), values))
            pieces.append(data)
            at += len(data)
        joined = _Input(b"".join(pieces), descriptors, messages[-1][1] + 1)
        return self._take(held, position, joined)

    def _take(self, held: _Input, position: int, joined: _Input) -> _Input:
        """Put `joined` in the place of `held`, and drop the messages that are in it."""
        if held is self._input and held.position == position:  # no signal handler came first
            self._input = joined
        inbox, held = self._inbox, self._input
        while True:  # a signal handler can run at the head of the loop, but not before popleft
            if not inbox or inbox[0][1] >= held.following:
                return held
            inbox.popleft()

    def abandoned(self) -> list[int]:
        """Return the descriptors that were received and belong to no frame that was handled."""
        held = self._join(self._input)
        return [d for _, last, values in held.descriptors if last > held.position for d in values]


class Frame:
    """A frame on its way out."""

    __slots__ = ("posted", "sent", "view")

    def __init__(self, data: bytes) -> None:
        self.view = memoryview(data)
        self.sent: list[int] = []  # bytes of each send
        self.posted = False


class Writer:
    """A Writer sends frames over a stream socket. Any thread may use it."""

    def __init__(self, sock: socket.socket) -> None:
        self._send = sock.send
        self._fileno = sock.fileno()
        self._frames: collections.deque[Frame] = collections.deque()
        # A C lock: `with` cannot leave it locked. A signal handler may send in the middle of send.
        self._lock = threading.RLock()
        self.broken = False

    def send(self, data: bytes) -> None:
        """Send a frame, and what an interrupted call left. An interrupt loses nothing."""
        self.post(Frame(data))

    def post(self, frame: Frame) -> None:
        """Send a frame like send, unless it was posted before."""
        if not frame.posted:
            frame.posted = True  # no signal handler can run before the next line has appended it
            self._frames.append(frame)
        self.flush()

    def pending(self) -> bool:
        """Report whether an interrupt left bytes to be sent."""
        return bool(self._frames)

    def flush(self) -> None:
        """Send what is left. If the peer is gone, `broken` is set and nothing is raised."""
        with self._lock:
            frames = self._frames
            while True:
                if not frames:
                    return
                frame = frames[0]
                sent = frame.sent[:]
                attempt = map(self._send, (frame.view[sum(sent) :],), (_DONTWAIT,))
                try:
                    # Between the comparison and the end of the call no signal handler can run. If
                    # one has sent before, this attempt is out of date.
                    if frame.sent == sent:
                        frame.sent.extend(attempt)
                except BlockingIOError:
                    self._wait()
                except OSError:
                    self.broken = True
                    frames.clear()
                    return
                if sum(frame.sent) == len(frame.view) and frames and frames[0] is frame:
                    frames.popleft()

    def _wait(self) -> None:
        """Wait until the socket takes more, or a while."""
        poll = select.poll()
        poll.register(self._fileno, select.POLLOUT)
        poll.poll(100)
