# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import Fed, Input, Ints, Text
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import Operator

class Jpeg(Operator):
    """Writes images as baseline JPEG files, byte for byte as libjpeg-turbo does by default.

    The arguments are those of `bivouac.fn.encoders.jpeg`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
        quality: int | Fed | None = 75,
        subsampling: Text | None = "4:2:0",
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Png(Operator):
    """Writes images as PNG files, without loss, byte for byte as Go's package image/png.

    The arguments are those of `bivouac.fn.encoders.png`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        compression: Text | None = "default",
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Wav(Operator):
    """Writes sound as WAV files: integers as PCM, floats as floats.

    The arguments are those of `bivouac.fn.encoders.wav`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
        sample_rate: float | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __sound: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Webp(Operator):
    """Writes images as WebP files, without loss. Gray becomes RGB.

    The arguments are those of `bivouac.fn.encoders.webp`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
