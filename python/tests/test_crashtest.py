"""`bivouac crashtest` on the loops of examples/python: it finds what they are known to lose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parents[1]
EXAMPLES = SOURCE.parent / "examples" / "python"


@pytest.fixture(autouse=True)
def _needs(sidecar: None) -> None:
    if not EXAMPLES.is_dir():
        pytest.skip("no examples: this is not a clone of the repository")


def crashtest(tmp_path: Path, example: str, *args: str, kills: int = 2) -> tuple[int, Any]:
    """Return the exit status and the report of a crash test of an example."""
    from bivouac import _cli

    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    env.pop("PYTHONSAFEPATH", None)  # examples import from the file beside them
    command = [_cli.command(), "crashtest", "--json", "--kills", str(kills), "--dir", str(tmp_path)]
    job = [sys.executable, str(EXAMPLES / example), "{dir}", *args]
    done = subprocess.run(
        [*command, "--", *job],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        timeout=300,
    )
    assert not list(tmp_path.iterdir()), "directories are left"
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_loop_of_bivouac_loses_nothing(tmp_path: Path) -> None:
    status, report = crashtest(tmp_path, "bivouac_numpy.py", kills=4)
    assert status == 0 and report["failures"] is None
    findings = report["findings"]
    assert findings["samples"]["unbroken"] == findings["samples"]["killed"] == 120 * 16
    assert findings["losses"]["recorded"] and findings["losses"]["equal"]
    assert findings["weights"]["recorded"] and findings["weights"]["equal"]
    assert report["places"] == "steps" and report["restarts"] == len(report["kills"]) > 0


def test_an_elastic_loop_loses_nothing_with_other_workers(tmp_path: Path) -> None:
    status, report = crashtest(tmp_path, "elastic_loop.py", "--vary", kills=3)
    assert status == 0, report["failures"]
    findings = report["findings"]
    assert findings["samples"]["unbroken"] == findings["samples"]["killed"] == 4 * 256
    assert findings["weights"]["recorded"] and findings["weights"]["equal"]


@pytest.mark.torch
def test_a_plain_loop_repeats_what_its_epoch_had_before_the_checkpoint(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    status, report = crashtest(tmp_path, "plain_torch.py", kills=3)
    assert status == 4
    samples = report["findings"]["samples"]
    # An epoch is 32 steps of 8 samples. Each start that resumes after step r of the history
    # trains again on the samples of its epoch up to r, and ends no sooner.
    assert samples["lost"] == 0 and samples["repeated"] > 0
    assert samples["repeated"] == samples["killed"] - samples["unbroken"]
    assert samples["repeated"] % 8 == 0
    assert not report["findings"]["weights"]["equal"]
    assert report["again"]["samples"] == {**report["again"]["samples"], "lost": 0, "repeated": 0}


@pytest.mark.torch
def test_torchdata_resumes_with_the_same_workers(tmp_path: Path) -> None:
    pytest.importorskip("torchdata.stateful_dataloader")
    status, report = crashtest(tmp_path, "torchdata_loop.py", "--workers", "1")
    assert status == 0, report["failures"]


@pytest.mark.torch
def test_torchdata_refuses_another_number_of_workers(tmp_path: Path) -> None:
    pytest.importorskip("torchdata.stateful_dataloader")
    args = ("--workers", "1", "--workers-after", "2")
    status, report = crashtest(tmp_path, "torchdata_loop.py", *args)
    assert status == 4 and "_num_workers" in report["stopped"]
    assert report["failures"][0].startswith("the job does not survive its kills: start ")


@pytest.mark.torch
def test_torchdata_loses_samples_if_its_epoch_begins_again(tmp_path: Path) -> None:
    pytest.importorskip("torchdata.stateful_dataloader")
    args = ("--workers", "1", "--workers-after", "2", "--begin-again")
    status, report = crashtest(tmp_path, "torchdata_loop.py", *args)
    samples = report["findings"]["samples"]
    assert status == 4 and samples["repeated"] > 0
    # The number of steps is fixed, so as many samples as are repeated are not reached.
    assert samples["lost"] == samples["repeated"] and samples["unbroken"] == samples["killed"]


def test_a_loop_of_orbax_loses_nothing_with_its_position(tmp_path: Path) -> None:
    pytest.importorskip("orbax.checkpoint")
    status, report = crashtest(tmp_path, "orbax_loop.py")
    assert status == 0, report["failures"]


def test_a_loop_of_orbax_without_position_repeats_samples(tmp_path: Path) -> None:
    pytest.importorskip("orbax.checkpoint")
    status, report = crashtest(tmp_path, "orbax_loop.py", "--no-position")
    samples = report["findings"]["samples"]
    assert status == 4 and samples["lost"] == samples["repeated"] > 0
