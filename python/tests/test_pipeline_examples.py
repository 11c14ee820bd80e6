"""The pipelines of DALI's examples make what DALI made, with only the import changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import example_scenes

RECORDED = Path(__file__).with_name("example_recorded.json")

NEAR = {
    # The sums of a spectrum are rounded in another order. Its values here are up to 4.
    ("audio", 0): (4e-6, 1.0),
    # The transform of motion JPEG rounds in another way: so do 2 % of the elements, by 1 of 255.
    ("video", 0): (1.0, 0.03),
}
"""How far elements of an output may be from DALI's, and how many of them. Others are equal."""

pytestmark = [
    pytest.mark.usefixtures("sidecar"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.skipif(not example_scenes.INPUTS.is_dir(), reason="the inputs are not here"),
]


def compare(got: Any, want: Any, near: tuple[float, float] | None) -> None:
    """Compare two samples."""
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if near is None:
        assert np.array_equal(got, want), np.abs(got.astype(float) - want.astype(float)).max()
        return
    apart = got.astype(np.float64) - want
    assert np.abs(apart).max(initial=0.0) <= near[0]
    assert (apart != 0).mean() <= near[1]
    if near[1] == 1.0:
        assert abs(apart.mean()) <= near[0] / 10, "the differences lean to one side"


@pytest.mark.parametrize("name", sorted(example_scenes.SCENES))
def test_batches_are_those_of_dali(name: str, tmp_path: Path) -> None:
    if name == "video" and shutil.which("ffmpeg") is None:
        pytest.skip("ffmpeg is not installed")
    recorded = json.loads(RECORDED.read_text())[name]
    made = example_scenes.run(name, "bivouac", tmp_path)
    assert len(made) == len(recorded) > 0
    for got, want in zip(made, recorded):
        assert [layout for layout, _ in got] == [layout for layout, _ in want]
        assert [len(samples) for _, samples in got] == [len(samples) for _, samples in want]
        for number, ((_, samples), (_, wanted)) in enumerate(zip(got, want)):
            for sample, recorded_sample in zip(samples, wanted):
                decoded = example_scenes.decoded(recorded_sample)
                compare(sample, decoded, NEAR.get((name, number)))


def test_every_scene_is_recorded() -> None:
    assert set(json.loads(RECORDED.read_text())) == set(example_scenes.SCENES)
