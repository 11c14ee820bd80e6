"""Batches of a Loader."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Batch"]


class Batch(dict[str, Any]):
    """A Batch is a dictionary of arrays.

    The arrays are views of memory that the side-car has filled. The memory takes another batch when
    the last view is gone. So a view never changes. Samples of a pipeline that differ in shape are a
    TensorListCPU with `views()` and `flat()`.
    """

    def torch(self) -> dict[str, Any]:
        """Return tensors of torch that share the memory of the batch.

        Samples that differ in shape are a list with a tensor for each.
        """
        torch: Any = importlib.import_module("torch")
        return self._converted(torch.from_numpy)

    def jax(self) -> dict[str, Any]:
        """Return arrays of JAX on its default device.

        Samples that differ in shape are a list with an array for each.
        """
        import jax.numpy as jnp

        return self._converted(jnp.asarray)

    def _converted(self, convert: Any) -> dict[str, Any]:
        return {
            name: [convert(view) for view in value.views()]
            if hasattr(value, "views")
            else convert(value)
            for name, value in self.items()
        }
