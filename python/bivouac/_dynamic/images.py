"""imread: images of files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from bivouac import errors
from bivouac._dynamic import calls
from bivouac._dynamic import device as _device
from bivouac._dynamic.batches import Batch, batch
from bivouac._dynamic.values import Tensor, tensor
from bivouac._pipeline.refusals import WrongType

__all__ = ["imread"]


def imread(filepaths: Any, /, *, device: Any = "cpu", **kwargs: Any) -> Any:
    """Return the image of a file, or a Batch of the images of files.

    Args:
      filepaths: a path, a list of paths, or a Tensor or Batch with the bytes of paths.
      device: the CPU.
      kwargs: arguments of `decoders.image`.
    """
    if device not in ("cpu", "gpu"):
        raise errors.Invalid(subject="device", want="cpu or gpu", got=repr(device))
    _device.device(device)
    if isinstance(filepaths, (Tensor, Batch)):
        paths: Any = filepaths
    elif isinstance(filepaths, (list, tuple)):
        paths = batch([one if isinstance(one, Tensor) else _path(one) for one in filepaths])
    else:
        paths = _path(filepaths)
    return calls.call("decoders.image", calls.call("io.file.read", paths), **kwargs)


def _path(path: Any) -> Tensor:
    """Return the bytes of a path."""
    try:
        name = os.fsencode(path)
    except TypeError:
        raise WrongType(subject="path", want="a str or a path", got=type(path).__name__) from None
    return tensor(np.frombuffer(name, np.uint8))
