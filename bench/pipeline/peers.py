"""DALI, torchvision, OpenCV and Pillow as sides of bench/pipeline.

Reads one request a line (JSON: op, who, case, threads, data) and answers with one
line beginning "ANSWER ". "begin" builds what the case needs, "go" runs it once and
says how many units it made in how many seconds, by this process's clock. Whoever
delivers batches has their words folded into one, as bench/pipeline does itself.
"""
import importlib.metadata
import io
import json
import os
import sys
import time

import numpy as np

sys.modules.setdefault("torchdata", None)  # DALI takes a folder of that name for the package

BATCH = 64
SIZE = [224, 224]
MEAN, STD = [123.7, 116.3, 103.5], [58.4, 57.1, 57.4]


def files(data):
    return sorted(os.path.join(d, f) for d, _, names in os.walk(os.path.join(data, "train")) for f in names if f.endswith(".jpg"))


def encoded(data):
    return [open(f, "rb").read() for f in files(data)]


def photos(n, height, width):
    rng = np.random.RandomState(0)
    return [rng.randint(0, 256, (height, width, 3)).astype(np.uint8) for _ in range(n)]


def fold(array):
    """The exclusive or of all words of an array: the consumer of a batch."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return int(np.bitwise_xor.reduce(raw[:raw.size // 8 * 8].view(np.uint64), initial=0))


# ---------------------------------------------------------------------- DALI
def dali(case, threads, data):
    import nvidia.dali as dali
    from nvidia.dali import fn, types

    def read(shuffle=True):
        return fn.readers.file(files=files(data), name="r", random_shuffle=shuffle, initial_fill=256, seed=3)

    def normalize(x):
        return fn.crop_mirror_normalize(x, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD, mirror=fn.random.coin_flip())

    def fixed(samples, layout="HWC"):
        return fn.external_source(source=lambda: samples, batch=True, no_copy=True, layout=layout)

    small = [np.zeros(1024, np.uint8) for _ in range(BATCH)]

    def train():
        jpegs, labels = read()
        return [normalize(fn.random_resized_crop(fn.decoders.image(jpegs), size=SIZE)), labels]

    def region():
        jpegs, labels = read()
        return [normalize(fn.resize(fn.decoders.image_random_crop(jpegs), size=SIZE)), labels]

    graphs = {
        "train": train,
        "region": region,
        "read": lambda: [read()[0]],
        "decode": lambda: [fn.decoders.image(read(False)[0])],
        "decode-region": lambda: [fn.decoders.image_random_crop(read(False)[0])],
        "resize": lambda: [fn.resize(fixed(photos(BATCH, 375, 500)), size=SIZE)],
        "resize-linear": lambda: [fn.resize(fixed(photos(BATCH, 375, 500)), size=SIZE, antialias=False)],
        "normalize": lambda: [normalize(fixed(photos(BATCH, 224, 224)))],
        "blur": lambda: [fn.gaussian_blur(fixed(photos(BATCH, 224, 224)), sigma=1.0)],
        "constant-1": lambda: [fn.constant(fdata=[1.0])],
        "constant-64": lambda: [fn.constant(fdata=[1.0])],
        "uniform-64": lambda: [fn.random.uniform()],
        "source-batch": lambda: [fn.external_source(source=lambda: small, batch=True)],
        "source-sample": lambda: [fn.external_source(source=lambda i: small[i.idx_in_batch], batch=False)],
        "checkpoint": lambda: [read()[0], fn.random.uniform()],
    }
    batch = 1 if case == "constant-1" else BATCH
    pipe = dali.Pipeline(batch_size=batch, num_threads=threads, device_id=None, seed=1, enable_checkpointing=case == "checkpoint")
    with pipe:
        pipe.set_outputs(*graphs[case]())
    pipe.build()
    pipe.run()
    if case == "checkpoint":
        return lambda: (200, [pipe.checkpoint() for _ in range(200)])
    images = len(files(data)) // BATCH * BATCH
    count = {"constant-1": 2000, "constant-64": 1000, "uniform-64": 1000, "source-batch": 400, "source-sample": 100}.get(case, 0)
    if case in ("resize", "resize-linear", "normalize", "blur"):
        images = 4 * BATCH

    def go():
        seen = 0
        for _ in range(count or images // BATCH):
            for out in pipe.run():
                if out.is_dense_tensor():
                    seen ^= fold(out.as_array())
                else:
                    for i in range(len(out)):
                        seen ^= fold(out.at(i))
        return count or images, seen
    return go


# --------------------------------------------------------------- torchvision
def torchvision(case, threads, data):
    import torch
    import torchvision as tv
    from torchvision import transforms
    from torchvision.datasets import ImageFolder
    torch.set_num_threads(1)
    if case == "decode":
        raw = [tv.io.read_file(f) for f in files(data)]

        def decode():
            seen = 0
            for r in raw:
                seen ^= fold(tv.io.decode_jpeg(r).numpy())
            return len(raw), seen
        return decode
    chain = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                                transforms.Normalize([.485, .456, .406], [.229, .224, .225])])
    images = ImageFolder(os.path.join(data, "train"), chain)
    workers = 0 if threads == 1 else threads
    loader = torch.utils.data.DataLoader(images, batch_size=BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0)

    def go():
        seen, n = 0, 0
        for batch, _ in loader:
            seen ^= fold(batch.numpy())
            n += len(batch)
        return n, seen
    return go


# ------------------------------------------------------------ OpenCV, Pillow
def opencv(case, threads, data):
    import cv2
    cv2.setNumThreads(threads)
    if case == "decode":
        raw = [np.frombuffer(b, np.uint8) for b in encoded(data)]
        return lambda: (len(raw), [fold(cv2.imdecode(r, cv2.IMREAD_COLOR_RGB)) for r in raw])
    images = photos(BATCH, 375, 500)
    return lambda: (4 * BATCH, [fold(cv2.resize(i, (224, 224), interpolation=cv2.INTER_LINEAR)) for i in images * 4])


def pillow(case, threads, data):
    from PIL import Image
    if case == "decode":
        raw = encoded(data)
        return lambda: (len(raw), [fold(np.asarray(Image.open(io.BytesIO(r)).convert("RGB"))) for r in raw])
    images = [Image.fromarray(a) for a in photos(BATCH, 375, 500)]
    return lambda: (4 * BATCH, [fold(np.asarray(i.resize((224, 224), Image.BILINEAR))) for i in images * 4])


SIDES = {"dali": dali, "torchvision": torchvision, "opencv": opencv, "pillow": pillow}
PACKAGES = {"dali": "nvidia-dali-cuda120", "torchvision": "torchvision", "opencv": "opencv-python-headless", "pillow": "pillow"}


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
