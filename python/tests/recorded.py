"""The cases that DALI 2.4.0 recorded: where they are, and how their values are compared."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bivouac import errors

ROOT = Path(__file__).resolve().parents[2]

FOLDERS = [ROOT / "testdata" / "dali", ROOT.parent / "shared" / "vectors" / "dali"]
"""The folders with cases: the one of the repository, and the one with all cases."""


def sets() -> list[tuple[str, Path]]:
    """Return the folders that exist, each with the prefix of the names of its cases."""
    return [(p, f) for p, f in zip(("", "all-"), FOLDERS) if (f / "exec.json").is_file()]


def entries(name: str) -> Iterator[tuple[str, Path, Any]]:
    """Yield the members of a JSON file of each folder, with a prefix and the folder.

    What a second folder has as the first one is left out.
    """
    before: list[Any] = []
    for prefix, folder in sets():
        value = json.loads((folder / name).read_text())
        if value not in before:
            yield prefix, folder, value
        before.append(value)


def tree(root: Path, n: int, classes: int = 3) -> str:
    """Make the data set of n files: file i has the number i as text."""
    for i in range(n):
        folder = root / f"c{i * classes // n}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{i:05d}.jpg").write_text(str(i))
    return str(root)


def samples(output: Any) -> list[Any]:
    """Return the samples of an output as arrays."""
    return [np.asarray(output.at(i)) for i in range(len(output))]


def numbers(output: Any) -> list[int]:
    """Return the first number of each sample."""
    return [int(sample.reshape(-1)[0]) for sample in samples(output)]


_BY_TYPE = {
    "TypeError": {"invalid", "mismatch", "unsupported"},
    "ValueError": {"invalid", "mismatch", "already exists", "not found", "unsupported"},
    "IndexError": {"invalid", "mismatch", "not found"},
    "KeyError": {"invalid", "not found"},
    "NotImplementedError": {"invalid", "unsupported"},
}

_BY_MESSAGE = [
    (
        "failed to decode|nvImageCodec failure|can not read header|error parsing serialized|"
        "ParseFromArray|failed to open encoded data",
        {"corrupt", "unsupported"},
    ),
    ("file mapping failed|failed to open", {"not found"}),
    ("doesn't recognize|there's no checkpoint", {"mismatch"}),
    (
        "not supported|unsupported|invalid type|requires a CUDA|could not serialize|"
        "inputs_are_integral",
        {"unsupported", "invalid"},
    ),
]


def kinds(type_: str, message: str) -> set[str]:
    """Return the kinds of errors that stand for an exception of DALI.

    The type of most of its exceptions is RuntimeError. Their text says more.
    """
    if type_ in _BY_TYPE:
        return _BY_TYPE[type_]
    for pattern, found in _BY_MESSAGE:
        if re.search(pattern, message, re.IGNORECASE):
            return found
    return {"invalid", "mismatch"}


def check_error(err: BaseException, type_: str, message: str) -> None:
    """Check that an error is of the type that DALI raised, and of a kind that says the same."""
    assert type_ in [c.__name__ for c in type(err).__mro__], repr(err)
    if isinstance(err, errors.BivouacError):
        assert err.kind in kinds(type_, message), repr(err)
    else:
        assert type(err).__name__ == type_, repr(err)


_DALI_NAMES = {
    "float32": "FLOAT",
    "float16": "FLOAT16",
    "float64": "FLOAT64",
    "bool": "BOOL",
}


def tolerance(rules: list[Any], name: str, output: int, dtype: np.dtype[Any]) -> Any:
    """Return how closely an output of a graph has to be met: "exact", or bounds."""
    subject = {
        "graph": name,
        "output": output,
        "dtype": _DALI_NAMES.get(dtype.name, dtype.name.upper()),
    }
    for rule in rules:
        match = dict(rule["match"])
        if match.pop("section", None) != "graph":
            continue
        if all(subject[key] in allowed for key, allowed in match.items()):
            return rule["check"]
    raise KeyError(f"no rule for output {output} of {name}")


def check_sample(got: Any, want: Any, folder: Path, bounds: Any) -> None:
    """Check dtype, shape and values of a sample of a graph."""
    assert [got.dtype.name, list(got.shape)] == [want["dtype"], want["shape"]]
    if "f32" in want:
        words = np.array([int(word, 16) for word in want["f32"]], np.uint32)
        values = words.view(np.float32).reshape(got.shape)
    elif "data" in want:
        values = np.array(want["data"], got.dtype).reshape(got.shape)
    elif "npy" in want:
        values = np.load(folder / want["npy"])
    else:
        values = None
    if values is None or bounds == "exact":
        if values is not None:
            assert np.array_equal(got, values, equal_nan=got.dtype.kind == "f"), (got, values)
        if "sha256" in want:
            assert hashlib.sha256(got.tobytes()).hexdigest() == want["sha256"]
        return
    assert set(bounds) <= {"abs", "rel", "max_mismatch_fraction"}, bounds
    off = np.abs(got.astype(np.float64) - values.astype(np.float64))
    allowed = bounds.get("abs", 0) + bounds.get("rel", 0) * np.abs(values.astype(np.float64))
    assert (off <= allowed).all(), off.max()
    assert (off > 0).mean() <= bounds.get("max_mismatch_fraction", 1)
