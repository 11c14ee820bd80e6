"""The operators of pipelines as functions: `fn.readers.file`, `fn.decoders.image`, `fn.resize`.

A function adds an operator to the graph and returns its outputs: a DataNode, or a list of them.
Inputs are nodes, lists of nodes, and constants. Arguments are constants; many of them may be nodes,
so that each sample has its own value.
"""

from bivouac._pipeline import functions as _functions
from bivouac._pipeline.external import external_source as external_source
from bivouac._pipeline.python_function import (
    dl_tensor_python_function as dl_tensor_python_function,
)
from bivouac._pipeline.python_function import python_function as python_function

_functions.fill(__name__, _functions.make_function, lambda schema: schema.function)
