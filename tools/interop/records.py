"""Files of records for the readers of random pipelines: TFRecord as the package tfrecord writes it, RecordIO by hand."""

import struct


def value(k):
    """What sample k of a data set has."""
    return {
        "image": b"image %d;" % k * (1 + k % 4),
        "label": [k],
        "vals": [x / 4 for x in range(k % 4 + 1)],
        "box": [k, -k, k + 1, k << 40],
    }


def tfrecords(samples):
    """Two files and their indexes; returns the arguments of the reader."""
    from tfrecord.tools.tfrecord2idx import create_index
    from tfrecord.writer import TFRecordWriter

    paths = []
    for shard, (first, last) in enumerate([(0, samples // 2), (samples // 2, samples)]):
        path = f"data/{shard}.tfrecord"
        w = TFRecordWriter(path)
        for k in range(first, last):
            v = value(k)
            w.write({"image": (v["image"], "byte"), "label": (v["label"], "int"), "vals": (v["vals"], "float"), "box": (v["box"], "int")})
        w.close()
        create_index(path, path + ".idx")
        paths.append(path)
    return {"path": paths, "index_path": [p + ".idx" for p in paths]}


def features():
    import nvidia.dali.tfrecord as tfrec

    return {
        "image": tfrec.FixedLenFeature((), tfrec.string, ""),
        "label": tfrec.FixedLenFeature([1], tfrec.int64, -1),
        "vals": tfrec.VarLenFeature(tfrec.float32, 0.0),
        "box": tfrec.FixedLenFeature([2, 2], tfrec.int64, 0),
    }


def part(kind, b):
    return struct.pack("<II", 0xCED7230A, kind << 29 | len(b)) + b + b"\0" * (-len(b) % 4)


def recordio(samples):
    """A file of images with one label or two, some in two parts, and its index; returns the arguments of the reader."""
    with open("data/all.rec", "wb") as rec, open("data/all.idx", "w") as idx:
        for k in range(samples):
            idx.write(f"{k}\t{rec.tell()}\n")
            image = value(k)["image"]
            head = struct.pack("<IfQQ", 0, k, k, 0)
            if k % 3 == 1:
                head = struct.pack("<IfQQff", 2, 0, k, 0, k, k / 2)
            body = head + image
            if k % 4 == 3 and k % 3 != 1:  # the magic number lies at byte 28, after the labels
                rec.write(part(1, body[:28]) + part(3, body[28:]))
            else:
                rec.write(part(0, body))
    return {"path": ["data/all.rec"], "index_path": ["data/all.idx"]}
