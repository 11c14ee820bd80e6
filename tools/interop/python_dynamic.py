"""Random programs of dynamic mode that DALI and Bivouac run alike.

    python_dynamic.py FIRST COUNT

It needs nvidia.dali. Each number of a program is a seed. A program is the same calls with either's
module: values, arithmetic, indices, operators, random numbers, readers with checkpoints, captured
loops, and mistakes. What every call gives is compared: elements, types, shapes, layouts, states,
and the types of errors. A part of the readers stops in the middle, and goes on in the other from a
checkpoint. DALI captures loops only if their steps make the same calls. Others run plainly there.
"""

from __future__ import annotations

import importlib
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 3


class Mine:
    """The modules of one of the two."""

    def __init__(self, name: str) -> None:
        self.dyn = importlib.import_module(
            "bivouac.dynamic" if name == "bivouac" else "nvidia.dali.experimental.dynamic"
        )
        self.captures_all = name == "bivouac"  # also loops whose calls change
        self.types = importlib.import_module(
            "bivouac.types" if name == "bivouac" else "nvidia.dali.types"
        )


class Program:
    """A Program makes random calls: the same for the same seed, whatever the module."""

    def __init__(self, seed: int, m: Mine, data: Path) -> None:
        self.r = random.Random(seed)
        self.m, self.dyn, self.data = m, m.dyn, data
        self.rng = self.dyn.random.RNG(seed=seed)
        self.batched = self.r.random() < 0.6
        self.lazy = self.r.random() < 0.5  # values are evaluated at the end
        self.numbers: list[Any] = []
        self.images: list[Any] = []
        self.seen: list[Any] = []
        self.text = ""  # a checkpoint in the middle of a reader
        self.args: dict[str, Any] = {}
        self.seed = seed

    def run(self) -> list[Any]:
        """Return what every step gave."""
        r, dyn = self.r, self.dyn
        modes = ["deferred", "eager", "eager", "sync_cpu", "sync_full"]
        with getattr(dyn.EvalMode, r.choice(modes)):
            for _ in range(r.randint(1, 3)):
                self.step(self.make)
            self.step(self.image)
            choices = [
                self.make, self.image, self.arithmetic, self.arithmetic, self.unary, self.index,
                self.shapes, self.reduce, self.picture, self.picture, self.select, self.compare,
                self.mistake, self.convert,
            ]  # fmt: skip
            for _ in range(r.randint(3, 12)):
                self.step(r.choice(choices))
            self.seen.append(("rng", str(self.rng.state)))
            for value in [*self.numbers, *self.images]:
                self.seen.append(self.describe(value))
        if r.random() < 0.4:
            self.read()
        if r.random() < 0.5:
            Loop(self).run()
        return self.seen

    def step(self, function: Any) -> None:
        """Run a step, and note the error that it ends with."""
        try:
            made = len(self.numbers), len(self.images)
            function()
            if not self.lazy:
                for value in [*self.numbers[made[0] :], *self.images[made[1] :]]:
                    value.evaluate()
        except Exception as err:
            del self.numbers[made[0] :], self.images[made[1] :]
            self.seen.append(("error", function.__name__, _kind(err), str(err)))

    def describe(self, value: Any) -> Any:
        """Return everything that a value says about itself."""
        try:
            if isinstance(value, self.dyn.Batch):
                samples = [np.asarray(t) for t in value]
                return (
                    "batch", str(value.dtype), value.layout, value.ndim, value.batch_size,
                    [tuple(s) for s in value.shape], samples,
                )  # fmt: skip
            array = np.asarray(value)
            return (
                "tensor", str(value.dtype), value.layout, value.ndim, tuple(value.shape),
                value.size, value.nbytes, value.itemsize, array,
            )  # fmt: skip
        except Exception as err:
            return ("error", "describe", _kind(err), str(err))

    def size(self) -> dict[str, Any]:
        return {"batch_size": BATCH} if self.batched else {}

    def pick(self) -> Any:
        return self.r.choice(self.numbers)

    def make(self) -> None:
        """Make numbers: random ones, constants, or data of the program."""
        r, dyn, types = self.r, self.dyn, self.m.types
        shape = [r.randint(2, 5) for _ in range(r.randint(0, 3))]
        kind = r.randint(0, 6)
        if kind == 0:
            made = dyn.random.uniform(range=[-3.0, 5.0], shape=shape, rng=self.rng, **self.size())
        elif kind == 1:
            made = dyn.random.normal(mean=r.randint(0, 3), shape=shape, rng=self.rng, **self.size())
        elif kind == 2:
            made = dyn.random.coin_flip(
                probability=0.3, shape=shape, rng=self.rng, dtype=types.UINT8, **self.size()
            )
        elif kind == 3:
            made = dyn.full(r.randint(0, 9), shape=shape, **self.size())
        elif kind == 4 and self.batched:
            made = dyn.batch([self.array(shape) for _ in range(BATCH)])
        elif kind == 5 and self.batched:
            arrays = [self.array([n + i % 2 for n in shape]) for i in range(BATCH)]
            made = dyn.as_batch(arrays)
        elif kind == 6:
            given = r.choice([3, 2.5, True, [1, 2, 3], [[1.5, 2], [3, 4]]])
            # Much of arithmetic is an error for booleans. A lazy program makes no such errors.
            made = dyn.tensor(int(given) if given is True and self.lazy else given)
            if self.batched:
                made = dyn.Batch.broadcast(made, BATCH)
        else:
            made = r.choice([dyn.tensor, dyn.as_tensor])(self.array(shape))
            if self.batched:
                made = dyn.Batch.broadcast(made, BATCH)
        self.numbers.append(made)

    def array(self, shape: list[int]) -> Any:
        r = self.r
        dtype = r.choice([np.uint8, np.int32, np.float32, np.int16, np.int64, np.uint16])
        count = int(np.prod(shape)) if shape else 1
        values = [r.randint(0, 40) for _ in range(count)]
        return np.array(values).astype(dtype).reshape(shape)

    def image(self) -> None:
        """Make an image."""
        r, dyn, types = self.r, self.dyn, self.m.types
        size = [r.randint(8, 20), r.randint(8, 20), 3]
        image = dyn.random.uniform(range=[0.0, 255.0], shape=size, rng=self.rng, **self.size())
        image = dyn.cast(image, dtype=r.choice([types.UINT8, dyn.uint8, dyn.dtype("u8")]))
        self.images.append(dyn.reinterpret(image, layout="HWC"))

    def arithmetic(self) -> None:
        r, dyn = self.r, self.dyn
        a, b = self.pick(), r.choice([r.randint(1, 5), 1.5, True])
        if not self.lazy:  # shapes may not agree
            b = r.choice([b, self.pick()])
        op = r.choice(["+", "-", "*", "/", "//", "%", "min", "r-", "r+"])
        if op == "+":
            made = a + b
        elif op == "-":
            made = a - b
        elif op == "*":
            made = a * b
        elif op == "/":
            made = a / r.randint(1, 5)
        elif op == "//":
            made = a // r.randint(1, 5)
        elif op == "%":
            made = a % r.randint(2, 5)
        elif op == "min":
            made = dyn.math.min(a, b)
        elif op == "r-":
            made = r.randint(0, 9) - a
        else:
            made = 2.5 + a
        self.numbers.append(made)

    def compare(self) -> None:
        r = self.r
        a, b = self.pick(), r.randint(0, 5)
        made = r.choice([lambda: a > b, lambda: a == b, lambda: a != b, lambda: a <= b])()
        self.numbers.append(made * 1 if self.lazy else made)

    def unary(self) -> None:
        r, dyn = self.r, self.dyn
        a = self.pick()
        made = r.choice(
            [
                lambda: -a,
                lambda: abs(a),
                lambda: +a,
                lambda: dyn.math.floor(dyn.math.abs(a) * 1.5),
                lambda: dyn.math.clamp(a, -1, 2),
                lambda: dyn.cast(a, dtype=r.choice([dyn.float32, dyn.int16, dyn.uint8])),
            ]
        )()
        self.numbers.append(made)

    def index(self) -> None:
        """Take a part of a value. An index may be out of range."""
        r = self.r
        a = self.pick()
        n = a.ndim
        if not n or self.lazy:
            return
        indices = []
        for _ in range(r.randint(1, n)):
            kind = r.randint(0, 3)
            if kind == 0:
                indices.append(r.randint(-2, 1))
            elif kind == 1:
                indices.append(slice(r.randint(0, 1), None))
            elif kind == 2:
                indices.append(slice(None, None, r.choice([None, 1, 2])))
            else:
                indices.append(slice(None, r.randint(1, 2)))
        if r.random() < 0.3:
            indices = [..., *indices] if r.random() < 0.5 else [*indices, ...]
        part = a.slice if self.batched else a
        self.numbers.append(part[tuple(indices)] if r.random() < 0.7 else part[indices[0]])

    def shapes(self) -> None:
        r, dyn = self.r, self.dyn
        a = self.pick()
        n = a.ndim
        if not n:
            self.numbers.append(dyn.expand_dims(a, axes=[0]))
            return
        kind = r.randint(0, 4)
        if kind == 0:
            order = list(range(n))
            r.shuffle(order)
            made = dyn.transpose(a, perm=order)
        elif kind == 1:
            made = dyn.reshape(a, shape=[-1])
        elif kind == 2:
            made = dyn.pad(a, fill_value=r.randint(0, 3), shape=[r.randint(6, 8)] * n)
        elif kind == 3:
            made = dyn.stack(a, a, axis=r.randint(0, n))
        else:
            made = dyn.cat(a, a, axis=r.randrange(n))
        self.numbers.append(made)

    def reduce(self) -> None:
        r = self.r
        a = self.pick()
        if a.ndim:
            function = getattr(self.dyn.reductions, r.choice(["sum", "min", "max"]))
            self.numbers.append(function(a, axes=[r.randrange(a.ndim)]))

    def picture(self) -> None:
        """Change an image. Arguments are constants or values."""
        r, dyn = self.r, self.dyn
        image = r.choice(self.images)
        flip = dyn.random.coin_flip(probability=0.5, rng=self.rng, **self.size())
        made = r.choice(
            [
                lambda: dyn.flip(image, horizontal=r.choice([1, flip])),
                lambda: dyn.crop(image, crop=[r.randint(2, 6), r.randint(2, 6)]),
                lambda: dyn.slice(image, r.randint(0, 2), r.randint(2, 5), axes=[0], **_absolute),
                lambda: dyn.crop_mirror_normalize(image, mirror=flip, mean=[1.0, 2.0, 3.0]),
                lambda: dyn.paste(image, ratio=2.0, fill_value=[1, 2, 3]),
                lambda: dyn.erase(image, anchor=[1, 1], shape=[3, 2], axes=[0, 1], fill_value=7),
                lambda: dyn.copy(image),
            ]
        )()
        self.images.append(made)

    def select(self) -> None:
        """Take samples, and put samples together."""
        r, dyn = self.r, self.dyn
        a = self.pick()
        if self.batched:
            order = [r.randrange(BATCH) for _ in range(BATCH)]
            made = r.choice(
                [
                    lambda: dyn.as_batch([a.tensors[i] for i in order]),
                    lambda: dyn.batch(a.tensors[::-1].tolist()),
                    lambda: dyn.as_batch(list(a)),
                    lambda: dyn.as_batch(a),
                ]
            )()
            self.seen.append(self.describe(a.tensors[r.randrange(BATCH)]))
            self.numbers.append(made)
        else:
            self.seen.append(self.describe(dyn.batch([a, a])))

    def convert(self) -> None:
        """Make a Tensor of a Batch, or another type or layout of a value."""
        r, dyn = self.r, self.dyn
        a = self.pick()
        if self.batched:
            made = dyn.tensor(a, pad=r.random() < 0.5).evaluate()
            self.seen.append(self.describe(made))
            self.numbers.append(dyn.as_batch(a, dtype=r.choice([dyn.float32, dyn.int32])))
        else:
            self.numbers.append(dyn.tensor(a, dtype=dyn.float32))
            array = self.array([2, 3])
            self.seen.append(self.describe(dyn.tensor(array, layout=r.choice([None, "AB"]))))

    def mistake(self) -> None:
        """Make a mistake."""
        r, dyn = self.r, self.dyn
        a = self.pick()
        r.choice(
            [
                lambda: dyn.crop(a, corp=[2, 2]),
                lambda: dyn.cast(a),
                lambda: dyn.cast(a, dtype=int),
                lambda: dyn.cast(),
                lambda: a + (1 << 40),
                lambda: dyn.transpose(a, perm="x"),
                lambda: dyn.transpose(a, perm=[7, 7]).evaluate(),
                lambda: dyn.tensor(None),
                lambda: dyn.batch([]),
                lambda: dyn.Batch.broadcast(dyn.Batch.broadcast(1, 2), 2),
                lambda: dyn.batch([1, 2]) + dyn.batch([1, 2, 3]),
                lambda: dyn.batch_permutation(),
                lambda: dyn.tensor([1 << 40]),
                lambda: dyn.tensor([1, 2, 3]).item(),
                lambda: dyn.tensor(np.zeros((2, 2)))[0, 0, 0],
                lambda: dyn.decoders.image(np.zeros(9, np.uint8)).evaluate(),
                lambda: dyn.io.file.read(np.frombuffer(b"/none", np.uint8)).evaluate(),
                lambda: dyn.batch(5),
                lambda: dyn.device("tpu"),
                lambda: dyn.checkpoint.Checkpoint().serialize(),
                lambda: dyn.readers.File(file_root=str(self.data), shard_id=3, num_shards=2),
                lambda: dyn.readers.File(file_roof="x"),
            ]
        )()

    # Readers.

    def arguments(self) -> dict[str, Any]:
        r = self.r
        args: dict[str, Any] = {"file_root": str(self.data / str(r.choice([7, 10])))}
        args.update(
            r.choice(
                [
                    {},
                    {"random_shuffle": True, "initial_fill": 4, "seed": r.randint(0, 9)},
                    {"shuffle_after_epoch": True},
                    {"pad_last_batch": True, "num_shards": 2, "shard_id": r.randint(0, 1)},
                    {"stick_to_shard": True, "num_shards": 3, "shard_id": r.randint(0, 2)},
                ]
            )
        )
        return args

    def read(self) -> None:
        """Read epochs, with a checkpoint after each batch."""
        r, dyn = self.r, self.dyn
        args, size = self.arguments(), r.choice([None, 1, 2, 3, 4])
        reader = dyn.readers.File(**args)
        checkpoint = dyn.checkpoint.Checkpoint()
        checkpoint.register(reader, "reader")
        checkpoint.register(self.rng)
        batches, stop = 0, r.randint(1, 9)
        for _ in range(2):
            for files, labels in reader.next_epoch(batch_size=size):
                noise = dyn.random.uniform(range=[0.0, 1.0], rng=self.rng)
                self.seen.append((self.describe(files), self.describe(labels * 2 + noise)))
                checkpoint.collect()
                self.seen.append(checkpoint.serialize())
                batches += 1
                if batches == stop:
                    self.text, self.args = checkpoint.serialize(), {**args, "size": size}
        self.seen.append(sorted(reader.get_metadata(size).items()))


class Loop:
    """A Loop is a captured loop of a program: sources of functions that make the calls of a step.

    A steady loop has one function. Otherwise other functions make the calls of some steps. DALI
    reads the source to find what it may capture.
    """

    def __init__(self, program: Program) -> None:
        self.p, self.r, self.dyn = program, program.r, program.dyn
        self.steady = self.r.random() < 0.5
        self.size = self.r.randint(1, 4)
        self.args = program.arguments()
        self.rows: list[str] = []  # values of the step whose samples have one element
        self.texts: list[str] = []  # and of those that have three
        self.others: list[str] = []
        number = 1 if self.steady else self.r.randint(2, 4)
        source = "".join(self.function(i) for i in range(number))
        file = program.data / f"loop_{program.seed}_{self.dyn.__name__}.py"
        file.write_text(source)
        names: dict[str, Any] = {"dyn": self.dyn}
        exec(compile(source, str(file), "exec"), names)
        self.steps = [names[f"step{i}"] for i in range(number)]

    def function(self, number: int) -> str:
        """Return the source of the calls of a step."""
        r = self.r
        lines = [f"def step{number}(files, labels, outside, rng0, rng1):"]
        self.rows, self.texts, self.others = ["labels"], ["files"], []
        lines.append(f"    first = dyn.cast(labels, dtype=dyn.{r.choice(['float32', 'int16'])})")
        self.rows.append("first")
        for i in range(r.randint(1, 7)):
            pool, text = self.call()
            pool.append(f"v{i}")
            lines.append(f"    v{i} = {text}")
            if not self.steady and r.random() < 0.1:
                lines.append("    rng0()")
        values = self.rows + self.texts + self.others
        if r.random() < 0.5:
            values = values[-3:]
        lines.append(f"    return [{', '.join(values)}]")
        return "\n".join(lines) + "\n"

    def call(self) -> tuple[list[str], str]:
        """Return the source of a call, and where its value goes."""
        r = self.r
        rows, texts, others = self.rows, self.texts, self.others
        x, y, text, k = r.choice(rows), r.choice(rows), r.choice(texts), r.randint(0, 5)
        draw = f"rng=rng{r.randint(0, 1)}"
        sized = f"{draw}, batch_size={self.size}"
        return r.choice(
            [
                (rows, f"{x} + {y}"),
                (rows, f"{x} * {k}"),
                (rows, f"{x} + outside"),
                (rows, f"{x} - dyn.capture.invariant(outside)"),
                (rows, f"dyn.math.max({x}, {y})"),
                (rows, f"dyn.cast({x}, dtype=dyn.float32)"),
                (rows, f"dyn.cast({x} * {k}, dtype=dyn.int16)"),
                (rows, f"dyn.random.uniform(range=[0.0, {k + 1}.0], shape=[1], {sized})"),
                (rows, f"dyn.random.coin_flip(probability=0.3, shape=[1], {sized})"),
                (rows, f"dyn.random.normal({x}, {draw})"),
                (rows, f"dyn.random.normal({x}, stddev={k + 1}.5, {draw})"),
                (rows, f"dyn.reductions.sum({text}, axes=[0], keep_dims=True)"),
                (rows, f"{text}.slice[{r.randint(0, 2)}:].slice[0:1]"),
                (texts, f"{text} + {x}"),
                (texts, f"dyn.cast({text}, dtype=dyn.{r.choice(['float32', 'uint8'])})"),
                (texts, f"dyn.transpose({text}, perm=[0])"),
                (others, f"dyn.pad({text}, fill_value={k}, axes=[0], shape=[{k + 3}])"),
                (others, f"dyn.cat({text}, {text}, axis=0)"),
                (others, f"dyn.stack({x}, {x})"),
                (others, f"dyn.tensor({x})"),
                (
                    others,
                    f"dyn.flip(dyn.reshape({text}, shape=[1, 3, 1], layout='HWC'), "
                    f"horizontal=dyn.random.coin_flip({sized}))",
                ),
            ]
        )

    def run(self) -> None:
        """Run two epochs. The second one may be left in the middle."""
        modes = ["deferred", "eager", "eager", "sync_cpu", "sync_full"]
        with getattr(self.dyn.EvalMode, self.r.choice(modes)):
            self.epochs()

    def epochs(self) -> None:
        p, r = self.p, self.r
        reader = self.dyn.readers.File(**self.args)
        rngs = [self.dyn.random.RNG(seed=r.randint(0, 99)) for _ in range(2)]
        outside = self.dyn.tensor([r.randint(0, 9)]) + 0
        step = self.steps[0]
        capture = self.steady or p.m.captures_all
        for epoch in range(2):
            for files, labels in reader.next_epoch(batch_size=self.size, capture=capture):
                if epoch == 1 and r.random() < 0.2:
                    break
                if r.random() < 0.2:
                    step = r.choice(self.steps)  # for all further steps
                once = r.choice(self.steps) if r.random() < 0.1 else step
                values = once(files, labels, outside, *rngs)
                if not self.steady and r.random() < 0.1:
                    outside = outside + 1
                looks = r.random()
                if looks < 0.8:
                    p.seen += [p.describe(value) for value in [files, *values]]
                elif looks < 0.9 and not self.steady:
                    outside = outside + int(np.asarray(next(iter(labels))).sum())
                p.seen += [str(rng.state) for rng in rngs]
            p.seen.append("end")
        p.seen.append([str(rng.state) for rng in rngs])


_absolute = {"normalized_anchor": False, "normalized_shape": False}


def _kind(err: Exception) -> tuple[str, ...]:
    """Return the built-in errors that an error is."""
    kinds = (TypeError, ValueError, RuntimeError, KeyError, IndexError, OverflowError, OSError)
    return tuple(k.__name__ for k in kinds if isinstance(err, k))


def resume(m: Mine, text: str, args: dict[str, Any]) -> list[Any]:
    """Go on from a checkpoint, and return what follows."""
    dyn = m.dyn
    given = dict(args)
    size = given.pop("size")
    reader, rng = dyn.readers.File(**given), dyn.random.RNG(seed=0)
    checkpoint = dyn.checkpoint.Checkpoint()
    checkpoint.deserialize(text)
    checkpoint.register(reader, "reader")
    checkpoint.register(rng)
    seen: list[Any] = []
    for _ in range(2):
        for files, _ in reader.next_epoch(batch_size=size):
            many = files if isinstance(files, dyn.Batch) else [files]
            seen.append(([np.asarray(t).tobytes() for t in many], rng()))
            checkpoint.collect()
            seen.append(checkpoint.serialize())
    return seen


def same(ours: Any, theirs: Any) -> bool:
    """Compare what a step gave. An error of ours may be more kinds of errors than theirs."""
    if isinstance(theirs, tuple) and _is_error(theirs):
        return (
            isinstance(ours, tuple)
            and _is_error(ours)
            and ours[1] == theirs[1]
            and set(theirs[2]) <= set(ours[2])
        )
    if isinstance(theirs, (tuple, list)):
        alike = type(ours) is type(theirs) and len(ours) == len(theirs)
        return alike and all(same(a, b) for a, b in zip(ours, theirs))
    if isinstance(theirs, np.ndarray):
        if theirs.dtype != ours.dtype or theirs.shape != ours.shape:
            return False
        if theirs.dtype.kind == "f":  # functions of DALI differ in the last bits
            return np.allclose(ours, theirs, rtol=2e-6, atol=2e-6, equal_nan=True)
        return np.array_equal(ours, theirs)
    return bool(ours == theirs)


def _is_error(seen: tuple[Any, ...]) -> bool:
    return len(seen) > 2 and isinstance(seen[0], str) and seen[0] == "error"


def trees(root: Path) -> None:
    """Make the data sets."""
    for n in (7, 10):
        for i in range(n):
            folder = root / str(n) / f"c{i * 3 // n}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"f{i:03d}.jpg").write_text(f"{i:03d}")


def main() -> int:
    """Run the programs; return 1 if one differs."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    ours, theirs = Mine("bivouac"), Mine("dali")
    failed = steps = errors = 0
    with tempfile.TemporaryDirectory() as folder:
        trees(Path(folder))
        for seed in range(first, first + count):
            a = Program(seed, ours, Path(folder))
            b = Program(seed, theirs, Path(folder))
            got, want = a.run(), b.run()
            steps += len(want)
            errors += sum(isinstance(w, tuple) and _is_error(w) for w in want)
            wrong = [i for i, (g, w) in enumerate(zip(got, want)) if not same(g, w)]
            if wrong or len(got) != len(want):
                failed += 1
                at = wrong[0] if wrong else min(len(got), len(want)) - 1
                print(
                    f"program {seed}: step {at}:\n  got  {got[at]!r:.400}\n  want {want[at]!r:.400}"
                )
                continue
            if a.text and resume(ours, b.text, a.args) != resume(theirs, a.text, a.args):
                failed += 1
                print(f"program {seed}: goes on in another way from the checkpoint")
    print(f"{count} programs of dynamic mode, {steps} results, {errors} errors: {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
