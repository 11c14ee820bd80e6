"""Augmentations of images and videos, which suites and policies are made of.

An augmentation is called with a batch, `magnitude_bin` and `num_magnitude_bins`. Its method
`augmentation` gives it other magnitudes: `shear_x.augmentation(mag_range=(0, 0.5))`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bivouac import fn, types
from bivouac.auto_aug.core import augmentation
from bivouac.errors import Invalid

__all__ = [
    "auto_contrast", "brightness", "color", "contrast", "equalize", "identity", "invert",
    "poster_mask_uint8", "posterize", "rotate", "sharpness", "sharpness_kernel",
    "sharpness_kernel_shifted", "shear_x", "shear_y", "shift_enhance_range", "solarize",
    "solarize_add", "solarize_add_shift", "translate_x", "translate_x_no_shape", "translate_y",
    "translate_y_no_shape", "warp_x_param", "warp_y_param",
]  # fmt: skip


def warp_x_param(magnitude: Any) -> Any:
    """Return the parameter of a warp along the width."""
    return [magnitude, 0]


def warp_y_param(magnitude: Any) -> Any:
    """Return the parameter of a warp along the height."""
    return [0, magnitude]


def _warped(data: Any, matrix: Any, fill_value: Any, interp_type: Any) -> Any:
    return fn.warp_affine(
        data, matrix=matrix, fill_value=fill_value, interp_type=interp_type, inverse_map=False
    )


@augmentation(mag_range=(0, 0.3), randomly_negate=True, mag_to_param=warp_x_param)
def shear_x(data: Any, shear: Any, fill_value: Any = 128, interp_type: Any = None) -> Any:
    """Shear along the width."""
    return _warped(data, fn.transforms.shear(shear=shear), fill_value, interp_type)


@augmentation(mag_range=(0, 0.3), randomly_negate=True, mag_to_param=warp_y_param)
def shear_y(data: Any, shear: Any, fill_value: Any = 128, interp_type: Any = None) -> Any:
    """Shear along the height."""
    return _warped(data, fn.transforms.shear(shear=shear), fill_value, interp_type)


@augmentation(mag_range=(0.0, 1.0), randomly_negate=True, mag_to_param=warp_x_param)
def translate_x(
    data: Any, rel_offset: Any, shape: Any, fill_value: Any = 128, interp_type: Any = None
) -> Any:
    """Translate along the width, by a share of it. shape has the height and the width."""
    matrix = fn.transforms.translation(offset=rel_offset * shape[1])
    return _warped(data, matrix, fill_value, interp_type)


@augmentation(
    mag_range=(0, 250), randomly_negate=True, mag_to_param=warp_x_param, name="translate_x"
)
def translate_x_no_shape(
    data: Any, offset: Any, fill_value: Any = 128, interp_type: Any = None
) -> Any:
    """Translate along the width, by pixels."""
    matrix = fn.transforms.translation(offset=offset)
    return _warped(data, matrix, fill_value, interp_type)


@augmentation(mag_range=(0.0, 1.0), randomly_negate=True, mag_to_param=warp_y_param)
def translate_y(
    data: Any, rel_offset: Any, shape: Any, fill_value: Any = 128, interp_type: Any = None
) -> Any:
    """Translate along the height, by a share of it. shape has the height and the width."""
    matrix = fn.transforms.translation(offset=rel_offset * shape[0])
    return _warped(data, matrix, fill_value, interp_type)


@augmentation(
    mag_range=(0, 250), randomly_negate=True, mag_to_param=warp_y_param, name="translate_y"
)
def translate_y_no_shape(
    data: Any, offset: Any, fill_value: Any = 128, interp_type: Any = None
) -> Any:
    """Translate along the height, by pixels."""
    matrix = fn.transforms.translation(offset=offset)
    return _warped(data, matrix, fill_value, interp_type)


@augmentation(mag_range=(0, 30), randomly_negate=True)
def rotate(
    data: Any,
    angle: Any,
    fill_value: Any = 128,
    interp_type: Any = None,
    rotate_keep_size: bool = True,
) -> Any:
    """Rotate around the center, by degrees."""
    return fn.rotate(
        data,
        angle=angle,
        fill_value=fill_value,
        interp_type=interp_type,
        keep_size=rotate_keep_size,
    )


def shift_enhance_range(magnitude: Any) -> Any:
    """Return the factor of a magnitude: 1 for 0, which changes nothing."""
    return 1 + magnitude


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def brightness(data: Any, parameter: Any) -> Any:
    """Multiply the pixels."""
    return fn.brightness(data, brightness=parameter)


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def contrast(data: Any, parameter: Any) -> Any:
    """Multiply the distance of pixels from the mean luminance of the image, as Pillow does."""
    means = fn.reductions.mean(data, axis_names="HW", keep_dims=True)
    luminance = types.Constant(np.array([0.299, 0.587, 0.114], dtype=np.float32))
    center = fn.reductions.sum(means * luminance, axis_names="C", keep_dims=True)
    return fn.cast_like(center + (data - center) * parameter, data)


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def color(data: Any, parameter: Any) -> Any:
    """Multiply the saturation."""
    return fn.saturation(data, saturation=parameter)


def sharpness_kernel(magnitude: Any) -> Any:
    """Return the kernel of a magnitude: -1 blurs most, and 0 changes nothing."""
    blurs = np.ones((3, 3), dtype=np.float32)
    blurs[1, 1] = 5
    keeps = np.zeros((3, 3), dtype=np.float32)
    keeps[1, 1] = 1
    return -magnitude * (blurs / 13) + (1 + magnitude) * keeps


def sharpness_kernel_shifted(magnitude: Any) -> Any:
    """Return the kernel of a magnitude: 0 blurs most, and 1 changes nothing."""
    return sharpness_kernel(magnitude - 1)


@augmentation(
    mag_range=(0, 0.9), randomly_negate=True, mag_to_param=sharpness_kernel, param_device="auto"
)
def sharpness(data: Any, kernel: Any) -> Any:
    """Sharpen or blur, as Pillow does inside of the image. Pillow leaves the border as it is."""
    return fn.experimental.filter(data, kernel)


def poster_mask_uint8(magnitude: Any) -> Any:
    """Return a mask that keeps as many bits of a pixel as the magnitude says: 1 to 8."""
    bits = int(np.round(magnitude))
    kept = 8 if bits < 0 or bits > 8 else max(bits, 1)
    return np.array(256 - (1 << (8 - kept)), dtype=np.uint8)


@augmentation(mag_range=(0, 4), mag_to_param=poster_mask_uint8, param_device="auto")
def posterize(data: Any, mask: Any) -> Any:
    """Keep the high bits of pixels."""
    return data & mask


def _inverted(data: Any) -> Any:
    return types.Constant(255, dtype=types.UINT8) - data


@augmentation(mag_range=(256, 0), param_device="auto")
def solarize(data: Any, threshold: Any) -> Any:
    """Invert the pixels that reach the threshold."""
    inverse = _inverted(data)
    below = data < threshold
    above = below ^ True
    return below * data + above * inverse


def solarize_add_shift(shift: Any) -> Any:
    """Return the number that is added to pixels below 128."""
    if shift >= 128:
        raise Invalid(
            op="augmentation solarize_add",
            subject="magnitude",
            want="a number from 0 to less than 128",
            got=str(shift),
        )
    return np.uint8(shift)


@augmentation(mag_range=(0, 110), param_device="auto", mag_to_param=solarize_add_shift)
def solarize_add(data: Any, shift: Any) -> Any:
    """Add a number to the pixels below 128."""
    dark = data < types.Constant(128, dtype=types.UINT8)
    bright = dark ^ True
    raised = data + shift
    return dark * raised + bright * data


@augmentation
def invert(data: Any, _: Any) -> Any:
    """Invert the pixels."""
    return _inverted(data)


@augmentation
def equalize(data: Any, _: Any) -> Any:
    """Equalize the histogram of each channel, as OpenCV does."""
    return fn.experimental.equalize(data)


@augmentation
def auto_contrast(data: Any, _: Any) -> Any:
    """Stretch each channel to the whole range. A channel of one value stays as it is."""
    low = fn.reductions.min(data, axis_names="HW", keep_dims=True)
    high = fn.reductions.max(data, axis_names="HW", keep_dims=True)
    extent = high - low
    varies = extent > 0
    constant = varies ^ True
    divisor = extent * varies + types.Constant(255, dtype=types.UINT8) * constant
    factor = 255 / divisor
    return fn.cast_like((data - low * varies) * factor, data)


@augmentation
def identity(data: Any, _: Any) -> Any:
    """Return the batch."""
    return data
