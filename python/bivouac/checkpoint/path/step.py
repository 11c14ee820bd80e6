"""Names of steps: how the number of a step is spelled as the name of its directory."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Union, runtime_checkable

from bivouac import _url, errors

if TYPE_CHECKING:
    from bivouac.checkpoint.training._metadata import CheckpointMetadata

__all__ = ["NameFormat", "composite_name_format", "standard_name_format"]

_STAGING = ".orbax-checkpoint-tmp"


@runtime_checkable
class NameFormat(Protocol):
    """A NameFormat spells steps as names of directories, and finds them."""

    def build_name(self, step: int) -> str:
        """Return the name of the directory of a step."""
        ...

    def find_all(
        self, base_path: Union[str, os.PathLike[str]]
    ) -> Iterator[CheckpointMetadata[Any]]:
        """Yield the committed steps of a directory, ascending."""
        ...

    def find_step(
        self, base_path: Union[str, os.PathLike[str]], step: int
    ) -> CheckpointMetadata[Any]:
        """Return the step of that number, or raise ValueError."""
        ...


class _Standard:
    """Names such as 23, 0023, step_23 and step_0023."""

    def __init__(self, prefix: str | None, length: int | None) -> None:
        self.prefix = prefix
        self.length = length

    def __repr__(self) -> str:
        return f"standard_name_format({self.build_name(1234)!r})"

    def build_name(self, step: int) -> str:
        """Return the name of the directory of a step."""
        number = str(step) if self.length is None else f"{step:0{self.length}d}"
        return number if self.prefix is None else f"{self.prefix}_{number}"

    def parse(self, name: str) -> int | None:
        """Return the step that a name spells, or None."""
        if _STAGING in name:
            return None
        digits = name
        if self.prefix is not None:
            if not name.startswith(self.prefix + "_"):
                return None
            digits = name[len(self.prefix) + 1 :]
        if not digits.isascii() or not digits.isdigit():
            return None
        step = int(digits)
        return step if self.build_name(step) == name else None

    def find_all(
        self, base_path: Union[str, os.PathLike[str]]
    ) -> Iterator[CheckpointMetadata[Any]]:
        """Yield the committed steps of a directory, ascending."""
        base_path = _on_disk(base_path)
        found: dict[int, str] = {}
        for name in os.listdir(base_path):
            step = self.parse(name)
            if step is not None:
                found[step] = name
        for step in sorted(found):
            info = _info(pathlib.Path(base_path) / found[step], step)
            if info is not None:
                yield info

    def find_step(
        self, base_path: Union[str, os.PathLike[str]], step: int
    ) -> CheckpointMetadata[Any]:
        """Return the step of that number, or raise ValueError."""
        base_path = _on_disk(base_path)
        info = _info(pathlib.Path(base_path) / self.build_name(step), step)
        if info is None:
            raise ValueError(
                f"step {step}: want a directory {self.build_name(step)!r} below {base_path}"
            )
        return info

    def wire(self) -> dict[str, Any]:
        """Return the format as data for the server."""
        fields = {"prefix": self.prefix, "fixed_length": self.length}
        return {k: v for k, v in fields.items() if v is not None}


class _Composite:
    """Several formats of which one writes."""

    def __init__(self, write: NameFormat, read: Sequence[NameFormat]) -> None:
        self.write = write
        self.read = list(read)

    def __repr__(self) -> str:
        return f"composite_name_format({self.write!r}, {self.read!r})"

    def build_name(self, step: int) -> str:
        """Return the name of the directory of a step."""
        return self.write.build_name(step)

    def find_all(
        self, base_path: Union[str, os.PathLike[str]]
    ) -> Iterator[CheckpointMetadata[Any]]:
        """Yield the committed steps of a directory, ascending."""
        found: dict[int, CheckpointMetadata[Any]] = {}
        for f in self.read:
            for info in f.find_all(base_path):
                found.setdefault(info.step, info)
        for step in sorted(found):
            yield found[step]

    def find_step(
        self, base_path: Union[str, os.PathLike[str]], step: int
    ) -> CheckpointMetadata[Any]:
        """Return the step of that number, or raise ValueError."""
        for f in self.read:
            try:
                return f.find_step(base_path, step)
            except ValueError:
                continue
        raise ValueError(
            f"step {step}: want a directory of it below {base_path}, in one of {self.read}"
        )

    def wire(self) -> dict[str, Any] | None:
        """Return the format as data for the server; None if a format is not standard."""
        if not isinstance(self.write, _Standard):
            return None
        read = [f.wire() for f in self.read if isinstance(f, _Standard)]
        return {**self.write.wire(), "read": read} if len(read) == len(self.read) else None


def standard_name_format(
    *,
    step_prefix: str | None = None,
    step_format_fixed_length: int | None = None,
    single_host_load_and_broadcast: bool = False,
) -> NameFormat:
    """Return the format of names such as 23, 0023, step_23 and step_0023.

    Args:
      step_prefix: text before the number, with an underscore between; None for no prefix.
      step_format_fixed_length: number of digits, filled with zeros, 0 to 19; None does not fill.
      single_host_load_and_broadcast: has no effect; each process lists the steps itself.

    Raises:
      ValueError: the length is out of range, or the prefix cannot be part of a directory's name.
    """
    del single_host_load_and_broadcast
    length = step_format_fixed_length
    if length is not None and not 0 <= length <= 19:
        raise ValueError(f"step_format_fixed_length: want 0 to 19, got {length}")
    if step_prefix is not None and (
        any(c in step_prefix for c in "/\\\0") or _STAGING in step_prefix
    ):
        raise ValueError(f"step_prefix: want a name without separators, got {step_prefix!r}")
    return _Standard(step_prefix, length)


def composite_name_format(
    write_name_format: NameFormat, read_name_formats: Sequence[NameFormat]
) -> NameFormat:
    """Return a format that writes one format and reads several.

    Args:
      write_name_format: the format of new steps.
      read_name_formats: the formats of steps that are read. If a step has two names, the format
        that comes first counts.

    Raises:
      ValueError: the format that writes is not among the formats that read.
    """
    if not any(f is write_name_format for f in read_name_formats):
        raise ValueError(
            f"composite_name_format: want {write_name_format!r} among the formats that read,"
            f" got {list(read_name_formats)!r}"
        )
    return _Composite(write_name_format, read_name_formats)


def _on_disk(path: Union[str, os.PathLike[str]]) -> str:
    """Return the path of a directory, or raise Unsupported for the URL of a bucket."""
    if not _url.is_url(path):
        return os.fspath(path)
    text = _url.absolute(path)
    if _url.is_url(text):
        raise errors.Unsupported(
            op="NameFormat",
            want="a directory of a disk",
            got="the URL of a bucket",
            remedy="Checkpointer(url, step_name_format=…).checkpoints lists its steps",
        )
    return text


def _info(path: pathlib.Path, step: int) -> CheckpointMetadata[Any] | None:
    from bivouac.checkpoint.training._metadata import CheckpointMetadata

    if not path.is_dir():
        return None
    return CheckpointMetadata(
        step, path, metadata=None, commit_timestamp_nsecs=path.stat().st_mtime_ns
    )
