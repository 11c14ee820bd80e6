"""external_source: nodes that the program feeds, or a callback of the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from bivouac._pipeline import arguments, message
from bivouac._pipeline.enums import DALIDataType
from bivouac._pipeline.operators import DEVICES, Instance, Operator, current
from bivouac._pipeline.refusals import BrokenGraph, WrongType
from bivouac._pipeline.schemas import Parameter, Port, Schema
from bivouac._pipeline.sources import CALLABLE, Group, Source, source_of
from bivouac.errors import Invalid

__all__ = ["ExternalSource", "external_source"]

_SCHEMA = Schema(
    name="external_source",
    schema="ExternalSource",
    written="ExternalSource",
    doc="Gives data of the program: of a source, or of feed_input.",
    min=0,
    max=0,
    inputs=(),
    outputs=(Port("data", "the data of the program"),),
    params={
        p.name: p
        for p in (
            Parameter("repeat_last", "bool", "Give the last batch again until there is another."),
            Parameter("blocking", "bool", "Wait for data."),
            Parameter("no_copy", "bool", "The data stays as it is until the batch is delivered."),
            Parameter("dtype", "dtype", "The type of the data."),
            Parameter("ndim", "int", "The number of dimensions of a sample."),
            Parameter("layout", "str", "The layout of a sample."),
            Parameter("preserve", "bool", "Has no effect, as in DALI."),
        )
    },
    asked=False,
    count=None,
    random=False,
    stateful=False,
    reader=False,
    deprecated="",
)


class ExternalSource(Operator):
    """An ExternalSource gives data of the program; see `bivouac.fn.external_source`.

    Arguments may be given here or in the call. `source`, `cycle` and `num_outputs` belong together.
    """

    schema: ClassVar[Schema] = _SCHEMA

    def __init__(
        self,
        source: Any = None,
        num_outputs: int | None = None,
        *,
        cycle: Any = None,
        layout: Any = None,
        dtype: Any = None,
        ndim: Any = None,
        name: str | None = None,
        device: str = "cpu",
        cuda_stream: Any = None,
        use_copy_kernel: bool | None = None,
        batch: bool | None = None,
        parallel: bool | None = None,
        no_copy: bool | None = None,
        prefetch_queue_depth: int | None = None,
        bytes_per_sample_hint: int | None = None,
        batch_info: bool | None = None,
        repeat_last: bool = False,
        **kwargs: Any,
    ) -> None:
        module = kwargs.pop("_module", "nvidia.dali.ops")
        display = kwargs.pop("_display_name", "ExternalSource")
        self.display = f"{module.replace('nvidia.dali', 'bivouac')}.{display}"
        self.device = device
        if device not in DEVICES:
            raise Invalid(
                subject=f"device of {self.display}", want=", ".join(DEVICES), got=repr(device)
            )
        self._source = source_of(source, cycle)
        if name is not None and num_outputs is not None:
            raise Invalid(subject="num_outputs", want="no name with it", got=repr(name))
        if num_outputs is not None and num_outputs < 1:
            raise Invalid(subject="num_outputs", want="at least 1", got=str(num_outputs))
        self._name = name
        self._num_outputs = num_outputs
        self.preserve = False  # as in DALI, preserve is in the message and has no effect
        self._given = {
            "batch": batch,
            "parallel": parallel,
            "no_copy": no_copy,
            "prefetch_queue_depth": prefetch_queue_depth,
            "bytes_per_sample_hint": bytes_per_sample_hint,
            "batch_info": batch_info,
            "layout": layout,
            "dtype": dtype,
            "ndim": ndim,
            "cuda_stream": cuda_stream,
            "use_copy_kernel": use_copy_kernel,
        }
        self._repeat_last = repeat_last
        fixed = {"repeat_last": repeat_last, **kwargs}
        self.args = [
            message.argument("device", "string", device),
            *arguments.encode(_SCHEMA, self.display, fixed),
            message.argument("_module", "string", module),
            message.argument("_display_name", "string", display),
        ]

    def __call__(
        self,
        *,
        source: Any = None,
        cycle: Any = None,
        name: str | None = None,
        repeat_last: bool = False,
        **kwargs: Any,
    ) -> Any:
        unknown = set(kwargs) - set(self._given)
        if unknown:
            raise WrongType(
                subject=f"call of {self.display}",
                got=f"the argument {sorted(unknown)[0]!r}, which belongs to the constructor",
            )
        if source is not None and self._source is not None:
            raise BrokenGraph(
                subject="source", got="one here and another when the operator was made"
            )
        if source is None and cycle is not None:
            raise Invalid(subject="cycle", want="a source of the same call", got="none")
        found = self._source if source is None else source_of(source, cycle)
        given = self._merge(kwargs)
        if name is None:
            name = self._name
        if name is not None and self._num_outputs is not None:
            raise BrokenGraph(subject="num_outputs", want="no name with it", got=repr(name))
        if found is None and self._num_outputs is not None:
            raise Invalid(subject="num_outputs", want="a source", got="none")
        if found is not None and (repeat_last or self._repeat_last):
            raise Invalid(subject="repeat_last", want="no source with it", got="a source")
        self._settle(found, given)
        from bivouac._pipeline import debug

        number = 1 if self._num_outputs is None else self._num_outputs
        layouts = _spread(given["layout"], number, "")
        dtypes = _spread(given["dtype"], number, DALIDataType.NO_TYPE)
        ndims = _spread(given["ndim"], number, None)
        instances = []
        for layout, dtype, ndim in zip(layouts, dtypes, ndims):
            described = {
                "no_copy": given["no_copy"], "dtype": dtype, "ndim": ndim, "layout": layout
            }  # fmt: skip
            instances.append(
                Instance(self, (), described, {}, name, self.preserve, named=True)
            )
        if found is not None:
            group = Group(
                found,
                instances,
                self._num_outputs is not None,
                batch=given["batch"],
                batch_info=bool(given["batch_info"]),
                parallel=given["parallel"],
                prefetch_queue_depth=given["prefetch_queue_depth"],
                bytes_per_sample_hint=given["bytes_per_sample_hint"],
                no_copy=given["no_copy"],
                all_layouts=layouts,
                dtypes=dtypes,
                ndims=ndims,
                used=list(range(number)),
            )
            for instance in instances:
                instance.group = group
        pipeline = current()
        if isinstance(pipeline, debug.PipelineDebug):
            return pipeline.external(instances, instances[0].group)
        if self._num_outputs is None:
            return instances[0].result
        return [instance.result for instance in instances]

    def _merge(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the constructor and of the call. Neither repeats the other."""
        merged = dict(self._given)
        for name, value in kwargs.items():
            if value is None:
                continue
            if merged[name] is not None:
                raise _Twice(
                    subject=f"argument {name} of {self.display}",
                    got="a value here and another when the operator was made",
                )
            merged[name] = value
        return merged

    def _settle(self, source: Source | None, given: dict[str, Any]) -> None:
        """Fill in defaults that depend on other arguments, and check them."""
        parallel = given["parallel"] = bool(given["parallel"])
        if given["batch"] is None:
            given["batch"] = not parallel
        if not parallel:
            for name in ("prefetch_queue_depth", "bytes_per_sample_hint"):
                if given[name] is not None:
                    raise Invalid(subject=name, want="parallel=True with it", got="parallel=False")
            return
        if given["no_copy"] is False:
            raise Invalid(subject="no_copy", want="True with parallel=True", got="False")
        given["no_copy"] = True
        if given["prefetch_queue_depth"] is None:
            given["prefetch_queue_depth"] = 1
        for name in ("prefetch_queue_depth", "bytes_per_sample_hint"):
            if given[name] is not None and given[name] < 1:
                raise Invalid(subject=name, want="at least 1", got=str(given[name]))
        if source is None:
            raise Invalid(subject="parallel", want="a source with it", got="none")
        if source.kind == CALLABLE and not source.indexed:
            raise WrongType(
                subject="source with parallel=True",
                want="a function of one argument: SampleInfo, BatchInfo or the number of the batch",
                got="a function of nothing",
            )
        if source.kind != CALLABLE and not given["batch"]:
            raise WrongType(
                subject=f"source with parallel=True, {source.kind}",
                want="batch=True",
                got="batch=False",
            )


class _Twice(BrokenGraph, ValueError):
    """An argument has two values."""


def _spread(value: Any, number: int, rest: Any) -> list[Any]:
    """Return the value of each output. A list may be too short: rest is the value of others."""
    if not isinstance(value, (list, tuple)):
        return [value] * number
    return [value[i] if i < len(value) else rest for i in range(number)]


def external_source(
    source: Any = None,
    num_outputs: int | None = None,
    *,
    cycle: bool | str | None = None,
    name: str | None = None,
    device: str = "cpu",
    layout: str | Sequence[str] | None = None,
    dtype: DALIDataType | Sequence[DALIDataType] | None = None,
    ndim: int | Sequence[int] | None = None,
    cuda_stream: Any = None,
    use_copy_kernel: bool | None = None,
    blocking: bool | None = None,
    batch: bool | None = True,
    repeat_last: bool = False,
    parallel: bool | None = None,
    no_copy: bool | None = None,
    prefetch_queue_depth: int | None = None,
    bytes_per_sample_hint: int | None = None,
    batch_info: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Add a node whose data the program gives: by a source, or by `Pipeline.feed_input`.

    Args:
      source: a function of nothing, or of one argument: a SampleInfo with batch=False, the number
        of the batch, or a BatchInfo with batch_info=True. Or an iterable, an iterator, or a
        generator function. StopIteration ends the epoch.
      num_outputs: the source gives a tuple with the data of so many outputs, and a list of nodes is
        returned.
      cycle: what follows the end of an iterable: None, False or "no" for the end of the data; True
        or "quiet" for its beginning; "raise" for the end of an epoch, and then its beginning.
      name: the name for feed_input.
      device: where the data is used.
      layout, dtype, ndim: what the data is: a value, or a list with a value for each output.
      cuda_stream, use_copy_kernel: have no effect on a CPU.
      blocking: wait for data in place of an error.
      batch: the source gives batches. Otherwise it gives samples.
      repeat_last: without data, give the last batch again.
      parallel: call the source in processes.
      no_copy: the data is not changed until its batch is delivered.
      prefetch_queue_depth: how many batches the processes make ahead.
      bytes_per_sample_hint: has no effect: the memory of the processes grows.
      batch_info: the source takes a BatchInfo.
      kwargs: `preserve`.
    """
    if num_outputs is not None and source is None:
        raise Invalid(
            subject="num_outputs",
            want="a source",
            got="none",
            remedy="use a node for each input that feed_input feeds",
        )
    made = ExternalSource(
        source,
        num_outputs,
        cycle=cycle,
        layout=layout,
        dtype=dtype,
        ndim=ndim,
        device=device,
        cuda_stream=cuda_stream,
        use_copy_kernel=use_copy_kernel,
        batch=True if batch is None else batch,
        parallel=parallel,
        no_copy=no_copy,
        prefetch_queue_depth=prefetch_queue_depth,
        bytes_per_sample_hint=bytes_per_sample_hint,
        batch_info=batch_info,
        repeat_last=repeat_last,
        blocking=blocking,
        _module="nvidia.dali.fn",
        _display_name="external_source",
        **kwargs,
    )
    return made(name=name)
