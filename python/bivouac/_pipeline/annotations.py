"""Types of inputs and arguments, for the stubs of `bivouac.fn` and `bivouac.ops`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from bivouac._pipeline.constants import ScalarConstant
from bivouac._pipeline.enums import DALIDataType
from bivouac._pipeline.node import DataNode

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Bools", "DTypes", "Fed", "Floats", "Input", "Ints", "Text", "Texts"]

Fed = Union[DataNode, "np.ndarray[Any, Any]"]
"""The value of an argument that differs per sample, or an array that is the same for all."""

Input = Union[DataNode, ScalarConstant, float, Sequence[float], "np.ndarray[Any, Any]"]
"""An input of an operator: a node, or a constant."""

Text = Union[str, "os.PathLike[str]"]
"""A text or a path."""

Bools = Union[bool, Sequence[bool]]
Ints = Union[int, Sequence[int]]
Floats = Union[float, Sequence[float]]
Texts = Union[Text, Sequence[Text]]
DTypes = Union[DALIDataType, Sequence[DALIDataType]]
"""Arguments that are lists. A single value stands for a list of one."""
