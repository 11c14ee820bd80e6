# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import Ints, Text
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import Operator

class Video(Operator):
    """Cuts videos that feed_input feeds into batches of sequences, one video after the other. It
    decodes no more than it returns, so a video may be far longer than memory. A batch never holds
    sequences of two videos; the last batch of a video may be smaller.

    The arguments are those of `bivouac.fn.experimental.inputs.video`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        affine: bool | None = True,
        blocking: bool | None = False,
        bytes_per_sample_hint: Ints | None = [0],
        last_sequence_policy: Text | None = "partial",
        no_copy: bool | None = False,
        preserve: bool | None = False,
        sequence_length: int | None = None,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> DataNode: ...
