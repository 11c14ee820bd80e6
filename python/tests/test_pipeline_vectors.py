"""What DALI recorded of programs on pipelines, run by the client.

They are the cases `exec`, `errors` and `graph` of testdata/dali, and of ../shared/vectors/dali if
that exists. What Bivouac does in another way on purpose is listed by name. A test fails if such a
case begins to pass.
"""

from __future__ import annotations

import base64
import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
import recorded_exec
import recorded_graphs
from bivouac import errors, fn, types
from recorded import (
    check_error,
    check_sample,
    entries,
    samples,
    sets,
    tolerance,
    tree,
)

pytestmark = [
    pytest.mark.skipif(not sets(), reason="the recorded cases are not here"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module", autouse=True)
def one_sidecar() -> Any:
    """One side-car for all cases, which is closed after them."""
    from conftest import has_binary

    if not has_binary():
        pytest.skip("no binary: set BIVOUAC_BINARY, or build bivouac/bin/bivouac")
    yield
    from bivouac import _client

    _client._close()


def exec_cases() -> list[Any]:
    found = []
    for prefix, _, sections in entries("exec.json"):
        for section, cases in sections.items():
            named = enumerate(cases) if isinstance(cases, list) else cases.items()
            for key, case in named:
                if isinstance(key, str):
                    case = {"mode": key, "result": case}
                name = f"{prefix}{section}-{key:03}" if isinstance(key, int) else f"{prefix}{key}"
                found.append(pytest.param(section, case, id=name))
    return found


def expected(case: Any) -> Any:
    """Return what is recorded of a case."""
    return next(case[key] for key in ("result", "trace", "trace_reset_after_stop") if key in case)


def check_statistics(made: Any) -> None:
    """Check that the statistics are of the one operator, as DALI's static executor has them.

    What is reserved may be more.
    """
    assert set(made["stats"]) == {"__Uniform_0"}
    found = made["stats"]["__Uniform_0"]
    sizes = {"real_memory_size": 32, "max_real_memory_size": 16}
    assert {name: found[name] for name in sizes} == {name: [n] for name, n in sizes.items()}
    assert found["reserved_memory_size"][0] >= 32 and found["max_reserved_memory_size"][0] >= 16
    assert set(found) == {*sizes, "reserved_memory_size", "max_reserved_memory_size"}


@pytest.mark.parametrize(("section", "case"), exec_cases())
def test_exec(section: str, case: Any, tmp_path: Path) -> None:
    want = expected(case)
    if not want["ok"]:
        with pytest.raises(Exception) as caught:
            recorded_exec.PROGRAMS[section](case, tmp_path)
        check_error(caught.value, want["type"], want["message"])
        return
    value = copy.deepcopy(want["value"])
    made = recorded_exec.PROGRAMS[section](case, tmp_path)
    if section == "dynamic_eval_modes":
        *made["error"], err = made["error"]
        *value["error"], type_, message = value["error"]
        check_error(err, type_, message)
    if section == "executor_statistics":
        assert made["stats"] != value["stats"], "this case is equal now: compare it as the others"
        check_statistics(made)
        del made["stats"], value["stats"]
    assert made == value


DIFFERENT_ERRORS = {
    # DALI takes a state of other random numbers, or of another data set. Bivouac refuses it.
    "checkpoint_other_seed": (errors.Mismatch, "want seed 2"),
    "checkpoint_smaller_dataset": (errors.Mismatch, "want an age below 1"),
}
"""The programs whose outcome is another on purpose, with the error that they raise."""


def error_cases() -> list[Any]:
    return [
        pytest.param(folder, case, name, id=prefix + name)
        for prefix, folder, cases in entries("errors.json")
        for name, case in cases.items()
    ]


def run_mistake(program: list[str], root: Path, inputs: Path) -> None:
    """Run a program of errors.json, beside a data set of six files."""

    def pipe(outs: Any, run: int | None = 1, bs: Any = 2, **options: Any) -> Any:
        settings: dict[str, Any] = {"batch_size": bs, "num_threads": 1, "device_id": None}
        with bivouac.Pipeline(**{**settings, **options}) as made:
            outputs = outs()
            made.set_outputs(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]))
        if run is not None:
            made.build()
            for _ in range(run):
                made.run()
        return made

    def ckpt(first: Any, second: Any, it: int = 1) -> Any:
        state = pipe(first, run=it, enable_checkpointing=True).checkpoint()
        return pipe(second, enable_checkpointing=True, checkpoint=state)

    names = {
        "pipe": pipe,
        "ckpt": ckpt,
        "src": lambda x, n=2: fn.external_source(source=lambda: [x] * n, batch=True),
        "zeros": lambda shape, dtype: np.zeros(shape, dtype),
        "arange": lambda n, dtype: np.arange(n, dtype=dtype),
        "raw": lambda name: np.fromfile(inputs / name, np.uint8),
        "img": np.zeros([4, 5, 3], np.uint8),
        "d": tree(root, 6),
        "fn": fn,
        "types": types,
        "dali": bivouac,
    }
    exec("\n".join(program), names)


@pytest.mark.parametrize(("folder", "case", "name"), error_cases())
def test_errors(
    folder: Path, case: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake is an error of the class that DALI raises, and of a kind that says the same."""
    monkeypatch.chdir(tmp_path)
    raised: BaseException | None = None
    try:
        run_mistake(case["program"], tmp_path / "data", folder / "inputs")
    except Exception as err:
        raised = err
    if name in DIFFERENT_ERRORS:
        assert case["ok"], "the list says that DALI raises nothing here"
        kind, text = DIFFERENT_ERRORS[name]
        assert isinstance(raised, kind) and text in str(raised), repr(raised)
    elif case["ok"]:
        assert raised is None, repr(raised)
    else:
        assert raised is not None, f"no error, want {case['type']}: {case['message']}"
        check_error(raised, case["type"], case["message"])


def test_listed_errors_are_recorded() -> None:
    names = {name for _, _, cases in entries("errors.json") for name in cases}
    assert set(DIFFERENT_ERRORS) <= names


def graph_cases() -> list[Any]:
    found, before = [], []
    for prefix, folder in sets():
        for path in sorted((folder / "graph").iterdir()):
            content = {file.name: file.read_bytes() for file in path.iterdir()}
            if content not in before:
                found.append(pytest.param(folder, path.name, id=prefix + path.name))
            before.append(content)
    return found


def check_outputs(pipe: Any, folder: Path, name: str) -> None:
    """Run a pipeline, and compare its outputs with the recorded ones."""
    graph = folder / "graph" / name
    recorded = json.loads((graph / "outputs.json").read_text())
    rules = json.loads((folder / "tolerances.json").read_text())["rules"]
    batch = recorded_graphs.SETTINGS["batch_size"]
    if name == "g07_external":
        for i in range(len(recorded["iterations"])):
            pipe.feed_input("input", [np.int32([i, j]) for j in range(batch)])
    for wanted in recorded["iterations"]:
        outputs = pipe.run()
        assert [output.layout() for output in outputs] == [want["layout"] for want in wanted]
        for number, (output, want) in enumerate(zip(outputs, wanted)):
            made = samples(output)
            assert len(made) == len(want["samples"])
            for got, sample in zip(made, want["samples"]):
                check_sample(got, sample, graph, tolerance(rules, name, number, got.dtype))


@pytest.fixture
def graph(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """The folder of the cases, and the name of a graph. Its files are in the current directory."""
    folder, name = request.param
    monkeypatch.chdir(folder / "inputs")
    return folder, name


each_graph = pytest.mark.parametrize(
    "graph",
    [pytest.param(p.values, id=p.id) for p in graph_cases()],
    indirect=True,
)


@pytest.fixture(scope="module")
def serialized() -> Any:
    """What a program of its own serializes in a folder.

    A constant outside of pipelines has a number that counts those of its program.
    """
    found: dict[Path, dict[str, bytes]] = {}

    def in_folder(folder: Path) -> dict[str, bytes]:
        if folder not in found:
            tests = Path(__file__).parent
            path = os.pathsep.join([str(tests), str(tests.parent), *sys.path])
            done = subprocess.run(
                [sys.executable, str(tests / "recorded_graphs.py")],
                cwd=folder / "inputs",
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                timeout=120,
                check=True,
            )
            made = json.loads(done.stdout)
            found[folder] = {name: base64.b64decode(text) for name, text in made.items()}
        return found[folder]

    return in_folder


@each_graph
def test_graph_is_serialized_as_by_dali(graph: tuple[Path, str], serialized: Any) -> None:
    folder, name = graph
    recorded = (folder / "graph" / name / "pipe.bin").read_bytes()
    assert serialized(folder)[name] == recorded_graphs.without_lines(recorded)


@each_graph
def test_graph_gives_what_dali_gave(graph: tuple[Path, str], tmp_path: Path) -> None:
    """It gives the same outputs as it was defined, and when it was serialized by either."""
    folder, name = graph
    pipe = recorded_graphs.GRAPHS[name]()
    pipe.build()
    check_outputs(pipe, folder, name)
    recorded = (folder / "graph" / name / "pipe.bin").read_bytes()
    for serialized in (recorded, pipe.serialize()):
        again = bivouac.Pipeline.deserialize(serialized)
        check_outputs(again, folder, name)
        check_properties(again, folder / "graph" / name)
    check_drawings(bivouac.Pipeline.deserialize(recorded), folder / "graph" / name, tmp_path)
    again = bivouac.Pipeline.deserialize(bivouac.Pipeline.deserialize(recorded).serialize())
    check_outputs(again, folder, name)


def check_drawings(pipe: Any, graph: Path, out: Path) -> None:
    """Compare the drawings of a graph."""
    pipe.save_graph_to_dot_file(str(out / "plain"))
    pipe.save_graph_to_dot_file(str(out / "more"), show_tensors=True, use_colors=True)
    assert (out / "plain").read_text() == (graph / "graph.dot").read_text()
    assert (out / "more").read_text() == (graph / "graph_tensors.dot").read_text()


def check_properties(pipe: Any, graph: Path) -> None:
    """Compare what a pipeline that was serialized says about itself.

    DALI says of each that its executor is the simplest one, whatever it is.
    """
    recorded = json.loads((graph / "outputs.json").read_text())
    wanted = recorded["properties_after_deserialize"]
    for name in ("exec_pipelined", "exec_async", "exec_dynamic"):
        assert wanted.pop(name) == "False"
    assert {key: str(getattr(pipe, key)) for key in wanted} == wanted
    static, simple = graph.name == "g11_options", graph.name == "g12_simple_executor"
    kept = [pipe.exec_pipelined, pipe.exec_async, pipe.exec_dynamic]
    assert kept == [not simple, not simple, not (simple or static)]
    assert [str(dtype) for dtype in pipe.output_dtype()] == recorded["output_dtype"]
    assert pipe.output_ndim() == recorded["output_ndim"]


def test_every_graph_is_recorded() -> None:
    assert {case.values[1] for case in graph_cases()} == set(recorded_graphs.GRAPHS)
