"""DALI's side of the cases on images: the graphs of pictures.go."""
import numpy as np


def photo(channels):
    y, x, c = np.meshgrid(np.arange(224), np.arange(224), np.arange(channels), indexing="ij")
    return (x * (c + 1) // 2 + y // 2 + (x * 31 + y * 17 + c * 7) % 23).astype(np.uint8)


def graphs(fixed, _data):
    from nvidia.dali import fn, types

    def image(channels=3, dtype=np.uint8):
        return fixed(photo(channels).astype(dtype), "HWC")

    def raw(algorithm, dtype=np.uint8):
        return [fn.debayer(image(1, dtype), blue_position=[0, 1], algorithm=algorithm)]

    def converted(a, b):
        return [fn.color_space_conversion(image(), image_type=a, output_type=b)]

    weights = np.array([.25, .5, -.125, .1, .75, .3, -.6, .1, .2], np.float32).reshape(3, 3)
    matrix = [0.9, 0.1, 5, -0.05, 1.1, 3, 0.0002, -0.0001, 1]

    def warped(dtype, interp):
        return [fn.experimental.warp_perspective(image(3, dtype), matrix=matrix, interp_type=interp)]

    return {
        "rgb-to-gray": lambda: converted(types.RGB, types.GRAY),
        "rgb-to-ycbcr": lambda: converted(types.RGB, types.YCbCr),
        "ycbcr-to-rgb": lambda: converted(types.YCbCr, types.RGB),
        "equalize": lambda: [fn.experimental.equalize(image())],
        "clahe": lambda: [fn.clahe(image(), tiles_x=8, tiles_y=8, clip_limit=2.0)],
        "laplacian": lambda: [fn.laplacian(image())],
        "filter": lambda: [fn.filter(image(), fixed(weights))],
        "jpeg-distortion": lambda: [fn.jpeg_compression_distortion(image(), quality=50)],
        "debayer": lambda: raw("bilinear_ocv"),
        "debayer-edges": lambda: raw("edgeaware_ocv"),
        "debayer-gradients": lambda: raw("vng_ocv"),
        "debayer-gray": lambda: raw("gray_ocv"),
        "debayer-words": lambda: raw("bilinear_ocv", np.uint16),
        "filter-floats": lambda: [fn.filter(image(3, np.float32), fixed(weights))],
        "warp-perspective": lambda: warped(np.uint8, types.INTERP_LINEAR),
        "warp-nearest": lambda: warped(np.uint8, types.INTERP_NN),
        "warp-cubic": lambda: warped(np.uint8, types.INTERP_CUBIC),
        "warp-words": lambda: warped(np.uint16, types.INTERP_LINEAR),
        "warp-shorts": lambda: warped(np.int16, types.INTERP_LINEAR),
        "warp-floats": lambda: warped(np.float32, types.INTERP_LINEAR),
    }
