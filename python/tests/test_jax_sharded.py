"""Arrays of jax on several devices: one process, several processes, and Orbax on the other side."""

from __future__ import annotations

from pathlib import Path

from processes import Job, needs

MESH = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding
full = {
    "grid": np.arange(128, dtype=np.float32).reshape(16, 8),
    "rows": np.arange(32, dtype=np.int16).reshape(16, 2),
    "all": np.arange(5, dtype=np.float32),
    "scalar": np.float32(3.5),
}

def mesh(*sizes):
    return Mesh(np.array(jax.devices()).reshape(sizes), ("x", "y"))

def put(value, sharding):
    shape = np.shape(value)
    return jax.make_array_from_callback(shape, sharding, lambda index: np.asarray(value)[index])
"""

SAVE = (
    MESH
    + """
m = mesh(4, 2)
where = {"grid": P("x", "y"), "rows": P(("x", "y")), "all": P(), "scalar": P()}
state = {k: put(v, NamedSharding(m, where[k])) for k, v in full.items()}
state["step"] = 7
state["local"] = np.full(3, 1.5)
bv.save(directory + "/ckpt", {"params": state})
response = bv.save_async(directory + "/later", {"params": state})
response.result()
if rank == 0:
    loaded = bv.load(directory + "/later")["params"]
    assert all(np.array_equal(loaded[k], v) for k, v in full.items()), loaded
    assert bv.verify(directory + "/ckpt").sound
    left = sorted(n for n in os.listdir(directory) if not n.startswith("program"))
    assert left == ["ckpt", "later"], left
import orbax.checkpoint as ocp
ocp.v1.save(directory + "/orbax", {"params": state})
there = ocp.v1.load(directory + "/ckpt", {"params": state})["params"]
for k, v in full.items():
    assert there[k].sharding == state[k].sharding
    for shard in there[k].addressable_shards:
        assert np.array_equal(np.asarray(shard.data), np.asarray(v)[shard.index]), k
from jax.experimental import multihost_utils
multihost_utils.sync_global_devices("end")
"""
)

LOAD = (
    MESH
    + """
m = mesh(int(jax.device_count()), 1) if size > 1 else mesh(2, jax.device_count() // 2)
where = {"grid": P("y", "x"), "rows": P("x"), "all": P(), "scalar": P()}
abstract = {
    k: jax.ShapeDtypeStruct(np.shape(v), np.asarray(v).dtype, sharding=NamedSharding(m, where[k]))
    for k, v in full.items()
}
for name in ("orbax", "ckpt"):
    wanted = {**abstract, "step": 0, "local": np.zeros(3)}
    got = bv.load(f"{directory}/{name}", {"params": wanted})
    for k, v in full.items():
        array = got["params"][k]
        assert isinstance(array, jax.Array) and array.sharding == NamedSharding(m, where[k]), array
        for shard in array.addressable_shards:
            assert np.array_equal(np.asarray(shard.data), np.asarray(v)[shard.index]), k
assert got["params"]["step"] == 7 and list(got["params"]["local"]) == [1.5] * 3
like = bv.load(directory + "/ckpt", got)["params"]["grid"]
assert like.sharding == got["params"]["grid"].sharding
if size == 1:
    import orbax.checkpoint as ocp
    orbax = ocp.v1.load(directory + "/ckpt", {"params": wanted})
    for k, v in full.items():
        assert np.array_equal(np.asarray(orbax["params"][k]), v), k
print("equal")
if size > 1:
    from jax.experimental import multihost_utils
    multihost_utils.sync_global_devices("end")
"""
)


def test_any_mesh_to_any_other(tmp_path: Path) -> None:
    """4x2 over four processes, to 8x1 over four processes, to 2x4 in one process."""
    needs("jax")
    Job("jax", SAVE, 4, tmp_path, devices=2).outputs()
    assert Job("jax", LOAD, 4, tmp_path, devices=2).outputs() == ["equal"] * 4
    assert Job("jax", LOAD, 1, tmp_path, devices=8).outputs() == ["equal"]


KILLED = (
    MESH
    + """
import signal
from bivouac import _processes
state = {"grid": put(full["grid"], NamedSharding(mesh(4, 1), P("x", "y")))}
context = bv.Context()
context.multiprocessing.barrier_timeout_secs = 5
if rank == 2:
    wait = _processes.World.barrier
    def barrier(self, key, members, seconds):
        if key.endswith(":written"):
            os.kill(os.getpid(), signal.SIGKILL)
        wait(self, key, members, seconds)
    _processes.World.barrier = barrier
try:
    with context:
        bv.save(directory + "/ckpt", state)
except errors.BivouacError as err:
    print("error:", err)
print(os.path.exists(directory + "/ckpt"))
sys.stdout.flush()
open(f"{directory}/ended{rank}", "w").close()
while rank == 0 and not all(os.path.exists(f"{directory}/ended{r}") for r in (1, 3)):
    pass  # the coordination service lives in process 0
os._exit(0)
"""
)


def test_a_killed_process_is_named(tmp_path: Path) -> None:
    """One of four processes is killed in a save: no checkpoint, and the others say who it was."""
    needs("jax")
    results = Job("jax", KILLED, 4, tmp_path).results()
    assert results[2][0] == -9
    for rank in (0, 1, 3):
        status, text, errors = results[rank]
        assert status == 0, errors
        assert "process 2" in text and text.strip().endswith("False"), text
    assert not (tmp_path / "ckpt").exists()


RANDOM = (
    MESH
    + """
import itertools, random
import ml_dtypes
import orbax.checkpoint as ocp
draw = random.Random(18)
devices = jax.devices()

def sharding(rank_):
    kind = draw.randrange(6)
    if kind == 0:
        return SingleDeviceSharding(draw.choice(devices))
    sizes = draw.choice([(8,), (2, 4), (4, 2), (2, 2, 2), (1, 8), (2, 1, 3)])
    names = ("a", "b", "c")[: len(sizes)]
    some = draw.sample(devices, int(np.prod(sizes)))
    axes = list(names)
    draw.shuffle(axes)
    spec = []
    for _ in range(rank_):
        n = draw.randrange(0, min(2, len(axes)) + 1)
        part = tuple(axes.pop() for _ in range(n))
        spec.append(part if len(part) > 1 else part[0] if part else None)
    m = Mesh(np.array(some).reshape(sizes), names)
    return NamedSharding(m, P(*spec))

dtypes = [np.float32, np.int32, np.uint8, np.bool_, ml_dtypes.bfloat16, np.float16, np.complex64]
for turn in range(8):
    values, state, abstract = {}, {}, {}
    for i in range(12):
        shape = tuple(24 * draw.randrange(1, 3) for _ in range(draw.randrange(0, 4)))[:3]
        shape = shape if len(shape) < 3 else (24, 24, 24)
        v = np.arange(int(np.prod(shape))).reshape(shape).astype(draw.choice(dtypes))
        values[f"w{i}"] = v
        def fit():
            for _ in itertools.count():
                s = sharding(v.ndim)
                try:
                    s.shard_shape(shape)
                    return s
                except ValueError:
                    continue
        state[f"w{i}"] = jax.device_put(v, fit())
        abstract[f"w{i}"] = jax.ShapeDtypeStruct(shape, v.dtype, sharding=fit())
    path = f"{directory}/ckpt{turn}"
    package = bv if turn % 4 < 3 else ocp.v1
    package.save(path, state)
    reads = [bv] if turn % 2 else [bv, ocp.v1]
    for reader in reads:
        got = reader.load(path, abstract)
        for k, v in values.items():
            assert got[k].sharding.is_equivalent_to(abstract[k].sharding, v.ndim), (turn, k)
            for shard in got[k].addressable_shards:
                part = np.asarray(shard.data)
                assert part.dtype == v.dtype
                assert part.tobytes() == v[shard.index].tobytes(), (turn, k)
keys = jax.random.split(jax.random.key(3), 8)
keys = jax.device_put(keys, NamedSharding(Mesh(np.array(devices), ("x",)), P("x")))
bv.save(directory + "/keys", {"k": keys})
back = bv.load(directory + "/keys", {"k": keys})["k"]
assert back.sharding == keys.sharding
assert (jax.random.key_data(back) == jax.random.key_data(keys)).all()
print("equal")
"""
)


def test_random_shardings(tmp_path: Path) -> None:
    """Random shardings over eight devices load into other random shardings, Orbax's files too."""
    needs("jax")
    assert Job("jax", RANDOM, 1, tmp_path, devices=8).outputs() == ["equal"]


DOCUMENTS = """
import base64, json
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
from orbax.checkpoint import v1 as ocp
devices = np.array(jax.devices())
m = Mesh(devices.reshape(4, 2), ("x", "y"))
some = Mesh(devices[[3, 2, 1, 0]].reshape(2, 2), ("a", "b"), axis_types=(AxisType.Explicit,) * 2)
put = lambda value, mesh, *spec: jax.device_put(value, NamedSharding(mesh, P(*spec)))
state = {
    "a": {
        "b": put(np.arange(64.0).reshape(8, 8), m, "x", ("y",)),
        "c": jax.device_put(1.5, devices[3]),
    },
    "d": put(np.arange(16), m, ("x", "y")), "some": put(np.arange(16), some, "b"),
    "u": put(np.arange(12.0).reshape(4, 3), m, "x", None),
    "bf": jax.numpy.ones((2, 2), jax.numpy.bfloat16),
    "none": put(np.arange(16), m),
    "n": np.arange(3), "i": 3, "s": "text", "key": jax.random.key(0),
    "keys": put(jax.random.split(jax.random.key(0), 8), m, "x"),
}
ocp.save(directory + "/orbax", state)
bv.save(directory + "/bivouac", state)

def documents(of):
    out = {}
    for name in ("_METADATA", "_sharding", "array_metadatas/process_0"):
        with open(f"{directory}/{of}/state/{name}") as file:
            out[name] = json.load(file)
    return out

theirs, ours = documents("orbax"), documents("bivouac")
entry = lambda e: e["array_metadata"]["param_name"]
for side in (theirs, ours):
    side["_METADATA"].pop("custom_metadata")
    side["_sharding"] = {k: json.loads(v) for k, v in side["_sharding"].items()}
    side["array_metadatas/process_0"] = {
        entry(e): e["array_metadata"] for e in side["array_metadatas/process_0"]["array_metadatas"]
    }
# Orbax lets each replica of an array write a part of it, and cuts the data of keys.
for name in ("none", "keys", "some"):
    for side in (theirs, ours):
        side["_METADATA"]["tree_metadata"][f"('{name}',)"]["value_metadata"].pop("write_shape")
        for member in ("write_shape", "chunk_shape"):
            side["array_metadatas/process_0"][name].pop(member)
for name in theirs:
    assert theirs[name] == ours[name], (name, theirs[name], ours[name])

def same(a, b):
    assert type(a) is type(b), (type(a), type(b))
    if isinstance(a, jax.Array):
        assert a.sharding == b.sharding and a.dtype == b.dtype, (a.sharding, b.sharding)
        if jax.numpy.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
    assert np.array_equal(np.asarray(a), np.asarray(b))

jax.tree.map(same, ocp.load(directory + "/orbax"), ocp.load(directory + "/bivouac"))
assert bv.verify(directory + "/bivouac").sound
assert bv.metadata(directory + "/bivouac").metadata["d"].dtype == np.dtype(np.int32)

context = bv.Context()
context.array.saving.enable_write_sharding_file = False
context.array.saving.array_metadata_store = None
with context:
    bv.save(directory + "/without", state)
left = os.listdir(directory + "/without/state")
assert "_sharding" not in left, left
text = json.load(open(directory + "/without/state/array_metadatas/process_0"))
assert [entry(e) for e in text["array_metadatas"]] == ["key", "keys"]
got = ocp.load(directory + "/without", {**state, "i": 0, "s": ""})
assert np.array_equal(got["d"], state["d"])
with context:
    bv.save(directory + "/plain", {"d": state["d"]})
assert "array_metadatas" not in os.listdir(directory + "/plain/state")
print("equal")
"""


def test_orbax_loads_arrays_to_the_same_devices(tmp_path: Path) -> None:
    """The documents have the members that Orbax writes; without an abstract tree it loads them."""
    needs("jax")
    assert Job("jax", DOCUMENTS, 1, tmp_path, devices=8).outputs() == ["equal"]
