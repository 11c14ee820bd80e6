# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from bivouac._pipeline.annotations import Fed, Input, Ints, Text
from bivouac._pipeline.node import DataNode

def jpeg(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
    quality: int | Fed | None = 75,
    subsampling: Text | None = "4:2:0",
) -> DataNode:
    """Writes images as baseline JPEG files, byte for byte as libjpeg-turbo does by default.

    Inputs:
      images: gray or RGB images of 1 to 65,535 pixels along an axis, uint8.

    Outputs:
      encoded: the bytes of a file.

    Args:
      quality: Quality from 1, the worst, to 100; other numbers are limited to this range.
      subsampling: How much colour is kept: "4:2:0" half both ways, "4:4:4" all. Gray images ignore
        it.
    """
    ...

def png(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    compression: Text | None = "default",
    preserve: bool | None = False,
) -> DataNode:
    """Writes images as PNG files, without loss, byte for byte as Go's package image/png.

    Inputs:
      images: images of 1, 3 or 4 channels, of which the last of 4 is alpha: uint8 or uint16.

    Outputs:
      encoded: the bytes of a file.

    Args:
      compression: How much time is spent for a small file: "none", "fast", "default" or "best".
    """
    ...

def wav(
    __sound: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
    sample_rate: float | Fed,
) -> DataNode:
    """Writes sound as WAV files: integers as PCM, floats as floats.

    Inputs:
      sound: of shape [frames] or [frames, channels], with 1 to 65,535 channels: int16, int32 or
        float32.

    Outputs:
      encoded: the bytes of a file.

    Args:
      sample_rate: Frames per second, rounded to a whole number. Required.
    """
    ...

def webp(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
) -> DataNode:
    """Writes images as WebP files, without loss. Gray becomes RGB.

    Inputs:
      images: images of 1, 3 or 4 channels, of which the last of 4 is alpha, of 1 to 16,384 pixels
        along an axis.

    Outputs:
      encoded: the bytes of a file.
    """
    ...
