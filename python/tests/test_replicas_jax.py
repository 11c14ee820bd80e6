"""Replicas of arrays of jax write a share each: what lies on the disk, and what is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from processes import Job, needs

# Axis "host" of the mesh lies across the processes, and axis "chip" within each.
STATE = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import ml_dtypes
m = Mesh(np.array(jax.devices()).reshape(size, -1), ("host", "chip"))
draw = np.random.default_rng(5)
noise = lambda *shape: draw.standard_normal(shape, dtype=np.float32)
KIB = 1 << 10
full = {
    "all": noise(512, 256), "chips": noise(256, 512), "hosts": noise(256, 512),
    "columns": noise(511, 512), "odd": noise(511, 255), "half": noise(512, 256).astype(
    ml_dtypes.bfloat16), "tiny": noise(6), "scalar": noise()[()], "empty": noise(0, 4),
    "cubes": noise(3, 5, 7, 2, 256),
}
where = {"chips": P(None, "chip"), "hosts": P("host"), "tiny": P("chip")}

def put(value, spec):
    value = np.asarray(value)
    return jax.make_array_from_callback(value.shape, NamedSharding(m, spec), lambda i: value[i])

state = {k: put(v, where.get(k, P())) for k, v in full.items()}
state["plain"] = np.full(3, float(rank))
state["key"] = jax.random.key(7)
state["step"] = 7

def sharing(least=None, most=None):
    context = bv.Context()
    context.array.saving.use_replica_parallel = True
    context.array.saving.min_slice_bytes_for_replica_parallel = least
    context.array.saving.max_replicas_for_replica_parallel = most
    context.multiprocessing.barrier_timeout_secs = 20
    return context

def written(name):
    # Bytes of the data files, the largest first. Each process writes one; the database is small.
    at = f"{directory}/{name}/state/d"
    sizes = (os.path.getsize(f"{at}/{file}") for file in os.listdir(at))
    return sorted((n for n in sizes if n > 24 * KIB), reverse=True)

def equal(got, name):
    for k, v in full.items():
        a, v = np.asarray(got[k]), np.asarray(v)
        assert a.dtype == v.dtype and a.shape == v.shape and a.tobytes() == v.tobytes(), (name, k)
    assert got["step"] == 7 and list(got["plain"]) == [0.0] * 3, (name, got["plain"])

def together():
    from jax.experimental import multihost_utils
    multihost_utils.sync_global_devices("together")
"""

SAVE = (
    STATE
    + """
from bivouac._tree import Flattener
about = lambda got, want: want <= got <= want + want / 16 + 24 * KIB

bv.save(directory + "/off", state)
with sharing():
    bv.save(directory + "/on", state)
    bv.save_async(directory + "/later", state).result()
with sharing(least=1):
    bv.save(directory + "/small", state)
with sharing(most=1):
    bv.save(directory + "/one", state)
with sharing(least=1 << 30):
    bv.save(directory + "/large", state)
together()

# All bytes of an array that replicas cannot share, half of those that they can.
own = full["hosts"].nbytes / 2
alone = full["odd"].nbytes
shared = sum(full[k].nbytes for k in ("all", "chips", "columns", "half", "cubes"))
for name in ("off", "one", "large"):
    first, second = written(name)
    assert about(first, own + alone + shared) and about(second, own), (name, first, second)
for name in ("on", "later", "small"):
    first, second = written(name)
    assert about(first, own + alone + shared / 2), (name, first, own + alone + shared / 2)
    assert about(second, own + shared / 2), (name, second, own + shared / 2)

# A process hands over each box once, although two of its devices have it, and only if it is asked.
sizes = []
for replicas in (False, True):
    flattener = Flattener(follows=rank > 0, replicas=replicas)
    flattener.flatten(state)
    sizes.append(sum(array.nbytes for _, array, _, _ in flattener.copies))
replicated = sum(np.asarray(full[k]).nbytes for k in full if k != "hosts")
assert sizes[1] - sizes[0] == (replicated if rank else 0), sizes

if rank == 0:
    for name in ("off", "on", "later", "small", "one", "large"):
        equal(bv.load(f"{directory}/{name}"), name)
        assert bv.verify(f"{directory}/{name}").sound, name
together()
import orbax.checkpoint as ocp
for load in (bv.load, ocp.v1.load):  # each process loads its boxes, on its devices
    for name in ("on", "small"):
        there = load(f"{directory}/{name}", state)
        for k in full:
            assert there[k].sharding == state[k].sharding, k
            for shard in there[k].addressable_shards:
                mine = np.asarray(full[k])[shard.index]
                assert np.asarray(shard.data).tobytes() == mine.tobytes(), (load, name, k)
        together()
print("equal")
"""
)

ORBAX = """
import orbax.checkpoint as ocp
for name in ("on", "small"):
    equal(ocp.v1.load(f"{directory}/{name}", state), name)
print("equal")
"""


def test_each_process_writes_a_share(tmp_path: Path) -> None:
    """Two processes with two devices each. The loads are equal, in one process of Orbax too."""
    needs("jax")
    assert Job("jax", SAVE, 2, tmp_path, devices=2).outputs() == ["equal"] * 2
    assert Job("jax", STATE + ORBAX, 1, tmp_path).outputs() == ["equal"]


DIFFERS = (
    STATE
    + """
from bivouac.errors import Mismatch, Unsupported
ours = [sharing, lambda: sharing(least=7), lambda: sharing(most=3)]
for i, theirs in enumerate([bv.Context, sharing, sharing]):
    with (ours[i] if rank == 0 else theirs)():
        try:
            bv.save(f"{directory}/c{i}", state)
        except Mismatch as err:
            print(str(err))
folder = sharing()
folder.array.saving.enable_replica_parallel_separate_folder = True
with folder:
    try:
        bv.save(f"{directory}/folder", state)
    except Unsupported as err:
        print(str(err))
together()
print(sorted(n for n in os.listdir(directory) if not n.startswith("program")))
"""
)


def test_options_that_differ_are_named(tmp_path: Path) -> None:
    """All processes need the same options, and are told which one differs. Nothing is there."""
    needs("jax")
    for text in Job("jax", DIFFERS, 2, tmp_path).outputs():
        *errors, folder, left = text.splitlines()
        names = ["UseReplicaParallel", "MinSliceBytesFor", "MaxReplicasForReplicaParallel"]
        assert len(errors) == len(names), text
        for name, error in zip(names, errors):
            assert f"Array.Saving.{name}" in error and "process 1" in error, error
        assert "enable_replica_parallel_separate_folder" in folder and "leave it unset" in folder
        assert left == "[]"


KILLED = (
    STATE
    + """
import signal
from bivouac import _processes
at = os.environ["KILL_AT"]
run = bv.training.Checkpointer(directory + "/run", context=sharing(least=1))
assert run.save(1, state)
if rank == 1:
    wait = _processes.World.barrier
    def barrier(self, key, members, seconds):
        if key.endswith(at):
            os.kill(os.getpid(), signal.SIGKILL)
        wait(self, key, members, min(seconds, 5))
    _processes.World.barrier = barrier
else:
    wait = _processes.World.barrier
    _processes.World.barrier = lambda self, key, members, seconds: wait(self, key, members, 5)
try:
    run.save(2, state)
except errors.BivouacError as err:
    print("error:", err)
print([c.step for c in run.checkpoints])
sys.stdout.flush()
os._exit(0)
"""
)


@pytest.mark.parametrize("at", [":plan", ":written"])
def test_a_killed_process_leaves_no_step(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two processes is killed while both write shares: the step before is the newest."""
    needs("jax")
    monkeypatch.setenv("KILL_AT", at)
    first, second = Job("jax", KILLED, 2, tmp_path, devices=2).results()
    assert second[0] == -9
    assert first[0] == 0, first[2]
    assert "error:" in first[1] and "process 1" in first[1], first[1]
    assert first[1].strip().endswith("[1]"), first[1]
    assert Job("jax", STATE + AFTER, 1, tmp_path).outputs() == ["equal"]


AFTER = """
with bv.training.Checkpointer(directory + "/run") as run:
    assert run.latest.step == 1, run.latest
    equal(run.load(), "the step before")
    assert bv.verify(directory + "/run/1").sound
print("equal")
"""
