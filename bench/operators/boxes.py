"""DALI's side of the cases on boxes, masks and arrays: the graphs of boxes.go."""
import io

import numpy as np


def boxes(n):
    i = np.arange(n)
    x, y = (i * 37 % 80) / 100, (i * 53 % 80) / 100
    return np.stack([x, y, x + (5 + i % 15) / 100, y + (5 + i * 7 % 15) / 100], 1).astype(np.float32)


def labels(n):
    return np.arange(1, n + 1, dtype=np.int32)


def anchors():
    i = np.arange(8732)
    x, y, side = (i % 97) / 100, (i // 97 % 97) / 100, (1 + i % 30) / 100
    return [float(v) for v in np.stack([x, y, np.minimum(x + side, 1), np.minimum(y + side, 1)], 1).ravel()]


def mask():
    m = np.zeros((512, 512), np.uint8)
    for i in range(200):
        top, left = i * 97 % 480, i * 61 % 480
        m[top:top + 4 + i % 28, left:left + 4 + i * 3 % 28] = 1 + i % 3
    return m


def polygons():
    i = np.arange(20)
    return i[::2].astype(np.int32), np.stack([i, 50 * i, 50 * i + 50], 1).astype(np.int32), np.arange(2000, dtype=np.float32).reshape(1000, 2)


def file():
    out = io.BytesIO()
    np.save(out, (np.arange(65536) % 100).astype(np.uint8).view(np.int32).reshape(128, 128))
    return np.frombuffer(out.getvalue(), np.uint8)


def graphs(fixed, _data):
    from nvidia.dali import fn, types

    def picture():
        return fixed((np.arange(30000) * 7).astype(np.uint8).reshape(100, 100, 3), "HWC")

    def chosen():
        ids, table, vertices = polygons()
        return fn.segmentation.select_masks(fixed(ids), fixed(table), fixed(vertices), reindex_masks=True)

    return {
        "flip": lambda: [fn.bb_flip(fixed(boxes(100)), ltrb=True)],
        "paste": lambda: [fn.bbox_paste(fixed(boxes(100)), ltrb=True, ratio=2.0)],
        "rotate": lambda: fn.bbox_rotate(fixed(boxes(100)), fixed(labels(100)), angle=30.0, input_shape=[480, 640], keep_size=True),
        "encode": lambda: fn.box_encoder(fixed(boxes(20)), fixed(labels(20)), anchors=anchors(), offset=True),
        "crop": lambda: fn.random_bbox_crop(fixed(boxes(20)), fixed(labels(20)), thresholds=[0.1, 0.3, 0.5], scaling=[0.3, 1.0], aspect_ratio=[0.5, 2.0],
                                            allow_no_crop=False, total_num_attempts=50, num_attempts=10, quiet=True),
        "ssd-crop": lambda: fn.ssd_random_crop(picture(), fixed(boxes(20)), fixed(labels(20)), num_attempts=10),
        "pixel": lambda: [fn.segmentation.random_mask_pixel(fixed(mask()), foreground=1, value=2)],
        "object": lambda: fn.segmentation.random_object_bbox(fixed(mask()), k_largest=10),
        "select": chosen,
        "numpy": lambda: [fn.decoders.numpy(fixed(file()), dtype=types.FLOAT)],
    }
