"""The example of a leaf handler, and the page that shows it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "python" / "leaf_handler.py"
PAGE = ROOT / "docs" / "guide" / "handlers.md"

pytestmark = [
    pytest.mark.usefixtures("sidecar"),
    pytest.mark.skipif(not EXAMPLE.is_file(), reason="the examples are not here"),
]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.M | re.S)


def test_the_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(EXAMPLE), str(tmp_path / "model")]
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout in blocks("text")


def test_the_page_shows_the_example() -> None:
    source = EXAMPLE.read_text()
    shown = blocks("python")
    assert len(shown) >= 2
    for block in shown:
        assert block in source, f"the example does not have:\n{block}"
