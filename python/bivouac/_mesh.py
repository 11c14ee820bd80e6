"""Mesh, Layout and Part: arrays that a job cuts itself.

    mesh = Mesh(("data", "model"), (2, 4))
    layout = Layout(mesh, [("params/*/w", (None, "model"))])
    checkpoint.save(path, layout.cut(state))
    state = checkpoint.load(path, layout.cut(checkpoint.metadata(path).metadata))

Arrays of jax with a sharding and DTensor need none of it.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import math
from collections.abc import Sequence
from typing import Any

from bivouac import _processes, errors
from bivouac._shards import Box

__all__ = ["Layout", "Mesh", "Part"]

Spec = Sequence[str | Sequence[str] | None]


@dataclasses.dataclass(frozen=True)
class Mesh:
    """A Mesh is a grid of processes whose axes have names.

    Process 0 has the coordinate 0 on each axis; the last axis runs fastest.

    Attributes:
      axes: the names.
      sizes: how many processes there are along each axis.
    """

    axes: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", tuple(self.axes))
        object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))
        if len(self.axes) != len(self.sizes) or len(set(self.axes)) != len(self.axes):
            got = f"axes {self.axes} and sizes {self.sizes}"
            raise _invalid("Mesh", "axes of different names, and a size for each", got)
        if any(size < 1 for size in self.sizes):
            raise _invalid("Mesh.sizes", "at least 1", str(self.sizes))

    def __len__(self) -> int:
        """Return how many processes the mesh has."""
        return math.prod(self.sizes)

    def box(self, shape: Sequence[int], spec: Spec, process: int) -> Box:
        """Return origin and shape of the part of an array that a process has.

        An axis of n elements that is cut into k parts has parts of n/k elements, rounded up. The
        last parts may be smaller, or empty.

        Args:
          shape: shape of the whole array.
          spec: for each axis of the array the axis of the mesh along which it is cut, or several
            axes with the slowest first, or None. Missing entries are None.
          process: number of the process, from 0.

        Raises:
          Invalid: the spec does not fit the array or the mesh.
        """
        if not 0 <= process < len(self):
            raise _invalid("process", f"less than {len(self)}", str(process))
        if len(spec) > len(shape):
            raise _invalid("spec", f"at most {len(shape)} axes", str(len(spec)))
        origin, extent = [0] * len(shape), [int(n) for n in shape]
        used: set[str] = set()
        for i, entry in enumerate(spec):
            names = () if entry is None else (entry,) if isinstance(entry, str) else tuple(entry)
            part, parts = 0, 1
            for name in names:
                if name not in self.axes or name in used:
                    raise _invalid("spec", "axes of the mesh, each once", repr(name))
                used.add(name)
                at = self.axes.index(name)
                size = self.sizes[at]
                part = part * size + process // math.prod(self.sizes[at + 1 :]) % size
                parts *= size
            step = -(-extent[i] // parts)
            origin[i] = min(part * step, extent[i])
            extent[i] = min(step, extent[i] - origin[i])
        return [origin, extent]


class Part:
    """A Part is the part of an array that this process has. It is a leaf of a tree.

    A save writes the data. As a leaf of `abstract_state` it asks for the part, and the result has a
    Part with the data there. As a leaf of `into` its data is filled.

    Attributes:
      shape: shape of the whole array.
      origin: the place of the data's first element in the whole.
      data: an array or a tensor; in an abstract tree also a description with shape and dtype.
    """

    __slots__ = ("data", "origin", "shape")

    def __init__(self, shape: Sequence[int], origin: Sequence[int], data: Any) -> None:
        self.shape = tuple(int(n) for n in shape)
        self.origin = tuple(int(n) for n in origin)
        self.data = data
        extent = tuple(data.shape)
        fits = len(extent) == len(self.shape) == len(self.origin) and all(
            0 <= at and at + n <= whole
            for at, n, whole in zip(self.origin, extent, self.shape)
        )
        if not fits:
            got = f"shape {extent} at {self.origin}"
            raise _invalid("Part", f"a part of an array of shape {self.shape}", got)

    def __repr__(self) -> str:
        return f"Part(shape={self.shape}, origin={self.origin}, data={self.data!r})"


@dataclasses.dataclass(frozen=True)
class _Described:
    """A description of an array."""

    shape: tuple[int, ...]
    dtype: Any


class Layout:
    """A Layout says how the processes of a mesh share the arrays of a tree."""

    def __init__(self, mesh: Mesh, rules: Sequence[tuple[str, Spec]]) -> None:
        """Make a layout.

        Args:
          mesh: the grid of processes.
          rules: patterns of paths with the spec of their leaves, as in `Mesh.box`. A pattern has
            one element for each key, with "/" between: "layers/*/w". "**" stands for any number of
            keys. The first pattern that matches counts. Other leaves are whole on every process.
        """
        self.mesh = mesh
        self.rules = [(pattern.split("/") if pattern else [], spec) for pattern, spec in rules]

    def spec(self, keys: Sequence[str]) -> Spec | None:
        """Return the spec of the leaf with these keys, or None if it is not cut."""
        for pattern, spec in self.rules:
            if _matches(pattern, keys):
                return spec
        return None

    def cut(self, tree: Any, process: int | None = None) -> Any:
        """Return a tree in which the arrays that are cut are `Part`s.

        Args:
          tree: a tree whose leaves are whole arrays or tensors, or descriptions with shape and
            dtype. The data of a Part shares the memory of its array.
          process: number of the process in the mesh; None is the number of this one in its job.
        """
        if process is None:
            job = _processes.world()
            process = 0 if job is None else job.index
        return self._cut(tree, (), process)

    def _cut(self, value: Any, keys: tuple[str, ...], process: int) -> Any:
        from bivouac._restore import rebuild
        from bivouac._tree import children

        if value is None or value is ... or isinstance(value, type):
            return value
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            return self._leaf(value, keys, process)
        found = children(value)
        if found is None:
            return value
        kind, names, items = found
        cut = [
            self._cut(item, (*keys, str(names[i] if names else i)), process)
            for i, item in enumerate(items)
        ]
        return rebuild(value, kind, names, cut)

    def _leaf(self, value: Any, keys: tuple[str, ...], process: int) -> Any:
        spec = self.spec(keys)
        if not spec:
            return value
        try:
            origin, extent = self.mesh.box(value.shape, spec, process)
        except errors.Invalid as err:
            raise _invalid(".".join(keys), err.want, f"{err.subject} {err.got}") from err
        place = tuple([slice(at, at + n) for at, n in zip(origin, extent)])
        if hasattr(value, "__getitem__"):
            return Part(value.shape, origin, value[place])
        return Part(value.shape, origin, _Described(tuple(extent), value.dtype))


def _matches(pattern: Sequence[str], keys: Sequence[str]) -> bool:
    """Report whether the elements of a pattern match keys."""
    reach = {0}
    for element in pattern:
        if element == "**":
            reach = set(range(min(reach), len(keys) + 1)) if reach else reach
        else:
            left = [i for i in reach if i < len(keys)]
            reach = {i + 1 for i in left if fnmatch.fnmatchcase(keys[i], element)}
    return len(keys) in reach


def _invalid(subject: str, want: str, got: str) -> errors.Invalid:
    return errors.Invalid(op="mesh", subject=subject, want=want, got=got)
