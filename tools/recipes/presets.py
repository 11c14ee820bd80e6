#!/usr/bin/env python3
"""Records what whole transforms of torchvision and timm give: presets.py OUT (testdata/recipes).

Writes OUT/presets.json. Where a transform draws numbers, its arguments leave nothing to draw: the
settings in `set` leave nothing to draw in Bivouac's recipe either. Images are PIL's, and results are
kept as bytes, before they are normalized. Two runs give the same bytes.
"""
import base64
import json
import math
import sys
import zlib

import numpy as np
import PIL.Image
import timm
import timm.data.auto_augment as ta
import torchvision
import torchvision.transforms.v2 as v2
import torchvision.transforms.v2.functional as F
from timm.data import create_transform

from images import image

OUT = []


def add(recipe, k, size, settings, result, mask=False):
    a = np.asarray(result)
    OUT.append(({"recipe": recipe, "image": k, "size": list(size), "set": settings, "shape": list(a.shape), "mask": mask},
                a.tobytes()))


def pil(k, size):
    return PIL.Image.fromarray(image(k, size))


def evaluation():
    for k, size in enumerate([(40, 60), (64, 64), (48, 32), (20, 20), (33, 33)]):
        t = v2.Compose([v2.Resize(32, antialias=True), v2.CenterCrop(24)])
        add("torchvision-eval", k, size, {"shorter": 32, "size": 24}, t(pil(k, size)))
        t = create_transform(28, is_training=False, crop_pct=0.875, interpolation="bicubic", normalize=False)
        add("timm-eval", k, size, {"shorter": 32, "size": 28}, np.asarray(t(pil(k, size)).permute(1, 2, 0)))
    for k, size in enumerate([(40, 60), (64, 64), (48, 32)]):
        t = v2.Resize(32, antialias=True)
        add("torchvision-segmentation-eval", k, size, {"shorter": 32}, t(pil(k, size)))


def cut(img, size, flip, interpolation=v2.InterpolationMode.BILINEAR):
    w, h = img.size
    img = F.resized_crop(img, 0, 0, h, w, [size, size], interpolation)
    return F.hflip(img) if flip else img


def training():
    ops = [
        ("rotate 27 27", lambda i: F.rotate(i, 27, v2.InterpolationMode.NEAREST), ta.rotate, (27,)),
        ("shear_x 0.25 0.25", lambda i: F.affine(i, 0, [0, 0], 1, [math.degrees(math.atan(0.25)), 0], center=[0, 0]), ta.shear_x, (0.25,)),
        ("brightness 1.5 1.5", lambda i: F.adjust_brightness(i, 1.5), ta.brightness, (1.5,)),
        ("contrast 0.5 0.5", lambda i: F.adjust_contrast(i, 0.5), ta.contrast, (0.5,)),
        ("color 1.75 1.75", lambda i: F.adjust_saturation(i, 1.75), ta.color, (1.75,)),
        ("sharpness 1.5 1.5", lambda i: F.adjust_sharpness(i, 1.5), ta.sharpness, (1.5,)),
        ("posterize 4 4", lambda i: F.posterize(i, 4), ta.posterize, (4,)),
        ("solarize 100 100", lambda i: F.solarize(i, 100), ta.solarize, (100,)),
        ("auto_contrast", F.autocontrast, ta.auto_contrast, ()),
        ("equalize", F.equalize, ta.equalize, ()),
    ]
    for k, size in enumerate([(40, 60), (30, 20), (12, 9), (64, 50)]):
        settings = {"size": 24, "area": [1, 1], "ratio": [size[1] / size[0]] * 2, "flip": 0, "erase": 0, "augmentations": ["identity"]}
        add("torchvision-train-trivial", k, size, settings, cut(pil(k, size), 24, 0))
        add("timm-train", k, size, {**settings, "filters": [2]}, cut(pil(k, size), 24, 0, v2.InterpolationMode.BICUBIC))
    for k, (text, of_vision, of_timm, args) in enumerate(ops):
        size, flip = (24, 24), k % 2  # no image is resized
        settings = {"size": 24, "area": [1, 1], "ratio": [size[1] / size[0]] * 2, "flip": flip, "erase": 0}
        own = {**settings, "augmentations": [text]}
        if k < 2:  # the recipe warps with linear weights
            linear = v2.InterpolationMode.BILINEAR
            of_vision = [lambda i: F.rotate(i, 27, linear), lambda i: F.affine(
                i, 0, [0, 0], 1, [math.degrees(math.atan(0.25)), 0], linear, center=[0, 0])][k]
        img = cut(pil(k, size), 24, flip)
        add("torchvision-train-trivial", k, size, own, of_vision(img))
        add("torchvision-train-rand", k, size, own, of_vision(of_vision(img)))
        name = text.split()[0] + " 1" + (" 0" if " " in text else "")
        add("torchvision-train-auto", k, size, {**own, "policy": [name]}, of_vision(img))
        cubic = PIL.Image.BICUBIC
        img = cut(pil(k, size), 24, flip, v2.InterpolationMode.BICUBIC)
        for _ in range(2):
            img = of_timm(img, *args, resample=cubic, fillcolor=(124, 116, 104))
        add("timm-train", k, size, {**own, "filters": [2], "probability": 1}, img)


def main(folder):
    evaluation()
    training()
    with open(folder + "/presets.json", "w") as f:
        json.dump({"torchvision": torchvision.__version__.split("+")[0], "timm": timm.__version__, "cases": [c for c, _ in OUT],
                   "images": base64.b64encode(zlib.compress(b"".join(b for _, b in OUT), 9)).decode()}, f, separators=(",", ":"))
        f.write("\n")
    print(len(OUT), "cases")


main(sys.argv[1])
