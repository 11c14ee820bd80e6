#!/usr/bin/env python3
"""Records what torchvision and timm make of images: augment.py OUT (testdata/recipes).

Writes OUT/augment.json. The transforms of torchvision draw their own numbers, which are recorded as
they draw them. For timm the numbers are drawn here, in the way of its AugmentOp, and given to its
functions. Then come the images, of Pillow, that they return. Two runs give the same bytes.
"""
import base64
import json
import random
import sys
import zlib

import numpy as np
import PIL
import PIL.Image
import timm
import timm.data.auto_augment as ta
import torch
import torchvision
import torchvision.transforms.v2 as v2

from images import image

NAMES = {
    "Identity": "identity", "ShearX": "shear_x", "ShearY": "shear_y", "TranslateX": "translate_x",
    "TranslateY": "translate_y", "TranslateXRel": "translate_x", "TranslateYRel": "translate_y", "Rotate": "rotate",
    "Brightness": "brightness", "Color": "color", "Contrast": "contrast", "Sharpness": "sharpness",
    "Posterize": "posterize", "Solarize": "solarize", "SolarizeAdd": "solarize_add", "Invert": "invert",
    "Equalize": "equalize", "AutoContrast": "auto_contrast",
}


# The suites in Bivouac's form.
SUITES = {
    "torchvision rand": [
        "identity", "shear_x 0 0.3 signed single", "shear_y 0 0.3 signed single",
        "translate_x 0 0.4531722054380665 signed whole", "translate_y 0 0.4531722054380665 signed whole",
        "rotate 0 30 signed single", "brightness 0 0.9 signed single", "color 0 0.9 signed single",
        "contrast 0 0.9 signed single", "sharpness 0 0.9 signed single", "posterize 8 4", "solarize 255 0 single",
        "auto_contrast", "equalize",
    ],
    "torchvision trivial": [
        "identity", "shear_x 0 0.99 signed single", "shear_y 0 0.99 signed single",
        "translate_x_pixels 0 32 signed whole", "translate_y_pixels 0 32 signed whole",
        "rotate 0 135 signed single", "brightness 0 0.99 signed single", "color 0 0.99 signed single",
        "contrast 0 0.99 signed single", "sharpness 0 0.99 signed single", "posterize 8 2",
        "solarize 255 0 single", "auto_contrast", "equalize",
    ],
    "timm rand": [
        "auto_contrast", "equalize", "invert", "rotate 0 30 signed", "posterize 4 0 whole", "solarize 256 0 whole",
        "solarize_add 0 110 whole", "color 0 0.9 signed", "contrast 0 0.9 signed", "brightness 0 0.9 signed",
        "sharpness 0 0.9 signed", "shear_x 0 0.3 signed", "shear_y 0 0.3 signed", "translate_x 0 -0.45 signed",
        "translate_y 0 -0.45 signed",
    ],
}
SUITES["torchvision auto"] = SUITES["torchvision rand"] + ["invert"]


def plain(name):
    return NAMES[name.replace("Increasing", "").replace("Original", "")]


class Recorder:
    """Records the draws of torch while a transform of torchvision runs."""

    def __init__(self):
        self.draws = []
        self.real = torch.randint, torch.rand

    def __enter__(self):
        def randint(*a, **k):
            v = self.real[0](*a, **k)
            self.draws.append(int(v))
            return v

        def rand(*a, **k):
            v = self.real[1](*a, **k)
            self.draws.append(float(v))
            return v

        torch.randint, torch.rand = randint, rand
        return self

    def __exit__(self, *_):
        torch.randint, torch.rand = self.real


def torchvision_cases(out):
    bilinear = v2.InterpolationMode.BILINEAR
    for kind, make in (
        ("rand", lambda mode: v2.RandAugment(interpolation=mode, magnitude=9)),
        ("rand", lambda mode: v2.RandAugment(num_ops=1, interpolation=mode, magnitude=25, fill=[10, 200, 30])),
        ("trivial", lambda mode: v2.TrivialAugmentWide(interpolation=mode)),
        ("image_net", lambda mode: v2.AutoAugment(v2.AutoAugmentPolicy.IMAGENET, interpolation=mode)),
        ("cifar10", lambda mode: v2.AutoAugment(v2.AutoAugmentPolicy.CIFAR10, interpolation=mode)),
        ("svhn", lambda mode: v2.AutoAugment(v2.AutoAugmentPolicy.SVHN, interpolation=mode)),
    ):
        for mode in (bilinear, v2.InterpolationMode.NEAREST):
            t = make(mode)
            for k in range(8):
                space = list(t._AUGMENTATION_SPACE)
                with Recorder() as r:
                    got = t(PIL.Image.fromarray(image(k)))
                d, steps = r.draws, []
                at = 0
                if kind in ("rand", "trivial"):
                    for _ in range(t.num_ops if kind == "rand" else 1):
                        name = space[d[at]]
                        at += 1
                        fn, signed = t._AUGMENTATION_SPACE[name]
                        bin_, sign = t.magnitude if kind == "rand" else 0, False
                        if fn(31, 8, 8) is not None:
                            if kind == "trivial":
                                bin_ = d[at]
                                at += 1
                            if signed:
                                sign = d[at] <= 0.5
                                at += 1
                        steps.append([plain(name), bin_, int(sign)])
                else:
                    for name, p, bin_ in t._policies[d[0]]:
                        at = max(at, 1)
                        run = d[at] <= p
                        at += 1
                        if not run:
                            continue
                        sign = False
                        if t._AUGMENTATION_SPACE[name][1]:
                            sign = d[at] <= 0.5
                            at += 1
                        steps.append([plain(name), bin_ or 0, int(sign)])
                assert at == len(d), (kind, d, steps)
                out.append({"of": "torchvision " + (kind if kind in ("rand", "trivial") else "auto"), "bins": 31 if kind in ("rand", "trivial") else 10, "image": k, "nearest": mode != bilinear, "fill": t_fill(t),
                            "steps": steps}, got)


def t_fill(t):
    for v in t._fill.values():
        if v is not None:
            return list(v)
    return [0]


def timm_cases(out):
    resamples = [("linear", PIL.Image.BILINEAR), ("cubic", PIL.Image.BICUBIC), ("nearest", PIL.Image.NEAREST)]
    for config in ("rand-m9-mstd0.5-inc1", "rand-m5-n1-mstd1-inc1"):
        for label, resample in resamples:
            hparams = {"translate_const": 100, "img_mean": (124, 116, 104), "interpolation": resample}
            t = ta.rand_augment_transform(config, hparams)
            for k in range(10):
                steps = []
                img = PIL.Image.fromarray(image(k))
                names = np.random.choice([o.name for o in t.ops], t.num_layers)
                for name in names:
                    o = next(o for o in t.ops if o.name == name)
                    level = max(0.0, min(random.gauss(o.magnitude, o.magnitude_std), 10.0))
                    negative = random.random() > 0.5
                    if o.prob < 1 and random.random() > o.prob:
                        continue
                    steps.append([plain(name), level, int(negative)])
                    real = ta._randomly_negate
                    ta._randomly_negate = lambda v: -v if negative else v
                    args = o.level_fn(level, o.hparams) if o.level_fn else ()
                    ta._randomly_negate = real
                    img = o.aug_fn(img, *args, **o.kwargs)
                out.append({"of": "timm rand", "bins": 11, "image": k, "nearest": label == "nearest", "cubic": label == "cubic",
                            "fill": [124, 116, 104], "steps": steps}, img)


def policy():
    """torchvision's policy for ImageNet in Bivouac's form."""
    def stage(name, p, m):
        return plain(name) + " %g" % p + ("" if m is None else " %d" % m)

    t = v2.AutoAugment(v2.AutoAugmentPolicy.IMAGENET)
    return ["; ".join(stage(*s) for s in sub) for sub in t._policies]


class Out:
    def __init__(self):
        self.cases, self.data = [], []

    def append(self, case, img):
        self.cases.append(case)
        self.data.append(np.asarray(img).tobytes())


def main(folder):
    torch.manual_seed(5)
    random.seed(6)
    np.random.seed(7)
    out = Out()
    torchvision_cases(out)
    timm_cases(out)
    with open(folder + "/augment.json", "w") as f:
        json.dump({"torchvision": torchvision.__version__.split("+")[0], "timm": timm.__version__, "pillow": PIL.__version__,
                   "suites": SUITES, "policy": policy(),
                   "cases": out.cases, "images": base64.b64encode(zlib.compress(b"".join(out.data), 9)).decode()}, f,
                  separators=(",", ":"))
        f.write("\n")
    print(len(out.cases), "cases")


main(sys.argv[1])
