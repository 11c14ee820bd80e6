# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import Input, Ints
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import Operator

class Read(Operator):
    """Reads files whose paths are the samples. A relative path is relative to the working
    directory.

    The arguments are those of `bivouac.fn.io.file.read`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dont_use_mmap: bool | None = False,
        preserve: bool | None = False,
        use_o_direct: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __filepaths: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
