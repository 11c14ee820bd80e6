"""DALI, the webdataset package, streaming, Grain and pyarrow as sides of bench/readers.

Reads one request a line (JSON: op, who, case, data) and answers with one line beginning
"ANSWER ". "begin" builds what the case needs, "go" runs it once. With --make DIR it writes the
files that only the real packages write.
"""
import importlib.metadata
import json
import os
import sys
import time

RECORDS, SIZE = 40_000, 1000
SAMPLES = 2000


def place(data, case):
    for end in ("-order", "-shuffled", "-batches", "-touched"):
        case = case.removesuffix(end)
    return os.path.join(data, case)


def fold(data):
    import numpy as np

    words = np.frombuffer(data, "<u8", len(data) // 8)
    return int(np.bitwise_xor.reduce(words))


def fold_array(a):
    import numpy as np

    words = a.reshape(-1).view(np.uint8)
    words = words[-words.__array_interface__["data"][0] % 8:]  # numpy is slow where words are not aligned
    return int(np.bitwise_xor.reduce(words[:len(words) // 8 * 8].view("<u8")))


def dali_side(data, case):
    import nvidia.dali as dali
    import nvidia.dali.fn as fn
    import nvidia.dali.tfrecord as tf

    at, kind = place(data, case), case.split("-")[0]

    def here(name):
        return os.path.join(at, name)

    p = dali.Pipeline(batch_size=64, num_threads=1, device_id=None, seed=1)
    with p:
        if kind == "tfrecord":
            out = [fn.readers.tfrecord(name="r", path=here("data.tfrecord"), index_path=here("data.idx"),
                                       features={"data": tf.FixedLenFeature((), tf.string, "")})["data"]]
        elif kind == "tar":
            out = [fn.readers.webdataset(name="r", paths=here("data.tar"), index_paths=here("data.idx"), ext=["bin"])]
        elif kind == "recordio":
            out = list(fn.readers.mxnet(name="r", path=here("data.rec"), index_path=here("data.idx")))
        elif kind == "numpy":
            out = [fn.readers.numpy(name="r", file_root=at)]
        else:
            out = list(fn.readers.coco(name="r", file_root=at, annotations_file=here("annotations.json"), ratio=True, ltrb=True))
        p.set_outputs(*out)
    p.build()
    n = p.reader_meta("r")["epoch_size"]

    def go():
        seen = 0
        for _ in range(-(-n // 64)):
            seen ^= len(bytes(p.run()[0].at(0)))
        return n, seen

    def touch():
        import numpy as np

        seen, left = 0, n
        while left > 0:
            batch = p.run()[0]
            for i in range(min(64, left)):
                seen ^= fold_array(np.asarray(batch[i]))  # a view; at(i) copies
            left -= 64
        return n, seen
    return touch if case.endswith("-touched") else go


def webdataset_side(data, case):
    import webdataset as wds

    at = os.path.join(place(data, case), "data.tar")

    def go():
        seen = n = 0
        for sample in wds.WebDataset(at, shardshuffle=False, empty_check=False):
            seen ^= fold(sample["bin"])
            n += 1
        return n, seen
    return go


def streaming_side(data, case):
    from streaming import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    shuffled = case.endswith("-shuffled")
    d = StreamingDataset(local=place(data, case), shuffle=shuffled, batch_size=1, num_canonical_nodes=1)

    def go():
        seen = n = 0
        for sample in d:
            seen ^= fold(sample["data"])
            n += 1
        return n, seen
    return go


def grain_side(data, case):
    import numpy as np
    from grain.sources import ArrayRecordDataSource

    d = ArrayRecordDataSource(os.path.join(place(data, case), "data.array_record"))
    order = np.random.default_rng(1).permutation(len(d))

    def go():
        seen = 0
        for i in order:
            seen ^= fold(d[int(i)])
        return len(order), seen
    return go


def pyarrow_side(data, case):
    import pyarrow.parquet as pq

    at = os.path.join(place(data, case), "data.parquet")

    def go():
        f, n = pq.ParquetFile(at), 0
        for g in range(f.num_row_groups):
            n += f.read_row_group(g, use_threads=False).num_rows
        return n, 0
    return go


SIDES = {"dali": ("nvidia-dali-cuda120", dali_side), "webdataset": ("webdataset", webdataset_side), "streaming": ("mosaicml-streaming", streaming_side),
         "grain": ("grain", grain_side), "pyarrow": ("pyarrow", pyarrow_side)}


def make(data):
    """The files of ArrayRecord and Parquet."""
    import numpy as np

    rng = np.random.default_rng(7)
    at = os.path.join(data, "arrayrecord-1k")
    if not os.path.exists(os.path.join(at, "data.array_record")):
        from array_record.python.array_record_module import ArrayRecordWriter

        os.makedirs(at, exist_ok=True)
        w = ArrayRecordWriter(os.path.join(at, "data.array_record"), "group_size:1")
        for _ in range(RECORDS):
            w.write(rng.bytes(SIZE))
        w.close()
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, column in (("parquet-60k", lambda: pa.array([rng.bytes(60_000) for _ in range(1000)], pa.binary())),
                         ("parquet-lists", lambda: pa.array(list(rng.integers(0, 50_000, (4000, 2048), "int32")), pa.list_(pa.int32())))):
        at = os.path.join(data, name)
        if not os.path.exists(os.path.join(at, "data.parquet")):
            os.makedirs(at, exist_ok=True)
            pq.write_table(pa.table({"data": column()}), os.path.join(at, "data.parquet"), row_group_size=250, compression="none")


def versions():
    found = {}
    for who, (package, _) in SIDES.items():
        try:
            found[who] = package + " " + importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def main():
    if sys.argv[1:2] == ["--make"]:
        make(sys.argv[2])
        return
    sys.modules.setdefault("torchdata", None)  # a folder of that name would look like the package to DALI
    go = None
    for line in sys.stdin:
        r = json.loads(line)
        try:
            answer = {}
            if r["op"] == "versions":
                answer["versions"] = versions()
            elif r["op"] == "begin":
                go = SIDES[r["who"]][1](r["data"], r["case"])
            else:
                start, cpu = time.perf_counter(), time.process_time()
                units, digest = go()
                answer = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "units": units, "digest": digest & (1 << 63) - 1}
        except Exception as e:  # the table says why
            answer = {"error": f"{type(e).__name__}: {e}"[:200]}
        print("ANSWER " + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
