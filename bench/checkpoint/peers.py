"""Orbax, safetensors, numpy and torch as contenders of bench/checkpoint.

Reads one request a line (JSON) and answers with one line beginning "ANSWER ":
what it did is timed here, by this process, and nothing else is. The requests are
those of contender.go, which does the same for Bivouac.
"""
import ctypes
import gc
import importlib.metadata
import json
import os
import shutil
import sys
import time

import numpy as np

try:
    TRIM = ctypes.CDLL("libc.so.6").malloc_trim
except (OSError, AttributeError):
    TRIM = None


# ------------------------------------------------------------------ counters
def status_bytes(field):
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(field + ":"):
                return int(line.split()[1]) << 10
    return 0


def counters():
    with open("/proc/self/io") as f:
        io = dict(line.strip().split(": ") for line in f)
    return int(io["rchar"]), int(io["wchar"])


def measured(work):
    """Runs work() and returns its time, memory beyond what was there, and bytes read and written."""
    gc.collect()
    if TRIM:
        TRIM(0)
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    before, (read, written) = status_bytes("VmRSS"), counters()
    start = time.perf_counter()
    out = work()
    seconds = time.perf_counter() - start
    read2, written2 = counters()
    peak = max(0, status_bytes("VmHWM") - before)
    del out
    return {"seconds": seconds, "peak": peak, "read": read2 - read, "written": written2 - written}


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
    if os.path.exists(path):
        os.unlink(path)
    os.sync()


def sync_file(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


# ------------------------------------------------------------------ states, as those of state.go
def make_state(kind, mib):
    total, rng = mib << 20, np.random.default_rng(1)

    def array(elements, columns):
        return rng.standard_normal(elements // columns * columns, dtype=np.float32).reshape(-1, columns)

    if kind == "arrays16":
        return {f"w{i:02d}": array(total // 64, 1024) for i in range(16)}
    if kind == "arrays1500":
        large, medium, small = int(total * 0.93) // 300, int(total * 0.065) // 1500, int(total * 0.005) // 4200
        return {
            f"block_{i:02d}": {
                "large": array(large, 1024),
                "attn": {f"m{j}": array(medium, 64) for j in range(5)},
                "ln": {f"s{j}": array(small, 1).reshape(-1) for j in range(14)},
            }
            for i in range(75)
        }
    if kind == "scalars":
        return {f"g{i:04d}": {f"x{j:03d}": float(i * 1000 + j) for j in range(100)} for i in range(200)}
    if kind == "matrix":
        return {"x": array(total // 8, 8192)}
    raise ValueError(kind)


def flatten(tree, prefix=""):
    out = {}
    for k, v in tree.items():
        if isinstance(v, dict):
            out.update(flatten(v, prefix + k + "."))
        else:
            out[prefix + k] = v
    return out


# ------------------------------------------------------------------ contenders
class Orbax:
    def __init__(self, kind, mib):
        from orbax.checkpoint import v1 as ocp

        self.ocp, self.state = ocp, make_state(kind, mib)
        self.step = 0
        if kind == "matrix":
            import jax
            from jax.sharding import Mesh, NamedSharding, PartitionSpec

            mesh = Mesh(np.array(jax.devices()), ("d",))
            self.rows, self.columns = (NamedSharding(mesh, PartitionSpec(*p)) for p in (("d", None), (None, "d")))
            self.state = {"x": jax.block_until_ready(jax.device_put(self.state["x"], self.rows))}

    def context(self, config):
        saving = {"use_compression": False} if config == "uncompressed" else {}
        return self.ocp.Context(array_options=self.ocp.options.ArrayOptions(saving=self.ocp.options.ArrayOptions.Saving(**saving)))

    def save(self, path, config):
        with self.context(config):
            self.ocp.save(path, self.state)

    def resave(self, path, config):
        """The next step of a Checkpointer that keeps two."""
        with self.context(config):
            keep = self.ocp.training.preservation_policies.LatestN(2)
            with self.ocp.training.Checkpointer(path, preservation_policy=keep) as c:
                self.step += 1
                if self.step == 1:
                    c.save(0, self.state, force=True)
                return measured(lambda: c.save(self.step, self.state, force=True))

    def blocked(self, path, config):
        remove(path)
        with self.context(config):
            pending = []
            answer = measured(lambda: pending.append(self.ocp.save_async(path, self.state)))
            pending[0].result()
            return answer

    def load(self, path, _):
        return self.ocp.load(path)

    def leaf(self, path, _):
        wanted = {k: self.ocp.PLACEHOLDER for k in self.state}
        wanted["w03"] = np.ndarray
        return self.ocp.load(path, wanted)

    def reshard(self, path, config):
        import jax

        x = self.state["x"]
        sharding = self.columns if config == "columns" else self.rows
        return jax.block_until_ready(self.ocp.load(path, {"x": jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)}))


class Safetensors:
    def __init__(self, kind, mib):
        import safetensors.numpy

        self.lib, self.state = safetensors.numpy, flatten(make_state(kind, mib))

    def save(self, path, _):
        self.lib.save_file(self.state, path)
        sync_file(path)

    def load(self, path, _):
        return self.lib.load_file(path)

    def leaf(self, path, _):
        import safetensors

        with safetensors.safe_open(path, "numpy") as f:
            return f.get_tensor("w03")


class Numpy:
    def __init__(self, kind, mib):
        self.state = flatten(make_state(kind, mib))

    def save(self, path, _):
        os.makedirs(path)
        for k, v in self.state.items():
            with open(os.path.join(path, k + ".npy"), "wb") as f:
                np.save(f, v)
                f.flush()
                os.fsync(f.fileno())

    def load(self, path, _):
        return [np.load(os.path.join(path, k + ".npy")) for k in self.state]

    def leaf(self, path, _):
        return np.load(os.path.join(path, "w03.npy"))


class Torch:
    def __init__(self, kind, mib):
        import torch

        self.torch = torch
        self.state = {k: torch.from_numpy(v) for k, v in flatten(make_state(kind, mib)).items()}

    def save(self, path, _):
        self.torch.save(self.state, path)
        sync_file(path)

    def load(self, path, _):
        return self.torch.load(path)


CONTENDERS = {"orbax": Orbax, "safetensors": Safetensors, "numpy": Numpy, "torch": Torch}
SELF_TIMED = ("resave", "blocked")


def versions():
    out = {}
    for name in ("orbax-checkpoint", "tensorstore", "safetensors", "numpy", "torch", "jax"):
        try:
            out[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return out


def main():
    contender = None
    for line in sys.stdin:
        r = json.loads(line)
        config = r.get("config", "")
        try:
            if r["op"] == "versions":
                answer = {"versions": versions()}
            elif r["op"] == "begin":
                contender = CONTENDERS[r["who"]](r["tree"], r["mib"])
                if r["who"] == "orbax":  # threads and handlers are made by a first save
                    contender.ocp.save(r["path"], {"a": 1.0})
                    remove(r["path"])
                answer = {}
            elif r["op"] in SELF_TIMED:
                answer = getattr(contender, r["op"])(r["path"], config)
            else:
                if r["op"] == "save":
                    remove(r["path"])
                answer = measured(lambda: getattr(contender, r["op"])(r["path"], config))
        except Exception as e:  # the parent reports it
            answer = {"error": f"{type(e).__name__}: {e}"[:400]}
        print("ANSWER " + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
