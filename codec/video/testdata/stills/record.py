"""Writes still images, and beside each the pixels to which other libraries decode it.

It needs Pillow 13.0, pillow-heif 1.8 and numpy. The pixels of NAME are in NAME.raw: rows without
padding, 8 or 16 bits (little-endian) a sample. JPEG 2000 is decoded by OpenJPEG, AVIF by libavif
and HEIC by libheif.
"""

import os
import struct

import numpy as np
import pillow_heif
from PIL import Image, ImageOps

pillow_heif.register_heif_opener()
os.chdir(os.path.dirname(os.path.abspath(__file__)))
rng = np.random.default_rng(7)


def picture(height, width, channels, noise=6):
    y, x = np.mgrid[0:height, 0:width]
    waves = [127 + 70 * np.sin(x / 13 + i) + 40 * np.cos(y / 11 - i) for i in range(channels)]
    a = np.stack(waves, -1) + rng.integers(0, noise + 1, (height, width, channels))
    a = np.clip(a, 0, 255).astype(np.uint8)
    return a[..., 0] if channels == 1 else a


def record(name, pixels, **options):
    Image.fromarray(pixels).save(name, **options)
    a = np.array(ImageOps.exif_transpose(Image.open(name)))
    a.astype(a.dtype.newbyteorder("<")).tofile(name + ".raw")


record("rgb.jp2", picture(37, 53, 3))
record("raw.j2k", picture(19, 23, 3))
record("gray.jp2", picture(31, 45, 1))
record("rgba.jp2", picture(33, 29, 4))
record("la.jp2", picture(13, 9, 2))
wide = picture(21, 35, 1).astype(np.uint16) * 257 + rng.integers(0, 256, (21, 35)).astype(np.uint16)
record("gray16.jp2", wide)
record("one.jp2", picture(1, 1, 3))
record("lossy.jp2", picture(40, 48, 3), irreversible=True, quality_mode="rates", quality_layers=[12])
record("tiles.jp2", picture(40, 48, 3), tile_size=(16, 16))
record("rgb444.avif", picture(37, 53, 3, 0), quality=90, subsampling="4:4:4")
record("rgb420.avif", picture(38, 54, 3, 0), quality=90)
record("odd420.avif", picture(37, 53, 3, 0), quality=90)
record("gray.avif", picture(31, 45, 1, 0), quality=90, subsampling="4:0:0")
record("rgba444.avif", picture(33, 29, 4, 0), quality=90, subsampling="4:4:4")
exif = Image.Exif()
exif[0x0112] = 6
record("turned.avif", picture(16, 24, 3, 0), quality=90, subsampling="4:4:4", exif=exif)
record("rgb444.heic", picture(64, 48, 3, 0), quality=90, chroma=444)
record("rgb420.heic", picture(64, 48, 3, 0), quality=90)
record("odd444.heic", picture(37, 53, 3, 0), quality=90, chroma=444)
record("rgba.heic", picture(64, 48, 4, 0), quality=90, chroma=444)
