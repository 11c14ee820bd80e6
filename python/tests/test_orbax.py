"""Orbax loads what Bivouac saves, and the other way round, also with arrays of jax."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from test_tree import EXTENDED, PLAIN, array_of, load, same, save

os.environ.setdefault("JAX_PLATFORMS", "cpu")
pytest.importorskip("orbax.checkpoint", reason="orbax is not installed")
from orbax.checkpoint import v1 as ocp  # noqa: E402

jax: Any = pytest.importorskip("jax", reason="jax is not installed")
jnp: Any = jax.numpy

pytestmark = pytest.mark.usefixtures("sidecar")

# TensorStore has no zarr type for these.
NOT_IN_ORBAX = {"complex128", "int2", "float4_e2m1fn", "float8_e8m0fnu"}


class State(NamedTuple):
    count: Any
    mu: Any


def a_tree() -> dict[str, Any]:
    return {
        "layers": [{"w": np.arange(6.0).reshape(2, 3), "b": np.ones(3, np.float32)}, {"w": 1}],
        "opt": State(np.full((), 3, np.int32), {"a": np.zeros((4, 1), np.float16)}),
        "step": 7,
        "rate": 0.25,
        "name": "run",
        "flag": True,
        "none": None,
        "empty": {},
        "tuple": (np.ones(2), 2.5),
    }


def plain(tree: Any) -> Any:
    """Return a tree as Orbax gives it without an abstract tree."""
    if isinstance(tree, dict):
        return {key: plain(tree[key]) for key in sorted(tree)}
    if hasattr(tree, "_asdict"):
        return plain(tree._asdict())
    if isinstance(tree, list | tuple):
        return [plain(item) for item in tree]
    return tree


def test_orbax_loads_what_we_save(tmp_path: Path) -> None:
    save(a_tree(), tmp_path / "c")
    assert same(plain(ocp.load(tmp_path / "c")), plain(a_tree()))


def test_we_load_what_orbax_saves(tmp_path: Path) -> None:
    tree = a_tree()
    ocp.save(tmp_path / "c", tree)
    got = load(tmp_path / "c")
    assert same(plain(got), plain(ocp.load(tmp_path / "c")))
    assert same(plain(got), plain(tree))
    assert same(load(tmp_path / "c", abstract=tree), tree)


@pytest.mark.parametrize("name", sorted(set(PLAIN + EXTENDED) - NOT_IN_ORBAX))
def test_dtypes_both_ways(name: str, tmp_path: Path) -> None:
    tree = {"a": array_of(name, (3, 5))}
    save(tree, tmp_path / "ours")
    assert same(ocp.load(tmp_path / "ours"), tree)
    ocp.save(tmp_path / "theirs", tree)
    assert same(load(tmp_path / "theirs"), tree)


def test_jax_arrays_both_ways(tmp_path: Path) -> None:
    half = jnp.ones((4,), jnp.bfloat16)
    tree = {"w": jnp.arange(6.0).reshape(2, 3), "h": half, "n": jnp.int32(3)}
    save(tree, tmp_path / "ours")
    ocp.save(tmp_path / "theirs", tree)
    for path in (tmp_path / "ours", tmp_path / "theirs"):
        got = load(path, abstract=tree)
        for key, value in tree.items():
            assert isinstance(got[key], jax.Array)
            assert got[key].dtype == value.dtype and bool((got[key] == value).all())
    abstract = jax.tree.map(np.asarray, tree)
    got = ocp.load(tmp_path / "ours", abstract)
    assert all(bool((np.asarray(got[key]) == np.asarray(tree[key])).all()) for key in tree)


def test_shape_dtype_structs(tmp_path: Path) -> None:
    save({"a": jnp.arange(4.0), "b": jnp.arange(4.0)}, tmp_path / "c")
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    abstract = {
        "a": jax.ShapeDtypeStruct((4,), jnp.float32, sharding=sharding),
        "b": jax.ShapeDtypeStruct((4,), jnp.float32),
    }
    got = load(tmp_path / "c", abstract=abstract)
    assert isinstance(got["a"], jax.Array) and got["a"].sharding == sharding
    assert bool((got["a"] == jnp.arange(4.0)).all())
    assert same(got["b"], np.arange(4, dtype=np.float32))


def test_prng_keys(tmp_path: Path) -> None:
    tree = {"key": jax.random.key(7), "many": jax.random.split(jax.random.key(1), 3)}
    save(tree, tmp_path / "c")
    for got in (load(tmp_path / "c"), load(tmp_path / "c", abstract=tree)):
        for key, value in tree.items():
            assert jax.dtypes.issubdtype(got[key].dtype, jax.dtypes.prng_key)
            assert bool((jax.random.key_data(got[key]) == jax.random.key_data(value)).all())


def test_optax_state(tmp_path: Path) -> None:
    optax = pytest.importorskip("optax", reason="optax is not installed")
    params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
    state = optax.adamw(1e-3).init(params)
    save({"params": params, "opt": state}, tmp_path / "c")
    got = load(tmp_path / "c", abstract={"params": params, "opt": state})
    assert jax.tree.structure(got["opt"]) == jax.tree.structure(state)
    abstract = jax.tree.map(np.asarray, {"params": params, "opt": state})
    theirs = ocp.load(tmp_path / "c", abstract)
    assert jax.tree.structure(theirs) == jax.tree.structure(abstract)


def test_flax_train_state(tmp_path: Path) -> None:
    struct = pytest.importorskip("flax.struct", reason="flax is not installed")

    @struct.dataclass
    class Train:
        step: int
        params: Any
        apply: Any = struct.field(pytree_node=False)

    state = Train(3, {"w": jnp.ones(4)}, print)
    save(state, tmp_path / "c")
    got = load(tmp_path / "c", abstract=state)
    assert type(got) is Train and got.step == 3 and got.apply is print
    assert bool((got.params["w"] == 1).all())
    theirs = ocp.load(tmp_path / "c")
    assert theirs["step"] == 3 and theirs["params"]["w"].sharding == state.params["w"].sharding
    assert same(np.asarray(theirs["params"]["w"]), np.ones(4, np.float32))


def test_registered_types(tmp_path: Path) -> None:
    @jax.tree_util.register_pytree_with_keys_class
    class Pair:
        def __init__(self, left: Any, right: Any) -> None:
            self.left, self.right = left, right

        def tree_flatten_with_keys(self) -> Any:
            key = jax.tree_util.GetAttrKey
            return ((key("left"), self.left), (key("right"), self.right)), None

        @classmethod
        def tree_unflatten(cls, _: Any, children: Any) -> Any:
            return cls(*children)

    save({"pair": Pair(np.ones(2), {"x": 1})}, tmp_path / "c")
    assert same(load(tmp_path / "c"), {"pair": {"left": np.ones(2), "right": {"x": 1}}})
    got = load(tmp_path / "c", abstract={"pair": Pair(np.zeros(2), {"x": 0})})
    assert type(got["pair"]) is Pair and same(got["pair"].left, np.ones(2))
    assert got["pair"].right == {"x": 1}


def test_what_jax_cannot_give(tmp_path: Path) -> None:
    array = jnp.ones(3)
    array.delete()
    with pytest.raises(ValueError, match=r"a\.b.*deleted"):
        save({"a": {"b": array}}, tmp_path / "c")
    with pytest.raises(ValueError, match=r"traced"):
        jax.jit(lambda x: save({"a": x}, tmp_path / "c"))(jnp.ones(3))
    save({"a": jnp.ones(3)}, tmp_path / "c")
    with pytest.raises(ValueError, match="cannot be changed"):
        load(tmp_path / "c", into={"a": jnp.zeros(3)})


SHARDED = """
import os, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, numpy as np
from bivouac import _abstract, _restore
from bivouac.checkpoint import _engine
from orbax.checkpoint import v1 as ocp
mesh = jax.make_mesh((4, 2), ("x", "y"))
P = jax.sharding.PartitionSpec
x = np.arange(64.0, dtype=np.float32).reshape(8, 8)
tree = {
    name: jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))
    for name, spec in {"xy": P("x", "y"), "x": P("x"), "none": P(), "y": P(None, "y")}.items()
}
path = sys.argv[1]
_engine.start_save("save", {"state": tree}, background=False, args={"path": path}).result()
got = _engine.load("load", {"path": path}, abstract=tree)
for key in tree:
    assert got[key].sharding == tree[key].sharding, key
    assert (np.asarray(got[key]) == x).all(), key
theirs = ocp.load(path, {key: np.zeros((8, 8), np.float32) for key in tree})
assert all((np.asarray(theirs[key]) == x).all() for key in tree)
# Boxes, as a process asks for them that does not hold every device.
abstract = _abstract.Abstract()
node = abstract._boxes(tree["xy"], ())
assert len(node[3]) == 8
link = _engine._client.connection()
nodes = [["x"], ["x"], node, ["x"]]
call = link.start("load", path=path, abstract=["d", ["none", "x", "xy", "y"], nodes])
value = call.result()
restorer = _restore.Restorer(_restore.Mapped(_engine.map_memory(call.fds, value["bytes"])))
boxes = dict(zip(value["tree"][1], value["tree"][2]))["xy"]
array = restorer._sharded(boxes, tree["xy"].sharding)
assert (np.asarray(array) == x).all()
print("ok")
"""


def test_sharded_arrays(program: Any, tmp_path: Path) -> None:
    process = program(SHARDED, str(tmp_path / "c"))
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "ok\n"), err
