"""Iterators that deliver arrays of JAX, as nvidia.dali.plugin.jax."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from bivouac.plugin.base_iterator import (
    DaliBaseIterator,
    LastBatchPolicy,
    Outputs,
    check_names,
    named,
)

__all__ = ["DALIGenericIterator", "LastBatchPolicy", "data_iterator"]


class DALIGenericIterator(DaliBaseIterator):
    """An iterator that returns a dictionary of arrays.

    Args:
      pipelines: one pipeline, or a list with one for each device.
      output_map: a name for each output.
      last_batch_policy: FILL or DROP.
      sharding: a jax.sharding.Sharding. The batches of the pipelines are its shards, in the order
        of its devices. Without it, several pipelines give arrays with a new first axis.
      pmap_compatible: True adds that axis for one pipeline too.
      arguments: see bivouac.plugin.base_iterator.
    """

    def __init__(
        self,
        pipelines: Any,
        output_map: Any,
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        sharding: Any = None,
        pmap_compatible: bool | None = None,
    ) -> None:
        if last_batch_policy is LastBatchPolicy.PARTIAL:
            raise ValueError(
                "iterator: last_batch_policy: want FILL or DROP, because shapes of JAX do not "
                "change, got PARTIAL"
            )
        self.output_map = check_names(output_map)
        self._sharding = sharding
        self._pmap = bool(pmap_compatible)
        super().__init__(
            pipelines,
            size,
            reader_name,
            auto_reset,
            None,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )

    def _convert(self, outputs: list[Outputs]) -> dict[str, Any]:
        batches = [named(self.output_map, batch) for batch in outputs]
        return {
            name: self._array([batch[name].as_array() for batch in batches])
            for name in self.output_map
        }

    def _array(self, parts: list[Any]) -> Any:
        """Return one array of the parts of each pipeline."""
        import jax
        import jax.numpy as jnp

        if self._sharding is not None:
            for part in parts:
                if part.shape != parts[0].shape:
                    raise ValueError(
                        f"iterator: want shards of one shape, {parts[0].shape}, got {part.shape}"
                    )
            shape = (len(parts) * parts[0].shape[0], *parts[0].shape[1:])
            devices = sorted(self._sharding.addressable_devices, key=lambda device: device.id)
            if len(devices) != len(parts):
                raise ValueError(
                    f"iterator: sharding: want one device for each of {len(parts)} pipelines, got "
                    f"{len(devices)}"
                )
            placed = [jax.device_put(part, device) for part, device in zip(parts, devices)]
            return jax.make_array_from_single_device_arrays(shape, self._sharding, placed)
        if len(parts) == 1 and not self._pmap:
            return jnp.array(parts[0])
        return jnp.stack([jnp.array(part) for part in parts])


def data_iterator(
    pipeline_fn: Callable[..., Any] | None = None,
    output_map: Any = (),
    size: int = -1,
    reader_name: str | None = None,
    auto_reset: str | bool | None = False,
    last_batch_padded: bool = False,
    last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
    prepare_first_batch: bool = True,
    sharding: Any = None,
    devices: Any = None,
) -> Callable[..., Any]:
    """Make of a function that defines a pipeline one that returns a DALIGenericIterator.

    The function takes the arguments of the pipeline, and `checkpoints`, a list with the state to
    begin at. It makes one pipeline. Several devices or processes each make an iterator of their
    own, with num_shards and shard_id of the reader.
    """
    if sharding is not None or devices is not None:
        raise NotImplementedError(
            "data_iterator: want neither sharding nor devices; make the pipelines, one for each "
            "device, and give them to DALIGenericIterator"
        )

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        from bivouac import pipeline_def

        @functools.wraps(function)
        def create(*args: Any, checkpoints: Any = None, **options: Any) -> DALIGenericIterator:
            if checkpoints is not None:
                options["checkpoint"] = checkpoints[0]
                options.setdefault("enable_checkpointing", True)
            pipe = pipeline_def(function)(*args, **options)
            return DALIGenericIterator(
                pipe,
                output_map,
                size,
                reader_name,
                auto_reset,
                last_batch_padded,
                last_batch_policy,
                prepare_first_batch,
            )

        return create

    return decorate if pipeline_fn is None else decorate(pipeline_fn)
