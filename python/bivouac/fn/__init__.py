"""The operators of pipelines as functions: `fn.readers.file`, `fn.decoders.image`, `fn.resize`.

A function adds an operator to the graph and returns its outputs: a DataNode, or a list of them.
Inputs are nodes, lists of nodes, and constants. Arguments are constants; many of them may be nodes,
so that each sample has its own value.
"""

from bivouac._pipeline import functions as _functions
from bivouac._pipeline.external import external_source as external_source

_functions.fill(__name__, _functions.make_function, lambda schema: schema.function)
