#!/usr/bin/env python3
"""Build the wheels of Bivouac: the Python client and the static Go command in one file.

Usage: wheel.py [--out DIR] [--binary FILE] [--place] [amd64] [arm64]

Each architecture that is named gives one wheel in DIR. Without --binary the command is built, which
needs Go. --place puts the command of this machine into python/bivouac/bin, for use of the client
from the source tree.

The same source, Go and Python give the same bytes. Another Python may compress differently, because
its zlib differs; the files inside are the same. GO names the Go tool if it is not on the PATH.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

# What pip installs: PyPI has another project called bivouac. Python imports bivouac.
NAME = "bivouac-ml"
FILE = NAME.replace("-", "_")  # as names of files begin
ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("python", "bivouac")
COMMAND = "bivouac/bin/bivouac"  # in a wheel
LIMIT = 30_000_000  # bytes of the command

# Packages whose functions run seldom. The compiler puts no function of others into theirs, which
# takes 0.6 MB less.
OURS = "github.com/bivouac-ml/bivouac"
RARE = (
    f"{OURS}/cmd/...", f"{OURS}/compat/...", f"{OURS}/examples/...",
    f"{OURS}/checkpoint/options", f"{OURS}/checkpoint/surgery", f"{OURS}/checkpoint/training",
    f"{OURS}/checkpoint/training/journaling", f"{OURS}/checkpoint/transfer",
    f"{OURS}/internal/chart", f"{OURS}/journal/tensorboard", f"{OURS}/loader/dataset",
    f"{OURS}/pipeline/recipe", OURS,
    f"{OURS}/recipes", f"{OURS}/store/object/s3",
    "github.com/aws/...", "github.com/spf13/...", "github.com/vbauerster/...", "go.yaml.in/...",
    f"{OURS}/checkpoint/integrity", f"{OURS}/checkpoint/diff", f"{OURS}/journal",
    f"{OURS}/store/object", f"{OURS}/store/object/internal/web", f"{OURS}/format/pickle",
    f"{OURS}/format/pt", f"{OURS}/format/dcp", f"{OURS}/format/flax", f"{OURS}/format/fits",
    f"{OURS}/format/coco", f"{OURS}/format/caffe", f"{OURS}/format/nemo", f"{OURS}/format/tarball",
    f"{OURS}/checkpoint/partial", f"{OURS}/checkpoint/handler", f"{OURS}/checkpoint/internal/crew",
    f"{OURS}/checkpoint/internal/plan", f"{OURS}/checkpoint/internal/locate",
    f"{OURS}/checkpoint/internal/parity", f"{OURS}/checkpoint/internal/parts",
    f"{OURS}/checkpoint/internal/pending", f"{OURS}/checkpoint/internal/saving",
    f"{OURS}/checkpoint/internal/scrub", f"{OURS}/checkpoint/internal/orbax",
    f"{OURS}/checkpoint/internal/manifest", f"{OURS}/loader/internal/config",
    f"{OURS}/loader/timeline", f"{OURS}/pipeline/graph", f"{OURS}/store/local",
    f"{OURS}/telemetry", "math/big", "net/netip", "net/textproto", "os/exec", "regexp",
    "crypto/tls", "crypto/x509", "encoding/asn1", "encoding/xml", "log/slog", "net", "net/http",
    "net/url", "regexp/syntax", "text/tabwriter", "time", "mime/...",
)  # fmt: skip

# zip holds no earlier time. All files get the same one, so that a second build has the same bytes.
TIME = (1980, 1, 1, 0, 0, 0)


class Arch(NamedTuple):
    """What an architecture is called by ELF and by tags of wheels."""

    machine: int
    name: str

    def tags(self) -> list[str]:
        """Return the platforms. A static command runs with glibc and with musl alike."""
        systems = ("manylinux_2_17", "manylinux2014", "musllinux_1_1")
        return [f"{system}_{self.name}" for system in systems]


ARCHES = {"amd64": Arch(62, "x86_64"), "arm64": Arch(183, "aarch64")}

# A public version of PEP 440 in its normal form. A local part ("+…") is refused: PyPI takes none.
PEP440 = r"(\d+!)?\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?"

METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: Training data and checkpoints that resume exactly, compatible with Orbax
Author: The Bivouac Authors
License-Expression: Apache-2.0
License-File: LICENSE
License-File: NOTICE
License-File: LICENSES-LINKED
Keywords: checkpoint,orbax,jax,pytorch,data-loading,training
Project-URL: Source, https://github.com/bivouac-ml/bivouac
Project-URL: Changelog, https://github.com/bivouac-ml/bivouac/blob/main/CHANGELOG.md
Classifier: Development Status :: 4 - Beta
Classifier: Intended Audience :: Developers
Classifier: Intended Audience :: Science/Research
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Go
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: Python :: 3 :: Only
Classifier: Programming Language :: Python :: 3.10
Classifier: Programming Language :: Python :: 3.11
Classifier: Programming Language :: Python :: 3.12
Classifier: Programming Language :: Python :: 3.13
Classifier: Programming Language :: Python :: 3.14
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Classifier: Typing :: Typed
Requires-Python: >=3.10
Requires-Dist: numpy>=1.23
Description-Content-Type: text/markdown

"""

# What dist-info/licenses holds, and where it comes from. The last one has the licences of all
# modules that the command links, which `bivouac version --licenses` prints.
LICENCES = {
    "LICENSE": "LICENSE",
    "NOTICE": "NOTICE",
    "LICENSES-LINKED": "cmd/bivouac/licences.txt.gz",
}


class Refused(Exception):
    """The wheel cannot be built; the text says why and what to do."""


class File(NamedTuple):
    """A file of a wheel."""

    data: bytes
    mode: int = 0o644


def version(root: Path = ROOT) -> str:
    """Return the version of the client, which is also the version of the command in its wheel."""
    source = root / PACKAGE / "__init__.py"
    found = re.search(r'^__version__ = "(.*)"$', source.read_text(), re.MULTILINE)
    if found is None or re.fullmatch(PEP440, found[1]) is None:
        got = "none" if found is None else repr(found[1])
        raise Refused(f"{source}: want __version__ as PEP 440 writes it, such as 1.2.0, got {got}")
    return found[1]


def host() -> str:
    """Return Go's name of this machine's architecture."""
    for goarch, arch in ARCHES.items():
        if sys.platform == "linux" and platform.machine() == arch.name:
            return goarch
    raise Refused(
        f"want Linux on x86_64 or aarch64, got {sys.platform} on {platform.machine()}: "
        "there is no side-car for other systems"
    )


def build_command(goarch: str, target: Path, root: Path = ROOT) -> None:
    """Build the static command. The caller's settings of Go must not change it."""
    go = os.environ.get("GO") or shutil.which("go")
    if not go:
        raise Refused(
            "want Go 1.26 to build the command, found no Go on the PATH "
            "(install it from https://go.dev/dl, or install a wheel that is already built)"
        )
    settings = {
        "CGO_ENABLED": "0", "GOOS": "linux", "GOARCH": goarch, "GOAMD64": "v1", "GOARM64": "v8.0",
        "GOEXPERIMENT": "", "GOFIPS140": "off", "GOWORK": "off",
        # Requests for objects need no HTTP/2, which takes 0.4 MB.
        "GOFLAGS": "-mod=readonly -buildvcs=false -tags=bivouac_wheel,nethttpomithttp2",
    }  # fmt: skip
    flags = f"-s -w -X main.version={version(root)}"
    rare = [f"-gcflags={package}=-l" for package in RARE]
    command = [go, "build", "-trimpath", *rare, "-ldflags", flags]
    command += ["-o", str(target), "./cmd/bivouac"]
    try:
        done = subprocess.run(command, cwd=root, env={**os.environ, **settings})
    except OSError as e:
        raise Refused(f"{go}: want the Go tool, got {e.strerror} (set GO or the PATH)") from e
    if done.returncode != 0:
        raise Refused("go build failed; its message is above (want Go 1.26, and its modules)")


def check_command(data: bytes, goarch: str) -> None:
    """Refuse a command that is too large, of another machine, or not static."""
    if len(data) > LIMIT:
        raise Refused(f"command: want at most {LIMIT} bytes, got {len(data)}")
    if data[:6] != b"\x7fELF\x02\x01":
        raise Refused("command: want a 64-bit little-endian ELF file, got something else")
    try:
        (machine,) = struct.unpack_from("<H", data, 18)
        (start,) = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        kinds = [struct.unpack_from("<I", data, start + i * size)[0] for i in range(count)]
    except struct.error as e:
        raise Refused("command: want a whole ELF file, got one that is cut off") from e
    if machine != ARCHES[goarch].machine:
        raise Refused(f"command: want ELF machine {ARCHES[goarch].machine}, got {machine}")
    if 2 in kinds or 3 in kinds:  # PT_DYNAMIC, PT_INTERP
        raise Refused("command: want a static program, got one that needs shared libraries")


def package_files(root: Path = ROOT) -> dict[str, File]:
    """Return the client: its modules, stubs, data of operators, and the mark that it has types."""
    files = {}
    for path in (root / PACKAGE).rglob("*"):
        if path.suffix in (".py", ".pyi") or path.name in ("py.typed", "operators.json"):
            files[path.relative_to(root / "python").as_posix()] = File(path.read_bytes())
    return files


def info_files(goarch: str, root: Path = ROOT) -> dict[str, File]:
    """Return the files of dist-info without RECORD."""
    folder = f"{FILE}-{version(root)}.dist-info/"
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in ARCHES[goarch].tags())
    page = (root / "python" / "README.md").read_text(encoding="utf-8")
    texts = {
        "METADATA": METADATA.format(name=NAME, version=version(root)) + page,
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: bivouac\nRoot-Is-Purelib: false\n{tags}",
        "entry_points.txt": "[console_scripts]\nbivouac = bivouac._cli:main\n",
    }
    files = {folder + name: File(text.encode()) for name, text in texts.items()}
    for name, source in LICENCES.items():
        data = (root / source).read_bytes()
        text = gzip.decompress(data) if source.endswith(".gz") else data
        files[f"{folder}licenses/{name}"] = File(text)
    return files


def write(target: Path, files: dict[str, File]) -> None:
    """Write a wheel with files and their RECORD, which is its last entry."""
    folder = next(name.partition("/")[0] for name in files if ".dist-info/" in name)
    names = sorted(files, key=lambda name: (name.startswith(folder), name))
    record = ""
    for name in names:
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name].data).digest()).rstrip(b"=")
        record += f"{name},sha256={digest.decode()},{len(files[name].data)}\n"
    record += f"{folder}/RECORD,,\n"
    files = {**files, f"{folder}/RECORD": File(record.encode())}
    with zipfile.ZipFile(target, "w") as archive:
        for name in [*names, f"{folder}/RECORD"]:
            entry = zipfile.ZipInfo(name, TIME)
            entry.create_system = 3  # Unix, whose modes external_attr has
            entry.external_attr = (0o100000 | files[name].mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name].data, compresslevel=9)


def filename(goarch: str, root: Path = ROOT) -> str:
    """Return the name of a wheel."""
    return f"{FILE}-{version(root)}-py3-none-{'.'.join(ARCHES[goarch].tags())}.whl"


def build(goarch: str, out: Path, binary: Path | None = None, root: Path = ROOT) -> Path:
    """Build the wheel of an architecture in out, and return its path."""
    with tempfile.TemporaryDirectory() as scratch:
        if binary is None:
            binary = Path(scratch, "bivouac")
            build_command(goarch, binary, root)
        command = binary.read_bytes()
    check_command(command, goarch)
    out.mkdir(parents=True, exist_ok=True)
    target = out / filename(goarch, root)
    files = {**package_files(root), COMMAND: File(command, 0o755), **info_files(goarch, root)}
    write(target, files)
    return target


def place(root: Path = ROOT) -> Path:
    """Put the command of this machine where the client finds it in the source tree."""
    target = root / "python" / COMMAND
    target.parent.mkdir(exist_ok=True)
    fresh = target.with_suffix(".new")  # a running command stays as it is
    build_command(host(), fresh, root)
    return fresh.replace(target)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Build the wheels of Bivouac.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the wheels")
    parser.add_argument("--binary", type=Path, help="the command, if it is already built")
    parser.add_argument("--place", action="store_true", help="fill python/bivouac/bin")
    parser.add_argument("arch", nargs="*", help="amd64, arm64")
    args = parser.parse_args()
    for goarch in args.arch:
        if goarch not in ARCHES:
            parser.error(f"want amd64 or arm64, got {goarch!r}")
    if args.place:
        print(place())
    for goarch in args.arch:
        target = build(goarch, args.out, args.binary)
        print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    try:
        main()
    except Refused as e:
        sys.exit(f"wheel: {e}")
