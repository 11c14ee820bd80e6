"""States of flax and optax: as trees of checkpoints, and as the state of a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import Batches, damage

import bivouac as bv
from bivouac import errors

jax: Any = pytest.importorskip("jax", reason="jax is not installed")
optax: Any = pytest.importorskip("optax", reason="optax is not installed")
flax: Any = pytest.importorskip("flax", reason="flax is not installed")
nnx: Any = pytest.importorskip("flax.nnx", reason="flax has no nnx")
train_state: Any = pytest.importorskip("flax.training.train_state")
jnp = jax.numpy

pytestmark = pytest.mark.usefixtures("sidecar")


def raw(leaf: Any) -> tuple[str, bytes]:
    """Return type and bytes of a leaf."""
    array = jnp.asarray(leaf)
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    return str(array.dtype), np.asarray(array).tobytes()


def same(a: Any, b: Any) -> bool:
    """Report whether two trees have the same structure and are equal bit for bit."""
    if jax.tree.structure(a) != jax.tree.structure(b):
        return False
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b))
    return all(type(x) is type(y) and raw(x) == raw(y) for x, y in pairs)


PARAMS = {"w": np.arange(6, dtype=np.float32).reshape(3, 2), "b": np.zeros(2, np.float32)}
OPTIMIZERS = {
    "adamw": lambda: optax.adamw(optax.cosine_decay_schedule(1e-3, 10)),
    "chain": lambda: optax.chain(optax.clip(1.0), optax.scale_by_adam(), optax.ema(0.9)),
    "named chain": lambda: optax.named_chain(("a", optax.clip(1.0)), ("b", optax.adam(1e-3))),
    "several": lambda: optax.multi_transform(
        {"a": optax.adam(1e-3), "s": optax.sgd(0.1, momentum=0.9)}, {"w": "a", "b": "s"}
    ),
    "hyperparameters": lambda: optax.inject_hyperparams(optax.adam)(
        learning_rate=optax.linear_schedule(1e-2, 1e-3, 5)
    ),
    "masked": lambda: optax.masked(optax.adam(1e-3), {"w": True, "b": False}),
    "finite": lambda: optax.apply_if_finite(optax.adam(1e-3), 3),
    "accumulating": lambda: optax.MultiSteps(optax.adam(1e-3), 2),
    "adafactor": lambda: optax.adafactor(1e-3),
    "noisy": lambda: optax.add_noise(0.1, 0.5, 3),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_states_of_optax(tmp_path: Path, name: str) -> None:
    """NamedTuples, masks and schedules come back as they were, from arrays and descriptions."""
    tx = OPTIMIZERS[name]()
    params = jax.tree.map(jnp.asarray, PARAMS)
    state = tx.init(params)
    _, state = tx.update(jax.tree.map(jnp.ones_like, params), state, params)
    bv.save(tmp_path / "c", state)
    assert same(bv.load(tmp_path / "c", state), state)
    described = jax.eval_shape(tx.init, params)
    got = bv.load(tmp_path / "c", described)
    assert jax.tree.structure(got) == jax.tree.structure(state)
    assert [raw(x) for x in jax.tree.leaves(got)] == [raw(x) for x in jax.tree.leaves(state)]


class Net(nnx.Module):  # type: ignore[misc]
    """A Net has parameters, statistics, and random state of its own."""

    def __init__(self, rngs: Any, width: int = 4) -> None:
        self.first = nnx.Linear(1, width, rngs=rngs)
        self.norm = nnx.BatchNorm(width, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.rest = nnx.List([nnx.Linear(width, width, rngs=rngs), nnx.Linear(width, 1, rngs=rngs)])

    def __call__(self, x: Any) -> Any:
        x = self.dropout(self.norm(self.first(x)))
        for layer in self.rest:
            x = layer(x)
        return x


@nnx.jit
def step(model: Any, optimizer: Any, x: Any) -> None:
    """Do a step in place."""

    def loss(model: Any) -> Any:
        return jnp.square(model(x) - x).mean()

    optimizer.update(model, nnx.grad(loss)(model))


def new(width: int = 4) -> tuple[Any, Any]:
    model = Net(nnx.Rngs(0, dropout=5), width)
    return model, nnx.Optimizer(model, optax.adamw(1e-2), wrt=nnx.Param)


def test_states_of_nnx(tmp_path: Path) -> None:
    model, optimizer = new()
    step(model, optimizer, jnp.ones((3, 1)))
    for name, tree in (
        ("model", nnx.state(model)),
        ("optimizer", nnx.state(optimizer)),
        ("pure", nnx.to_pure_dict(nnx.state(model))),
        ("params", nnx.split(model, nnx.Param, ...)[1]),
    ):
        bv.save(tmp_path / name, tree)
        assert same(bv.load(tmp_path / name, tree), tree), name
    described = nnx.eval_shape(lambda: nnx.state(new()[0]))
    got = bv.load(tmp_path / "model", described)
    fresh, _ = new()
    nnx.update(fresh, got)
    fresh.eval(), model.eval()
    x = jnp.linspace(0, 1, 6).reshape(6, 1)
    assert raw(fresh(x)) == raw(model(x))


def test_nnx_and_orbax(tmp_path: Path) -> None:
    """Orbax writes and reads the same trees."""
    ocp = pytest.importorskip("orbax.checkpoint").v1
    tree = nnx.state(new()[0])
    bv.save(tmp_path / "ours", tree)
    ocp.save(tmp_path / "theirs", tree)
    assert same(bv.load(tmp_path / "theirs", tree), tree)
    assert same(ocp.load(tmp_path / "ours", tree), tree)
    plain = [bv.load(tmp_path / name) for name in ("ours", "theirs")]
    assert jax.tree.structure(plain[0]) == jax.tree.structure(plain[1])


def run(directory: Path, steps: int, stop_at: int = -1, width: int = 4, keep: int = 3) -> Any:
    """Train objects of nnx in a job. They are changed in place, and keep their identity."""
    model, optimizer = new(width)
    seen = []
    state = {"model": model, "optimizer": optimizer}
    with bv.Job(directory, Batches(), state, steps=steps, save_every=3, keep=keep) as job:
        assert job.state["model"] is model and job.state["optimizer"] is optimizer
        for ids in job:
            step(model, optimizer, jnp.asarray(ids[:, None], jnp.float32) / 20)
            seen.append(ids.tolist())
            if job.step + 1 == stop_at:
                break
    return (nnx.state(model), nnx.state(optimizer)), seen


@pytest.mark.parametrize("stop_at", [1, 4, 7, 8])
def test_a_job_of_nnx_resumes(tmp_path: Path, stop_at: int) -> None:
    want, ids = run(tmp_path / "unbroken", 10)
    run(tmp_path / "run", 10, stop_at)
    got, rest = run(tmp_path / "run", 10)
    assert rest == ids[(stop_at - 1) // 3 * 3 :]
    assert same(got, want)


def test_a_job_of_nnx_with_damage_or_another_model(tmp_path: Path) -> None:
    want, ids = run(tmp_path / "unbroken", 8)
    run(tmp_path / "run", 6)
    damage(tmp_path / "run" / "6")
    got, rest = run(tmp_path / "run", 8)
    assert same(got, want) and rest == ids[3:]
    with pytest.raises(errors.Mismatch, match=r"model\.first\.bias"):
        run(tmp_path / "run", 9, width=5)


def test_train_states_of_linen(tmp_path: Path) -> None:
    """A TrainState with more fields, and a FrozenDict, come back as what they were."""

    class State(train_state.TrainState):  # type: ignore[misc]
        batch_stats: Any
        key: Any

    class Layer(flax.linen.Module):  # type: ignore[misc]
        @flax.linen.compact
        def __call__(self, x: Any) -> Any:
            return flax.linen.BatchNorm(use_running_average=False)(flax.linen.Dense(4)(x))

    layer = Layer()
    variables = layer.init(jax.random.key(0), jnp.ones((2, 2)))
    state = State.create(
        apply_fn=layer.apply,
        params=variables["params"],
        tx=optax.adam(1e-3),
        batch_stats=flax.core.freeze(variables["batch_stats"]),
        key=jax.random.key(3),
    )
    bv.save(tmp_path / "c", state)
    got = bv.load(tmp_path / "c", state)
    assert type(got) is State and type(got.batch_stats) is flax.core.FrozenDict and same(got, state)
    described = jax.eval_shape(lambda: state)
    assert jax.tree.structure(bv.load(tmp_path / "c", described)) == jax.tree.structure(state)
