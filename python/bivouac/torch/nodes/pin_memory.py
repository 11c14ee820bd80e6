"""PinMemory: items in the pinned memory of an accelerator."""

from __future__ import annotations

from typing import Any

from bivouac.torch import _pin
from bivouac.torch.nodes._ahead import Ahead, Plan
from bivouac.torch.nodes.base_node import BaseNode, T

__all__ = ["PinMemory"]


class PinMemory(BaseNode[T]):
    """A PinMemory copies the tensors of items into pinned memory, in a thread.

    It needs torch with an accelerator.

    Args:
      source: the node that gives the items.
      pin_memory_device: "xpu", or the name of an accelerator of the program. The default is CUDA.
      snapshot_frequency: items from snapshot to snapshot of the source. A resume reads the items
        since the last snapshot again.
    """

    _reads_ahead = True

    def __init__(
        self, source: BaseNode[T], pin_memory_device: str = "", snapshot_frequency: int = 1
    ) -> None:
        super().__init__()
        self.source = source
        self.snapshot_frequency = snapshot_frequency
        self._device = pin_memory_device or None
        torch: Any = __import__("torch")
        self._module = torch.cuda  # also without a device, or with another one
        if self._device == "xpu":
            self._module = torch.xpu
        elif self._device == torch._C._get_privateuse1_backend_name():
            self._module = getattr(torch, pin_memory_device)
        self._sets = self._device in ("cuda", "xpu") or self._module is not torch.cuda
        self._index = self._module.current_device()
        self._it: Ahead[T] | None = None

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        if self._it is not None:
            self._it.close()
            self._it = None
        plan = Plan(
            name="PinMemory",
            limit=1,
            every=self.snapshot_frequency,
            reading=f"in _pin_memory_loop for device {self._index}",
            starting=f"in _pin_memory_loop startup for device {self._index}",
            prepare=self._prepare(),
            change=_pin.pin,
        )
        self._it = Ahead(self.source, plan, initial_state)

    def _prepare(self) -> Any:
        """Return what the thread does first. It does not refer to the node."""
        module, index, sets = self._module, self._index, self._sets

        def prepare() -> None:
            torch: Any = __import__("torch")
            torch.set_num_threads(1)  # of this thread
            if sets:
                module.set_device(index)

        return prepare

    def next(self) -> T:
        return next(self._it)  # type: ignore[arg-type]

    def get_state(self) -> dict[str, Any]:
        assert self._it is not None
        return self._it.get_state()
