"""A CUDA device without a GPU, for tests: what `torch.cuda` does with memory and streams.

The fake is later than any GPU: nothing of a stream happens before somebody waits for it. Copies to
the host poison their target first. So what reads without waiting reads wrong bytes. What a GPU
would do wrong now and then, the fake notes as a fault.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

POISON = 0xA5


def mapped(address: int, size: int) -> bool:
    """Report whether an address range is mapped, as memory of the side-car."""
    with open("/proc/self/maps") as file:
        for line in file:
            first, _, last = line.split()[0].partition("-")
            if int(first, 16) <= address and address + size <= int(last, 16):
                return "memfd" in line
    return False


class Runtime:
    """The calls of CUDA's runtime that register memory, and what they did.

    Attributes:
      registered: sizes by address.
      log: what was called, in its order.
      faults: what a program must not do.
      refuses: True registers nothing.
    """

    def __init__(self) -> None:
        self.registered: dict[int, int] = {}
        self.log: list[str] = []
        self.faults: list[str] = []
        self.refuses = False
        self.in_flight: list[tuple[int, int]] = []  # ranges of the host that copies use

    def cudart(self) -> Runtime:
        return self

    def check_error(self, code: int) -> None:
        if code:
            raise RuntimeError(f"CUDA error {code}")

    def cudaHostRegister(self, address: int, size: int, flags: int) -> int:
        self.log.append("register")
        if not mapped(address, size):
            self.faults.append("memory is registered that is not mapped")
        if address in self.registered:
            return 712
        if self.refuses:
            return 801
        assert flags == 1, "memory must be pinned for all devices"
        self.registered[address] = size
        return 0

    def cudaHostUnregister(self, address: int) -> int:
        self.log.append("unregister")
        size = self.registered.pop(address, None)
        if size is None:
            return 713
        if not mapped(address, size):
            self.faults.append("memory was unmapped while it was registered")
        for first, n in self.in_flight:
            if address <= first and first + n <= address + size:
                self.faults.append("memory is unregistered that a copy still uses")
        return 0

    def pinned(self, address: int, size: int) -> bool:
        """Report whether memory is registered."""
        return any(a <= address and address + size <= a + n for a, n in self.registered.items())

    def check(self) -> None:
        """Fail the test for what a program must not do."""
        for address, size in self.registered.items():
            if not mapped(address, size):
                self.faults.append("memory was unmapped while it was registered")
        assert self.faults == [], "; ".join(self.faults)


class Stream:
    """A stream: work in order, that is done when somebody waits for it."""

    def __init__(self, gpu: Gpu, device: Any, name: str) -> None:
        self.gpu, self.device, self.name = gpu, device, name
        self._queue: list[Callable[[], None]] = []
        self._done = 0

    def enqueue(self, work: Callable[[], None]) -> None:
        self._queue.append(work)

    def wait_stream(self, other: Stream) -> None:
        self.gpu.log.append(f"{self.name} waits for {other.name}")
        until = len(other._queue)
        self._queue.append(lambda: other.run(until))

    def synchronize(self) -> None:
        self.gpu.log.append(f"synchronize {self.name}")
        self.run(len(self._queue))
        if self.gpu.failing:
            raise RuntimeError(self.gpu.failing)

    def run(self, until: int) -> None:
        """Do the work up to a position."""
        while self._done < until:
            work = self._queue[self._done]
            self._done += 1
            work()


class Gpu(Runtime):
    """A stand-in for the module `torch.cuda`.

    Attributes:
      pageable: how many copies used memory that is not registered.
      failing: the error that the next waits raise, or "".
    """

    def __init__(self) -> None:
        super().__init__()
        self.pageable = 0
        self.failing = ""
        self._current: dict[Any, Stream] = {}
        self._sides = 0

    def current_stream(self, device: Any = None) -> Stream:
        if device not in self._current:
            self._current[device] = Stream(self, device, f"current {device}")
        return self._current[device]

    def Stream(self, device: Any = None) -> Stream:
        self._sides += 1
        return Stream(self, device, f"side {device}")

    @contextlib.contextmanager
    def stream(self, stream: Stream) -> Iterator[None]:
        before = self.current_stream(stream.device)
        self._current[stream.device] = stream
        try:
            yield
        finally:
            self._current[stream.device] = before
