"""Records of a training job for `bivouac crashtest`: samples, losses and weights of each step.

docs/format/record.md is the specification; package record of Go writes the same. Without the
environment variable BIVOUAC_RECORD nothing is imported, computed or written.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
import threading
from collections.abc import Iterator
from typing import Any

from bivouac import errors

__all__ = ["VARIABLE", "Recorder", "digest", "record"]

VARIABLE = "BIVOUAC_RECORD"
"""The environment variable with the directory of the records."""

_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
_MASK = (1 << 64) - 1


class Recorder:
    """A Recorder appends one line a step to a file of this process."""

    def __init__(self) -> None:
        self._dir = os.environ.get(VARIABLE)
        self._fd = -1
        self._pid = 0
        self._lock = threading.Lock()

    def __call__(
        self,
        ids: Any = None,
        tree: Any = None,
        *,
        step: int | None = None,
        epoch: int | None = None,
        loss: Any = None,
    ) -> None:
        """Record one step: the ids of its samples in their order, and the weights after it.

        Call it after the step was trained and before the step is saved.

        Args:
          ids: integers or strings, as a list, array or tensor of one dimension, or one of them.
            Of other arrays and tensors, such as a batch, each row is a sample, known by its bytes.
          tree: weights and anything else that must be equal, as `save` takes it. Objects with
            `state_dict()`, such as modules and optimizers of torch, stand for their states. Only
            a digest is kept.
          step: the number of the step. Give it if the job knows it: crashtest then knows where a
            job resumed.
          epoch: the number of the epoch. Samples are then compared epoch by epoch.
          loss: a number, or a list of numbers, which are compared bit for bit.
        """
        if not self._dir:
            return
        line: dict[str, Any] = {}
        if step is not None:
            line["step"] = int(step)
        if epoch:
            line["epoch"] = int(epoch)
        values = sample_ids(ids)
        if values:
            line["n"] = len(values)
            line["ids"] = encode_ids(values)
        if loss is not None:
            losses = loss if isinstance(loss, list | tuple) else [loss]
            line["loss"] = [struct.pack(">d", float(value)).hex() for value in losses]
        if tree is not None:
            line["weights"] = digest(tree)
        self._write(line)

    def resumed(self, step: int) -> None:
        """Record that this process goes on after a step. Call it before the first record."""
        if self._dir:
            self._write({"resumed": int(step)})

    @property
    def on(self) -> bool:
        """Whether records are written."""
        return bool(self._dir)

    def _renew(self) -> None:
        """Replace the lock, which another thread may have held while this process was forked."""
        self._lock = threading.Lock()

    def _write(self, line: dict[str, Any]) -> None:
        with self._lock:
            if self._pid != os.getpid():  # the first record of this process, or of a forked child
                self._open()
            self._append(line)

    def _open(self) -> None:
        assert self._dir is not None
        pid = os.getpid()
        path = os.path.join(self._dir, f"{pid}-{os.urandom(6).hex()}.jsonl")
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        try:
            self._fd = os.open(path, flags, 0o666)
        except OSError as err:
            raise errors.BivouacError(
                op="record",
                subject=VARIABLE,
                got=str(err),
                remedy="name a directory that exists, or unset the variable",
            ) from err
        self._pid = pid
        self._append({"format": "bivouac.record", "version": 1, "pid": pid, "rank": _rank()})

    def _append(self, line: dict[str, Any]) -> None:
        os.write(self._fd, json.dumps(line, separators=(",", ":")).encode() + b"\n")


def _rank() -> int:
    """Return the number of this process among those that train together."""
    for name in _RANKS:
        text = os.environ.get(name, "")
        if text.isdecimal():
            return int(text)
    return 0


def encode_ids(ids: list[int]) -> str:
    """Return ids as text: differences modulo 2^64 as zigzag varints, in base64."""
    out = bytearray()
    last = 0
    for value in ids:
        delta = (value - last) & _MASK
        last = value
        zigzag = ((delta << 1) & _MASK) ^ (_MASK if delta >> 63 else 0)
        while zigzag >= 0x80:
            out.append(zigzag & 0x7F | 0x80)
            zigzag >>= 7
        out.append(zigzag)
    return base64.b64encode(out).decode()


def sample_ids(ids: Any) -> list[int]:
    """Return the ids of samples as integers of 64 bits."""
    if ids is None:
        return []
    if isinstance(ids, str | bytes):
        return [_hashed(ids)]
    if isinstance(ids, int):
        return [_whole(ids)]
    if isinstance(ids, list | tuple | range):
        if all(isinstance(value, int) for value in ids):
            return [_whole(value) for value in ids]
        return [value for part in ids for value in sample_ids(part)]
    array = _as_array(ids)
    if array.ndim == 0:
        array = array.reshape(1)
    if array.ndim == 1 and array.dtype.kind in "iu":
        return [_whole(value) for value in array.tolist()]
    if array.ndim == 1 and array.dtype.kind in "USO":
        return sample_ids(array.tolist())
    return [_hashed(row.tobytes()) for row in array]


def _whole(value: int) -> int:
    """Return an integer modulo 2^64, with a sign."""
    value = int(value) & _MASK
    return value - (1 << 64) if value >> 63 else value


def _hashed(value: str | bytes) -> int:
    """Return the id of a text or of the bytes of a row."""
    data = value.encode() if isinstance(value, str) else value
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "little") >> 1


def _as_array(value: Any) -> Any:
    """Return an array, tensor or scalar as an array of numpy."""
    import numpy as np

    from bivouac import _tree

    if isinstance(value, np.ndarray):
        return value
    if _tree.is_torch_tensor(value) or _tree.is_jax_array(value):
        flat = _Whole()
        flat.flatten(value)
        return flat.copies[0][1]
    return np.asarray(value)


def digest(tree: Any) -> str:
    """Return the digest of a tree in 64 hexadecimal digits, as Digest of package record does."""
    flat = _Whole()
    node = flat.flatten(_states(tree))
    arrays = iter(copy[1] for copy in flat.copies)
    leaves = sorted(_leaves(node, b"", arrays), key=lambda leaf: leaf[0])
    h = hashlib.sha256()
    for path, kind, shape, data in leaves:
        name = kind.encode()
        h.update(struct.pack("<I", len(path)) + path + struct.pack("<I", len(name)) + name)
        h.update(struct.pack(f"<I{len(shape)}QQ", len(shape), *shape, memoryview(data).nbytes))
        h.update(data)
    return h.hexdigest()


def _states(tree: Any) -> Any:
    """Return a tree with the states of modules, optimizers and loaders in their places."""
    state = getattr(tree, "state_dict", None)
    if callable(state) and not isinstance(tree, type):
        return state()
    if type(tree) is dict:
        return {key: _states(value) for key, value in tree.items()}
    if type(tree) in (list, tuple):
        return [_states(value) for value in tree]
    return tree


Leaf = tuple[bytes, str, list[int], Any]  # path, type, shape, bytes


def _leaves(node: Any, path: bytes, arrays: Iterator[Any]) -> list[Leaf]:
    """Return the leaves of a node. The arrays come in the order of the walk."""
    if node is None:
        return [(path, "none", [], b"")]
    if isinstance(node, bool):
        return [(path, "bool", [], bytes([node]))]
    if isinstance(node, int):
        return [(path, "int64", [], struct.pack("<q", node))]
    if isinstance(node, float):
        return [(path, "float64", [], struct.pack("<d", node))]
    if isinstance(node, str):
        return [(path, "string", [], node.encode())]
    tag = node[0]
    if tag == "u":
        return [(path, "uint64", [], struct.pack("<Q", int(node[1])))]
    if tag == "f":
        return [(path, "float64", [], struct.pack("<d", float(node[1])))]
    if tag == "a":
        return [(path, node[1], node[2], _bytes(next(arrays)))]
    if tag == "k":
        return [(path, f"key<{node[1]}>", node[2], _bytes(next(arrays)))]
    if tag == "m":
        parts = [(origin, _bytes(next(arrays))) for origin, _, _ in node[3]]
        joined = b"".join(bytes(part) for _, part in sorted(parts, key=lambda part: part[0]))
        return [(path, node[1], node[2], joined)]
    names = node[-2] if tag in "dn" else [str(i) for i in range(len(node[1]))]
    found: list[Leaf] = []
    for name, child in zip(names, node[-1]):
        key = name.encode()
        found += _leaves(child, path + struct.pack("<I", len(key)) + key, arrays)
    return found


def _bytes(array: Any) -> Any:
    """Return the elements of an array, in C order and little-endian."""
    import numpy as np

    array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return array.reshape(-1).view(np.uint8).data if array.size else b""


def _Whole() -> Any:
    """Return a Flattener that takes an array of several devices of this process as a whole."""
    import numpy as np

    from bivouac import _tree

    class Whole(_tree.Flattener):
        def _whole(self, array: Any, path: Any) -> Any:
            if array.is_fully_addressable:
                return self._array(np.asarray(array), path)
            return super()._whole(array, path)

    return Whole()


record = Recorder()
os.register_at_fork(after_in_child=record._renew)
