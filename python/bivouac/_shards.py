"""Arrays of which a process holds parts: DTensor of torch, and arrays of jax on several devices.

A box is a list of an origin and a shape. It is what the protocol calls a part of an array.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

__all__ = [
    "Box",
    "box_of",
    "boxes_of_sharding",
    "distinct",
    "dtensor_box",
    "dtensor_like",
    "dtensor_local",
    "is_dtensor",
    "is_sharded_tensor",
    "owns",
    "partial_of",
    "sharding_text",
]

Box = list[list[int]]


def box_of(index: tuple[slice, ...], shape: tuple[int, ...]) -> Box:
    """Return origin and shape of a box that slices of an array describe."""
    ranges = [part.indices(n) for part, n in zip(index, shape)]
    return [[begin for begin, _, _ in ranges], [end - begin for begin, end, _ in ranges]]


def boxes_of_sharding(sharding: Any, shape: tuple[int, ...]) -> list[Box]:
    """Return the boxes that the devices of this process hold, each once."""
    boxes: dict[tuple[tuple[int, ...], ...], Box] = {}
    for index in sharding.addressable_devices_indices_map(shape).values():
        box = box_of(index, shape)
        boxes[tuple(map(tuple, box))] = box
    return list(boxes.values())


def distinct(array: Any) -> list[Any]:
    """Return the shards of an array of jax that this process holds, one for each box."""
    shards: dict[str, Any] = {}
    for shard in array.addressable_shards:
        shards.setdefault(str(box_of(shard.index, array.shape)), shard)
    return list(shards.values())


def sharding_text(sharding: Any) -> str | None:
    """Return a sharding of jax as Orbax writes it, or None if Orbax has no text for it."""
    shardings = sys.modules["jax"].sharding
    if isinstance(sharding, shardings.SingleDeviceSharding):
        (device,) = sharding.device_set
        return json.dumps({"sharding_type": "SingleDeviceSharding", "device_str": str(device)})
    if not isinstance(sharding, shardings.NamedSharding):
        return None
    mesh = sharding.mesh
    spec = tuple(sharding.spec)
    if not all(part is None or isinstance(part, str | tuple) for part in spec):
        return None
    text: dict[str, Any] = {
        "sharding_type": "NamedSharding",
        "shape": list(mesh.shape.values()),
        "axis_names": list(mesh.axis_names),
    }
    if getattr(mesh, "axis_types", None) is not None:
        text["axis_types"] = [str(kind) for kind in mesh.axis_types]
    text["partition_spec"] = spec
    text["device_mesh"] = {"mesh": _ids(mesh.devices.tolist())}
    try:
        return json.dumps(text)
    except TypeError:
        return None  # names of axes that are no strings


def _ids(devices: Any) -> Any:
    """Return nested lists of devices as nested lists of their numbers."""
    if isinstance(devices, list):
        return [_ids(part) for part in devices]
    return {"id": devices.id}


def is_dtensor(value: Any) -> bool:
    """Report whether a value is a DTensor."""
    cls = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)
    return cls is not None and isinstance(value, cls)


def is_sharded_tensor(value: Any) -> bool:
    """Report whether a value is a ShardedTensor, which torch had before DTensor."""
    return any(cls.__name__ == "ShardedTensor" for cls in type(value).__mro__)


def partial_of(tensor: Any) -> str | None:
    """Return the name of a placement whose values are not the tensor's, or None."""
    for placement in tensor.placements:
        if not placement.is_shard() and not placement.is_replicate():
            return type(placement).__name__
    return None


def dtensor_box(tensor: Any) -> Box | None:
    """Return the box of a DTensor that this process holds, or None if it holds nothing."""
    utils = importlib.import_module("torch.distributed.tensor._utils")
    if tensor.device_mesh.get_coordinate() is None:
        return None
    shape, origin = utils.compute_local_shape_and_global_offset(
        tensor.shape, tensor.device_mesh, tensor.placements
    )
    if 0 in shape:
        return None
    return [list(map(int, origin)), list(map(int, shape))]


def owns(tensor: Any) -> bool:
    """Report whether this process holds the first replica of its part of a DTensor."""
    coordinate = tensor.device_mesh.get_coordinate()
    if coordinate is None:
        return False
    return not any(
        at > 0 and placement.is_replicate()
        for at, placement in zip(coordinate, tensor.placements)
    )


def dtensor_local(tensor: Any) -> Any:
    """Return the tensor of this process. It shares the memory of the DTensor."""
    local = tensor.detach().to_local()
    wait = getattr(local, "wait", None)  # of a collective that is under way
    return local if wait is None else wait()


def dtensor_like(like: Any, local: Any) -> Any:
    """Return a DTensor with the mesh, placements and shape of another one.

    Args:
      like: the other one. It may be on the device "meta".
      local: the part of this process, on the CPU; None if it holds nothing.
    """
    torch = sys.modules["torch"]
    cls = sys.modules["torch.distributed.tensor"].DTensor
    mesh = like.device_mesh
    if local is None:
        local = torch.empty(dtensor_local(like).shape, dtype=like.dtype)
    if mesh.device_type != "cpu":
        local = local.to(mesh.device_type)
    made = cls.from_local(
        local,
        mesh,
        like.placements,
        run_check=False,
        shape=like.shape,
        stride=like.stride(),
    )
    if isinstance(like, torch.nn.Parameter):
        return torch.nn.Parameter(made, requires_grad=like.requires_grad)
    return made.requires_grad_(like.requires_grad)
