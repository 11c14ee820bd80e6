"""Checkpoints of Lightning and Fabric.

    trainer = lightning.Trainer(plugins=[BivouacCheckpointIO()])
    fabric = lightning.Fabric(plugins=[BivouacCheckpointIO()])

Each checkpoint is then a directory that is written atomically and verified when it is loaded, and
that Orbax and the command `bivouac` read. Loading never runs code, which a pickle may. What is in a
checkpoint is decided by Lightning: with a loader that has a state, such as torchdata's, the
position of the data is in it.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from bivouac import errors
from bivouac.integrations import _dictionary

__all__ = ["BivouacCheckpointIO"]


def _base() -> Any:
    """Return Lightning's class CheckpointIO, whichever of its packages is installed."""
    for package in ("lightning.fabric", "lightning_fabric"):
        try:
            return importlib.import_module(f"{package}.plugins.io.checkpoint_io").CheckpointIO
        except ModuleNotFoundError:
            continue
    raise errors.NotFound(
        op="bivouac.integrations.lightning",
        want="the package lightning, pytorch-lightning or lightning-fabric",
        remedy="install one of them",
    )


_CheckpointIO: Any = _base()


class BivouacCheckpointIO(_CheckpointIO):  # type: ignore[misc]
    """A BivouacCheckpointIO saves the checkpoints of Lightning as Bivouac does.

    A checkpoint may hold tensors, arrays, numbers, strings, bytes and containers of them. For
    anything else, such as an object among the hyperparameters, the save fails and names it.
    """

    def __init__(self, background: bool = False) -> None:
        """Make a plugin.

        Args:
          background: True returns from a save when the tensors are copied. An error is raised by
            the next save or by `teardown`.
        """
        super().__init__()
        self._background = background
        self._call: Any = None

    def _wait(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call.result()

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | os.PathLike[str], storage_options: Any = None
    ) -> None:
        """Save a checkpoint as a directory.

        Raises:
          ValueError: the checkpoint holds something that cannot be saved.
        """
        if storage_options is not None:
            raise errors.Unsupported(
                op="save_checkpoint", subject="storage_options", want="None", remedy="leave it out"
            )
        self._wait()
        call = _dictionary.save(path, checkpoint, self._background)
        self._call = call if self._background else None

    def load_checkpoint(
        self,
        path: str | os.PathLike[str],
        map_location: Any = None,
        weights_only: bool | None = None,
    ) -> dict[str, Any]:
        """Load a checkpoint.

        Args:
          path: directory of the checkpoint.
          map_location: device of the tensors; None is the CPU. Functions are refused.
          weights_only: no effect, because loading never runs code.
        """
        del weights_only
        self._wait()
        if callable(map_location) or isinstance(map_location, dict):
            raise errors.Unsupported(
                op="load_checkpoint", subject="map_location", want="a device, or None",
                got=type(map_location).__name__,
            )  # fmt: skip
        checkpoint = _dictionary.load(path)
        if map_location is not None and str(map_location) != "cpu":
            checkpoint = _moved(checkpoint, map_location)
        return checkpoint

    def remove_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Delete a checkpoint."""
        self._wait()
        _dictionary.remove(path)

    def teardown(self) -> None:
        """Wait for the save in the background, and raise its error."""
        self._wait()


def _moved(value: Any, device: Any) -> Any:
    """Return a tree whose tensors are on a device."""
    if isinstance(value, dict):
        return {key: _moved(item, device) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_moved(item, device) for item in value)
    return value.to(device) if hasattr(value, "to") and hasattr(value, "device") else value
