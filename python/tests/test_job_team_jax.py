"""Jobs of several processes of jax: arrays on the devices of all, one checkpoint, exact resumes."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from processes import Job, needs
from test_job_team import committed, lines, steps

import bivouac as bv

SCENE = """
import signal, time, zlib
import jax.numpy as jnp, optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import bivouac

options = OPTIONS
devices = Mesh(np.array(jax.devices()), ("x",))
spread, same = NamedSharding(devices, P("x")), NamedSharding(devices, P())


class Batches:
    '''Batches gives a process its part of each batch.'''

    elastic = options.get("elastic", False)

    def __init__(self):
        self.place = 0

    def __iter__(self):
        while self.place < 240:
            ids = np.arange(self.place, self.place + 8) * 7 % 240
            self.place += 8
            yield np.split(ids, size)[rank]
        self.place = 0

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]


def put(value, sharding):
    return jax.make_array_from_callback(value.shape, sharding, lambda at: value[at])


tx = optax.adamw(optax.linear_schedule(1e-2, 1e-3, 20))
params = {"w": put(np.arange(32, dtype=np.float32).reshape(8, 4) / 32, spread),
          "b": put(np.zeros(4, np.float32), same)}


@jax.jit
def update(params, opt, count, x):
    key = jax.random.fold_in(jax.random.key(3), count)

    def loss(p):
        kept = jax.random.bernoulli(key, 0.8, (x.shape[0], 4))
        return jnp.square((x @ p["w"] + p["b"]) * kept - 1).mean()

    updates, opt = tx.update(jax.grad(loss)(params), opt, params)
    return optax.apply_updates(params, updates), opt, count + 1


shardings = {"w": spread, "b": same}
opt = jax.jit(tx.init)(params)
opt = jax.tree.map(lambda a: jax.device_put(a, spread if a.shape == (8, 4) else same), opt)
state = {"params": params, "opt": opt, "count": put(np.array(0, np.int32), same),
         "numpy": np.random.default_rng(rank), "local": np.zeros(2), "keys": jax.random.key(4)}
gather = jax.jit(lambda tree: tree, out_shardings=same)


def crc(tree):
    leaves = jax.tree.leaves(gather(tree))
    return zlib.crc32(b"".join(np.asarray(a.addressable_data(0)).tobytes() for a in leaves))


def leave_together():
    '''Wait for the others: who waits for a dead process sees an error of gloo, not a signal.'''
    open(f"{directory}/ready{rank}", "w").close()
    while not all(os.path.exists(f"{directory}/ready{r}") for r in options["who"]):
        time.sleep(0.001)


np.random.seed(50 + rank)
context = bivouac.checkpoint.Context()
context.multiprocessing.barrier_timeout_secs = 30
with bivouac.Job(directory + "/run", Batches(), state, steps=options.get("steps", 15),
                 save_every=3, context=context, grace=60) as job, \\
        open(f"{directory}/log{rank}", "a") as log:
    print("begin", job.step, file=log, flush=True)
    for ids in job:
        noise = np.random.rand(4, 8) if size == 2 else np.random.rand(8 // size, 8)
        local = np.asarray(ids[:, None] / 240 + noise + state["numpy"].normal(), np.float32)
        x = jax.make_array_from_process_local_data(spread, local)
        state["params"], state["opt"], state["count"] = update(
            state["params"], state["opt"], state["count"], x)
        state["local"] += 1
        line = f"{int(state['count'].addressable_data(0))} {ids.tolist()}"
        line += f" {zlib.crc32(local.tobytes())} {crc(state['params'])}"
        if job.step + 1 == options.get("at") and rank in options["who"]:
            leave_together()
            os.kill(os.getpid(), options["number"])
        print(line, file=log, flush=True)
print("end", job.step, crc(state["opt"]), state["local"].tolist(), flush=True)
"""


def begin(directory: Path, size: int = 2, devices: int = 2, **options: Any) -> Job:
    needs("jax")
    needs("optax")
    return Job("jax", SCENE.replace("OPTIONS", repr(options)), size, directory, devices)


def ends(job: Job) -> list[str]:
    return [text.splitlines()[-1] for text in job.outputs()]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("unbroken")
    last = ends(begin(directory))
    return steps(directory, 2), last


def test_killed_and_resumed(unbroken: Any, tmp_path: Path) -> None:
    want, last = unbroken
    results = begin(tmp_path, at=8, who=[0, 1], number=int(signal.SIGKILL)).results()
    # Without process 0, the runtime of jax ends the others.
    assert results[0][0] == -signal.SIGKILL and results[1][0] in (-9, -signal.SIGABRT)
    assert committed(tmp_path)[-1] in (3, 6)
    assert ends(begin(tmp_path)) == last
    assert steps(tmp_path, 2) == want


@pytest.mark.parametrize("who", [[1], [0, 1]])
def test_sigterm_ends_all_at_one_step(unbroken: Any, tmp_path: Path, who: list[int]) -> None:
    want, last = unbroken
    results = begin(tmp_path, at=5, who=who, number=int(signal.SIGTERM)).results()
    assert [status for status, _, _ in results] == [bv.EXIT_PREEMPTED] * 2, results
    done = {int(lines(tmp_path, rank)[-1].split()[0]) for rank in range(2)}
    assert len(done) == 1 and committed(tmp_path)[-1] == max(done)
    assert ends(begin(tmp_path)) == last
    assert steps(tmp_path, 2) == want


def test_one_process_after_two(tmp_path: Path) -> None:
    """The arrays go on on other devices, and the processes are two again after that."""
    ends(begin(tmp_path, steps=6, elastic=True))
    step = bv.checkpoint.load_checkpointables(tmp_path / "run" / "6")
    assert step["state"]["params"]["w"].shape == (8, 4) and step["ranks"]["rows"].shape[0] == 2
    assert ends(begin(tmp_path, 1, 2, steps=9, elastic=True))[0].startswith("end 9")
    assert all(end.startswith("end 12") for end in ends(begin(tmp_path, steps=12, elastic=True)))
    refused = begin(tmp_path, 1, 2, steps=15).results()
    assert refused[0][0] == 1 and "want 2 processes, which saved the step" in refused[0][2]
