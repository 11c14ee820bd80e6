"""The callbacks of external sources: what a program gives as a source, and how it is called."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bivouac._pipeline.refusals import BrokenGraph, WrongType
from bivouac.errors import Invalid

if TYPE_CHECKING:
    from bivouac._pipeline.enums import DALIDataType
    from bivouac._pipeline.operators import Instance

__all__ = ["BatchInfo", "Group", "SampleInfo", "Source", "groups", "source_of"]

CALLABLE, ITERABLE, GENERATOR = "callable", "iterable", "generator function"


class SampleInfo:
    """A SampleInfo says which sample a source is asked for.

    Attributes:
      idx_in_epoch: the number of the sample in the epoch, from 0.
      idx_in_batch: its number in the batch.
      iteration: the number of the batch in the epoch.
      epoch_idx: the number of the epoch.
    """

    def __init__(
        self, idx_in_epoch: int, idx_in_batch: int, iteration: int, epoch_idx: int
    ) -> None:
        self.idx_in_epoch = idx_in_epoch
        self.idx_in_batch = idx_in_batch
        self.iteration = iteration
        self.epoch_idx = epoch_idx

    def __repr__(self) -> str:
        fields = ", ".join(f"{key}={value}" for key, value in vars(self).items())
        return f"SampleInfo({fields})"


class BatchInfo:
    """A BatchInfo says which batch a source is asked for.

    Attributes:
      iteration: the number of the batch in the epoch, from 0.
      epoch_idx: the number of the epoch.
    """

    def __init__(self, iteration: int, epoch_idx: int) -> None:
        self.iteration = iteration
        self.epoch_idx = epoch_idx

    def __repr__(self) -> str:
        return f"BatchInfo(iteration={self.iteration}, epoch_idx={self.epoch_idx})"


@dataclasses.dataclass(frozen=True)
class Source:
    """A Source is a function that gives data, made of what the program gave.

    Attributes:
      given: what the program gave.
      kind: "callable", "iterable" or "generator function".
      function: gives the next data. StopIteration ends the epoch.
      indexed: the function takes the number of what it is asked for.
      cycle: what follows the end of an iterable, as given.
    """

    given: Any
    kind: str
    function: Callable[..., Any]
    indexed: bool
    cycle: Any = None


class _Cycle:
    """A _Cycle begins an iterable again at its end. It may tell the end by StopIteration."""

    def __init__(self, begin: Callable[[], Iterator[Any]], signals: bool) -> None:
        self._begin = begin
        self._signals = signals
        self._iterator = begin()

    def __call__(self) -> Any:
        try:
            return next(self._iterator)
        except StopIteration:
            self._iterator = self._begin()
            if self._signals:
                raise
            return next(self._iterator)


def source_of(given: Any, cycle: Any = None) -> Source | None:
    """Return the source of what the program gave, or None.

    Args:
      given: a function of nothing or of one argument, an iterable, an iterator, a generator
        function, or None.
      cycle: None, False or "no" to go through an iterable once; True or "quiet" to begin it again;
        "raise" to begin it again after a StopIteration at each end.
    """
    again = _cycles(cycle)
    if given is None:
        if cycle:
            raise _no_cycle("no source")
        return None
    if again and inspect.isgenerator(given):
        raise WrongType(
            subject="source",
            want="what can be begun again, with cycle",
            got="a generator",
            remedy="give the generator function itself",
        )
    if _is_generator_function(given):
        begin, kind = given, GENERATOR
    else:
        begin, kind = functools.partial(iter, given), ITERABLE
    try:
        if again:
            function: Callable[..., Any] = _Cycle(begin, cycle == "raise")
        else:
            function = functools.partial(next, iter(begin()))
        return Source(given, kind, function, False, cycle)
    except TypeError:
        if kind is GENERATOR or hasattr(given, "__iter__"):
            raise
    if cycle is not None:
        raise _no_cycle("a function")
    if not callable(given):
        raise WrongType(
            subject="source",
            want="a function, an iterable, or a generator function without arguments",
            got=type(given).__name__,
        )
    return Source(given, CALLABLE, given, _takes_index(given))


def _no_cycle(got: str) -> Invalid:
    return Invalid(subject="cycle", want="an iterable or a generator function as source", got=got)


def _cycles(cycle: Any) -> bool:
    if cycle in (None, False, "no"):
        return False
    if cycle in (True, "quiet", "raise"):
        return True
    raise Invalid(
        subject="cycle", want='"no", False, None, "quiet", True or "raise"', got=repr(cycle)
    )


def _is_generator_function(value: Any) -> bool:
    """Report whether a call returns a generator."""
    while isinstance(value, functools.partial):
        value = value.func
    if inspect.isgeneratorfunction(value):
        return True
    if inspect.isfunction(value) or inspect.ismethod(value) or inspect.isclass(value):
        return False
    call = getattr(type(value), "__call__", None)
    return call is not None and inspect.isgeneratorfunction(call)


def _takes_index(function: Callable[..., Any]) -> bool:
    """Report whether a function takes an argument. It must take none or one, by position."""
    params = list(inspect.signature(function).parameters.values())
    kinds = inspect.Parameter
    for param in params:
        if param.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD, kinds.KEYWORD_ONLY):
            raise WrongType(
                subject="source",
                want="a function of nothing, or of one positional argument",
                got=f"one with the argument {param}",
            )
    if len(params) > 1:
        raise WrongType(
            subject="source",
            want="a function of nothing, or of one positional argument",
            got=f"one of {len(params)} arguments",
        )
    return len(params) == 1


@dataclasses.dataclass
class Group:
    """A Group is a source with the external sources that it feeds.

    Attributes:
      source: the source.
      instances: the operators, one for each output.
      several: the source gives a tuple, with the data of each output.
      batch: the source gives batches. Otherwise it gives samples.
      batch_info: it takes a BatchInfo in place of the number of the batch.
      parallel: processes call it.
      all_layouts, dtypes, ndims: what the program declares about each output, or None.
      used: the outputs that the graph needs.
    """

    source: Source
    instances: list[Instance]
    several: bool
    batch: bool = True
    batch_info: bool = False
    parallel: bool = False
    prefetch_queue_depth: int | None = None
    bytes_per_sample_hint: int | None = None
    no_copy: bool | None = None
    all_layouts: Sequence[str | None] = ()
    dtypes: Sequence[DALIDataType | None] = ()
    ndims: Sequence[int | None] = ()
    used: list[int] = dataclasses.field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of the outputs that the graph needs."""
        return [self.instances[i].name for i in self.used]

    @property
    def layouts(self) -> list[str | None]:
        """The layouts that these outputs have, or None."""
        return [self.all_layouts[i] or None for i in self.used]

    def call(self, epoch: int, iteration: int, batch_size: int) -> list[Any]:
        """Return the data of a batch for each output that the graph needs.

        The data is a batch, or with `batch=False` a list of samples.

        Args:
          epoch: the number of the epoch.
          iteration: the number of the batch in it.
          batch_size: how many samples a batch has.

        Raises:
          StopIteration: the epoch has ended.
        """
        function = self.source.function
        if self.batch:
            return self.arranged(function(*self._argument(epoch, iteration, batch_size, None)))
        samples = []
        for i in range(batch_size):
            samples.append(function(*self._argument(epoch, iteration, batch_size, i)))
        return self.arranged(samples)

    def arranged(self, given: Any) -> list[Any]:
        """Return the data of a batch for each output that the graph needs.

        Args:
          given: what the source gave: a batch, or with `batch=False` a list of samples.
        """
        if not self.several:
            return [given]
        if self.batch:
            self._check_outputs(given)
            return [given[i] for i in self.used]
        for sample in given:
            self._check_outputs(sample)
        return [[sample[i] for sample in given] for i in self.used]

    def _argument(
        self, epoch: int, iteration: int, batch_size: int, index: int | None
    ) -> tuple[Any, ...]:
        if not self.source.indexed:
            return ()
        if index is not None:
            first = iteration * batch_size
            return (SampleInfo(first + index, index, iteration, epoch),)
        return (BatchInfo(iteration, epoch) if self.batch_info else iteration,)

    def _check_outputs(self, given: Any) -> None:
        """Raise an error unless the source gave something for each output."""
        try:
            number = len(given)
        except TypeError:
            raise WrongType(
                subject=f"source of {self.instances[0].name}",
                want=f"a tuple of {len(self.instances)} outputs",
                got=type(given).__name__,
            ) from None
        if number < len(self.instances):
            raise BrokenGraph(
                subject=f"source of {self.instances[0].name}",
                want=f"{len(self.instances)} outputs",
                got=str(number),
            )

    def reset(self) -> None:
        """Begin an epoch. A function sees it by its argument.

        An iterable goes on where it is: after its end it gives nothing without `cycle`.
        """


def groups(instances: Sequence[Instance]) -> list[Group]:
    """Return the groups of a graph. Outputs that the graph does not need are not fed."""
    found: dict[int, Group] = {}
    needed = {id(instance) for instance in instances}
    for instance in instances:
        group = instance.group
        if group is not None:
            found.setdefault(id(group), group)
    for group in found.values():
        group.used = [i for i, one in enumerate(group.instances) if id(one) in needed]
        unused = sorted(set(range(len(group.instances))) - set(group.used))
        if unused:
            warnings.warn(
                f"an external source gives {len(group.instances)} outputs, but nothing uses the "
                f"outputs {unused}; let the source compute only what is used",
                stacklevel=2,
            )
    return list(found.values())
