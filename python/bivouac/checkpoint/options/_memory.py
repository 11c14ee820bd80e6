"""Options of memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from bivouac.checkpoint.options._base import LOCAL, Options, at_least, bad, refuse


@dataclasses.dataclass(kw_only=True)
class MemoryOptions(Options):
    """Bounds of the memory of saves and loads.

    Attributes:
      write_concurrent_bytes: the most bytes that are given to the file system at a time; None means
        no bound.
      read_concurrent_bytes: the most bytes that are asked of the file system at a time; None means
        no bound.
      transfer_concurrent_bytes: the most bytes of copies of the state in the server; None means no
        bound.
      regulator_options: refused; set the bounds themselves.
      expected_surge_bytes: bytes by which the bounds of the save are lessened.
      is_prioritized_key_fn: says which leaves are copied before `save_async` returns. All leaves
        are copied then, so every answer is fulfilled.
      serialization_status_callback: refused; the server reports bytes, not leaves. Use the argument
        progress of the save.
      deepcopy_host_arrays: no effect; a save copies each array once, into shared memory.
    """

    @dataclasses.dataclass(kw_only=True)
    class RegulatorOptions(Options):
        """A controller of memory limits. `MemoryOptions` refuses it.

        Attributes:
          max_memory_limit_gib: upper bound of the limit, in GiB.
          profiler: measures the memory in use.
          target_ratio: share of the memory that may be in use.
          min_memory_limit_gib: lower bound of the limit, in GiB.
          kp: proportional gain.
          ki: integral gain.
          kd: derivative gain.
          regulator: the controller, made by Orbax; always None here.
        """

        max_memory_limit_gib: float
        profiler: Any
        target_ratio: float = 0.8
        min_memory_limit_gib: float = 10.0
        kp: float = 0.4
        ki: float = 0.05
        kd: float = 0.1

        @property
        def regulator(self) -> None:
            """The controller; always None."""
            return None

    write_concurrent_bytes: int | None = None
    read_concurrent_bytes: int | None = None
    transfer_concurrent_bytes: int | None = None
    regulator_options: RegulatorOptions | None = dataclasses.field(default=None, metadata=LOCAL)
    expected_surge_bytes: int | float | None = None
    is_prioritized_key_fn: Callable[[tuple[Any, ...]], Any] | None = dataclasses.field(
        default=None, metadata=LOCAL
    )
    serialization_status_callback: Any = dataclasses.field(default=None, metadata=LOCAL)
    deepcopy_host_arrays: bool = dataclasses.field(default=True, metadata=LOCAL)

    def _check(self) -> None:
        for name in (
            "write_concurrent_bytes",
            "read_concurrent_bytes",
            "transfer_concurrent_bytes",
        ):
            at_least(name, getattr(self, name), 1)
        at_least("expected_surge_bytes", self.expected_surge_bytes, 0)
        if self.regulator_options is not None:
            raise refuse(
                "regulator_options",
                self.regulator_options,
                "set write_concurrent_bytes or transfer_concurrent_bytes; a regulated limit makes"
                " saves differ from run to run",
            )
        if self.serialization_status_callback is not None:
            raise refuse(
                "serialization_status_callback",
                self.serialization_status_callback,
                "use the argument progress of the save; the server reports bytes, not leaves",
            )
        if self.is_prioritized_key_fn is not None and not callable(self.is_prioritized_key_fn):
            raise bad("is_prioritized_key_fn", "a function", self.is_prioritized_key_fn)
