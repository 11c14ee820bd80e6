"""DALI's dynamic mode as a side of bench/dynamic.

Reads one request a line (JSON: op, who, case, threads, data) and answers with one
line beginning "ANSWER ". "begin" builds what the case needs, "go" runs it once and
says how many units it made in how many seconds, by this process's clock. Whatever
is asked for is evaluated before the clock stops. Images have their words folded
into one, as bench/dynamic does itself.
"""
import importlib.metadata
import json
import os
import sys
import time

import numpy as np

sys.modules.setdefault("torchdata", None)  # DALI takes a folder of that name for the package

BATCH = 64
SIDES = {"dali-sync": "sync_cpu", "dali-eager": "eager", "dali-deferred": "deferred", "dali-captured": "eager"}  # with DALI's modes


def files(data):
    return sorted(os.path.join(d, f) for d, _, names in os.walk(os.path.join(data, "train")) for f in names if f.endswith(".jpg"))


def fold(array):
    """The exclusive or of all words of an array: the consumer of a batch."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return int(np.bitwise_xor.reduce(raw[:raw.size // 8 * 8].view(np.uint64), initial=0))


def calls(count, call):
    """A number of calls of one operator, all of them evaluated."""
    def go():
        for _ in range(count):
            out = call()
            out.evaluate()
        return count
    return go


def build(ndd, case, data, captured):
    if case == "uniform":
        rng = ndd.random.RNG(seed=1)
        return calls(500, lambda: ndd.random.uniform(range=[0, 1], batch_size=BATCH, rng=rng))
    if case == "call":
        x = ndd.tensor(np.arange(4, dtype=np.float32))
        return calls(1000, lambda: ndd.cast(x, dtype=ndd.int32))
    if case == "queued":
        x = ndd.tensor(np.arange(4, dtype=np.float32))

        def queued():
            for _ in range(10):
                for out in [ndd.cast(x, dtype=ndd.int32) for _ in range(100)]:
                    out.evaluate()
            return 1000
        return queued
    if case == "chain-64":
        rng = ndd.random.RNG(seed=1)

        def chain():
            x = ndd.random.uniform(range=[0, 1], batch_size=BATCH, rng=rng)
            y = ndd.random.normal(batch_size=BATCH, rng=rng)
            return ndd.cast(x * 2 + y, dtype=ndd.int32)
        return calls(200, chain)
    if case == "decode":
        reader = ndd.readers.File(files=files(data), random_shuffle=False)
        images = len(files(data)) // BATCH * BATCH

        def decode():
            seen = 0
            extra = {"capture": True} if captured else {}
            for jpegs, _ in reader.next_epoch(batch_size=BATCH, **extra):
                out = ndd.resize(ndd.decoders.image(jpegs), size=[224, 224])
                for t in out.evaluate():
                    seen ^= fold(np.asarray(t))
            return images
        return decode
    raise ValueError(f"no case {case}")


def begin(r):
    import nvidia.dali.experimental.dynamic as ndd
    ndd.set_num_threads(r["threads"])
    captured = r["who"] == "dali-captured"
    mode = getattr(ndd.EvalMode, SIDES[r["who"]])
    go = build(ndd, r["case"], r.get("data", ""), captured)

    def run():
        with mode:
            return go()
    return run


def main():
    go = None
    for line in sys.stdin:
        r, answer = json.loads(line), {}
        try:
            if r["op"] == "versions":
                answer = {"versions": {who: importlib.metadata.version("nvidia-dali-cuda120") for who in SIDES}}
            elif r["op"] == "begin":
                go = begin(r)
            else:
                start, cpu = time.perf_counter(), time.process_time()
                units = go()
                answer = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "units": units}
        except Exception as e:  # noqa: BLE001 - the table says why
            answer = {"error": f"{type(e).__name__}: {e}".splitlines()[0][:200]}
        print("ANSWER " + json.dumps(answer), flush=True)


main()
