"""Dynamic mode: values, modes, random numbers, readers, sources, and what is refused."""

from __future__ import annotations

import gc
import itertools
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dynamic_machine import indices, tree

import bivouac.dynamic as dyn
from bivouac import errors, types
from bivouac._dynamic import session as sessions
from bivouac._pipeline.tensors import TensorCPU, TensorListCPU

pytestmark = pytest.mark.usefixtures("sidecar")

MODES = list(dyn.EvalMode)


def numbers(value: Any) -> Any:
    if isinstance(value, dyn.Batch):
        return [np.asarray(sample).tolist() for sample in value]
    return np.asarray(value).tolist()


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_values_are_the_same_in_every_mode(mode: dyn.EvalMode) -> None:
    rng = dyn.random.RNG(seed=7)
    with mode:
        assert dyn.EvalMode.current() is mode
        x = dyn.tensor([[1, 2, 3], [4, 5, 6]])
        y = (x * 2 + 1)[1, ::2]
        drawn = dyn.random.coin_flip(rng=rng, shape=[8], batch_size=2)
        stacked = dyn.tensor(drawn)
    assert numbers(y) == [9, 13]
    assert y.dtype == dyn.int32 and y.shape == (2,) and y.layout is None
    other = dyn.random.coin_flip(rng=dyn.random.RNG(seed=7), shape=[8], batch_size=2)
    assert numbers(stacked) == numbers(other)
    assert str(rng.state).endswith("0000000000000001_3")
    assert dyn.EvalMode.current() is dyn.EvalMode.eager


def test_numbers_of_python_have_32_bits() -> None:
    assert dyn.tensor(3).dtype == dyn.int32
    assert dyn.tensor(2.5).dtype == dyn.float32
    assert dyn.tensor(True).dtype == dyn.bool
    assert dyn.tensor([1 << 31]).dtype == dyn.uint32
    assert dyn.tensor(3, dtype="f16").dtype == dyn.float16
    assert dyn.tensor(types.UINT8).dtype == dyn.DataType
    assert dyn.float64([1, 2]).dtype == dyn.float64
    with pytest.raises(OverflowError):
        dyn.tensor([-1, 1 << 40])
    with pytest.raises(OverflowError):
        dyn.tensor([1]) + (1 << 40)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4), (40, 50)])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float16", "float32", "uint64"])
def test_arrays_go_there_and_back(shape: tuple[int, ...], dtype: str) -> None:
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    back = dyn.copy(dyn.as_tensor(array))
    got = np.asarray(back)
    assert got.dtype == array.dtype and got.shape == shape and np.array_equal(got, array)
    assert back.size == array.size and back.nbytes == array.nbytes
    assert back.itemsize == array.itemsize and back.ndim == array.ndim
    batch = dyn.copy(dyn.as_batch([array, array]))
    assert batch.shape == [shape, shape] and batch.batch_size == 2
    assert all(np.array_equal(np.asarray(sample), array) for sample in batch)


def test_arrays_that_do_not_lie_in_order() -> None:
    whole = np.arange(24, dtype=np.int32).reshape(4, 6)
    for view in (whole.T, whole[::-1], whole[:, ::2], whole.astype(">i4")):
        assert np.array_equal(np.asarray(dyn.tensor(view) + 0), view)
        assert np.array_equal(np.asarray(dyn.as_tensor(view) + 0), view)


def test_tensor_copies_and_as_tensor_does_not() -> None:
    array = np.zeros(3, np.int32)
    copied, shared = dyn.tensor(array), dyn.as_tensor(array)
    before = shared + 1
    array[0] = 5
    assert numbers(copied) == [0, 0, 0] and numbers(copied + 1) == [1, 1, 1]
    assert numbers(shared) == [5, 0, 0] and numbers(shared + 1) == [6, 1, 1]
    assert numbers(before) == [1, 1, 1]
    assert np.shares_memory(np.asarray(shared), array)


def test_views_stay_when_values_go() -> None:
    views = [np.asarray(dyn.full(i, shape=[2000])) for i in range(20)]
    gc.collect()
    dyn.full(99, shape=[2000]).evaluate()
    assert all((view == i).all() for i, view in enumerate(views))


def test_a_value_is_dropped_with_the_last_reference() -> None:
    session = sessions.current()
    value = dyn.tensor([1, 2]) + 1
    number = value._handle.number
    value.evaluate()
    del value
    gc.collect()
    assert number in session.dropped
    dyn.tensor([3]).evaluate()
    (dyn.tensor([3]) + 1).evaluate()
    assert number not in session.dropped


def test_batches() -> None:
    batch = dyn.batch([np.ones((2, 3), np.uint8), np.zeros((1, 4), np.uint8)], layout="HW")
    assert batch.shape == [(2, 3), (1, 4)] and batch.layout == "HW" and batch.ndim == 2
    assert batch.dtype == dyn.uint8 and batch.batch_size == 2
    assert batch.tensors[1].shape == (1, 4) and len(batch.tensors) == 2
    assert numbers(batch.select([1, 0]).tensors[1]) == [[1, 1, 1], [1, 1, 1]]
    assert batch.select(...) is batch and isinstance(batch.select(0), dyn.Tensor)
    assert [t.shape for t in (batch + 1).tensors[::-1]] == [(1, 4), (2, 3)]
    assert numbers(batch.slice[0, 1:3]) == [[1, 1], [0, 0]]
    assert numbers(batch.slice[0, dyn.batch([0, 2])]) == [1, 0]
    with pytest.raises(IndexError):
        batch.tensors[2]
    with pytest.raises(ValueError, match="one shape"):
        dyn.tensor(batch)
    assert numbers(dyn.tensor(batch, pad=True))[1] == [[0, 0, 0, 0], [0, 0, 0, 0]]
    assert dyn.batch([], dtype=dyn.float32).batch_size == 0
    assert numbers(dyn.Batch.broadcast([1, 2], 2)) == [[1, 2], [1, 2]]
    assert numbers(dyn.Batch.broadcast(dyn.tensor([1]) + 1, 2)) == [[2], [2]]
    listed = TensorListCPU([np.ones(2, np.int32)] * 3)
    assert numbers(dyn.cast(listed, dtype=dyn.float32)) == [[1.0, 1.0]] * 3
    assert dyn.tensor(TensorCPU(np.zeros((2, 2)), "HW")).layout == "HW"


def test_a_batch_and_its_copies() -> None:
    array = np.zeros((2, 2), np.int32)
    shared, copied = dyn.as_batch(array), dyn.batch(array)
    again = dyn.batch(shared)
    array[0, 0] = 7
    assert numbers(shared) == [[7, 0], [0, 0]]
    assert numbers(copied) == numbers(again) == [[0, 0], [0, 0]]
    assert dyn.as_batch(shared) is shared
    assert dyn.as_batch(copied, dtype=dyn.float32).dtype == dyn.float32
    assert dyn.batch(copied + 1, layout="X").layout == "X"


def test_indices() -> None:
    x = dyn.tensor(np.arange(24).reshape(2, 3, 4))
    want = np.arange(24).reshape(2, 3, 4)
    for index in [0, -1, (0, 2), (slice(None), 1), (..., 0), (0, ...), (slice(1, None), ..., -1)]:
        assert np.array_equal(np.asarray(x[index]), want[index]), index
    assert np.array_equal(np.asarray((x + 0)[..., 1:3]), want[..., 1:3])
    assert x[:] is x and x[...] is x
    assert numbers(x[0, 0, dyn.tensor(2)]) == 2
    assert [numbers(part) for part in dyn.tensor([1, 2])] == [1, 2]
    with pytest.raises(ValueError):
        x[0, 0, 0, 0]
    with pytest.raises(ValueError):
        x[..., ...]
    with pytest.raises(TypeError):
        x["a"]
    with pytest.raises(TypeError):
        x[None]
    with pytest.raises(TypeError):
        iter(dyn.tensor(1))
    with pytest.raises(RuntimeError):
        x[5].evaluate()


def test_an_error_names_the_line_and_is_raised_when_a_value_is_wanted() -> None:
    bad = dyn.crop(dyn.tensor(np.zeros((2, 2))), crop=[5, 5])
    worse = bad + 1
    for value in (bad, worse):
        for ask in (lambda v: v.evaluate(), lambda v: v.shape, np.asarray, lambda v: v.item()):
            with pytest.raises(
                RuntimeError, match=r"call at .*test_dynamic\.py:\d+: crop"
            ) as found:
                ask(value)
            assert isinstance(found.value, (ValueError, errors.Invalid))
    again = pickle.loads(pickle.dumps(found.value))
    assert isinstance(again, RuntimeError) and isinstance(again, errors.Invalid)
    with dyn.EvalMode.sync_cpu, pytest.raises(RuntimeError):
        dyn.crop(dyn.tensor(np.zeros((2, 2))), crop=[5, 5])


def test_a_context_says_the_first_error() -> None:
    with dyn.EvalContext(num_threads=2) as context:
        assert dyn.EvalContext.current() is context and context.num_threads == 2
        dyn.crop(dyn.tensor(np.zeros((2, 2))), crop=[5, 5])
        with pytest.raises(ValueError, match="crop"):
            context.evaluate_all()
        context.evaluate_all()
        assert dyn.checkpoint.current() is context.checkpoint
    assert dyn.checkpoint.current() is not context.checkpoint
    assert dyn.EvalContext.current() is dyn.EvalContext.default()


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: dyn.crop(dyn.tensor([1]), corp=[1, 1]), TypeError),
        (lambda: dyn.cast(dyn.tensor([1])), TypeError),
        (lambda: dyn.cast(dyn.tensor([1]), dtype=int), ValueError),
        (lambda: dyn.cast(), TypeError),
        (lambda: dyn.batch([1, 2]) + dyn.batch([1]), ValueError),
        (lambda: dyn.cast(dyn.batch([1]), batch_size=2, dtype=dyn.int8), ValueError),
        (lambda: dyn.batch_permutation(), ValueError),
        (lambda: dyn.random.uniform(rng=5), ValueError),
        (lambda: dyn.random.uniform(batch_size=0), ValueError),
        (lambda: dyn.batch([]), ValueError),
        (lambda: dyn.batch(5), TypeError),
        (lambda: dyn.batch([None]), TypeError),
        (lambda: dyn.tensor(None), ValueError),
        (lambda: dyn.tensor("text"), TypeError),
        (lambda: dyn.tensor([1, 2], layout="HWC"), RuntimeError),
        (lambda: dyn.tensor([1, 2]).item(), ValueError),
        (lambda: dyn.transpose(dyn.tensor([1]), perm=dyn.tensor([0])), TypeError),
        (lambda: dyn.device("tpu"), ValueError),
        (lambda: dyn.dtype("i7"), KeyError),
        (lambda: dyn.tensor([1]).gpu(), RuntimeError),
        (lambda: dyn.Stream(), NotImplementedError),
        (lambda: dyn.set_num_threads(0), ValueError),
        (lambda: dyn.set_num_threads("two"), TypeError),
        (lambda: dyn.EvalContext(num_threads=1, thread_pool=dyn.ThreadPool(2)), ValueError),
        (lambda: dyn.resise, AttributeError),
        (lambda: dyn.readers.File(file_roof="x"), TypeError),
        (lambda: dyn.readers.File(file_root="x", shard_id=2, num_shards=2), ValueError),
        (lambda: dyn.readers.File(file_root="/nowhere").get_metadata(), RuntimeError),
        (lambda: dyn.random.RNG(seed=1, state="x"), ValueError),
        (lambda: dyn.random.RNG(state="x"), ValueError),
        (lambda: dyn.random.RNG(state=5), TypeError),
        (lambda: dyn.random.RNG(1).advance(-1), ValueError),
        (lambda: dyn.random.RNG(1).seed, AttributeError),
        (lambda: dyn.ExternalSource(5), TypeError),
        (lambda: dyn.ExternalSource(lambda i: i), ValueError),
        (lambda: dyn.ExternalSource([1], num_outputs=0), ValueError),
        (lambda: dyn.imread(5), TypeError),
    ],
)
def test_mistakes(call: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        call()


def test_constants_that_change_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_OPERATORS", 20)
    x = dyn.tensor([1.0])
    made = [x + float(i) for i in range(100)]
    assert [numbers(value) for value in made] == [[1.0 + i] for i in range(100)]
    assert len(sessions.current()._operators) <= 20
    assert np.signbit(np.asarray(dyn.full(-0.0))) and not np.signbit(np.asarray(dyn.full(0.0)))


def test_arguments_of_samples() -> None:
    images = dyn.batch([np.arange(12, dtype=np.uint8).reshape(2, 2, 3)] * 2, layout="HWC")
    flipped = dyn.flip(images, horizontal=dyn.batch([0, 1]))
    assert numbers(flipped)[0] == numbers(images)[0]
    assert numbers(flipped)[1][0] == [[3, 4, 5], [0, 1, 2]]
    same = dyn.flip(images, horizontal=np.array([1.0]).reshape(()))
    assert numbers(same)[0][0] == [[3, 4, 5], [0, 1, 2]]
    one = dyn.random.uniform(range=dyn.tensor([2.0, 2.5]), rng=dyn.random.RNG(1))
    assert 2.0 <= one.item() < 2.5


def test_sources() -> None:
    source = dyn.ExternalSource([[1, 2], [3, 4]], cycle="raise", dtype=dyn.float32)
    assert numbers(source()) == [1.0, 2.0]
    assert numbers(source(batch_size=2)) == [[3.0, 4.0]] * 2
    with pytest.raises(StopIteration):
        source()
    assert numbers(source()) == [1.0, 2.0]
    pairs = dyn.ExternalSource(iter([(1, dyn.batch([2]))]), num_outputs=2)
    with pytest.raises(TypeError):
        pairs()
    captured = dyn.ExternalSource(lambda: [5], layout="X")
    for batch, _ in zip(captured.captured(3), range(2)):
        assert numbers(batch) == [[5]] * 3 and batch.layout == "X"
    with pytest.raises(RuntimeError):
        captured()


def test_readers_are_read_in_one_way(tmp_path: Path) -> None:
    root = tree(tmp_path, 7)
    reader = dyn.readers.File(file_root=root)
    with pytest.raises(RuntimeError):
        reader.get_state()
    first = [indices(files) for files, _ in reader.next_epoch(batch_size=3)]
    assert first == [[0, 1, 2], [3, 4, 5], [6, 0, 1]]
    with pytest.raises(ValueError):
        next(reader.next_epoch(batch_size=2))
    for call in (
        lambda: next(reader.next_epoch()),
        lambda: reader(batch_size=3),
        lambda: reader.next_epoch(batch_size=3, capture=True),
        lambda: reader.get_state(),
        lambda: reader.set_state("x"),
        lambda: dyn.checkpoint.Checkpoint().register(reader),
    ):
        with pytest.raises(RuntimeError):
            call()
    direct = dyn.readers.File(file_root=root, batch_size=4)
    assert [indices(direct()[0]) for _ in range(3)] == [[0, 1, 2, 3], [4, 5, 6, 0], [1, 2, 3, 4]]
    single = dyn.readers.File(file_root=root)
    assert [indices([single()[0]]) for _ in range(8)] == [[i % 7] for i in range(8)]
    with pytest.raises(TypeError):
        dyn.readers.File(file_root=root).set_state(5)
    with pytest.raises(NotImplementedError):
        dyn.readers.File(file_root=root, enable_checkpointing=True).next_epoch(2, capture=True)


def test_a_captured_loop_gives_the_same(tmp_path: Path) -> None:
    root = tree(tmp_path, 40)
    outside = dyn.tensor(1.5) + 0

    def run(capture: bool, changes: bool) -> tuple[list[Any], int]:
        r = random.Random(5)
        reader, rng = dyn.readers.File(file_root=root), dyn.random.RNG(seed=3)
        found = []
        for files, labels in itertools.chain(
            reader.next_epoch(batch_size=4, capture=capture),
            reader.next_epoch(batch_size=4, capture=capture),
        ):
            noise = dyn.random.uniform(
                range=dyn.capture.invariant([0.0, 1.0]), rng=rng, batch_size=4
            )
            value = labels * 2 + noise + outside
            if changes and r.random() < 0.3:
                value = value * r.choice([2, 3])
            if changes and r.random() < 0.2:
                rng()
            if changes and r.random() < 0.2:
                outside_too = dyn.tensor(r.random()) + 0
                value = value + outside_too
            more = dyn.random.normal(value, rng=rng)
            found.append((indices(files), numbers(dyn.tensor(more + value)), str(rng.state)))
        return found, reader._ahead

    for changes in (False, True):
        captured, ahead = run(True, changes)
        assert captured == run(False, changes)[0]
        assert ahead > 0
        if not changes:
            assert ahead >= 2 * 6 * 5  # calls of the steps that follow two others, in two epochs


def test_a_captured_loop_that_is_left(tmp_path: Path) -> None:
    reader = dyn.readers.File(file_root=tree(tmp_path, 12))
    for _ in range(3):
        for files, labels in reader.next_epoch(batch_size=2, capture=True):
            (labels + 1).evaluate()
            first = indices(files)
            break
        assert len(first) == 2
    crops = []
    for files, _ in reader.next_epoch(batch_size=2, capture=True):
        crops.append(dyn.crop(files, crop=[5, 5]))
    for crop in crops:
        with pytest.raises(RuntimeError, match=r"test_dynamic\.py:\d+: crop"):
            crop.evaluate()


def test_checkpoints_are_files_that_are_never_replaced(tmp_path: Path) -> None:
    checkpoint = dyn.checkpoint.Checkpoint()
    with pytest.raises(RuntimeError):
        checkpoint.save(str(tmp_path / "a_{seq}.json"))
    checkpoint.register(dyn.random.RNG(seed=1), "rng")
    checkpoint.collect()
    for bad in ("a.json", "{seq}{seq}", "{other}", "a{", "{seq:q}"):
        with pytest.raises((ValueError, KeyError)):
            checkpoint.save(str(tmp_path / bad))
    pattern = str(tmp_path / "runs" / "a_{seq:03d}.json")
    paths = [Path(checkpoint.save(pattern)) for _ in range(3)]
    assert [path.name for path in paths] == ["a_000.json", "a_001.json", "a_002.json"]
    (tmp_path / "runs" / "a_003.json").write_text("not ours")
    assert Path(checkpoint.save(pattern)).name == "a_004.json"
    assert (tmp_path / "runs" / "a_003.json").read_text() == "not ours"
    assert sorted(p.name for p in (tmp_path / "runs").iterdir() if p.name[0] == ".") == []
    other = dyn.checkpoint.Checkpoint()
    assert Path(other.load(pattern)).name == "a_004.json"
    assert other.serialize() == checkpoint.serialize() == paths[0].read_text()
    with pytest.raises(FileNotFoundError):
        other.load(str(tmp_path / "b_{seq}.json"))


def test_words() -> None:
    assert repr(dyn.tensor([1, 2], layout="X")) == (
        'Tensor(\n    [1 2],\n    dtype=i32,\n    layout="X",\n    device="cpu",\n    shape=(2,))'
    )
    assert repr(dyn.batch([[1], [2]])) == (
        'Batch(\n    [[1],\n    [2]],\n    dtype=i32,\n    device="cpu",\n    num_samples=2,\n'
        "    shape=[(1,), (1,)])"
    )
    assert repr(dyn.Device.CPU) == "Device(device_type='cpu')" and str(dyn.float16) == "f16"


def test_imread(tmp_path: Path) -> None:
    path = tmp_path / "a.pnm"
    path.write_bytes(b"P6 2 1 255\n" + bytes(range(6)))
    assert numbers(dyn.imread(path)) == [[[0, 1, 2], [3, 4, 5]]]
    assert dyn.imread([str(path), path]).shape == [(1, 2, 3)] * 2
    assert dyn.imread(path, output_type=types.GRAY).shape == (1, 2, 1)
    with pytest.raises(RuntimeError):
        dyn.imread(tmp_path / "none.jpg").evaluate()
