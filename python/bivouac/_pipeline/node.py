"""DataNode: an output of an operator, before there is data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from bivouac._pipeline.refusals import BrokenGraph, WrongType
from bivouac.errors import Invalid

if TYPE_CHECKING:
    from bivouac._pipeline.enums import DALIDataType
    from bivouac._pipeline.operators import Instance

__all__ = ["DataNode", "NewAxis", "newaxis"]


class NewAxis:
    """A NewAxis in an index adds an axis of extent 1. It may name the axis in the layout."""

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise WrongType(
                subject="name of an axis", want="a str of one character", got=repr(name)
            )
        if name is not None and len(name) != 1:
            raise Invalid(subject="name of an axis", want="one character", got=repr(name))
        self._name = name

    @property
    def name(self) -> str | None:
        """The character of the layout, or None."""
        return self._name

    def __call__(self, name: str | None = None) -> NewAxis:
        return NewAxis(name)


newaxis = NewAxis()


class DataNode:
    """A DataNode is an output of an operator of a graph. It has no data.

    A DataNode is an input or an argument of other operators, and an operand of expressions:
    arithmetic, comparisons, bitwise operators, and indices with slices.

    Attributes:
      name: the name of the edge: the operator's name, with "[i]" if it has several outputs.
      device: "cpu" or "gpu".
      source: the operator.
      index: which output of the operator it is.
      ndim, dtype, layout: what the program declares about the data, or None.
    """

    __hash__ = object.__hash__

    def __init__(
        self,
        name: str,
        device: str = "cpu",
        source: Instance | None = None,
        index: int | None = 0,
        ndim: int | None = None,
        dtype: DALIDataType | None = None,
        layout: str | None = None,
    ) -> None:
        self.name = name
        self.device = device
        self.source = source
        self.index = index
        self.ndim = ndim
        self.dtype = dtype
        self.layout = layout

    def __str__(self) -> str:
        more = "".join(
            f", {key}={value!r}"
            for key, value in (("ndim", self.ndim), ("dtype", self.dtype), ("layout", self.layout))
            if value is not None
        )
        source = self.source.operator if self.source is not None else None
        return (
            f'DataNode(name="{self.name}", device="{self.device}", source="{source}", '
            f'index="{self.index}"{more})'
        )

    __repr__ = __str__

    def gpu(self) -> DataNode:
        """Return the node on the GPU. Without one see BIVOUAC_ON_GPU."""
        return self._on("gpu")

    def cpu(self) -> DataNode:
        """Return the node on the CPU. From a GPU this needs a pipeline with exec_dynamic."""
        self._check_return()
        return self._on("cpu")

    def _on(self, device: str) -> DataNode:
        from bivouac._pipeline import conditions

        if self.device == device:
            return self
        found = conditions.current()
        one = self if found is None else found.enter(self)
        made = DataNode(one.name, device, one.source, one.index, one.ndim, one.dtype, one.layout)
        if found is not None:
            found.note(made)
        return made

    def _check_return(self) -> None:
        """Raise an error if the pipeline cannot bring data back from a GPU."""
        pipeline = None if self.source is None else self.source.pipeline
        if self.device == "gpu" and pipeline is not None and not pipeline.exec_dynamic:
            raise BrokenGraph(
                subject=f"node {self.name}",
                got="a transition from GPU to CPU in a pipeline without exec_dynamic",
                remedy="make the pipeline with exec_dynamic=True",
            )

    def __add__(self, other: Any) -> DataNode:
        return _apply("add", self, other)

    def __radd__(self, other: Any) -> DataNode:
        return _apply("add", other, self)

    def __sub__(self, other: Any) -> DataNode:
        return _apply("sub", self, other)

    def __rsub__(self, other: Any) -> DataNode:
        return _apply("sub", other, self)

    def __mul__(self, other: Any) -> DataNode:
        return _apply("mul", self, other)

    def __rmul__(self, other: Any) -> DataNode:
        return _apply("mul", other, self)

    def __pow__(self, other: Any) -> DataNode:
        return _apply("pow", self, other)

    def __rpow__(self, other: Any) -> DataNode:
        return _apply("pow", other, self)

    def __truediv__(self, other: Any) -> DataNode:
        return _apply("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> DataNode:
        return _apply("fdiv", other, self)

    def __floordiv__(self, other: Any) -> DataNode:
        return _apply("div", self, other)

    def __rfloordiv__(self, other: Any) -> DataNode:
        return _apply("div", other, self)

    def __mod__(self, other: Any) -> DataNode:
        return _apply("mod", self, other)

    def __rmod__(self, other: Any) -> DataNode:
        return _apply("mod", other, self)

    def __neg__(self) -> DataNode:
        return _apply("minus", self)

    def __pos__(self) -> DataNode:
        return self

    def __abs__(self) -> DataNode:
        return _apply("abs", self)

    def __eq__(self, other: Any) -> DataNode:  # type: ignore[override]
        return _apply("eq", self, other)

    def __ne__(self, other: Any) -> DataNode:  # type: ignore[override]
        return _apply("neq", self, other)

    def __lt__(self, other: Any) -> DataNode:
        return _apply("lt", self, other)

    def __le__(self, other: Any) -> DataNode:
        return _apply("leq", self, other)

    def __gt__(self, other: Any) -> DataNode:
        return _apply("gt", self, other)

    def __ge__(self, other: Any) -> DataNode:
        return _apply("geq", self, other)

    def __and__(self, other: Any) -> DataNode:
        return _apply("bitand", self, other)

    def __rand__(self, other: Any) -> DataNode:
        return _apply("bitand", other, self)

    def __or__(self, other: Any) -> DataNode:
        return _apply("bitor", self, other)

    def __ror__(self, other: Any) -> DataNode:
        return _apply("bitor", other, self)

    def __xor__(self, other: Any) -> DataNode:
        return _apply("bitxor", self, other)

    def __rxor__(self, other: Any) -> DataNode:
        return _apply("bitxor", other, self)

    def __invert__(self) -> DataNode:
        return _apply("bitnot", self)

    def __lshift__(self, other: Any) -> DataNode:
        return _apply("lshift", self, other)

    def __rlshift__(self, other: Any) -> DataNode:
        return _apply("lshift", other, self)

    def __rshift__(self, other: Any) -> DataNode:
        return _apply("rshift", self, other)

    def __rrshift__(self, other: Any) -> DataNode:
        return _apply("rshift", other, self)

    def __bool__(self) -> bool:
        from bivouac._pipeline import conditions

        remedy = "use enable_conditionals=True of pipeline_def for `if`, or fn.cast for a bool"
        if conditions.current() is not None:
            remedy = "write an `if` statement; loops and `a if b else c` take no nodes"
        raise WrongType(
            subject=f"node {self.name}",
            got="a DataNode as a condition, but it has no data while the graph is built",
            remedy=remedy,
        )

    def __iter__(self) -> NoReturn:
        raise WrongType(
            subject=f"node {self.name}",
            got="a DataNode that is iterated, but it is one output of an operator",
        )

    def __len__(self) -> int:
        raise WrongType(
            subject=f"node {self.name}", got="the length of a DataNode, but it has no data"
        )

    def __getitem__(self, index: Any) -> DataNode:
        from bivouac._pipeline import subscript

        return subscript.apply(self, index)

    def shape(self, *, dtype: DALIDataType | None = None, device: str = "cpu") -> DataNode:
        """Return a node with the shapes of the samples. The type is INT64 by default."""
        from bivouac._pipeline import operators

        if device == "cpu":
            self._check_return()
        made: DataNode = operators.function(
            "_shape", (self,), {"dtype": dtype, "device": device}
        )
        return made

    def property(self, key: str, *, device: str = "cpu") -> DataNode:
        """Return a node with a property of the samples, as bytes.

        Args:
          key: "source_info", which says where a sample comes from, or "layout".
          device: where the result is.
        """
        from bivouac._pipeline import operators

        if device == "cpu":
            self._check_return()
        made: DataNode = operators.function(
            "get_property", (self,), {"key": key, "device": device}
        )
        return made

    def source_info(self, *, device: str = "cpu") -> DataNode:
        """Return the property "source_info"."""
        return self.property("source_info", device=device)


def _apply(name: str, *operands: Any) -> DataNode:
    from bivouac._pipeline import arithmetic

    return arithmetic.apply(name, *operands)
