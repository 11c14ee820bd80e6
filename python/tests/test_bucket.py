"""Checkpoints in a bucket: every function takes a URL where it takes a path."""

from __future__ import annotations

import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac.checkpoint as ocp
from bivouac import _client, errors
from bivouac.checkpoint import partial, serialization
from bivouac.checkpoint.training import Checkpointer, preservation_policies
from bivouac.checkpoint.training import save_decision_policies as decide
from buckets import Server
from leaf_points import AbstractPoint, Point, PointHandler


def tree(seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"w": rng.normal(size=(300, 7)), "b": {"n": seed, "s": "text"}, "l": [1.5, True]}


def same(a: Any, b: Any) -> bool:
    return bool(
        np.array_equal(a["w"], b["w"]) and a["b"] == b["b"] and list(a["l"]) == list(b["l"])
    )


def test_save_and_load(bucket: str, server: Server) -> None:
    ocp.save(f"{bucket}/a", tree(), custom_metadata={"k": 1})
    assert same(ocp.load(f"{bucket}/a"), tree())
    assert any(key.endswith("/objects/state/manifest.ocdbt") for key in server.keys())
    into: dict[str, Any] = {"w": np.zeros((300, 7)), "b": {"n": 0, "s": ""}, "l": [0.0, False]}
    assert np.array_equal(ocp.load(f"{bucket}/a", into=into)["w"], tree()["w"])
    assert np.array_equal(into["w"], tree()["w"])
    with pytest.raises(ValueError):
        ocp.load(f"{bucket}/a", {"w": np.zeros((300, 7))})
    found = ocp.metadata(f"{bucket}/a")
    assert found.path == ocp.path.URL(f"{bucket}/a") and found.custom_metadata == {"k": 1}
    assert found.metadata["w"].shape == (300, 7)
    assert same(ocp.load(f"{bucket}/a", found), tree())
    assert ocp.is_orbax_checkpoint(f"{bucket}/a")
    assert not ocp.is_orbax_checkpoint(f"{bucket}/other")
    assert ocp.verify(f"{bucket}/a").sound
    with pytest.raises(ValueError, match="exists"):
        ocp.save(f"{bucket}/a", tree(2))
    ocp.save(f"{bucket}/a", tree(3), overwrite=True)
    assert same(ocp.load_async(f"{bucket}/a").result(60), tree(3))
    assert ocp.delete(f"{bucket}/a") and not ocp.is_orbax_checkpoint(f"{bucket}/a")
    assert ocp.delete_async(f"{bucket}/a", missing_ok=True).result(60) is False
    with pytest.raises(ValueError, match="not found"):
        ocp.load(f"{bucket}/a")


def test_background_items_and_base(bucket: str) -> None:
    seen: list[tuple[int, int]] = []
    response = ocp.save_async(
        f"{bucket}/a", tree(), progress=lambda done, total: seen.append((done, total))
    )
    assert response.result(60) is None and seen
    items = {"state": tree(2), "notes": {"x": [1, 2]}}
    ocp.save_checkpointables(f"{bucket}/b", items, base=f"{bucket}/a")
    assert same(ocp.load_checkpointables(f"{bucket}/b")["state"], tree(2))
    ocp.save_checkpointables_async(f"{bucket}/c", items).result(60)
    loaded = ocp.load_checkpointables_async(f"{bucket}/c").result(60)
    assert same(loaded["state"], tree(2)) and loaded["notes"] == {"x": [1, 2]}
    assert set(ocp.checkpointables_metadata(f"{bucket}/c").metadata) == {"state", "notes"}
    extra = {"more": {"y": np.arange(3)}}
    ocp.save_checkpointables(f"{bucket}/c", extra, partial_update=True)
    assert set(ocp.load_checkpointables(f"{bucket}/c")) == {"state", "notes", "more"}
    assert ocp.delete(f"{bucket}/c", checkpointable_name="notes")
    assert set(ocp.load_checkpointables(f"{bucket}/c")) == {"state", "more"}


def test_base_on_a_disk_is_refused(bucket: str, tmp_path: Path) -> None:
    ocp.save(tmp_path / "a", tree())
    with pytest.raises(errors.BivouacError):
        ocp.save(f"{bucket}/b", tree(), base=tmp_path / "a")
    assert not ocp.is_orbax_checkpoint(f"{bucket}/b")


def test_partial(bucket: str) -> None:
    partial.save(f"{bucket}/p", {"a": np.arange(4)})
    partial.save_async(f"{bucket}/p", {"b": {"c": np.ones(3)}}).result(60)
    assert not ocp.is_orbax_checkpoint(f"{bucket}/p")
    partial.finalize(f"{bucket}/p")
    loaded = ocp.load(f"{bucket}/p")
    assert np.array_equal(loaded["a"], np.arange(4))
    assert np.array_equal(loaded["b"]["c"], np.ones(3))
    partial.save_checkpointables(f"{bucket}/q", {"state": {"a": np.arange(4)}})
    partial.abort(f"{bucket}/q")
    with pytest.raises(ValueError):
        partial.finalize(f"{bucket}/q")


def test_transform_of_a_disk_and_a_bucket(bucket: str, tmp_path: Path) -> None:
    ocp.save(f"{bucket}/a", {"w": np.arange(4), "old": np.zeros(2)})
    ocp.save(tmp_path / "b", {"h": np.ones(3)})
    both = ocp.load_and_transform(
        [f"{bucket}/a", tmp_path / "b"], lambda one, two: {"w": one["w"], "h": two["h"]}
    )
    assert np.array_equal(both["w"], np.arange(4)) and np.array_equal(both["h"], np.ones(3))
    assert set(both) == {"w", "h"}


class Text:
    """An object with a handler of its own."""

    def __init__(self, text: str) -> None:
        self.text = text


class TextHandler:
    """Writes files, some of them below a directory."""

    async def save(self, directory: Any, value: Text) -> Any:
        there = await directory.await_creation()

        async def write() -> None:
            (there / "deep" / "er").mkdir(parents=True)
            (there / "deep" / "er" / "text.txt").write_text(value.text)
            (there / "empty").write_bytes(b"")

        return write()

    async def load(self, directory: Any, abstract: Any = None) -> Any:
        async def read() -> Text:
            assert (directory / "empty").read_bytes() == b""
            return Text((directory / "deep" / "er" / "text.txt").read_text())

        return read()

    async def metadata(self, directory: Any) -> Any:
        return "a text"

    def is_handleable(self, value: Any) -> bool:
        return isinstance(value, Text)

    def is_abstract_handleable(self, abstract: Any) -> bool:
        return abstract is None or isinstance(abstract, Text)


def test_handlers_write_through_a_private_directory(bucket: str) -> None:
    registry = ocp.handlers.local_registry()
    registry.add(TextHandler, checkpointable_name="notes")
    with ocp.Context(checkpointables_options=ocp.options.CheckpointablesOptions(registry=registry)):
        ocp.save_checkpointables(f"{bucket}/a", {"state": tree(), "notes": Text("x" * 100_000)})
        loaded = ocp.load_checkpointables(f"{bucket}/a")
        assert loaded["notes"].text == "x" * 100_000 and same(loaded["state"], tree())
        with Checkpointer(f"{bucket}/run") as run:
            run.save_checkpointables(0, {"state": tree(), "notes": Text("é\n")})
            assert run.load_checkpointables(0)["notes"].text == "é\n"
            assert run.checkpointables_metadata(0).metadata["notes"] == "a text"
    assert ocp.verify(f"{bucket}/a").sound


def test_leaf_handlers_write_through_a_private_directory(bucket: str) -> None:
    leaves = serialization.StandardLeafHandlerRegistry()
    leaves.add(Point, AbstractPoint, PointHandler)
    with ocp.Context(pytree_options=ocp.options.PyTreeOptions(leaf_handler_registry=leaves)):
        ocp.save(f"{bucket}/a", {"p": Point(3, 4), "w": np.arange(5)})
        loaded = ocp.load(f"{bucket}/a")
        assert loaded["p"] == Point(3, 4) and np.array_equal(loaded["w"], np.arange(5))
        partly = ocp.load(f"{bucket}/a", {"p": AbstractPoint(digits=1), "w": None})
        assert partly["p"] == Point(3, 4)
        assert ocp.save_async(f"{bucket}/b", {"p": Point(5, 6)}).result(60) is None
        assert ocp.load(f"{bucket}/b")["p"] == Point(5, 6)
    assert ocp.verify(f"{bucket}/a").sound


# Runs.


def test_checkpointer(bucket: str, server: Server) -> None:
    events: list[dict[str, Any]] = []
    with Checkpointer(
        f"{bucket}/run",
        save_decision_policy=decide.FixedIntervalPolicy(2),
        preservation_policy=preservation_policies.LatestN(2),
        custom_metadata={"who": "test"},
        on_event=events.append,
    ) as run:
        assert run.directory == ocp.path.URL(f"{bucket}/run")
        assert [run.save(step, tree(step)) for step in range(7)] == [True, False] * 3 + [True]
        assert [c.step for c in run.checkpoints] == [4, 6]
        assert run.latest is not None and run.latest.path == run.directory / "6"
        assert same(run.load(), tree(6)) and same(run.load(4), tree(4))
        assert run.metadata(6).path == run.directory / "6"
        assert run.checkpointables_metadata(4).path == run.directory / "4"
        assert run.root_metadata().custom_metadata == {"who": "test"}
        with pytest.raises(errors.Exists):
            run.save(6, tree(9), force=True)
        run.save(6, tree(9), overwrite=True, metrics={"loss": 0.5})
        assert same(run.load(6), tree(9))
        response = run.save_async(8, tree(8))
        assert response is not None and response.result(60)
        assert run.delete(8) and run.latest is not None and run.latest.step == 6
    names = {e["event"] for e in events}
    assert {"save begin", "save committed", "removed"} <= names
    assert same(ocp.load(f"{bucket}/run/6"), tree(9))
    with Checkpointer(f"{bucket}/run") as run:
        assert [c.step for c in run.checkpoints] == [6]  # 8 took the place of 4, and was deleted
        assert run.latest is not None and run.latest.metrics == {"loss": 0.5}
    prefix = f"{bucket}/run/".split("/", 3)[3]
    assert not [k for k in server.keys(prefix) if "/0/" in k or "/2/" in k]


@pytest.mark.parametrize(
    "policy",
    [
        preservation_policies.PreserveAll(),
        preservation_policies.EveryNSteps(3),
        preservation_policies.CustomSteps([1, 2]),
        preservation_policies.BestN(get_metric_fn=lambda m: m["loss"], n=2),
        preservation_policies.AnyPreservationPolicy(
            [preservation_policies.LatestN(1), preservation_policies.EveryNSteps(4)]
        ),
    ],
    ids=lambda p: type(p).__name__,
)
def test_policies_keep_in_a_bucket_what_they_keep_on_a_disk(
    bucket: str, tmp_path: Path, policy: Any
) -> None:
    kept = []
    for place in (f"{bucket}/run", tmp_path / "run"):
        with Checkpointer(
            place,
            save_decision_policy=decide.FixedIntervalPolicy(1),
            preservation_policy=policy,
        ) as run:
            for step in range(6):
                run.save(step, {"n": step}, metrics={"loss": abs(step - 2.5)})
        with Checkpointer(place) as run:
            kept.append([c.step for c in run.checkpoints])
    assert kept[0] == kept[1] and kept[0]


def test_fresh_start_dedup_and_names(bucket: str) -> None:
    names = ocp.path.step.standard_name_format(step_prefix="step", step_format_fixed_length=4)
    with Checkpointer(f"{bucket}/run", step_name_format=names, dedup=True) as run:
        run.save(1, tree(), force=True)
        run.save(2, tree(), force=True)
        assert run.latest is not None and run.latest.path.name == "step_0002"
        assert same(run.load(2), tree())
    with Checkpointer(f"{bucket}/run", step_name_format=names, start_fresh=True) as run:
        assert list(run.checkpoints) == []
        run.save(1, tree(4), force=True)
        assert same(run.load(1), tree(4))


def test_one_process_at_a_time(bucket: str) -> None:
    with Checkpointer(f"{bucket}/run") as one:
        one.save(0, tree())
        pid = _client.connection().server["pid"]
        with pytest.raises(errors.Busy, match=f"held by process {pid} on .* since "):
            with Checkpointer(f"{bucket}/run") as two:
                two.save(1, tree(), force=True)
    with Checkpointer(f"{bucket}/run") as two:
        assert two.save(1, tree(), force=True)


def test_parameters_of_the_url_stay(
    bucket: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    url = f"{bucket}/run?endpoint={server.endpoint}"
    with Checkpointer(url) as run:
        run.save(0, tree())
        step = run.directory / "0"
        assert str(step) == f"{bucket}/run/0?endpoint={server.endpoint}"
        assert run.latest is not None and run.latest.path == step and run.metadata().path == step
        assert same(ocp.load(step), tree())


# Other processes and threads.


def _child(url: str, out: Any) -> None:
    try:
        ocp.save(f"{url}/of-child", {"x": np.arange(3)})
        out.put(ocp.load(f"{url}/of-parent")["x"].tolist())
    except BaseException as err:
        out.put(repr(err))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_have_side_cars_of_their_own(bucket: str, method: str) -> None:
    ocp.save(f"{bucket}/of-parent", {"x": np.arange(5)})
    context: Any = multiprocessing.get_context(method)
    out = context.Queue()
    child = context.Process(target=_child, args=(bucket, out))
    child.start()
    assert out.get(timeout=60) == [0, 1, 2, 3, 4]
    child.join(30)
    assert child.exitcode == 0
    assert ocp.load(f"{bucket}/of-child")["x"].tolist() == [0, 1, 2]


def test_threads_save_at_once(bucket: str) -> None:
    failed: list[BaseException] = []

    def work(n: int) -> None:
        try:
            ocp.save(f"{bucket}/t{n}", tree(n))
            assert same(ocp.load(f"{bucket}/t{n}"), tree(n))
        except BaseException as err:
            failed.append(err)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failed


# Credentials.


def test_variables_that_are_set_later_count(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = os.environ["AWS_SECRET_ACCESS_KEY"]
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-" + secret)
    with pytest.raises(errors.Permission):
        ocp.save(f"{bucket}/a", tree())
    pid = _client.connection().server["pid"]
    os.environ["AWS_SECRET_ACCESS_KEY"] = secret
    ocp.save(f"{bucket}/a", tree())
    os.environ["AWS_SECRET_ACCESS_KEY"] = "wrong-again"
    with pytest.raises(errors.Permission):
        ocp.load(f"{bucket}/a")
    os.environ["AWS_SECRET_ACCESS_KEY"] = secret
    assert same(ocp.load(f"{bucket}/a"), tree())
    assert _client.connection().server["pid"] == pid


def test_open_checkpointers_keep_their_credentials(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Checkpointer(f"{bucket}/run") as run:
        run.save(0, tree())
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        with pytest.raises(errors.Permission):
            ocp.load(f"{bucket}/run/0")
        run.save(1, tree(1), force=True)
        assert same(run.load(1), tree(1))


def test_the_side_car_refuses_other_variables(bucket: str) -> None:
    link = _client.connection()
    for variables in ({"PATH": "/x"}, {"AWS_X=Y": "1"}, {"LD_PRELOAD": "x"}):
        with pytest.raises(errors.Invalid, match="another variable"):
            link.call("environment", variables=variables)
    with pytest.raises(errors.Invalid) as raised:
        link.call("environment", variables={"AWS_SECRET_ACCESS_KEY": {"hidden-value": 1}})
    assert "hidden-value" not in str(raised.value)
