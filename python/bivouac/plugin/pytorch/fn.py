"""The operator of torch as a function, as nvidia.dali.plugin.pytorch.fn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bivouac._pipeline.python_function import call_function
from bivouac.plugin.pytorch.function import TorchPythonFunction

__all__ = ["torch_python_function"]


def torch_python_function(
    *input: Any,
    function: Callable[..., Any] | None = None,
    num_outputs: int = 1,
    batch_processing: bool = False,
    output_layouts: str | Sequence[str] | None = None,
    device: str | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a function of the program with tensors of torch; see `bivouac.fn.python_function`."""
    given = {
        "function": function,
        "num_outputs": num_outputs,
        "batch_processing": batch_processing,
        "output_layouts": output_layouts,
        "device": device,
        "name": name,
        "_module": "nvidia.dali.plugin.pytorch.fn",
        **kwargs,
    }
    return call_function(TorchPythonFunction, input, given)
