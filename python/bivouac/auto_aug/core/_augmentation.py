"""Augmentations: functions of images with a parameter that a bin of magnitudes chooses."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy import typing as npt

from bivouac import types
from bivouac._pipeline import rewrite
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.refusals import WrongType
from bivouac.auto_aug.core._signed import SignedMagnitudeBin, signed_bin
from bivouac.errors import Invalid

__all__ = ["Augmentation", "accepted", "refuse_unused"]

Magnitudes = Any
"""A pair of numbers, or an array."""

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class _Kept:
    """The class stands for an argument that was not given."""


class Augmentation:
    """An Augmentation is a function of images with a parameter. `@augmentation` makes it.

    Args:
      op: the function. It takes a batch, a parameter, and maybe arguments by name.
      mag_range: the first and last magnitude, or an array with the magnitude of each bin. Without
        it the parameter is None.
      randomly_negate: whether half of the samples take the negative magnitude.
      mag_to_param: a function from a magnitude to the parameter.
      param_device: "cpu", "gpu", or "auto" for the device of the batch.
      name: the name, by default that of op.
    """

    def __init__(
        self,
        op: Callable[..., Any],
        mag_range: Magnitudes = None,
        randomly_negate: bool | None = None,
        mag_to_param: Callable[[Any], npt.ArrayLike] | None = None,
        param_device: str | None = None,
        name: str | None = None,
    ) -> None:
        self._op = op
        self._settings: dict[str, Any] = {
            "mag_range": mag_range,
            "mag_to_param": mag_to_param,
            "randomly_negate": randomly_negate,
            "param_device": param_device,
            "name": name,
        }
        taken = sum(p.kind in _POSITIONAL for p in _parameters(op).values())
        if taken < 2:
            raise WrongType(
                op="augmentation",
                subject=repr(op),
                want="a function that takes a batch and a parameter by position",
                got=f"one that takes {taken} arguments by position",
            )

    def __repr__(self) -> str:
        given = {k: v for k, v in self._settings.items() if v is not None}
        return f"Augmentation({', '.join([repr(self._op), *map(_setting, given.items())])})"

    @property
    def op(self) -> Callable[..., Any]:
        """The function."""
        return self._op

    @property
    def mag_range(self) -> Magnitudes:
        """The first and last magnitude, or an array of all, or None."""
        return self._settings["mag_range"]

    @property
    def mag_to_param(self) -> Callable[[Any], npt.ArrayLike]:
        """The function from a magnitude to the parameter."""
        made: Callable[[Any], npt.ArrayLike] = self._settings["mag_to_param"] or np.array
        return made

    @property
    def randomly_negate(self) -> bool:
        """Whether half of the samples take the negative magnitude."""
        return self._settings["randomly_negate"] or False

    @property
    def param_device(self) -> str:
        """Where parameters are: "cpu", "gpu" or "auto"."""
        return self._settings["param_device"] or "cpu"

    @property
    def name(self) -> str:
        """The name."""
        return str(self._settings["name"] or self._op.__name__)

    def augmentation(
        self,
        mag_range: Magnitudes = _Kept,
        randomly_negate: Any = _Kept,
        mag_to_param: Any = _Kept,
        param_device: Any = _Kept,
        name: Any = _Kept,
        augmentation_cls: type[Augmentation] | None = None,
    ) -> Augmentation:
        """Return an augmentation with the same function and some settings replaced.

        Args are those of the class. What is left out stays. augmentation_cls is the class of the
        result, by default that of this augmentation.
        """
        given = {
            "mag_range": mag_range,
            "randomly_negate": randomly_negate,
            "mag_to_param": mag_to_param,
            "param_device": param_device,
            "name": name,
        }
        changed = {k: v for k, v in given.items() if v is not _Kept}
        return (augmentation_cls or type(self))(self._op, **{**self._settings, **changed})

    @rewrite.always
    def __call__(
        self,
        data: Any,
        *,
        magnitude_bin: int | DataNode | SignedMagnitudeBin | None = None,
        num_magnitude_bins: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Add the operators of the function to the graph, and return their output.

        Args:
          data: a batch.
          magnitude_bin: the bin that chooses the parameter, or a node of a bin for each sample.
          num_magnitude_bins: the number of bins.
          kwargs: arguments of the function by name. It gets those that it has.

        Raises:
          ValueError: an argument of the function is missing, or the bin, or the number of bins.
        """
        device = self._device(data)
        param = self._param(magnitude_bin, num_magnitude_bins, device)
        missing = self.missing(kwargs)
        if missing:
            raise Invalid(
                op=f"augmentation {self.name}",
                subject="arguments",
                want=", ".join(missing),
                got="no value",
                remedy="give them by name to the call",
            )
        return self._op(data, param, **accepted(self._op, kwargs))

    def missing(self, given: Mapping[str, Any]) -> list[str]:
        """Return the names of arguments that the function needs and that are not given."""
        return [
            name
            for name, parameter in _named(self._op).items()
            if parameter.default is inspect.Parameter.empty and name not in given
        ]

    def _device(self, data: Any) -> str:
        if self.param_device != "auto":
            return self.param_device
        return data.device or "cpu"

    def _magnitudes(self, bins: int | None) -> Any:
        """Return the magnitude of each bin."""
        given = self.mag_range
        if isinstance(given, np.ndarray):
            if bins is not None and len(given) != bins:
                raise Invalid(
                    op=f"augmentation {self.name}",
                    subject="num_magnitude_bins",
                    want=f"{len(given)}, the length of the array mag_range",
                    got=str(bins),
                )
            return given
        if bins is None:
            raise Invalid(
                op=f"augmentation {self.name}",
                subject="num_magnitude_bins",
                want="the number of bins that mag_range is divided into",
                got="None",
            )
        if not hasattr(given, "__len__") or len(given) != 2:
            raise Invalid(
                op=f"augmentation {self.name}",
                subject="mag_range",
                want="the first and the last magnitude, or an array of all magnitudes",
                got=repr(given),
            )
        return np.linspace(given[0], given[1], bins, dtype=np.float32)

    def _param(self, bin: Any, bins: int | None, device: str) -> Any:
        """Return the parameter: a constant, or a node that a node of bins chooses."""
        if self.mag_range is None:
            return None
        magnitudes = self._magnitudes(bins)
        if bin is None:
            raise Invalid(
                op=f"augmentation {self.name}",
                subject="magnitude_bin",
                want="a bin, because the augmentation has a mag_range",
                got="None",
            )
        signed = isinstance(bin, SignedMagnitudeBin)
        if self.randomly_negate:
            if not signed:
                warnings.warn(
                    f"augmentation {self.name}: the signs of magnitude_bin are drawn in the call; "
                    "call signed_bin outside of branches and give its result",
                    stacklevel=3,
                )
                bin = signed_bin(bin)
            if isinstance(bin.bin, int):
                chosen = bin.random_sign
                self._check_bin(bin.bin, magnitudes)
                magnitudes = [magnitudes[bin.bin]]
            else:
                chosen = bin.signed_magnitude_idx
            both = np.array([m for one in magnitudes for m in (one, -one)])
            params = types.Constant(self._params(both), device=device)
            return params[chosen]
        chosen = bin.bin if signed else bin
        if isinstance(chosen, int):
            self._check_bin(chosen, magnitudes)
            return types.Constant(self._one(magnitudes[chosen]), device=device)
        params = types.Constant(self._params(magnitudes), device=device)
        return params[chosen]

    def _check_bin(self, bin: int, magnitudes: Any) -> None:
        if not -len(magnitudes) <= bin < len(magnitudes):
            raise Invalid(
                op=f"augmentation {self.name}",
                subject="magnitude_bin",
                want=f"a number from 0 to {len(magnitudes) - 1}",
                got=str(bin),
            )

    def _params(self, magnitudes: Any) -> Any:
        """Return the parameters of magnitudes as one array."""
        made = [self._one(magnitude) for magnitude in magnitudes]
        for magnitude, param in zip(magnitudes, made):
            if param.shape != made[0].shape or param.dtype != made[0].dtype:
                raise Invalid(
                    op=f"augmentation {self.name}",
                    subject=f"mag_to_param of magnitude {magnitude}",
                    want=f"{made[0].dtype} of shape {made[0].shape}, as for {magnitudes[0]}",
                    got=f"{param.dtype} of shape {param.shape}",
                )
        return np.array(made)

    def _one(self, magnitude: Any) -> Any:
        param = self.mag_to_param(magnitude)
        if _has_node(param):
            raise WrongType(
                op=f"augmentation {self.name}",
                subject="mag_to_param",
                want="an array, or what makes one",
                got="a DataNode",
                remedy="call operators in the function of the augmentation",
            )
        return np.array(param)


def _setting(item: tuple[str, Any]) -> str:
    return f"{item[0]}={item[1]!r}"


def _has_node(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_node(one) for one in value)
    return isinstance(value, DataNode)


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _named(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters with names, without the batch and the parameter of the magnitude."""
    return {
        name: parameter
        for i, (name, parameter) in enumerate(_parameters(function).items())
        if parameter.kind in _NAMED and (i >= 2 or parameter.kind not in _POSITIONAL)
    }


def accepted(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a function of an augmentation has."""
    names = _named(function)
    return {name: value for name, value in given.items() if name in names}


def refuse_unused(
    augmentations: Sequence[Augmentation], given: Mapping[str, Any], caller: str
) -> None:
    """Raise an error for an argument that no augmentation has."""
    used = {name for one in augmentations for name in accepted(one.op, given)}
    unused = [name for name in given if name not in used]
    if unused:
        raise Invalid(
            op=caller,
            subject="arguments " + ", ".join(unused),
            want="arguments of an augmentation",
            got="names that no augmentation of the suite has",
            remedy="leave them out",
        )
