"""Tensors of torch on a fake CUDA device; see fake_cuda."""

from __future__ import annotations

from typing import Any

import torch

from fake_cuda import POISON, Gpu, Stream

_VIEWS = frozenset(
    "detach view reshape permute transpose __getitem__ expand requires_grad_ T mT"
    " as_subclass".split()
)
_HOST = frozenset("numpy tolist item cpu to __array__ __bool__ __repr__ equal".split())
_KERNELS = frozenset("fill_ add_ mul_ zero_".split())

gpu: Gpu | None = None
"""The device of all tensors of the test."""

_born: dict[int, Stream] = {}  # the stream on which a piece of memory was taken
_recorded: dict[int, set[Stream]] = {}  # the streams that the allocator knows to use it


def install(device: Gpu | None) -> None:
    """Begin with another device, or with none."""
    global gpu
    gpu = device
    _born.clear()
    _recorded.clear()


def _memory(tensor: Any) -> int:
    with torch._C.DisableTorchFunctionSubclass():
        return int(tensor.untyped_storage().data_ptr())


class DeviceTensor(torch.Tensor):
    """A tensor that is on the fake device. The host cannot read it."""

    @property
    def device(self) -> Any:  # type: ignore[override]
        return torch.device("cuda", getattr(self, "index", 0))

    def record_stream(self, stream: Any) -> None:
        _recorded.setdefault(_memory(self), set()).add(stream)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.__name__ if func.__name__ != "__get__" else func.__self__.__name__
        assert gpu is not None
        if name in _HOST:
            raise AssertionError(f"the host reads memory of the device: {name}")
        if name == "copy_":
            return _copy(args[0], args[1], **kwargs)
        if name == "new_empty":
            return _new(args[0], args[1], **kwargs)
        if name in ("contiguous", "clone") or name == "resolve_conj" or name == "resolve_neg":
            return _made(name, args[0])
        if name in _KERNELS:
            _run(lambda: func(*args, **kwargs), args[0], [args[0]])
            return args[0]
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **kwargs)
        if name in _VIEWS and isinstance(result, torch.Tensor):
            result = _on(result, args[0].device.index)
        return result


def _on(tensor: Any, index: int) -> Any:
    """Return a view of memory as a tensor on the device."""
    with torch._C.DisableTorchFunctionSubclass():
        made = tensor.as_subclass(DeviceTensor)
    made.index = index
    return made


def _taken(tensor: Any) -> None:
    """Note the stream on which memory is taken."""
    assert gpu is not None
    _born[_memory(tensor)] = gpu.current_stream(tensor.device)


def device_tensor(tensor: Any, index: int = 0) -> Any:
    """Return a copy of a tensor on the device."""
    with torch._C.DisableTorchFunctionSubclass():
        made = _on(tensor.detach().clone(memory_format=torch.preserve_format), index)
    _taken(made)
    return made


def read(tensor: Any) -> Any:
    """Return what a program reads of a tensor: its current stream is waited for, and no other."""
    assert gpu is not None
    stream = gpu.current_stream(tensor.device)
    stream.run(len(stream._queue))
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.detach().as_subclass(torch.Tensor).clone()


def _run(work: Any, on: Any, uses: list[Any]) -> None:
    """Have the current stream of a tensor's device do work that uses memory of the device."""
    assert gpu is not None
    stream = gpu.current_stream(on.device)
    places = [_memory(tensor) for tensor in uses]

    def later() -> None:
        for place in places:
            if stream is not _born.get(place) and stream not in _recorded.get(place, ()):
                gpu.faults.append(f"{stream.name} uses memory of which the allocator does not know")
        with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():
            work()

    stream.enqueue(later)


def _new(like: Any, shape: Any, dtype: Any = None, **kwargs: Any) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        made = _on(torch.zeros(shape, dtype=dtype or like.dtype), like.device.index)
    _taken(made)
    return made


def _made(name: str, source: Any) -> Any:
    """Return a tensor that a kernel makes of another one, or the other one if there is no need."""
    with torch._C.DisableTorchFunctionSubclass():
        needed = {
            "contiguous": not source.is_contiguous(),
            "resolve_conj": source.is_conj(),
            "resolve_neg": source.is_neg(),
        }.get(name, True)
    if not needed:
        return source
    made = _new(source, source.shape)
    _run(lambda: made.as_subclass(torch.Tensor).copy_(source), made, [made, source])
    return made


def _copy(target: Any, source: Any, non_blocking: bool = False) -> Any:
    """Copy between host and device, or within the device."""
    assert gpu is not None
    out = not isinstance(target, DeviceTensor)
    device, host = (source, target) if out else (target, source)
    if isinstance(host, DeviceTensor):
        _run(lambda: target.as_subclass(torch.Tensor).copy_(source), target, [target, source])
        return target
    if not non_blocking:
        gpu.faults.append("a copy blocks")
    with torch._C.DisableTorchFunctionSubclass():
        assert target.shape == source.shape and target.dtype == source.dtype
        place = (int(host.data_ptr()), int(host.nbytes))
        if not host.is_contiguous():
            gpu.faults.append("memory of the host is not in one piece")
    stream = gpu.current_stream(device.device)
    gpu.log.append(f"copy {'out' if out else 'in'} on {stream.name}")
    pinned = gpu.pinned(*place)
    if out and pinned:
        with torch._C.DisableTorchFunctionSubclass():
            target.view(torch.uint8).fill_(POISON)

    def work() -> None:
        with torch._C.DisableTorchFunctionSubclass():
            target.as_subclass(torch.Tensor).copy_(source.as_subclass(torch.Tensor))
        if place in gpu.in_flight:
            gpu.in_flight.remove(place)

    if pinned:
        gpu.in_flight.append(place)
    _run(work, device, [device])
    if not pinned:
        gpu.pageable += 1
        stream.run(len(stream._queue))
    return target
