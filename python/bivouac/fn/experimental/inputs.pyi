# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from bivouac._pipeline.annotations import Ints, Text
from bivouac._pipeline.node import DataNode

def video(
    *,
    device: str | None = None,
    name: str | None = None,
    affine: bool | None = True,
    blocking: bool | None = False,
    bytes_per_sample_hint: Ints | None = [0],
    last_sequence_policy: Text | None = "partial",
    no_copy: bool | None = False,
    preserve: bool | None = False,
    sequence_length: int,
) -> DataNode:
    """Cuts videos that feed_input feeds into batches of sequences, one video after the other. It
    decodes no more than it returns, so a video may be far longer than memory. A batch never holds
    sequences of two videos; the last batch of a video may be smaller.

    Outputs:
      sequences: frames of layout FHWC, in RGB.

    Args:
      affine: Ignored.
      blocking: Whether a batch without a video waits for a feed_input of another thread. Otherwise
        it is an error.
      last_sequence_policy: How the last sequence of a video ends: "partial" makes it shorter, "pad"
        adds black frames.
      no_copy: Ignored.
      sequence_length: Frames of a sequence. Required.
    """
    ...
