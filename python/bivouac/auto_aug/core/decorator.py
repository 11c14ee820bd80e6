"""The decorator that makes functions augmentations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from numpy import typing as npt

from bivouac._pipeline.refusals import WrongType
from bivouac.auto_aug.core._augmentation import Augmentation

__all__ = ["augmentation"]


@overload
def augmentation(function: Callable[..., Any]) -> Augmentation: ...


@overload
def augmentation(
    function: None = None,
    *,
    mag_range: Any = ...,
    randomly_negate: bool | None = ...,
    mag_to_param: Callable[[Any], npt.ArrayLike] | None = ...,
    param_device: str | None = ...,
    name: str | None = ...,
    augmentation_cls: type[Augmentation] | None = ...,
) -> Callable[[Callable[..., Any]], Augmentation]: ...


def augmentation(
    function: Callable[..., Any] | None = None,
    *,
    mag_range: Any = None,
    randomly_negate: bool | None = None,
    mag_to_param: Callable[[Any], npt.ArrayLike] | None = None,
    param_device: str | None = None,
    name: str | None = None,
    augmentation_cls: type[Augmentation] | None = None,
) -> Any:
    """Make a function of a batch and a parameter an augmentation.

        @augmentation(mag_range=(0, 30), randomly_negate=True)
        def turn(data, angle, fill_value=128):
            return fn.rotate(data, angle=angle, fill_value=fill_value, keep_size=True)

    The augmentation takes a bin of magnitudes in place of the parameter. The parameters of all bins
    are computed once, when the graph is built.

    Args:
      function: the function. It returns one output of operators.
      mag_range: the first and last magnitude, which bins divide evenly, or an array with the
        magnitude of each bin. Without it the parameter is None.
      randomly_negate: whether half of the samples take the negative magnitude.
      mag_to_param: a function from a magnitude to the parameter: a number, or an array of the same
        type and shape for all magnitudes.
      param_device: "cpu", "gpu", or "auto" for the device of the batch.
      name: the name, by default that of the function.
      augmentation_cls: the class of the augmentation.
    """

    def decorate(function: Callable[..., Any]) -> Augmentation:
        return (augmentation_cls or Augmentation)(
            function,
            mag_range=mag_range,
            randomly_negate=randomly_negate,
            mag_to_param=mag_to_param,
            param_device=param_device,
            name=name,
        )

    if function is None:
        return decorate
    if isinstance(function, Augmentation):
        raise WrongType(
            op="augmentation",
            subject=function.name,
            want="a function",
            got="an augmentation",
            remedy=f"use {function.name}.augmentation(...) for other settings of the same function",
        )
    if not callable(function):
        raise WrongType(
            op="augmentation", subject=repr(function), want="a function", got="no function"
        )
    return decorate(function)
