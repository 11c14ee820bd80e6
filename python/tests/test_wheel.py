"""Laws of the wheels. `make test-python` names their folder in BIVOUAC_DIST."""

from __future__ import annotations

import base64
import email
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import statistics
import struct
import subprocess
import sys
import tarfile
import time
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import bivouac

ROOT = Path(__file__).resolve().parents[2]
PLATFORMS = ["manylinux_2_17", "manylinux2014", "musllinux_1_1"]


def load(name: str) -> ModuleType:
    """Import a module of tools/wheel."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / "wheel" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def wheel() -> ModuleType:
    return load("wheel")


@pytest.fixture(scope="module")
def dist() -> Path:
    if "BIVOUAC_DIST" not in os.environ:
        pytest.skip("BIVOUAC_DIST names no folder with wheels: run make test-python")
    return Path(os.environ["BIVOUAC_DIST"])


@pytest.fixture(scope="module", params=["amd64", "arm64"])
def built(request: pytest.FixtureRequest, wheel: ModuleType, dist: Path) -> tuple[str, Path]:
    return request.param, dist / wheel.filename(request.param)


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel alone into a fresh environment, and return its folder."""
    home = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    python = str(home / "bin" / "python")
    pip(dist, "--python", python, "install", "--no-deps", "bivouac-ml")
    return home


def pip(dist: Path, *arguments: str) -> None:
    """Run pip on the wheels of dist, without a network."""
    quiet = ["--quiet", "--disable-pip-version-check"]
    options = ["--pre", "--no-index", "--find-links", str(dist)]
    subprocess.run([sys.executable, "-m", "pip", *quiet, *arguments, *options], check=True)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a figure, also where the test passes."""

    def show(text: str) -> None:
        with capsys.disabled():
            print(f"\n{text}", end=" ")

    return show


def output(*command: str | Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, env=env or {"PATH": ""}, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode()


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# The same command and client give the same bytes as the wheel in dist.
def test_second_build_has_the_same_bytes(
    built: tuple[str, Path], wheel: ModuleType, tmp_path: Path
) -> None:
    goarch, path = built
    with zipfile.ZipFile(path) as archive:
        (tmp_path / "command").write_bytes(archive.read(wheel.COMMAND))
    again = wheel.build(goarch, tmp_path / "out", tmp_path / "command")
    assert again.name == path.name
    assert sha256(again) == sha256(path)


# The source distribution holds all that a build needs, and the folder does not enter the wheel.
def test_build_from_the_source_distribution_has_the_same_bytes(
    wheel: ModuleType,
    dist: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    say: Callable[[str], None],
) -> None:
    if "GO" not in os.environ:
        pytest.skip("GO names no Go tool")
    monkeypatch.setenv("PATH", os.defpath)  # for git, which lists the files
    monkeypatch.setitem(sys.modules, "wheel", wheel)
    backend = load("backend")
    packed = [tmp_path / name / backend.build_sdist(str(tmp_path / name)) for name in two(tmp_path)]
    assert sha256(packed[0]) == sha256(packed[1])
    say(f"source distribution: {packed[0].stat().st_size} bytes")
    with tarfile.open(packed[0]) as archive:
        archive.extractall(tmp_path)
    source = tmp_path / f"bivouac_ml-{wheel.version()}"
    call = f"import backend; print(backend.build_wheel({str(tmp_path)!r}))"
    env = {**os.environ, "PYTHONPATH": str(source / "tools" / "wheel")}
    name = output(sys.executable, "-c", call, env=env).strip()
    assert sha256(tmp_path / name) == sha256(dist / name)


def two(folder: Path) -> list[str]:
    names = ["one", "two"]
    for name in names:
        (folder / name).mkdir()
    return names


def test_record_has_the_digest_of_each_file(built: tuple[str, Path]) -> None:
    with zipfile.ZipFile(built[1]) as archive:
        names = archive.namelist()
        record = next(name for name in names if name.endswith(".dist-info/RECORD"))
        lines = [line.split(",") for line in archive.read(record).decode().splitlines()]
        assert [line[0] for line in lines] == names and names[-1] == record
        for name, digest, size in lines[:-1]:
            data = archive.read(name)
            want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={want}", str(len(data))), name
        assert lines[-1] == [record, "", ""]


def test_command_is_static_small_and_executable(
    built: tuple[str, Path], wheel: ModuleType, say: Callable[[str], None]
) -> None:
    goarch, path = built
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(wheel.COMMAND)
        wheel.check_command(archive.read(info), goarch)
    assert info.external_attr >> 16 == 0o100755
    say(f"{goarch}: command {info.file_size} bytes, wheel {path.stat().st_size} bytes")


def elf(machine: int, kind: int) -> bytes:
    """Return the head of a program with one segment."""
    head = bytearray(64)
    head[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<H", head, 18, machine)
    struct.pack_into("<Q", head, 32, 64)
    struct.pack_into("<HH", head, 54, 56, 1)
    return bytes(head) + struct.pack("<I", kind) + bytes(52)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (elf(62, 3), "static"),
        (elf(62, 2), "static"),
        (elf(183, 1), "machine"),
        (elf(62, 1)[:64], "cut off"),
        (elf(62, 1)[:20], "cut off"),
        (b"#!/bin/sh\n", "ELF"),
        (b"", "ELF"),
        (elf(62, 1) + bytes(36_000_000), "at most"),
        (elf(62, 1), None),
    ],
)
def test_unfit_commands_are_refused(wheel: ModuleType, data: bytes, text: str | None) -> None:
    if text is None:
        wheel.check_command(data, "amd64")
        return
    with pytest.raises(wheel.Refused, match=text):
        wheel.check_command(data, "amd64")


@pytest.mark.parametrize("text", ["", '__version__ = "1.0-rc1"\n', '__version__ = "1.0+g12"\n'])
def test_versions_that_pypi_refuses_are_refused(
    wheel: ModuleType, text: str, tmp_path: Path
) -> None:
    (tmp_path / "python" / "bivouac").mkdir(parents=True)
    (tmp_path / "python" / "bivouac" / "__init__.py").write_text(text)
    with pytest.raises(wheel.Refused, match="PEP 440"):
        wheel.version(tmp_path)


def test_missing_go_is_named(wheel: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GO", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(wheel.Refused, match="found no Go.*go.dev.*wheel"):
        wheel.build_command("amd64", Path("unused"))


def test_metadata(built: tuple[str, Path], wheel: ModuleType) -> None:
    with zipfile.ZipFile(built[1]) as archive:
        folder = f"bivouac_ml-{wheel.version()}.dist-info"
        metadata = email.message_from_bytes(archive.read(f"{folder}/METADATA"))
        tags = email.message_from_bytes(archive.read(f"{folder}/WHEEL")).get_all("Tag")
        licences = {name: archive.read(f"{folder}/licenses/{name}") for name in wheel.LICENCES}
    assert metadata["Requires-Python"] == ">=3.10"
    assert [re.split("[<>=]", r)[0] for r in metadata.get_all("Requires-Dist", [])] == ["numpy"]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == list(licences)
    assert "# Bivouac for Python" in str(metadata.get_payload())
    machine = {"amd64": "x86_64", "arm64": "aarch64"}[built[0]]
    assert tags == [f"py3-none-{p}_{machine}" for p in PLATFORMS]
    assert all(licences.values())


# pip takes the wheel on each system that its tags name. It asks no index.
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("system", PLATFORMS)
def test_pip_takes_the_wheel(dist: Path, system: str, machine: str, tmp_path: Path) -> None:
    options = ["--no-deps", "--only-binary=:all:", "--python-version=3.10"]
    target = [f"--platform={system}_{machine}", "--dest", str(tmp_path)]
    pip(dist, "download", *options, *target, "bivouac-ml")
    (taken,) = tmp_path.iterdir()
    assert taken.name.endswith(f"_{machine}.whl")


def test_installed_command_runs_without_a_path(installed: Path, wheel: ModuleType) -> None:
    want = f"bivouac {wheel.version()} ("
    scripts = installed / "bin"
    assert output(scripts / "bivouac", "version").startswith(want)
    assert output(scripts / "python", "-m", "bivouac", "version").startswith(want)


# The licences of each module that the command links are in the wheel.
def test_licences_of_all_modules_are_inside(installed: Path) -> None:
    modules: list[dict[str, Any]] = json.loads(
        output(installed / "bin" / "bivouac", "version", "--licenses", "--json")
    )
    (folder,) = installed.glob("lib/python*/site-packages/bivouac_ml-*.dist-info/licenses")
    texts = (folder / "LICENSES-LINKED").read_text(encoding="utf-8")
    assert len(modules) > 5
    for module in modules:
        assert f"=== module {module['module']} " in texts
        for text in module["texts"]:
            assert text["text"].strip() in texts, (module["module"], text["name"])


# Exit statuses and signals are those of the command, because the script becomes it.
def test_script_becomes_the_command(installed: Path) -> None:
    script = installed / "bin" / "bivouac"
    missing = subprocess.run([script, "info", "/does/not/exist"], stderr=subprocess.DEVNULL)
    assert missing.returncode == 3
    broken = {"BIVOUAC_BINARY": "/does/not/exist"}
    done = subprocess.run([script, "version"], env=broken, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert b"want the Go command" in done.stderr


def test_tests_use_the_installed_wheel(dist: Path, wheel: ModuleType) -> None:
    assert Path(bivouac.__file__).is_relative_to(sys.prefix)
    assert importlib.metadata.version("bivouac-ml") == bivouac.__version__ == wheel.version()


# Without BIVOUAC_BINARY the client takes the command of its wheel.
def test_client_finds_its_command(dist: Path) -> None:
    code = "from bivouac import _process; print(_process.binary())"
    path = output(sys.executable, "-P", "-c", code).strip()
    assert path == str(Path(bivouac.__file__).parent / "bin" / "bivouac")
    assert os.access(path, os.X_OK)


def test_startup_time(installed: Path, say: Callable[[str], None]) -> None:
    (command,) = installed.glob("lib/python*/site-packages/bivouac/bin/bivouac")
    for name, path in {"command": command, "script": installed / "bin" / "bivouac"}.items():
        seconds = []
        for _ in range(20):
            start = time.perf_counter()
            output(path, "version")
            seconds.append(time.perf_counter() - start)
        median = statistics.median(seconds)
        say(f"bivouac version, {name}: median {median * 1e3:.1f} ms ({platform.machine()})")
        if name == "command":
            assert median < 0.2, "far from the 20 ms that it takes on a quiet machine"
