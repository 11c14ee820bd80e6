"""TorchPythonFunction: an operator that calls a function of the program with tensors of torch."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from bivouac._pipeline.python_function import FunctionOperator, function_schema

__all__ = ["TorchPythonFunction"]


class TorchPythonFunction(FunctionOperator):
    """A TorchPythonFunction calls a function with tensors of torch, which returns tensors.

    An input is valid during the call. A function that keeps one clones it.
    """

    schema = function_schema(
        "torch_python_function", "Calls a function of the program with tensors of torch."
    )

    def _into(self, array: np.ndarray[Any, Any]) -> Any:
        torch: Any = importlib.import_module("torch")
        return torch.from_numpy(array)

    def _array(self, value: Any) -> np.ndarray[Any, Any]:
        torch: Any = importlib.import_module("torch")
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"want a tensor of torch of the function, got {type(value).__name__}")
        array: np.ndarray[Any, Any] = value.detach().numpy()
        return array
