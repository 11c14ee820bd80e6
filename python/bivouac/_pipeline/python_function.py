"""python_function and dl_tensor_python_function: operators that call a function of the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from bivouac import _dtypes
from bivouac._pipeline import arguments, callbacks, devices, message
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import DEVICES, Instance, Operator, _promote, current
from bivouac._pipeline.refusals import BrokenGraph, WrongType
from bivouac._pipeline.schemas import Parameter, Port, Schema
from bivouac.errors import Invalid, Unsupported

__all__ = [
    "DLTensorPythonFunction",
    "FunctionOperator",
    "PythonFunction",
    "call_function",
    "dl_tensor_python_function",
    "function_schema",
    "python_function",
]

_MOST_INPUTS = 256
_MOST_OUTPUTS = 4096


def function_schema(name: str, doc: str) -> Schema:
    params = (
        Parameter("preserve", "bool", "Has no effect: a function is always called."),
        Parameter("bytes_per_sample_hint", "ints", "Has no effect on a CPU."),
        Parameter("synchronize_stream", "bool", "Has no effect on a CPU."),
    )
    return Schema(
        name=name,
        schema="DLTensorPythonFunctionImpl",
        written="DLTensorPythonFunctionImpl",
        doc=doc,
        min=0,
        max=_MOST_INPUTS,
        inputs=(Port("input", "what the function gets", True),),
        outputs=(),
        params={p.name: p for p in params},
        asked=True,
        count=None,
        random=False,
        stateful=False,
        reader=False,
        deprecated="",
    )


class FunctionOperator(Operator):
    """A FunctionOperator calls a function of the program. Subclasses say what it gets and returns.

    Args:
      function: the function. Without batch_processing it is called for each sample.
      num_outputs: how many outputs it has. A function with several returns a tuple.
      device: "cpu".
      batch_processing: call it once for each batch. It gets and returns lists of samples.
      output_layouts: a layout for all outputs, or a list with one for each.
    """

    schema: ClassVar[Schema]

    def __init__(
        self,
        function: Callable[..., Any],
        num_outputs: int = 1,
        device: str = "cpu",
        batch_processing: bool = False,
        *,
        output_layouts: str | Sequence[str] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        module = kwargs.pop("_module", "nvidia.dali.ops")
        display = kwargs.pop("_display_name", type(self).__name__)
        self.display = f"{module.replace('nvidia.dali', 'bivouac')}.{display}"
        self.device = device
        if device not in DEVICES:
            raise Invalid(
                subject=f"device of {self.display}", want=", ".join(DEVICES), got=repr(device)
            )
        if device != "cpu" and not devices.on_cpu():
            raise Unsupported(subject=f"device of {self.display}", want="cpu", got=device)
        if not callable(function):
            got = type(function).__name__
            raise WrongType(subject=f"function of {self.display}", want="a function", got=got)
        self.function = function
        self.num_outputs = int(num_outputs)
        if not 0 <= self.num_outputs <= _MOST_OUTPUTS:
            raise Invalid(
                subject=f"num_outputs of {self.display}",
                want=f"0 to {_MOST_OUTPUTS}",
                got=str(num_outputs),
            )
        self.batch_processing = bool(batch_processing)
        self._layouts = output_layouts
        self._name = name
        self.preserve = True
        given = arguments.resolve(type(self).schema, self.display, kwargs)
        self.args = [
            message.argument("device", "string", device),
            *self._own(module, display),
            *arguments.encode(type(self).schema, self.display, given),
        ]

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        for given in inputs:
            if isinstance(given, (list, tuple)) and any(isinstance(x, DataNode) for x in given):
                raise WrongType(
                    subject=f"inputs of {self.display}",
                    want="a DataNode for each: operators of functions take no lists of them",
                    got=f"a {type(given).__name__}",
                )
        nodes = _promote(type(self).schema, self.display, self.device, inputs)
        layouts = kwargs.pop("output_layouts", None)
        if layouts is not None and self._layouts is not None:
            raise Invalid(
                subject=f"argument output_layouts of {self.display}",
                got="a value here and another when the operator was made",
            )
        name = kwargs.pop("name", self._name)
        layouts = self._spread(self._layouts if layouts is None else layouts)
        pipeline = current()
        if pipeline is not None:
            pipeline._begin_call(())
        made = _Call(self, nodes, kwargs, {}, name, True)
        made.args.append(message.argument("output_layouts", "string", layouts))
        made.callback = callbacks.Callback(
            name=callbacks.name_of(self.function),
            operator=self.display,
            call=self._caller(layouts),
            where=callbacks.defined_at(),
        )
        if pipeline is not None:
            pipeline._called(made, 0)
        return made.result

    def _spread(self, layouts: str | Sequence[str] | None) -> list[str]:
        """Return the layout of each output."""
        number = self.num_outputs
        if layouts is None or isinstance(layouts, str):
            return [layouts or ""] * number
        given = [str(layout) for layout in layouts]
        if len(given) > number:
            raise BrokenGraph(
                subject=f"output_layouts of {self.display}",
                want=f"at most {number} layouts, one for each output",
                got=str(len(given)),
            )
        return given + [""] * (number - len(given))

    # What a call does.

    def _into(self, array: np.ndarray[Any, Any]) -> Any:
        """Return a sample as the function gets it."""
        raise NotImplementedError

    def _array(self, value: Any) -> np.ndarray[Any, Any]:
        """Return the array of a sample that the function has returned."""
        raise NotImplementedError

    def _caller(self, layouts: list[str]) -> Callable[[int, callbacks.Batch], callbacks.Batch]:
        """Return what makes the outputs of a batch."""
        # The operator is not referred to: it may belong to the pipeline.
        into, array = self._into, self._array
        function, number = self.function, self.num_outputs
        make = _in_batches if self.batch_processing else _in_samples

        def call(samples: int, inputs: callbacks.Batch) -> callbacks.Batch:
            outputs = make(function, number, samples, inputs, into, array)
            for i, arrays in enumerate(outputs):
                _check_output(i, arrays, layouts[i])
            return outputs

        return call


class _Call(Instance):
    """A call of a function in a graph."""

    def __init__(self, operator: FunctionOperator, *args: Any) -> None:
        self._number = operator.num_outputs
        super().__init__(operator, *args)

    def _ask(self) -> int:
        return self._number


Into = Callable[[Any], Any]


def _in_samples(
    function: Callable[..., Any],
    number: int,
    samples: int,
    inputs: callbacks.Batch,
    into: Into,
    array: Into,
) -> callbacks.Batch:
    """Call a function for each sample of a batch."""
    outputs: callbacks.Batch = [[] for _ in range(number)]
    for s in range(samples):
        returned = function(*[into(one[s]) for one in inputs])
        for into_output, value in zip(outputs, _values(returned, number)):
            into_output.append(array(value))
    return outputs


def _in_batches(
    function: Callable[..., Any],
    number: int,
    samples: int,
    inputs: callbacks.Batch,
    into: Into,
    array: Into,
) -> callbacks.Batch:
    """Call a function once for a batch."""
    returned = function(*[[into(sample) for sample in one] for one in inputs])
    outputs = []
    for i, value in enumerate(_values(returned, number)):
        if not isinstance(value, list):
            raise TypeError(
                f"output {i} of a function of batches: want a list with an array for each sample, "
                f"got {type(value).__name__}"
            )
        if len(value) != samples:
            raise ValueError(
                f"output {i} of a function of batches: want a list of {samples} samples, "
                f"got {len(value)}"
            )
        outputs.append([array(sample) for sample in value])
    return outputs


def _values(returned: Any, number: int) -> Sequence[Any]:
    """Return the outputs among what a function has returned."""
    if returned is None:
        if number:
            raise ValueError(f"want {number} outputs of the function, got None")
        return ()
    if number > 1 and not isinstance(returned, tuple):
        raise TypeError(
            f"want a tuple of {number} outputs of the function, got {type(returned).__name__}"
        )
    several = returned if isinstance(returned, tuple) else (returned,)
    if len(several) < number or number != 1 and len(several) > number:
        raise ValueError(f"want {number} outputs of the function, got {len(several)}")
    return several[:number]


def _check_output(i: int, arrays: Sequence[np.ndarray[Any, Any]], layout: str) -> None:
    """Raise an error unless the samples of an output are of one kind."""
    first = arrays[0]
    for s, array in enumerate(arrays):
        if _dtypes.name_of(array.dtype) is None or array.dtype.kind == "c":
            raise TypeError(
                f"output {i} of the function, sample {s}: want numbers or booleans, "
                f"got {array.dtype}"
            )
        if array.dtype != first.dtype:
            raise ValueError(
                f"output {i} of the function: want samples of one type, {first.dtype}, sample {s} "
                f"has {array.dtype}"
            )
        if array.ndim != first.ndim:
            raise ValueError(
                f"output {i} of the function: want samples with one number of dimensions, "
                f"{first.ndim}, sample {s} has {array.ndim}"
            )
        if layout and len(layout) != array.ndim:
            raise callbacks.LayoutError(
                subject=f"output {i} of the function, sample {s}",
                want=f"{len(layout)} dimensions, as in the layout {layout!r}",
                got=str(array.ndim),
            )


class PythonFunction(FunctionOperator):
    """A PythonFunction calls a function with arrays of numpy, which returns arrays.

    An input is valid during the call. A function that keeps one copies it.
    """

    schema = function_schema(
        "python_function", "Calls a function of the program with arrays of numpy."
    )

    def _into(self, array: np.ndarray[Any, Any]) -> Any:
        return array

    def _array(self, value: Any) -> np.ndarray[Any, Any]:
        return numpy_array(value)


class DLTensorPythonFunction(FunctionOperator):
    """A DLTensorPythonFunction calls a function with DLPack capsules, which returns capsules.

    By default it is called once for each batch.
    """

    schema = function_schema(
        "dl_tensor_python_function", "Calls a function of the program with DLPack capsules."
    )

    def __init__(
        self,
        function: Callable[..., Any],
        num_outputs: int = 1,
        device: str = "cpu",
        synchronize_stream: bool = True,
        batch_processing: bool = True,
        **kwargs: Any,
    ) -> None:
        del synchronize_stream
        super().__init__(function, num_outputs, device, batch_processing, **kwargs)

    def _into(self, array: np.ndarray[Any, Any]) -> Any:
        return array.__dlpack__()

    def _array(self, value: Any) -> np.ndarray[Any, Any]:
        if type(value).__name__ == "PyCapsule":
            value = _Capsule(value)
        elif not hasattr(value, "__dlpack__"):
            raise TypeError(f"want a DLPack capsule of the function, got {type(value).__name__}")
        return np.from_dlpack(value)


class _Capsule:
    """A DLPack capsule as numpy takes one."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def numpy_array(value: Any) -> np.ndarray[Any, Any]:
    """Return an array that a function has returned, or raise an error."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"want an array of numpy of the function, got {type(value).__name__}")
    return value


def call_function(kind: type[FunctionOperator], inputs: Sequence[Any], kwargs: Any) -> Any:
    """Call an operator of functions as `bivouac.fn` does: all arguments at once."""
    kwargs = {key: value for key, value in kwargs.items() if value is not None}
    if "function" not in kwargs:
        raise WrongType(subject=f"{kind.schema.name}", want="the argument function", got="none")
    kwargs.setdefault("_module", "nvidia.dali.fn")
    kwargs.setdefault("_display_name", kind.schema.name)
    return kind(**kwargs)(*inputs)


def python_function(
    *input: Any,
    function: Callable[..., Any] | None = None,
    num_outputs: int = 1,
    batch_processing: bool = False,
    output_layouts: str | Sequence[str] | None = None,
    device: str | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a function of the program with arrays of numpy.

    Args:
      input: nodes and constants. The function gets an array for each.
      function: returns an array, or a tuple with an array for each output. Their types and numbers
        of dimensions are free, and may differ from batch to batch. An input is valid during the
        call, so a function that keeps one copies it.
      num_outputs: how many outputs the function has.
      batch_processing: call it once for each batch. Inputs and outputs are lists of arrays.
      output_layouts: a layout for all outputs, or a list with one for each.
      device: "cpu".
      name: the name of the operator.
      kwargs: `bytes_per_sample_hint` and `preserve`, which have no effect.
    """
    return call_function(PythonFunction, input, _given(locals()))


def dl_tensor_python_function(
    *input: Any,
    function: Callable[..., Any] | None = None,
    num_outputs: int = 1,
    batch_processing: bool = True,
    output_layouts: str | Sequence[str] | None = None,
    synchronize_stream: bool = True,
    device: str | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a function of the program with DLPack capsules.

    Args:
      input: nodes and constants. The function gets a capsule for each.
      function: returns a capsule, or a tuple with one for each output.
      num_outputs: how many outputs the function has.
      batch_processing: call it once for each batch. Inputs and outputs are lists of capsules.
      output_layouts: a layout for all outputs, or a list with one for each.
      synchronize_stream: has no effect on a CPU.
      device: "cpu".
      name: the name of the operator.
      kwargs: `bytes_per_sample_hint` and `preserve`, which have no effect.
    """
    return call_function(DLTensorPythonFunction, input, _given(locals()))


def _given(values: dict[str, Any]) -> dict[str, Any]:
    kwargs = values.pop("kwargs")
    return {key: value for key, value in {**values, **kwargs}.items() if key != "input"}
