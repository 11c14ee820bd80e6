"""DALI and librosa as sides of bench/operators.

Reads one request a line (JSON: op, who, case, threads, data) and answers with one
line beginning "ANSWER ". "begin" builds what the case needs, "go" runs it once and
says how many units it made in how many seconds, by this process's clock. Batches
have their words folded into one, as bench/operators does itself.
"""
import importlib.metadata
import json
import sys
import time

import numpy as np

import augment
import boxes
import pictures
import sound
import video

sys.modules.setdefault("torchdata", None)  # DALI takes a folder of that name for the package

BATCH, BATCHES = 64, 4


def fold(array):
    """The exclusive or of all words of an array: the consumer of a batch."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return int(np.bitwise_xor.reduce(raw[:raw.size // 8 * 8].view(np.uint64), initial=0))


def dali(case, threads, data):
    import nvidia.dali as dali
    from nvidia.dali import fn

    def fixed(sample, layout=None):
        samples = [sample] * BATCH
        return fn.external_source(source=lambda: samples, batch=True, no_copy=True, **({"layout": layout} if layout else {}))

    if case in video.CASES:
        pipe = video.pipe(threads, data)
        pipe.build()
        pipe.run()
        return consume(pipe, 1, video.BATCH * video.FRAMES)
    if case in augment.CASES:
        pipe = augment.pipe(case, threads, BATCH)
        pipe.build()
        pipe.run()
        return consume(pipe)
    graphs = {**sound.graphs(fixed, data), **boxes.graphs(fixed, data), **pictures.graphs(fixed, data)}
    pipe = dali.Pipeline(batch_size=BATCH, num_threads=threads, device_id=None, seed=1)
    with pipe:
        pipe.set_outputs(*graphs[case]())
    pipe.build()
    pipe.run()

    return consume(pipe)


def consume(pipe, batches=BATCHES, units=BATCHES * BATCH):
    def go():
        seen = 0
        for _ in range(batches):
            for out in pipe.run():
                if out.is_dense_tensor():
                    seen ^= fold(out.as_array())
                else:
                    for i in range(len(out)):
                        seen ^= fold(out.at(i))
        return units, seen
    return go


def librosa(case, threads, data):
    batch = sound.librosa(case, threads, data)

    def go():
        seen = 0
        for sample in batch():
            seen ^= fold(sample)
        return BATCH, seen
    return go


SIDES = {"dali": dali, "librosa": librosa}
PACKAGES = {"dali": "nvidia-dali-cuda120", "librosa": "librosa"}


def versions():
    found = {}
    for who, package in PACKAGES.items():
        try:
            found[who] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return {"versions": found}


def main():
    go = None
    for line in sys.stdin:
        r, answer = json.loads(line), {}
        try:
            if r["op"] == "versions":
                answer = versions()
            elif r["op"] == "begin":
                go = SIDES[r["who"]](r["case"], r["threads"], r["data"])
            else:
                start, cpu = time.perf_counter(), time.process_time()
                units, _ = go()
                answer = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "units": units}
        except Exception as e:  # noqa: BLE001 - the table says why
            answer = {"error": f"{type(e).__name__}: {e}".splitlines()[0][:200]}
        print("ANSWER " + json.dumps(answer), flush=True)


main()
