#!/usr/bin/env python3
"""Records what each argument of DALI's CPU readers does to the order and the number of samples.

    record_orders.py DIR     writes the folder orders and orders.json into DIR

Needs nvidia-dali-cuda120==2.4.0, lmdb, numpy, Pillow and astropy. A case has the numbers of the
samples that come, batch by batch: sample i of a data set is the one that comes as the i-th without
any argument. A number is -1 where a sample is none of those.
"""
import io
import json
import os
import pickle
import shutil
import struct
import sys
import tarfile
import wave

os.environ["DALI_RESTRICT_PINNED_MEM"] = "1"  # readers.fits wants a GPU without it
sys.modules.setdefault("torchdata", None)  # a folder of that name looks like the package to DALI

import lmdb  # noqa: E402
import numpy as np  # noqa: E402
import nvidia.dali as dali  # noqa: E402
import nvidia.dali.fn as fn  # noqa: E402
import nvidia.dali.tfrecord as tfrec  # noqa: E402
import nvidia.dali.types as types  # noqa: E402
from astropy.io import fits  # noqa: E402
from PIL import Image  # noqa: E402

SAMPLES, BATCH, ITERATIONS = 10, 3, 14

# Arguments of every reader. Each is given once more than the case before it has, so that a case and
# the same case without one argument differ where it acts.
COMMON = [
    {"random_shuffle": True, "seed": 5, "initial_fill": 3},
    {"random_shuffle": True, "seed": 6, "initial_fill": 3},
    {"random_shuffle": True, "seed": 6},
    {"num_shards": 3},
    {"num_shards": 3, "shard_id": 1},
    {"num_shards": 3, "shard_id": 1, "stick_to_shard": True},
    {"num_shards": 3, "shard_id": 2, "pad_last_batch": True},
    {"num_shards": 3, "shard_id": 2, "pad_last_batch": True, "stick_to_shard": True, "random_shuffle": True, "seed": 7, "initial_fill": 2},
    {"shuffle_after_epoch": True},
    {"shuffle_after_epoch": True, "shuffle_after_epoch_seed": 11},
    {"shuffle_after_epoch": True, "num_shards": 2, "shard_id": 1},
    {"pad_last_batch": True},
    {"prefetch_queue_depth": 3},
    {"tensor_init_bytes": 17},
    {"read_ahead": True},
    {"lazy_init": True},
    {"dont_use_mmap": True},
    {"skip_cached_images": True},
]


def build(op, args, batch):
    reader = fn
    for part in op.split("."):
        reader = getattr(reader, part)
    given = dict(args)
    if "features" in given:
        given["features"] = {k: tfrec.FixedLenFeature([], tfrec.string, "") if v == "bytes" else tfrec.FixedLenFeature([1], tfrec.int64, -1)
                             for k, v in given["features"].items()}
    with dali.Pipeline(batch_size=batch, num_threads=1, device_id=None, seed=1) as p:
        out = reader(name="r", **given)
        out = list(out.values()) if isinstance(out, dict) else list(out) if isinstance(out, (list, tuple)) else [out]
        p.set_outputs(*out)
    p.build()
    return p


def samples(p):
    out = p.run()
    return [b"".join(str(np.asarray(o[i]).shape).encode() + np.ascontiguousarray(np.asarray(o[i])).tobytes() for o in out) for i in range(len(out[0]))]


def apart(f):
    """Runs f in a process of its own: DALI does not survive some arguments."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            result = f()
        except Exception as e:
            result = type(e).__name__
        with os.fdopen(w, "wb") as out:
            pickle.dump(result, out)
        os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as f:
        b = f.read()
    os.waitpid(pid, 0)
    return pickle.loads(b) if b else "the process ended"


def first_epoch(op, args):
    p = build(op, args, 1)
    return [samples(p)[0] for _ in range(p.reader_meta("r")["epoch_size"])]


CASES = []


def reader(op, base, own=(), common=COMMON):
    """Records a reader: base names its data, each of own is further arguments (None takes one away)."""
    known = apart(lambda: first_epoch(op, base))
    if isinstance(known, str) or len(set(known)) != len(known):
        raise SystemExit(f"{op}: {known}")
    ids = {b: i for i, b in enumerate(known)}

    def run(args):
        p = build(op, args, BATCH)
        meta = p.reader_meta("r")
        return {"meta": meta, "batches": [[ids.get(s, -1) for s in samples(p)] for _ in range(ITERATIONS)]}

    for more in [{}, *common, *own]:
        args = {k: v for k, v in {**base, **more}.items() if v is not None}
        result = apart(lambda: run(args))
        if isinstance(result, str):
            result = {"error": result}
        CASES.append({"op": op, "args": args, **result})


def write(path, b):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(b)
    return path


# ------------------------------------------------------------------ data
def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def chunk(field, b):
    return varint(field << 3 | 2) + varint(len(b)) + b


def crc32c(b):
    c = 0xFFFFFFFF
    for x in b:
        c ^= x
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    c ^= 0xFFFFFFFF
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecord():
    files, indexes, short = [], [], []
    for f, (lo, hi) in enumerate(((0, 4), (4, SAMPLES))):
        data, index = b"", ""
        for i in range(lo, hi):
            features = b"".join(chunk(1, chunk(1, name) + chunk(2, value)) for name, value in (
                (b"image", chunk(1, chunk(1, b"image %d" % i))), (b"label", chunk(3, chunk(1, varint(i))))))
            payload = chunk(1, features)
            size = struct.pack("<Q", len(payload))
            record = size + struct.pack("<I", crc32c(size)) + payload + struct.pack("<I", crc32c(payload))
            index += f"{len(data)} {len(record)}\n"
            data += record
        files.append(write(f"orders/tfrecord/{f}.tfrecord", data))
        indexes.append(write(f"orders/tfrecord/{f}.idx", index.encode()))
        short.append(write(f"orders/tfrecord/{f}.short", "".join(index.splitlines(True)[1:]).encode()))
    both = {"image": "bytes", "label": "int64"}
    reader("readers.tfrecord", {"path": files, "index_path": indexes, "features": both},
           [{"index_path": short}, {"path": files[:1], "index_path": indexes[:1]}, {"features": {"image": "bytes"}}, {"features": {"image": "bytes"}, "path": files[1:], "index_path": indexes[1:]},
            {"use_o_direct": True, "dont_use_mmap": True}])


def mxnet():
    files, index, at = [], "", 0
    for f, (lo, hi) in enumerate(((0, 4), (4, SAMPLES))):
        data = b""
        for i in range(lo, hi):
            record = struct.pack("<IfQQ", 0, i, i, 0) + b"image %d" % i
            index += f"{i}\t{at + len(data)}\n"
            data += struct.pack("<II", 0xCED7230A, len(record)) + record + bytes(-len(record) % 4)
        at += len(data)
        files.append(write(f"orders/mxnet/{f}.rec", data))
    idx = write("orders/mxnet/all.idx", index.encode())
    short = write("orders/mxnet/short.idx", "".join(index.splitlines(True)[2:]).encode())
    first = write("orders/mxnet/first.idx", "".join(index.splitlines(True)[:4]).encode())
    reader("readers.mxnet", {"path": files, "index_path": [idx]}, [{"index_path": [short]}, {"path": files[:1], "index_path": [first]}])


def webdataset():
    names = []
    for f, (lo, hi) in enumerate(((0, 4), (4, SAMPLES))):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as t:
            for i in range(lo, hi):
                for ext in ("txt", "cls"):
                    b = f"{ext} {i}".encode()
                    info = tarfile.TarInfo(f"{i:03d}.{ext}")
                    info.size = len(b)
                    t.addfile(info, io.BytesIO(b))
        names.append(write(f"orders/webdataset/{f}.tar", out.getvalue()))
    reader("readers.webdataset", {"paths": names, "ext": ["txt", "cls"]}, [{"paths": names[:1]}, {"ext": ["txt"]}])


def file(op="readers.file"):
    for i in range(SAMPLES):
        write(f"orders/file/{'abC'[i % 3]}/{i}.{'txt' if i % 2 else 'JPG'}", b"file %d" % i)
    listed = write("orders/file/list.txt", b"".join(b"%s/%d.%s %d\n" % (b"abC"[i % 3:i % 3 + 1], i, b"txt" if i % 2 else b"JPG", 90 - i) for i in (7, 2, 5)))
    names = [f"{'abC'[i % 3]}/{i}.{'txt' if i % 2 else 'JPG'}" for i in (3, 8, 1)]
    reader(op, {"file_root": "orders/file"},
           [{"file_list": listed}, {"files": names}, {"files": names, "labels": [5, 6, 7]}, {"file_filters": ["*.txt"]}, {"file_filters": ["*.txt", "*.jpg"]},
            {"file_filters": ["*.jpg"], "case_sensitive_filter": True}, {"dir_filters": ["[ab]"]}, {"dir_filters": ["c"], "case_sensitive_filter": True},
            {"file_root": "orders/file/a/.."}, {"file_root": None, "files": ["orders/file/" + n for n in names]}])


def numpy():
    for i in range(SAMPLES):
        out = io.BytesIO()
        np.save(out, np.arange(12, dtype=np.float32).reshape(3, 4) + 100 * i)
        write(f"orders/numpy/{i}.npy", out.getvalue())
    listed = write("orders/numpy/list.txt", b"4.npy\n1.npy\n8.npy\n")
    reader("readers.numpy", {"file_root": "orders/numpy", "file_filter": "*.npy"},
           [{"file_list": listed, "file_filter": None}, {"files": ["3.npy", "1.npy"], "file_filter": None}, {"file_filter": "[1-4].npy"}, {"file_filter": None},
            {"roi_start": [1, 0]}, {"rel_roi_start": [0.0, 0.0], "rel_roi_end": [0.4, 0.5]}, {"cache_header_information": True}, {"register_buffers": False}, {"shapes": [3, 4]}, {"use_o_direct": True, "dont_use_mmap": True}])


def sequence():
    for v, frames in enumerate((5, 7)):
        for f in range(frames):
            out = io.BytesIO()
            Image.fromarray(np.full((2, 2, 3), 20 * f + 7 * v, np.uint8)).save(out, "PNG")
            write(f"orders/sequence/{v}/{f}.png", out.getvalue())
    reader("readers.sequence", {"file_root": "orders/sequence", "sequence_length": 2},
           [{"sequence_length": 3}, {"step": 2}, {"stride": 2}, {"image_type": None}])


def fits_files():
    for i in range(SAMPLES):
        out = io.BytesIO()
        a = np.arange(6, dtype=np.int16).reshape(2, 3) + 10 * i
        fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(a), fits.ImageHDU(a + 1000)]).writeto(out)
        write(f"orders/fits/{i}.fits", out.getvalue())
    listed = write("orders/fits/list.txt", b"4.fits\n1.fits\n8.fits\n")
    reader("experimental.readers.fits", {"file_root": "orders/fits", "file_filter": "*.fits"},
           [{"file_list": listed, "file_filter": None}, {"files": ["3.fits", "1.fits"], "file_filter": None}, {"file_filter": "[1-4].fits"}, {"hdu_indices": [3]}])


def coco():
    images, annotations = [], []
    for i in range(SAMPLES):
        write(f"orders/coco/{i}.jpg", b"image %d" % i)
        images.append({"id": i, "width": 20, "height": 10, "file_name": f"{i}.jpg"})
        annotations.append({"id": i + 1, "image_id": i, "bbox": [i, 1, 5, 4], "category_id": 1 + i % 2, "area": 1, "iscrowd": 0, "segmentation": [[1, 1, 5, 1, 5, 5]]})
    doc = {"images": images, "annotations": annotations, "categories": [{"id": c, "name": str(c)} for c in (1, 2)]}
    path = write("orders/coco/ann.json", json.dumps(doc).encode())
    reader("readers.coco", {"file_root": "orders/coco", "annotations_file": path})


def database(name, values):
    path = "orders/lmdb/" + name
    os.makedirs(path)
    env = lmdb.open(path, map_size=1 << 20)
    with env.begin(write=True) as t:
        for i, v in enumerate(values):
            t.put(b"%08d" % i, v)
    env.close()
    os.remove(path + "/lock.mdb")
    return path


def caffe():
    def datum(i):
        return chunk(4, b"image %d" % i) + varint(5 << 3) + varint(i) + varint(7 << 3) + varint(1)

    def protos(i):
        image = varint(1 << 3) + varint(1) + varint(2 << 3) + varint(4) + chunk(6, b"image %d" % i)
        label = varint(1 << 3) + varint(1) + varint(2 << 3) + varint(2) + chunk(4, varint(i))
        return chunk(1, image) + chunk(1, label)

    reader("readers.caffe", {"path": database("caffe", [datum(i) for i in range(SAMPLES)])})
    reader("readers.caffe2", {"path": database("caffe2", [protos(i) for i in range(SAMPLES)])})


def nemo():
    lines = b""
    for i in range(SAMPLES):
        out = io.BytesIO()
        with wave.open(out, "wb") as w:
            w.setnchannels(1)
            w.setsampwidth(2)
            w.setframerate(8000)
            w.writeframes(np.full(4 + i, i, np.int16).tobytes())
        lines += json.dumps({"audio_filepath": write(f"orders/nemo/{i}.wav", out.getvalue()), "duration": 1.0 + i, "text": f"text {i}"}).encode() + b"\n"
    reader("readers.nemo_asr", {"manifest_filepaths": [write("orders/nemo/all.json", lines)]},
           [{"sample_rate": 4000.0}, {"sample_rate": 4000.0, "quality": 10.0}])


def main():
    os.chdir(sys.argv[1])
    shutil.rmtree("orders", ignore_errors=True)
    for record in (tfrecord, mxnet, webdataset, file, numpy, sequence, fits_files, coco, caffe, nemo):
        record()
    file("file_reader")
    with open("orders.json", "w") as f:
        f.write('{"dali":' + json.dumps(dali.__version__) + ',"cases":[\n')
        f.write(",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]}\n")
    print(len(CASES), "cases,", sum("error" in c for c in CASES), "errors")
    for c in CASES:
        if "error" in c:
            print(c)


if __name__ == "__main__":
    main()
