"""The build backend of `pip install .`: it needs Go and nothing from PyPI (PEP 517, PEP 660)."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import wheel

T = TypeVar("T")

# Folders that no build needs: at the root, and anywhere.
AT_ROOT = {"bench", "bin", "build", "demo", "dist", "docs", "proof"}
ANYWHERE = {"testdata", "__pycache__"}


def build_wheel(out: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """Build the wheel for this machine."""
    return refusing(lambda: wheel.build(wheel.host(), Path(out)).name)


def build_editable(out: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """Build a wheel that points to the source tree, and put the command into that tree."""

    def build() -> str:
        goarch = wheel.host()
        wheel.place()
        pointer = wheel.File(f"{wheel.ROOT / 'python'}\n".encode())
        files = {"__editable__.bivouac.pth": pointer, **wheel.info_files(goarch)}
        wheel.write(Path(out, wheel.filename(goarch)), files)
        return wheel.filename(goarch)

    return refusing(build)


def prepare_metadata_for_build_wheel(out: str, config_settings: Any = None) -> str:
    """Write the dist-info folder of the wheel, without building the command."""

    def prepare() -> str:
        files = wheel.info_files(wheel.host())
        for name, file in files.items():
            Path(out, name).parent.mkdir(parents=True, exist_ok=True)
            Path(out, name).write_bytes(file.data)
        return next(iter(files)).partition("/")[0]

    return refusing(prepare)


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_sdist(out: str, config_settings: Any = None) -> str:
    """Pack what a build needs: the client, the Go source without its tests, and the tools here."""

    def build() -> str:
        name = f"{wheel.FILE}-{wheel.version()}"
        target = Path(out, f"{name}.tar.gz")
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
            metadata = wheel.info_files("amd64")[f"{name}.dist-info/METADATA"].data
            add(archive, f"{name}/PKG-INFO", metadata, 0o644)
            for path in sorted(source_files()):
                executable = os.access(wheel.ROOT / path, os.X_OK)
                data = (wheel.ROOT / path).read_bytes()
                add(archive, f"{name}/{path}", data, 0o755 if executable else 0o644)
        target.write_bytes(gzip.compress(raw.getvalue(), mtime=0))
        return target.name

    return refusing(build)


def add(archive: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    """Add a file of no owner and a fixed time."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = len(data), mode, 315532800
    archive.addfile(entry, io.BytesIO(data))


def source_files() -> Iterator[str]:
    """Yield the files of the source, relative to its root: what git knows, or all files."""
    if (wheel.ROOT / ".git").exists() and shutil.which("git"):
        git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(git, cwd=wheel.ROOT, check=True, stdout=subprocess.PIPE).stdout
        names = set(listed.decode().split("\0"))
    else:
        found = (path for path in wheel.ROOT.rglob("*") if path.is_file())
        names = {path.relative_to(wheel.ROOT).as_posix() for path in found} - {"PKG-INFO"}
    for name in names:
        parts = name.split("/")
        if parts[0] in AT_ROOT or ANYWHERE.intersection(parts) or any(p[:1] == "." for p in parts):
            continue
        if parts[0] == "tools" and parts[1] != "wheel":
            continue
        if name.endswith("_test.go") or name == f"python/{wheel.COMMAND}":
            continue
        if (wheel.ROOT / name).is_file():
            yield name


def refusing(build: Callable[[], T]) -> T:
    """Call build. A refusal becomes one line instead of a traceback."""
    try:
        return build()
    except wheel.Refused as e:
        raise SystemExit(f"bivouac: {e}") from None
