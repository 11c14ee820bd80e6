"""Policies, names of steps and merged trees answer as Orbax 0.12.8 answered.

The cases are files of testdata/orbax-pure, which the real library wrote.
"""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bivouac.checkpoint import options, path, tree
from bivouac.checkpoint.training import CheckpointMetadata
from bivouac.checkpoint.training import preservation_policies as keep
from bivouac.checkpoint.training import save_decision_policies as decide

ROOT = Path(__file__).resolve().parents[2]
EPOCH = 1_000_000


def cases(name: str) -> list[Any]:
    """Return the cases of a file, of the whole set where it is there."""
    for folder in (ROOT / "shared" / "vectors" / "orbax-pure", ROOT / "testdata" / "orbax-pure"):
        if (folder / name).exists():
            found: list[Any] = json.loads((folder / name).read_text())
            return found
    pytest.skip(f"no file {name}")


def step(c: dict[str, Any]) -> CheckpointMetadata[None]:
    """Return the description of a checkpoint of a case."""
    return CheckpointMetadata(
        c["step"],
        Path(str(c["step"])),
        metadata=None,
        commit_timestamp_nsecs=int((EPOCH + c["seconds"]) * 1e9),
        metrics=c.get("metrics"),
    )


def preservation(spec: dict[str, Any]) -> keep.PreservationPolicy:
    """Return the policy that a case describes."""
    args = dict(spec["args"])
    if "policies" in args:
        args["policies"] = [preservation(s) for s in args["policies"]]
    if "metric" in args:
        metric = args.pop("metric")
        args["get_metric_fn"] = lambda metrics: metrics[metric]
    if "duration" in args:
        args["duration"] = datetime.timedelta(seconds=args["duration"])
    made: keep.PreservationPolicy = getattr(keep, spec["policy"])(**args)
    return made


def test_preservation_is_orbaxs() -> None:
    wrong = []
    for c in cases("policies.json"):
        checkpoints = [step(x) for x in c["checkpoints"]]
        try:
            got: Any = preservation(c["spec"]).should_preserve(
                checkpoints, context=keep.PreservationContext()
            )
            got = [bool(x) for x in got]
        except Exception as err:
            got = type(err).__name__
        if got != c.get("result", c.get("error")):
            wrong.append((c["spec"], got, c.get("result", c.get("error"))))
    assert not wrong, wrong[:5]


def test_save_decisions_are_orbaxs() -> None:
    wrong = []
    for c in cases("decisions.json"):
        context = decide.DecisionContext(
            is_saving_in_progress=c["is_saving_in_progress"],
            reached_preemption=c["reached_preemption"],
            multiprocessing_options=options.MultiprocessingOptions(),
        )
        try:
            policy = save_policy({"policy": c["policy"], "args": c["args"]})
            got: Any = bool(
                policy.should_save(step(c), [step(x) for x in c["previous"]], context=context)
            )
        except Exception as err:
            got = type(err).__name__
        if got != c.get("result", c.get("error")):
            wrong.append((c, got))
    assert not wrong, wrong[:5]


def save_policy(spec: dict[str, Any]) -> decide.SaveDecisionPolicy:
    """Return the policy that a case describes."""
    args = dict(spec["args"])
    if "policies" in args:
        args["policies"] = [save_policy(s) for s in args["policies"]]
    made: decide.SaveDecisionPolicy = getattr(decide, spec["policy"])(**args)
    return made


def test_names_of_steps_are_orbaxs(tmp_path: Path) -> None:
    wrong: list[tuple[Any, ...]] = []
    for i, c in enumerate(cases("names.json")):
        names = path.step.standard_name_format(**c["format"])
        base = tmp_path / str(i)
        base.mkdir()
        for name in c["directories"]:
            os.makedirs(base / name, exist_ok=True)
        found = [[x.step, x.path.name] for x in names.find_all(base)]
        if found != c["found"].get("result"):
            wrong.append((c["format"], c["directories"], found, c["found"]))
        if "result" in c["build"] and names.build_name(c["probe"]) != c["build"]["result"]:
            wrong.append((c["format"], c["probe"], names.build_name(c["probe"]), c["build"]))
        try:
            one: Any = names.find_step(base, c["probe"]).path.name
        except ValueError:
            one = None
        if one != c["find"].get("result"):
            wrong.append((c["format"], c["probe"], one, c["find"]))
    assert not wrong, wrong[:5]


def test_merged_trees_are_orbaxs() -> None:
    wrong = []
    for c in cases("merge.json"):
        try:
            got: Any = json.loads(json.dumps(tree.merge(*c["trees"], overwrite=c["overwrite"])))
        except Exception as err:
            got = type(err).__name__
        want = c.get("result", c.get("error"))
        if got != want:
            wrong.append((c["trees"], c["overwrite"], got, want))
    assert not wrong, (len(wrong), wrong[:4])


@pytest.mark.parametrize(
    "policy",
    [
        keep.LatestN(3),
        keep.LatestN(),
        keep.EveryNSteps(5, max_to_keep=2),
        keep.EveryNStepsClosest(7),
        keep.EveryNSeconds(60),
        keep.LatestDuration(datetime.timedelta(minutes=2)),
        keep.CustomSteps([3, 1]),
        keep.AnyPreservationPolicy([keep.LatestN(1), keep.CustomSteps([2])]),
        keep.AllPreservationPolicy([keep.LatestN(1), keep.PreserveAll()]),
    ],
)
def test_policies_of_data_have_a_spec(policy: keep.PreservationPolicy) -> None:
    spec = keep.spec(policy)
    assert spec is not None and spec["policy"] == type(policy).__name__
    json.dumps(spec)


def test_policies_with_functions_have_no_spec() -> None:
    class Mine(keep.LatestN):
        pass

    best = keep.BestN(get_metric_fn=lambda m: m["loss"], n=1)
    assert keep.spec(best) is None
    assert keep.spec(Mine(2)) is None
    assert keep.spec(keep.AnyPreservationPolicy([keep.LatestN(1), best])) is None

    class Own(decide.FixedIntervalPolicy):
        pass

    assert decide.spec(Own(3)) is None
    assert decide.spec(decide.SpecificStepsPolicy(range(5))) is None
    assert decide.spec(decide.AnySavePolicy([decide.InitialSavePolicy(), Own(2)])) is None
    assert decide.spec(decide.SpecificStepsPolicy({4, 2})) == {
        "policy": "SpecificStepsPolicy",
        "args": {"steps": [2, 4]},
    }


def test_policies_that_make_no_sense_are_refused() -> None:
    for policy in (
        keep.LatestN(-2),
        keep.EveryNSteps(0),
        keep.EveryNStepsClosest(-1),
        keep.AnyPreservationPolicy([keep.LatestN(-1)]),
        keep.BestN(get_metric_fn=lambda m: 0.0, n=-3),
    ):
        with pytest.raises(ValueError):
            keep.check(policy)


def test_any_object_with_the_method_is_a_policy() -> None:
    own = SimpleNamespace(should_save=lambda *a, **k: True)
    assert isinstance(own, decide.SaveDecisionPolicy)
    assert isinstance(keep.LatestN(1), keep.PreservationPolicy)


def test_merge_keeps_its_arguments() -> None:
    a, b = {"x": {"y": 1}}, {"x": {"z": [2]}}
    assert tree.merge(a, b) == {"x": {"y": 1, "z": [2]}}
    assert a == {"x": {"y": 1}} and b == {"x": {"z": [2]}}
