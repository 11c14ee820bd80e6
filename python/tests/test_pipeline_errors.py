"""Graphs that are wrong: the error is that of DALI, and says what is wrong and where."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bivouac
from bivouac import Pipeline, errors, math, pipeline_def, tfrecord, types
from bivouac._pipeline.refusals import BrokenGraph, UnknownArgument, WrongType

# Calls that are wrong have no types.
fn: Any = bivouac.fn
ops: Any = bivouac.ops
newaxis: Any = bivouac.newaxis

Wrong = Callable[[Any], Any]

CALLS: list[tuple[type[Exception], str, Wrong]] = [
    (KeyError, r"'bogus' of bivouac.fn.resize", lambda x: fn.resize(x, bogus=1)),
    (KeyError, r"did you mean 'size'\?", lambda x: fn.resize(x, sizee=1)),
    (KeyError, "'save' of bivouac.fn.readers.file", lambda x: fn.readers.file(save=3)),
    (KeyError, "bivouac.ops.Resize", lambda x: ops.Resize(bogus=3)),
    (ValueError, "size of bivouac.fn.resize.*float.*'x'", lambda x: fn.resize(x, size="x")),
    (ValueError, "DALIInterpType, got 99", lambda x: fn.resize(x, interp_type=99)),
    (TypeError, "antialias.*a bool", lambda x: fn.resize(x, antialias="no")),
    (TypeError, "file_root.*a str, got 3", lambda x: fn.readers.file(file_root=3)),
    (TypeError, "num_classes.*an int", lambda x: fn.one_hot(x, num_classes=[3])),
    (ValueError, "num_classes.*an int", lambda x: fn.one_hot(x, num_classes=1 << 63)),
    (ValueError, "inputs of bivouac.fn.resize.*want 1, got 0", lambda x: fn.resize()),
    (ValueError, "inputs of bivouac.fn.resize.*want 1, got 2", lambda x: fn.resize(x, x)),
    (TypeError, "input 0 of bivouac.fn.resize.*got str", lambda x: fn.resize("a")),
    (TypeError, "input 0 of bivouac.fn.resize.*got NoneType", lambda x: fn.resize(None)),
    (TypeError, "antialias.*a bool, got a DataNode", lambda x: fn.resize(x, antialias=x)),
    (TypeError, "size of bivouac.fn.resize", lambda x: fn.resize(x, size=[x, 3])),
    (ValueError, "device.*cpu, gpu, mixed", lambda x: fn.resize(x, device="tpu")),
    (TypeError, "name of bivouac.fn.resize.*a str", lambda x: fn.resize(x, name=3)),
    (TypeError, "only one of 'output_dtype' and 'dtype'",
     lambda x: fn.crop(x, output_dtype=types.FLOAT, dtype=types.FLOAT)),
    (ValueError, "argument size of bivouac.ops.Resize", lambda x: ops.Resize(size=3)(x, size=3)),
    (ValueError, "argument name", lambda x: ops.Resize(name="a")(x, name="b")),
    (ValueError, "at least one operator", lambda x: ops.Compose([])),
    (TypeError, "want operators, got int", lambda x: ops.Compose([ops.Flip(), 3])),
    (ValueError, "same length, got 1, 2", lambda x: fn.cat([x], [x, x])),
    (ValueError, "a node on the CPU", lambda x: fn.flip(x, horizontal=x.gpu())),
    (TypeError, "index.*got str", lambda x: x["a"]),
    (TypeError, "index.*got float", lambda x: x[1.0]),
    (NotImplementedError, "ellipsis", lambda x: x[..., 0]),
    (ValueError, "a name for all new axes", lambda x: x[newaxis, newaxis("F")]),
    (ValueError, "one character", lambda x: newaxis("FG")),
    (TypeError, "one character", lambda x: newaxis(3)),
    (TypeError, "as a condition", lambda x: bool(x)),
    (TypeError, "is iterated", lambda x: list(x)),
    (TypeError, "length", lambda x: len(x)),
    (TypeError, "got str", lambda x: x + "a"),
    (TypeError, "got NoneType", lambda x: x + None),
    (TypeError, r"operand 1 of \+.*unpack", lambda x: x + [x]),
    (TypeError, "operand 0 of sqrt", lambda x: math.sqrt([[x]])),
    (TypeError, "unsupported operand", lambda x: x @ x),
    (AttributeError, r"'resise'; did you mean 'resize'\?", lambda x: fn.resise(x)),
    (AttributeError, "no attribute 'fil'", lambda x: fn.readers.fil(x)),
    (TypeError, "got str", lambda x: types.Constant("a")),
    (TypeError, "got str", lambda x: types.Constant([1, "a"])),
    (TypeError, "one enumeration", lambda x: types.Constant([types.RGB, types.FLOAT])),
    (TypeError, "got list", lambda x: types.Constant([[1, 2], [3, 4]])),
    (TypeError, "a type of numbers", lambda x: types.Constant(3, dtype=types.STRING)),
    (OverflowError, "int32, got 1099511627776", lambda x: types.Constant(np.array([1 << 40]))),
    (TypeError, "floating-point", lambda x: float(types.Constant(3))),
    (TypeError, "integer", lambda x: int(types.Constant(3.5))),
    (TypeError, "feature 0.*got 3",
     lambda x: fn.readers.tfrecord(path="a", index_path="b", features={"a": 3})),
    (TypeError, "a dictionary", lambda x: fn.readers.tfrecord(path="a", features=[3])),
    (TypeError, "want string", lambda x: tfrecord.FixedLenFeature((1,), tfrecord.string, 3)),
    (TypeError, "type and default", lambda x: tfrecord.VarLenFeature(tfrecord.int64)),
]  # fmt: skip


@pytest.mark.parametrize(("error", "text", "call"), CALLS)
def test_calls(error: type[Exception], text: str, call: Wrong) -> None:
    with Pipeline(2, 1):
        node = fn.external_source(name="x")
        with pytest.raises(error, match=text):
            call(node)


def serialized(*outputs: Any, **settings: Any) -> bytes:
    pipe = Pipeline(**{"batch_size": 2, "num_threads": 1, **settings})
    with pipe:
        pipe.set_outputs(*[out() if callable(out) else out for out in outputs])
    return pipe.serialize()


def one(name: str | None = None) -> Any:
    return fn.constant(fdata=[1.0], name=name)


PIPELINES: list[tuple[type[Exception], str, tuple[Any, ...], dict[str, Any]]] = [
    (TypeError, "output 0.*unpack", (lambda: (one(), one()),), {}),
    (TypeError, "output 1.*unpack", (one, lambda: [[one()]]), {}),
    (TypeError, "output 0.*got str", ("a",), {}),
    (TypeError, "output 0.*got NoneType", (None,), {}),
    (RuntimeError, "bivouac.fn.cast.*dtype", (lambda: fn.cast(one()),), {}),
    (RuntimeError, "name 'a'", (lambda: one("a"), lambda: one("a")), {}),
    (RuntimeError, "each of 2 outputs, got 1", (one, one), {"output_dtype": [types.FLOAT]}),
    (RuntimeError, "each of 1 outputs, got 2", (one,), {"output_ndim": [1, 2]}),
    (TypeError, "output_dtype", (one,), {"output_dtype": "a"}),
    (ValueError, "output_dtype.*NO_TYPE", (one,), {"output_dtype": types.NO_TYPE}),
    (ValueError, "output_ndim.*got -1", (one,), {"output_ndim": [-1]}),
    (TypeError, "output_ndim", (one,), {"output_ndim": "a"}),
    (TypeError, "output_layout", (one,), {"output_layout": [3]}),
    (NotImplementedError, "define_graph", (), {}),
    (ValueError, "batch_size.*a value", (one,), {"batch_size": None}),
    (ValueError, "batch_size.*at least 1, got 0", (one,), {"batch_size": 0}),
    (TypeError, "batch_size.*an int", (one,), {"batch_size": "a"}),
    (ValueError, "prefetch_queue_depth.*got 0", (one,), {"prefetch_queue_depth": 0}),
    (TypeError, "prefetch_queue_depth", (one,), {"prefetch_queue_depth": "a"}),
    (KeyError, "cpu_size", (one,), {"prefetch_queue_depth": {"cpu": 3}}),
    (ValueError, "exec_async", (one,), {
        "prefetch_queue_depth": {"cpu_size": 3, "gpu_size": 1}, "exec_async": False}),
    (ValueError, "py_callback_pickler", (one,), {"py_callback_pickler": pickle}),
    (TypeError, "bogus", (one,), {"bogus": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("error", "text", "outputs", "settings"), PIPELINES)
def test_pipelines(
    error: type[Exception], text: str, outputs: tuple[Any, ...], settings: dict[str, Any]
) -> None:
    with pytest.raises(error, match=text):
        serialized(*outputs, **settings)


def test_errors_have_fields() -> None:
    assert issubclass(WrongType, (errors.BivouacError, TypeError))
    assert not issubclass(WrongType, ValueError) and not issubclass(BrokenGraph, ValueError)
    with Pipeline(2, 1), pytest.raises(UnknownArgument) as caught:
        fn.resize(fn.zeros(shape=[1]), sizee=3)
    assert caught.value.remedy == "did you mean 'size'?"
    assert str(caught.value) == str(pickle.loads(pickle.dumps(caught.value)))


def test_nodes_of_another_pipeline() -> None:
    with Pipeline(2, 1):
        first = one()
    with Pipeline(2, 1):
        second = one()
    pipe = Pipeline(2, 1)
    pipe.set_outputs(first, second)
    with pytest.raises(RuntimeError, match="while this pipeline is the current one"):
        pipe.serialize()
    pipe = Pipeline(2, 1, enable_checkpointing=True)
    pipe.set_outputs(first)
    with pytest.raises(RuntimeError, match="enable_checkpointing.*__Constant_0"):
        pipe.serialize()


def test_effects_need_a_pipeline() -> None:
    with pytest.raises(RuntimeError, match="current pipeline"):
        fn.random.uniform(preserve=True)


def test_no_way_back_from_the_gpu() -> None:
    with Pipeline(2, 1, exec_dynamic=False):
        with pytest.raises(RuntimeError, match="exec_dynamic=True"):
            fn.flip(one().gpu()).cpu()
    with Pipeline(2, 1):
        assert fn.flip(one().gpu()).cpu().device == "cpu"


def test_definitions() -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def plain(scale: int = 3) -> Any:
        return one() * scale

    assert plain().max_batch_size == 2 and plain(4, batch_size=5).max_batch_size == 5
    assert plain.__name__ == "plain" and getattr(plain, "_is_pipeline_def")
    with pytest.raises(TypeError, match="'bogus'"):
        plain(bogus=1)
    with pytest.raises(TypeError, match=r"\*\*more"):
        pipeline_def(lambda **more: one())()
    with pytest.warns(UserWarning, match="hides the setting"):
        assert pipeline_def(lambda batch_size: one())(batch_size=3).max_batch_size is None
    with pytest.raises(NotImplementedError, match="define_graph"):
        pipeline_def(batch_size=1)(lambda: None)().serialize()
    assert Pipeline.current() is None


def test_a_definition_that_fails_leaves_no_current_pipeline() -> None:
    with pytest.raises(ZeroDivisionError):
        pipeline_def(lambda: 1 // 0)()
    assert Pipeline.current() is None
    with pytest.raises(RuntimeError, match="push_current"):
        Pipeline.pop_current()


def test_stack() -> None:
    a, b = Pipeline(1, 1), Pipeline(1, 1)
    assert Pipeline.push_current(a) is None and Pipeline.push_current(b) is a
    assert Pipeline.current() is b
    Pipeline.pop_current()
    assert Pipeline.current() is a
    Pipeline.pop_current()


def test_warnings_of_old_names() -> None:
    with Pipeline(2, 1):
        x = fn.zeros(shape=[1, 1, 3], dtype=types.UINT8)
        for call in (
            lambda: fn.crop(x, output_dtype=types.FLOAT),
            lambda: fn.crop(x, image_type=types.RGB),
            lambda: fn.flip(x, seed=3),
            lambda: fn.coin_flip(),
        ):
            with pytest.warns(DeprecationWarning):
                call()  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Warning, match="max_batch_size"):
            _ = Pipeline(1, 1).batch_size
        for name in ("max_streams", "default_cuda_stream_priority", "experimental_exec_dynamic"):
            old: Any = {name: 1}
            with pytest.raises(Warning, match=name):
                Pipeline(1, 1, **old)
        with pytest.raises(Warning, match="negative seed"):
            Pipeline(1, 1, seed=-1)


def test_define_graph_is_given_once(tmp_path: Any) -> None:
    pipe = Pipeline(2, 1)
    wrong: Any = "file"
    with pytest.raises(TypeError, match="did you mean serialize"):
        pipe.serialize(wrong)
    data = pipe.serialize(one, tmp_path / "p")
    assert (tmp_path / "p").read_bytes() == data == pipe.serialize()
    pipe = Pipeline(2, 1)
    pipe.set_outputs(one())
    with pytest.raises(RuntimeError, match="one definition"):
        pipe.serialize(one)


def test_debug_mode() -> None:
    from bivouac.pipeline.experimental import pipeline_def as experimental

    made = experimental(batch_size=2, num_threads=1)(one)
    assert made().serialize() == made(debug=False).serialize()
    with pytest.raises(errors.Unsupported, match="in debug mode"):
        made(debug=True).serialize()
