#!/usr/bin/env python3
"""Records what torchvision makes of batches and of samples with boxes or masks: mixes.py OUT.

Writes OUT/mixes.json (OUT is testdata/recipes). MixUp, CutMix, RandomZoomOut, RandomResize,
RandomHorizontalFlip and RandomCrop draw their own numbers, which are recorded as they draw them.
RandomIoUCrop gets the windows that are listed here. Two runs give the same bytes.
"""
import base64
import json
import sys
import zlib

import numpy as np
import PIL.Image
import torch
import torchvision
import torchvision.transforms.v2 as v2
import torchvision.transforms.v2.functional as F
from torchvision import tv_tensors

from images import image

CASES = []
DATA = []


def add(case, *arrays):
    """Adds a case and the bytes of its results."""
    case["results"] = [[str(a.dtype), list(a.shape)] for a in arrays]
    CASES.append(case)
    DATA.extend(np.ascontiguousarray(a).tobytes() for a in arrays)


class Recorder:
    """Records what torch draws while a transform runs."""

    def __enter__(self):
        self.draws = []
        self.real = torch.rand, torch.randint

        def keep(real):
            def draw(*a, **k):
                v = real(*a, **k)
                self.draws.extend(v.flatten().tolist())
                return v
            return draw

        torch.rand, torch.randint = keep(torch.rand), keep(torch.randint)
        return self

    def __exit__(self, *_):
        torch.rand, torch.randint = self.real


def mixed():
    """Batches of floats: MixUp and CutMix with their ratio, and the place of CutMix's window."""
    for k, (h, w, n, alpha) in enumerate([(12, 16, 4, 0.2), (7, 9, 3, 1.0), (1, 1, 2, 1.0), (24, 5, 5, 8.0), (16, 16, 1, 1.0), (3, 50, 4, 0.5)]):
        batch = torch.stack([torch.from_numpy(image(k + i, (h, w))).permute(2, 0, 1).float() / 255 for i in range(n)])
        labels = torch.arange(n) % 3
        for name in "mixup", "cutmix":
            for repeat in range(3):
                torch.manual_seed(100 * k + repeat)
                t = (v2.MixUp if name == "mixup" else v2.CutMix)(alpha=alpha, num_classes=3)
                ratios = []
                sample = t._dist.sample
                t._dist.sample = lambda shape: ratios.append(sample(shape)) or ratios[-1]
                with Recorder() as r:
                    images, mixed_labels = t(batch, labels)
                add({"what": name, "image": k, "size": [h, w], "batch": n, "alpha": alpha, "ratio": float(ratios[0]),
                     "place": r.draws}, images.permute(0, 2, 3, 1).numpy(), mixed_labels.numpy())


class Pad:
    """Extends an image and its mask to the right and below: what the training's PadIfSmaller does."""

    def __init__(self, size):
        self.size = size

    def __call__(self, img, mask):
        w, h = img.size
        padding = [0, 0, max(self.size - w, 0), max(self.size - h, 0)]
        return F.pad(img, padding, fill=0), F.pad(mask, padding, fill=255)


def classes(size):
    h, w = size
    return (np.arange(h * w, dtype=np.uint8).reshape(h, w) // w % 3 + np.arange(w, dtype=np.uint8) // 5).astype(np.uint8)


def segmentation():
    """The reference training: resize, mirror, pad, crop, for one draw of each."""
    for k, (size, shorter, crop) in enumerate([((40, 60), 40, 24), ((40, 60), 40, 50), ((33, 20), 20, 48), ((20, 20), 20, 20),
                                               ((40, 60), 32, 24), ((24, 36), 56, 32), ((64, 40), 20, 24), ((17, 29), 17, 17)]):
        for flip in 0, 1:
            img, mask = PIL.Image.fromarray(image(k, size)), PIL.Image.fromarray(classes(size))
            img = F.resize(img, [shorter])
            mask = F.resize(mask, [shorter], interpolation=v2.InterpolationMode.NEAREST)
            if flip:
                img, mask = F.horizontal_flip(img), F.horizontal_flip(mask)
            img, mask = Pad(crop)(img, mask)
            torch.manual_seed(k)
            t = v2.RandomCrop(crop)
            params = t.make_params([img])
            img, mask = t.transform(img, params), t.transform(mask, params)
            normal = F.normalize(F.to_dtype(F.pil_to_tensor(img), torch.float32, scale=True), [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
            add({"what": "segmentation", "image": k, "size": list(size), "shorter": shorter, "crop": crop, "flip": flip,
                 "top": params["top"], "left": params["left"]}, normal.numpy(), np.asarray(mask))


BOXES = [[5, 8, 25, 24], [20, 4, 45, 38], [0, 0, 50, 40], [12, 12, 13, 13]]


def boxed(size):
    return tv_tensors.BoundingBoxes(BOXES, format="XYXY", canvas_size=size, dtype=torch.float32)


def detection():
    """Presets hflip and ssd: mirror, zoom out, and a window of RandomIoUCrop."""
    for k, size in enumerate([(40, 50), (41, 53)]):
        for flip in 0, 1:
            img = tv_tensors.Image(torch.from_numpy(image(k, size)).permute(2, 0, 1))
            img, boxes = v2.RandomHorizontalFlip(float(flip))(img, boxed(size))
            img = F.to_dtype(img, torch.float32, scale=True)
            add({"what": "hflip", "image": k, "size": list(size), "flip": flip}, img.numpy(), boxes.numpy())
        for repeat in range(4):
            torch.manual_seed(10 * k + repeat)
            img = tv_tensors.Image(torch.from_numpy(image(k, size)).permute(2, 0, 1))
            with Recorder() as r:
                img, boxes = v2.RandomZoomOut(fill=[123, 117, 104], p=1.0)(img, boxed(size))
            add({"what": "zoom", "image": k, "size": list(size), "draws": r.draws[-3:]}, img.permute(1, 2, 0).numpy(), boxes.numpy())
        for left, top, w, h in [(0, 0, 30, 30), (10, 6, 31, 20), (12, 11, 3, 3), (3, 2, 47, 38), (19, 0, 20, 40)]:
            t = v2.RandomIoUCrop()
            bx = boxed(size)
            x, y = (bx[:, 0] + bx[:, 2]) / 2, (bx[:, 1] + bx[:, 3]) / 2
            within = (left < x) & (x < left + w) & (top < y) & (y < top + h)
            params = {"top": top, "left": left, "height": h, "width": w, "is_within_crop_area": within}
            img = tv_tensors.Image(torch.from_numpy(image(k, size)).permute(2, 0, 1))
            img, kept = t.transform(img, params), t.transform(bx, params)
            kept, labels = v2.SanitizeBoundingBoxes()({"boxes": kept, "labels": torch.arange(len(BOXES))}).values()
            add({"what": "window", "image": k, "size": list(size), "window": [left, top, w, h]}, img.permute(1, 2, 0).numpy(),
                kept.numpy(), labels.numpy())


def main(folder):
    mixed()
    segmentation()
    detection()
    with open(folder + "/mixes.json", "w") as f:
        json.dump({"torchvision": torchvision.__version__.split("+")[0], "boxes": BOXES, "cases": CASES,
                   "data": base64.b64encode(zlib.compress(b"".join(DATA), 9)).decode()}, f, separators=(",", ":"))
        f.write("\n")
    print(len(CASES), "cases")


main(sys.argv[1])
