# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from bivouac._pipeline.annotations import Input, Ints
from bivouac._pipeline.node import DataNode

def read(
    __filepaths: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dont_use_mmap: bool | None = False,
    preserve: bool | None = False,
    use_o_direct: bool | None = False,
) -> DataNode:
    """Reads files whose paths are the samples. A relative path is relative to the working
    directory.

    Inputs:
      filepaths: paths as bytes; a zero byte ends a path.

    Outputs:
      contents: the contents, uint8.

    Args:
      dont_use_mmap: Whether files are read instead of mapped; has no effect, because files are
        always read.
      use_o_direct: Whether files are read past the cache of the system; has no effect.
    """
    ...
