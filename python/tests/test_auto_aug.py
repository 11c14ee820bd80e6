"""Automatic augmentation: graphs and batches are those of DALI, and wrong arguments are errors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
import pipeline_augment
from bivouac import errors, fn, pipeline_def, types
from bivouac.auto_aug import augmentations as a
from bivouac.auto_aug import auto_augment, core, rand_augment, trivial_augment

RECORDED: dict[str, Any] = json.loads(
    Path(__file__).with_name("pipeline_augment.json").read_text()
)
CASES = pipeline_augment.cases()

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.usefixtures("sidecar")
@pytest.mark.parametrize("name", sorted(CASES))
def test_graphs_and_batches_of_dali(name: str) -> None:
    """The serialized pipeline and two batches are those of DALI 2.4.0, byte by byte."""
    graph, batches = pipeline_augment.results(bivouac, CASES[name])
    assert [graph, batches] == RECORDED["results"][name]


def test_each_case_is_recorded() -> None:
    assert sorted(RECORDED["results"]) == sorted(CASES)


def test_signatures_suites_and_policies_of_dali() -> None:
    assert pipeline_augment.signatures(bivouac) == RECORDED["signatures"]


def test_mistakes_are_errors_as_in_dali() -> None:
    refused = pipeline_augment.refused(bivouac)
    assert sorted(name for name, err in refused.items() if err) == RECORDED["refused"]
    for name, err in refused.items():
        kind = err.split(":")[0]
        if name not in ("unknown setting", "two batches"):
            assert kind in ("Invalid", "WrongType", "WrongValue"), f"{name}: {err}"
    for name, says in {
        "rand excluded": r"did you mean 'rotate'\?",
        "rand no shape": "fn.peek_image_shape",
        "rand rel": "max_translate_rel: .*without shapes, got 0.5",
        "rand no warps": "arguments fill_value, interp_type: .*leave them out",
        "auto name": r"did you mean 'image_net'\?",
        "policy bin": "bin of function: .*from 0 to 2, got 3",
        "policy function": "with @augmentation",
        "ragged": r"float64 of shape \(1,\), as for 1.0, got float64 of shape \(2,\)",
    }.items():
        assert re.search(says, refused[name]), refused[name]


def source() -> list[Any]:
    return [pipeline_augment.image(k, 0) for k in range(4)]


def augmented(define: Any, **settings: Any) -> Any:
    settings = {"batch_size": 4, "num_threads": 1, "seed": 3, **settings}
    made: Any = pipeline_def(**{"enable_conditionals": True, **settings})
    return made(define)()


def data() -> Any:
    return fn.external_source(source, layout="HWC", dtype=types.UINT8)


def test_conditionals_are_needed() -> None:
    with pytest.raises(TypeError, match="enable_conditionals=True of pipeline_def"):
        augmented(lambda: rand_augment.rand_augment(data(), 1, 3), enable_conditionals=False)


def test_warnings() -> None:
    def nothing() -> Any:
        return rand_augment.rand_augment(data(), 0, 3)

    def unsigned() -> Any:
        return a.rotate(data(), magnitude_bin=2, num_magnitude_bins=5)

    with pytest.warns(UserWarning, match="n is 0"):
        augmented(nothing)
    with pytest.warns(UserWarning, match="rotate: the signs .* call signed_bin"):
        augmented(unsigned)
    with pytest.warns(UserWarning, match="invert has the probability 0"):
        core.Policy("own", 3, [[(a.invert, 0, None)]])
    with pytest.warns(UserWarning, match="invert has no magnitudes and ignores the bin 1"):
        core.Policy("own", 3, [[(a.invert, 1, 1)]])


def test_names_of_a_policy_are_unique() -> None:
    first, second = a.rotate.augmentation((0, 1)), a.rotate.augmentation((0, 2))
    policy = core.Policy("own", 3, [[(first, 1, 1), (a.invert, 1, None)], [(second, 0.5, 2)]])
    assert list(policy.augmentations) == ["0__rotate", "1__invert", "2__rotate"]
    assert "sub_policies=[\n\t[('0__rotate', 1, 1), ('1__invert', 1, None)],\n\t" in repr(policy)
    assert repr(core.Policy("none", 1, [])).endswith("sub_policies=[], augmentations={})")


def test_settings_of_an_augmentation() -> None:
    @core.augmentation(mag_range=(0, 4), randomly_negate=True)
    def added(batch: Any, number: Any) -> Any:
        return batch + number

    other = added.augmentation(mag_range=None, name="plain")
    assert (added.name, added.mag_range, added.randomly_negate) == ("added", (0, 4), True)
    assert (other.name, other.mag_range, other.randomly_negate) == ("plain", None, True)
    assert (other.op, other.param_device) == (added.op, "cpu")
    assert repr(other).endswith(", randomly_negate=True, name='plain')")

    class Mine(core._Augmentation):
        pass

    assert type(added.augmentation(augmentation_cls=Mine).augmentation(name="x")) is Mine
    assert isinstance(core.augmentation(augmentation_cls=Mine)(added.op), Mine)


@pytest.mark.usefixtures("sidecar")
def test_a_lambda_and_a_suite_of_one() -> None:
    """Functions that are not rewritten may call the functions of augmentation."""
    suite = [a.invert]
    pipe = augmented(
        lambda: trivial_augment.apply_trivial_augment(suite, data(), num_magnitude_bins=2)
    )
    for got, image in zip(pipe.run()[0], source()):
        assert np.array_equal(np.array(got), 255 - image)
    assert len(augmented(lambda: rand_augment.rand_augment(data(), 2, 3)).run()[0]) == 4


@pytest.mark.usefixtures("sidecar")
def test_branches_and_state() -> None:
    """Augmentation may be in a branch, and a pipeline goes on from its checkpoint."""

    def define() -> Any:
        images = data()
        if fn.random.coin_flip(dtype=types.BOOL):
            images = auto_augment.auto_augment(images, "svhn")
        return images

    first = augmented(define, enable_checkpointing=True)
    first.run()
    state = first.checkpoint()
    wanted = [np.array(sample) for sample in first.run()[0]]
    second = augmented(define, enable_checkpointing=True, checkpoint=state)
    for got, want in zip(second.run()[0], wanted):
        assert np.array_equal(np.array(got), want)


def test_posterize_and_solarize_add() -> None:
    kept = [int(a.poster_mask_uint8(np.float32(m))) for m in (0, 0.4, 1, 2.6, 7, 8, 9, -3, -0.2)]
    assert kept == [128, 128, 128, 224, 254, 255, 255, 255, 128]
    with pytest.raises(errors.Invalid, match="less than 128, got 128"):
        a.solarize_add_shift(128)
