"""What a Loader reads: the text of a data.yaml, or a pipeline."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bivouac import _url, errors
from bivouac._pipeline.pipeline import Pipeline

__all__ = ["Text", "read"]

_VARIABLE = re.compile(r"\benv\s+([A-Za-z_][A-Za-z0-9_]*)")


@dataclasses.dataclass(frozen=True)
class Text:
    """The text of a data.yaml.

    Attributes:
      name: stands for the text in errors.
      base: the directory to which paths are relative.
    """

    text: str
    name: str
    base: str

    def environment(self) -> dict[str, str]:
        """Return the variables that the text may ask for, as this process has them."""
        names = set(_VARIABLE.findall(self.text))
        return {name: os.environ[name] for name in sorted(names) if name in os.environ}


def read(definition: Any, base: Any) -> Text | Pipeline:
    """Return the text or the pipeline of a definition."""
    if isinstance(definition, Pipeline):
        return definition
    if isinstance(definition, Mapping):
        return Text(_written(definition), "definition", _directory(base, "."))
    if isinstance(definition, str) and ("\n" in definition or ": " in definition):
        return Text(definition, "definition", _directory(base, "."))
    if isinstance(definition, (bytes, bytearray, memoryview)):
        return _serialized(bytes(definition), "bytes")
    if isinstance(definition, (str, os.PathLike)):
        return _file(os.fspath(definition), base)
    raise errors.Invalid(
        op="bivouac.Loader",
        subject="definition",
        want="the path, text or dictionary of a data.yaml, a Pipeline, or serialized bytes",
        got=f"type {type(definition).__name__}",
    )


def _directory(base: Any, otherwise: str) -> str:
    place = os.fspath(otherwise if base is None else base)
    return place if _url.is_url(place) else os.path.abspath(place)


def _file(path: str, base: Any) -> Text | Pipeline:
    if path.lower().endswith((".yaml", ".yml")):
        try:
            text = Path(path).read_text("utf-8")
        except FileNotFoundError as err:
            raise errors.NotFound(op="bivouac.Loader", subject=path, want="a data.yaml") from err
        except UnicodeDecodeError as err:
            raise errors.Invalid(
                op="bivouac.Loader", subject=path, want="YAML, in UTF-8", got="other bytes"
            ) from err
        return Text(text, path, _directory(base, os.path.dirname(path) or "."))
    try:
        data = Path(path).read_bytes()
    except (FileNotFoundError, IsADirectoryError) as err:
        raise errors.NotFound(
            op="bivouac.Loader",
            subject=path,
            want="a data.yaml, or a file with a serialized pipeline",
            got="a directory" if isinstance(err, IsADirectoryError) else "no file",
            remedy='a directory of data is {"path": DIRECTORY, "batch_size": N}',
        ) from err
    return _serialized(data, path)


def _serialized(data: bytes, name: str) -> Pipeline:
    try:
        return Pipeline.deserialize(data, enable_checkpointing=True)
    except errors.BivouacError as err:
        err.add_note(f"bivouac.Loader: {name}: want a pipeline that serialize() has written")
        raise


def _written(definition: Mapping[str, Any]) -> str:
    """Return a dictionary as YAML."""

    def plain(value: Any) -> Any:
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, Mapping):
            return dict(value)
        if hasattr(value, "tolist"):  # numbers and arrays of numpy
            return value.tolist()
        raise errors.Invalid(
            op="bivouac.Loader",
            subject="definition",
            want="dictionaries, lists, texts, numbers and booleans",
            got=f"a value of type {type(value).__name__}",
        )

    return json.dumps(dict(definition), indent=1, default=plain, allow_nan=False)
