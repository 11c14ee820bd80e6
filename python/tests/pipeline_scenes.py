"""Programs on pipelines that DALI and Bivouac run alike, and what DALI made of them.

    python pipeline_scenes.py nvidia.dali FILE     record what DALI makes

Each scene is a function of the modules and of a directory with small files. It returns what can be
written as JSON. Arrays are lists, so values are compared exactly; floats of other functions than
arithmetic are rounded first.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import types as python_types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SCENES: dict[str, Callable[[Any, Path], Any]] = {}


def scene(function: Callable[[Any, Path], Any]) -> Callable[[Any, Path], Any]:
    """Register a scene."""
    SCENES[function.__name__] = function
    return function


def modules(name: str) -> Any:
    """Return the modules of DALI or Bivouac in one object."""
    top = importlib.import_module(name)
    names = {"top": top, "Pipeline": top.Pipeline, "pipeline_def": top.pipeline_def}
    out = python_types.SimpleNamespace(**names)
    for part in ("fn", "ops", "types", "math"):
        setattr(out, part, importlib.import_module(f"{name}.{part}"))
    out.plugin = importlib.import_module(f"{name}.plugin.base_iterator")
    return out


def files(root: Path) -> Path:
    """Make a data set of 23 files of different sizes in three folders."""
    for i in range(23):
        folder = root / f"class{i % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i:02}.bin").write_bytes(bytes((i * 7 + k) % 256 for k in range(1 + i % 5)))
    return root


def told(outputs: Any) -> list[Any]:
    """Return the outputs of a batch as lists."""
    out = []
    for o in outputs:
        samples = [np.asarray(o.at(i)).tolist() for i in range(len(o))]
        name = str(o.dtype).rpartition(".")[2]
        out.append([name, o.layout(), [list(s) for s in o.shape()], samples])
    return out


def epochs(pipe: Any, number: int, most: int = 8) -> list[Any]:
    """Run epochs, of at most some batches each."""
    out: list[Any] = []
    for _ in range(number):
        for _ in range(most):
            try:
                out.append(told(pipe.run()))
            except StopIteration:
                out.append("end")
                pipe.reset()
                break
    return out


@scene
def arithmetic(m: Any, _: Path) -> Any:
    @m.pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=11)
    def graph() -> Any:
        a = m.fn.random.uniform(values=[0.0, 1.0, 2.0, 3.0, 5.0], shape=(2, 3), dtype=m.types.INT32)
        b = m.fn.random.uniform(values=[-4.0, 1.0, 2.0, 7.0], shape=(2, 3), dtype=m.types.INT16)
        half = m.types.Constant(np.float32(0.5))
        return (
            a + b,
            a - 3,
            2 * b,
            a / b,
            a // b,
            a > b,
            (a == b) | (a < 2),
            a & b,
            a ^ 5,
            -b,
            a * half,
            a[0],
            a[:, 1:],
            m.math.min(a, b),
            m.math.abs(b),
            m.fn.cast(a, dtype=m.types.UINT8),
        )

    return epochs(graph(), 1, 3)


@scene
def sources(m: Any, _: Path) -> Any:
    def sample(info: Any) -> Any:
        if info.iteration >= 3:
            raise StopIteration
        number = info.idx_in_epoch + 100 * info.epoch_idx
        return np.full((info.idx_in_batch + 1, 2), number, np.int32)

    def both(i: int) -> Any:
        if i >= 4:
            raise StopIteration
        return [np.float32(i)] * 4, np.full((4, 2), i, np.uint8)

    def generator() -> Any:
        for i in range(3):
            yield np.full((4, 1), i, np.int64)

    def of(source: Any, epochs_: int = 2, **options: Any) -> Any:
        @m.pipeline_def(batch_size=4, num_threads=1, device_id=None, seed=1)
        def graph() -> Any:
            made = m.fn.external_source(source=source, **options)
            return tuple(made) if isinstance(made, (list, tuple)) else made

        return epochs(graph(), epochs_)

    class Batches:
        def __init__(self) -> None:
            self.begun = 0

        def __iter__(self) -> Any:
            self.begun += 1
            return iter([np.full((4, 2), 10 * self.begun + i, np.uint16) for i in range(2)])

    return {
        "samples": of(sample, batch=False),
        "two": of(both, num_outputs=2, layout=["", "C"]),
        "generator": of(generator, cycle=None),
        "generator again": of(generator, cycle="raise"),
        "iterable": of(Batches()),
        "iterable again": of(Batches(), cycle="raise"),
        "iterable for ever": of(Batches(), 1, cycle="quiet"),
        "list of arrays": of(lambda: [np.arange(i + 1.0) for i in range(4)], 1),
        "small batches": of(lambda i: [np.float64(i)] * (1 + i % 4), 1),
        "batch info": of(
            lambda info: [np.array([info.iteration, info.epoch_idx])] * 4, 1, batch_info=True
        ),
    }


@scene
def fed(m: Any, _: Path) -> Any:
    @m.pipeline_def(batch_size=3, num_threads=1, device_id=None, seed=1)
    def graph() -> Any:
        x = m.fn.external_source(name="x", dtype=m.types.INT32)
        y = m.fn.external_source(name="y")
        return x * 2, m.fn.pad(y, fill_value=9)

    pipe = graph()
    pipe.build()
    out: list[Any] = [pipe.input_feed_count("x")]
    for i in range(6):
        pipe.feed_input("x", np.full((3, 2), i, np.int32))
        pipe.feed_input("y", [np.full(k + 1, i, np.float32) for k in range(3)], layout="A")
    out += [told(pipe.run()) for _ in range(4)]

    @m.pipeline_def(batch_size=3, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def named() -> Any:
        return m.fn.external_source(name="z") + 1

    pipe = named()
    pipe.build()
    out += [told(pipe.run(z=np.full((n, 2), n, np.int16))) for n in (1, 3, 2)]
    return out


@scene
def subclass(m: Any, _: Path) -> Any:
    class Made(m.Pipeline):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(batch_size=2, num_threads=1, device_id=None, seed=3)
            self.draw = m.ops.random.Uniform(values=[1.0, 2.0, 4.0])
            self.source = m.ops.ExternalSource()
            self.number = 0

        def define_graph(self) -> Any:
            self.x = self.source(name="numbers")
            return self.draw(), self.x * 3

        def iter_setup(self) -> None:
            self.number += 1
            if self.number % 5 == 0:
                raise StopIteration
            self.feed_input(self.x, [np.full((k + 1,), self.number, np.int16) for k in range(2)])

    return epochs(Made(), 2)


@scene
def scheduled(m: Any, _: Path) -> Any:
    def source(i: int) -> Any:
        if i >= 5:
            raise StopIteration
        return np.full((2, 1), i, np.int32)

    @m.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def graph() -> Any:
        return m.fn.external_source(source=source)

    pipe = graph()
    pipe.build()
    out: list[Any] = []
    for _ in range(2):
        pipe.schedule_run()
        for _ in range(9):
            try:
                batch = told(pipe.share_outputs())
            except StopIteration:
                out.append("end")
                break
            pipe.release_outputs()
            pipe.schedule_run()
            out.append([batch, pipe.empty()])
        pipe.reset()
    try:
        pipe.run()
    except RuntimeError:
        out.append("not mixed")
    return out


@scene
def readers(m: Any, root: Path) -> Any:
    out: dict[str, Any] = {}
    for name, options in {
        "plain": {},
        "shuffled": {"random_shuffle": True, "initial_fill": 7},
        "after each epoch": {"shuffle_after_epoch": True},
        "shards": {"num_shards": 3, "shard_id": 1},
        "padded": {"num_shards": 2, "shard_id": 1, "pad_last_batch": True},
    }.items():

        @m.pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=5)
        def graph(options: Any = options) -> Any:
            return tuple(
                m.fn.readers.file(
                    file_root=str(root), file_filters=["*.bin"], name="files", **options
                )
            )

        pipe = graph()
        pipe.build()
        out[name] = [pipe.reader_meta("files"), pipe.epoch_size(), epochs(pipe, 1, 8)]
    return out


@scene
def states(m: Any, root: Path) -> Any:
    """States of sources and readers, and what comes after each of them."""

    def sample(info: Any) -> Any:
        if info.iteration >= 4:
            raise StopIteration
        return np.array([info.idx_in_epoch, info.iteration, info.epoch_idx])

    def graph(**options: Any) -> Any:
        @m.pipeline_def(
            batch_size=2, num_threads=1, device_id=None, seed=2, enable_checkpointing=True
        )
        def made() -> Any:
            data, label = m.fn.readers.file(
                file_root=str(root), file_filters=["*.bin"], random_shuffle=True, initial_fill=5
            )
            source = m.fn.external_source(source=sample, batch=False)
            draw = m.fn.random.uniform(values=[1.0, 2.0, 3.0, 4.0], shape=[3])
            return source, label, draw

        pipe = made(**options)
        pipe.build()
        return pipe

    def take(pipe: Any, number: int) -> list[Any]:
        out: list[Any] = []
        for _ in range(number):
            try:
                out.append(told(pipe.run()))
            except StopIteration:
                out.append("end")
                pipe.reset()
        return out

    pipe, out = graph(), []
    for _ in range(9):
        out.append([take(pipe, 1), bytes(pipe.checkpoint()).hex()])
    for i in (0, 2, 3, 4, 6):
        out.append(take(graph(checkpoint=bytes.fromhex(out[i][1])), 6))
    return out


@scene
def iterators(m: Any, root: Path) -> Any:
    """All policies, with and without padding, over one and two shards."""

    class Plain(m.plugin._DaliBaseIterator):  # type: ignore[misc, name-defined]
        """An iterator that returns labels."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, prepare_first_batch=False, **options)

        def _convert(self, outputs: Any) -> Any:
            return outputs

        def __next__(self) -> Any:
            outputs = self._get_outputs() if hasattr(self, "_get_outputs") else super().__next__()
            batches = [[int(np.asarray(b[1].at(i))[0]) for i in range(len(b[1]))] for b in outputs]
            if hasattr(self, "_get_outputs"):
                self._schedule_runs()
                self._advance_and_check_drop_last()
                dropped, kept = self._remove_padded()
                if np.any(dropped):
                    batches = [b[: int(n)] for b, n in zip(batches, kept)]
            return batches

    out: dict[str, Any] = {}
    listing = root / "list.txt"
    listing.write_text("".join(f"class{i % 3}/{i:02}.bin {i}\n" for i in range(23)))
    for shards in (1, 2):
        for padded in (False, True):
            for stick in (False, True):
                for policy in ("FILL", "DROP", "PARTIAL"):

                    @m.pipeline_def(batch_size=4, num_threads=1, device_id=None, seed=5)
                    def graph(shard: int, a: Any = (shards, padded, stick)) -> Any:
                        return tuple(
                            m.fn.readers.file(
                                file_root=str(root),
                                file_list=str(listing),
                                name="files",
                                num_shards=a[0],
                                shard_id=shard,
                                pad_last_batch=a[1],
                                stick_to_shard=a[2],
                            )
                        )

                    pipes = [graph(shard) for shard in range(shards)]
                    for pipe in pipes:
                        pipe.build()
                    iterator = Plain(
                        pipes,
                        reader_name="files",
                        auto_reset=True,
                        last_batch_policy=getattr(m.plugin.LastBatchPolicy, policy),
                    )
                    seen: list[Any] = [len(iterator)]
                    for _ in range(4):
                        seen.append(list(iterator))
                    out[f"{shards} {padded} {stick} {policy}"] = seen
    return out


@scene
def debug_mode(m: Any, root: Path) -> Any:
    """Operators of debug mode have these seeds.

    DALI's debug mode needs a GPU. So DALI computes with the seeds that it gives there.
    """
    draw = np.random.default_rng(1234)
    debug = m.top.__name__ == "bivouac"

    def seed() -> dict[str, int]:
        drawn = int(draw.integers((1 << 31) - 1))
        return {} if debug else {"seed": drawn}

    def data(i: int) -> Any:
        return [np.full((3, 4, 3), 20 * i + k, np.uint8) for k in range(3)]

    def graph() -> Any:
        x = m.fn.external_source(source=data, layout="HWC")
        u = m.fn.random.uniform(range=[0, 1], **seed())
        seed()
        y = u * 2 + 1
        seed()
        noisy = m.fn.noise.salt_and_pepper(x, prob=0.3, **seed())
        flipped = m.fn.flip(x, horizontal=m.fn.random.coin_flip(**seed()))
        seed()
        own = m.fn.random.uniform(range=[0, 1], seed=7)
        seed()
        several = m.fn.cast([x, noisy], dtype=m.types.INT32)
        seed()
        read, label = m.fn.readers.file(
            file_root=str(root), file_filters="*.bin", random_shuffle=True, **seed()
        )
        normal = m.fn.random.normal(shape=[2], **seed())
        rounded = m.fn.cast(normal * 1000, dtype=m.types.INT32)
        return (u, y, noisy, flipped, own, *several, read, label, rounded)

    options: dict[str, Any] = dict(batch_size=3, num_threads=2, device_id=None, seed=1234)
    if debug:
        from bivouac.pipeline.experimental import pipeline_def

        return epochs(pipeline_def(graph, debug=True, **options)(), 1, 4)
    return epochs(m.pipeline_def(graph, **options)(), 1, 4)


def record(name: str) -> dict[str, Any]:
    """Return what all scenes make."""
    made: dict[str, Any] = {}
    for title, function in SCENES.items():
        with tempfile.TemporaryDirectory() as root:
            made[title] = json.loads(json.dumps(function(modules(name), files(Path(root)))))
    return made


@scene
def functions(m: Any, _: Path) -> Any:
    """Functions by sample and by batch, with several outputs, of other types in later batches."""
    calls: list[Any] = []

    def kinds(x: Any) -> Any:
        return x.astype(np.float32 if x[0] % 20 < 10 else np.int64)

    def dimensions(x: Any) -> Any:
        return np.ones((1 + int(x[0]) % 3,) * (1 + int(x[0]) // 10 % 3), np.int16)

    def note(*values: Any) -> None:
        calls.append([v.tolist() for v in values])

    def data(i: int) -> Any:
        return [np.full(1 + (i + k) % 3, 10 * i + k, np.int32) for k in range(3)]

    @m.pipeline_def(batch_size=3, num_threads=3, device_id=None, seed=4)
    def graph() -> Any:
        x = m.fn.external_source(source=data)
        y, z = m.fn.python_function(
            x, function=lambda v: (v * 2, v[:1] / 4), num_outputs=2, output_layouts=["X"]
        )
        b, c = m.fn.python_function(
            x,
            y,
            function=lambda p, q: ([v + w for v, w in zip(p, q)], [np.full((2, 2), 3)] * len(p)),
            num_outputs=2,
            batch_processing=True,
        )
        d = m.fn.python_function(x, function=kinds)
        e = m.fn.python_function(x, function=dimensions)
        n = m.fn.python_function(function=lambda: np.arange(3, dtype=np.uint8)[::-1])
        k = m.fn.python_function(x, np.float32(1.5), function=lambda v, w: v * w)
        same = m.fn.dl_tensor_python_function(x, function=lambda v: v)
        one = m.fn.dl_tensor_python_function(x, function=lambda v: v, batch_processing=False)
        m.fn.python_function(x, z, function=note, num_outputs=0)
        shaped = m.fn.cast(m.fn.reductions.sum(e), dtype=m.types.FLOAT)
        return y, z, b, c, d, e, n, k, same, one, shaped, m.fn.flip(c[m.top.newaxis], horizontal=1)

    pipe = graph()
    made = epochs(pipe, 1, 7)
    return [made, calls[:21]]


@scene
def function_classes(m: Any, _: Path) -> Any:
    @m.pipeline_def(batch_size=2, num_threads=1, device_id=None, seed=4, prefetch_queue_depth=3)
    def graph() -> Any:
        values = m.types.Constant(np.arange(4, dtype=np.int32))
        double = m.ops.PythonFunction(lambda v: v * 2, output_layouts="A")
        twice = m.ops.PythonFunction(lambda v: (v, v[:2]), num_outputs=2)
        dl = m.ops.DLTensorPythonFunction(lambda v: v, batch_processing=True)
        return double(values), *twice(double(values), name="twice"), dl(values)

    return epochs(graph(), 1, 3)


@scene
def function_branches(m: Any, _: Path) -> Any:
    """A function in a branch gets the samples of the branch."""
    calls: list[Any] = []

    def data(i: int) -> Any:
        return [np.array(10 * i + k, np.int32) for k in range(4)]

    def which(i: int) -> Any:
        return [np.array(i % 3 == 1 and k % 2 == 1) for k in range(4)]

    def call(x: Any) -> Any:
        calls.append(x.tolist())
        return np.asarray(x * 2)

    @m.pipeline_def(
        batch_size=4, num_threads=2, device_id=None, enable_conditionals=True, seed=9
    )
    def graph() -> Any:
        x = m.fn.external_source(source=data)
        condition = m.fn.external_source(source=which)
        if condition:
            y = m.fn.python_function(x, function=call)
        else:
            y = x + 1
        return y, x

    made = epochs(graph(), 1, 6)
    return [made, calls[:4]]


@scene
def function_states(m: Any, root: Path) -> Any:
    """A state of a pipeline with functions, and what follows it."""

    def add(x: Any) -> Any:
        return np.asarray(x + np.float32(1))

    @m.pipeline_def(
        batch_size=3, num_threads=2, device_id=None, seed=5, enable_checkpointing=True
    )
    def graph() -> Any:
        data, label = m.fn.readers.file(
            file_root=str(root), file_filters="*.bin", random_shuffle=True
        )
        x = m.fn.python_function(m.fn.random.uniform(range=[0, 1]), function=add, name="add")
        several = m.fn.python_function(data, function=lambda v: (v, v[:1]), num_outputs=2)
        m.fn.python_function(label, function=lambda v: None, num_outputs=0)
        return x * 2, *several, label, m.fn.random.coin_flip()

    pipe = graph()
    out: list[Any] = []
    for _ in range(3):
        out.append(told(pipe.run()))
        state = pipe.checkpoint()
        again = graph(checkpoint=state)
        again.build()
        out.append([state.decode("latin1"), told(again.run())])
    return out


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(record(sys.argv[1]), separators=(",", ":")) + "\n")
