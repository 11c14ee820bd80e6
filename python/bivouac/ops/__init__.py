"""The operators of pipelines as classes: `ops.readers.File`, `ops.decoders.Image`, `ops.Resize`.

The constructor takes constant arguments. A call adds the operator to the graph and returns its
outputs, as the functions of `bivouac.fn` do.
"""

from bivouac._pipeline import functions as _functions
from bivouac._pipeline.compose import Compose as Compose
from bivouac._pipeline.external import ExternalSource as ExternalSource
from bivouac._pipeline.python_function import DLTensorPythonFunction as DLTensorPythonFunction
from bivouac._pipeline.python_function import PythonFunction as PythonFunction

_functions.fill(__name__, _functions.make_class, lambda schema: schema.class_name)
