"""Jobs of jax: immutable states, typed keys, flax and optax; Orbax reads the steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import Batches

import bivouac as bv
from bivouac import errors

jax: Any = pytest.importorskip("jax", reason="jax is not installed")
optax: Any = pytest.importorskip("optax", reason="optax is not installed")
train_state: Any = pytest.importorskip("flax.training.train_state", reason="flax is not installed")
jnp = jax.numpy

pytestmark = pytest.mark.usefixtures("sidecar")

TX = optax.adamw(optax.linear_schedule(1e-2, 1e-3, 20))


def predict(params: Any, x: Any, key: Any) -> Any:
    hidden = jnp.tanh(x @ params["a"]["w"] + params["a"]["b"])
    kept = jax.random.bernoulli(key, 0.5, hidden.shape)
    return (hidden * kept) @ params["b"]["w"]


def params() -> Any:
    a, b = jax.random.split(jax.random.key(0))
    return {
        "a": {"w": jax.random.normal(a, (3, 8)), "b": jnp.zeros(8, jnp.bfloat16)},
        "b": {"w": jax.random.normal(b, (8, 1))},
    }


def inputs(ids: Any) -> Any:
    return jnp.asarray(np.stack([ids, ids + 1, ids * 2], axis=1) + np.random.rand(), jnp.float32)


@jax.jit
def grads(params: Any, x: Any, key: Any) -> Any:
    return jax.grad(lambda p: jnp.square(predict(p, x, key)).mean())(params)


def run_mapping(directory: Path, steps: int, stop_at: int = -1) -> tuple[Any, list[Any]]:
    """Train with a dictionary whose entries are assigned."""
    np.random.seed(1)
    state = {"params": params(), "opt": TX.init(params()), "key": jax.random.key(5)}
    seen = []
    with bv.Job(directory, Batches(), state, steps=steps, save_every=3) as job:
        for ids in job:
            state["key"], key = jax.random.split(state["key"])
            found = grads(state["params"], inputs(ids), key)
            updates, state["opt"] = TX.update(found, state["opt"], state["params"])
            state["params"] = optax.apply_updates(state["params"], updates)
            seen.append(ids.tolist())
            if job.step + 1 == stop_at:
                break
    return state, seen


def run_train_state(directory: Path, steps: int, stop_at: int = -1) -> tuple[Any, list[Any]]:
    """Train with the immutable TrainState of flax, whose memory is donated."""
    np.random.seed(1)
    first = train_state.TrainState.create(apply_fn=predict, params=params(), tx=TX)

    def update(state: Any, x: Any) -> Any:
        key = jax.random.fold_in(jax.random.key(2), state.step)
        return state.apply_gradients(grads=grads(state.params, x, key))

    step = jax.jit(update, donate_argnums=0)
    seen = []
    with bv.Job(directory, Batches(), first, steps=steps, save_every=3) as job:
        for ids in job:
            job.state = step(job.state, inputs(ids))
            seen.append(ids.tolist())
            if job.step + 1 == stop_at:
                break
    return job.state, seen


def same(a: Any, b: Any) -> bool:
    """Report whether two trees are equal bit for bit."""
    if jax.tree.structure(a) != jax.tree.structure(b):
        return False
    data = [
        jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf
        for tree in (a, b)
        for leaf in jax.tree.leaves(tree)
    ]
    n = len(data) // 2
    return all(
        x.dtype == y.dtype and np.asarray(x).tobytes() == np.asarray(y).tobytes()
        for x, y in zip(data[:n], data[n:])
    )


@pytest.mark.parametrize("run", [run_mapping, run_train_state])
@pytest.mark.parametrize("stop_at", [1, 4, 7, 8, 9])
def test_a_resumed_run_is_equal(tmp_path: Path, run: Any, stop_at: int) -> None:
    want, ids = run(tmp_path / "unbroken", 10)
    run(tmp_path / "run", 10, stop_at)
    got, rest = run(tmp_path / "run", 10)
    assert rest == ids[(stop_at - 1) // 3 * 3 :]
    assert same(got, want)
    assert type(got) is type(want)


def test_orbax_reads_the_steps(tmp_path: Path) -> None:
    ocp = pytest.importorskip("orbax.checkpoint.experimental.v1", reason="no orbax")
    state, _ = run_mapping(tmp_path, 4)
    steps = ocp.training.Checkpointer(tmp_path)
    assert [step.step for step in steps.checkpoints] == [3, 4]
    loaded = steps.load_checkpointables(4)
    assert sorted(loaded) == ["data", "python", "state"]
    assert loaded["data"] == {"version": 1, "step": 4, "stream": {"epoch": 0, "at": 12}}
    assert np.array_equal(loaded["state"]["params"]["a"]["w"], state["params"]["a"]["w"])


def test_shardings_are_kept(tmp_path: Path) -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    for steps in (1, 2):
        state = {"w": jax.device_put(jnp.zeros(4), sharding)}
        with bv.Job(tmp_path, Batches(), state, steps=steps) as job:
            assert state["w"].sharding == sharding and state["w"][0] == steps - 1
            for _ in job:
                state["w"] = state["w"] + 1


def test_another_state_is_refused(tmp_path: Path) -> None:
    run_train_state(tmp_path, 3)
    other = train_state.TrainState.create(apply_fn=predict, params=params(), tx=optax.sgd(0.1))
    with pytest.raises(errors.BivouacError, match="opt_state"):
        bv.Job(tmp_path, Batches(), other)
    wide = params()
    wide["a"]["w"] = jnp.zeros((3, 9))
    other = train_state.TrainState.create(apply_fn=predict, params=wide, tx=TX)
    with pytest.raises(errors.Mismatch, match=r"params\.a\.w.*\[3,9\], got \[3,8\]"):
        bv.Job(tmp_path, Batches(), other)


def test_grain_resumes(tmp_path: Path) -> None:
    grain = pytest.importorskip("grain", reason="grain is not installed")

    def loader(kind: str) -> Any:
        if kind == "dataset":
            dataset = grain.MapDataset.range(20).seed(3).shuffle().batch(3)
            return dataset.to_iter_dataset()
        sampler = grain.samplers.IndexSampler(20, shuffle=True, seed=1, num_epochs=1)
        operations = [grain.transforms.Batch(3)]
        return grain.DataLoader(
            data_source=grain.sources.RangeDataSource(0, 20, 1),
            sampler=sampler,
            operations=operations,
            worker_count=0,
        )

    for kind in ("dataset", "loader"):
        seen: list[Any] = []
        for directory, stops in (("unbroken", [99]), ("run", [3, 5, 99])):
            seen.append([])
            for stop_at in stops:
                with bv.Job(
                    tmp_path / kind / directory, loader(kind), {"n": 0}, epochs=1, save_every=1
                ) as job:
                    for ids in job:
                        if job.step == stop_at:
                            break
                        seen[-1].append(np.asarray(ids).tolist())
        assert seen[0] == seen[1] and len(seen[0]) >= 6, kind
