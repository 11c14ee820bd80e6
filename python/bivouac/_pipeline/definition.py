"""pipeline_def: functions that define a graph."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, overload

from bivouac._pipeline import conditions, rewrite
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.pipeline import Pipeline
from bivouac._pipeline.refusals import WrongType, nearest
from bivouac.errors import Invalid

__all__ = ["do_not_convert", "pipeline_def"]

Definition = Callable[..., Any]

_settings = frozenset(list(inspect.signature(Pipeline.__init__).parameters)[1:])


@overload
def pipeline_def(fn: Definition) -> Callable[..., Pipeline]: ...


@overload
def pipeline_def(
    fn: None = None, *, enable_conditionals: bool = ..., **pipeline_kwargs: Any
) -> Callable[[Definition], Callable[..., Pipeline]]: ...


def pipeline_def(
    fn: Definition | None = None, *, enable_conditionals: bool = False, **pipeline_kwargs: Any
) -> Any:
    """Make a function that defines a graph into one that returns a pipeline.

        @pipeline_def(batch_size=8, num_threads=2)
        def images(root):
            jpegs, labels = fn.readers.file(file_root=root, random_shuffle=True)
            return fn.decoders.image(jpegs), labels

        pipe = images("train", num_threads=4)

    Arguments of the call that the function has go to the function. The others are settings of the
    pipeline, and replace those given here.

    Args:
      fn: the function. It returns the outputs: a node, a constant, or a tuple of them.
      enable_conditionals: let nodes be conditions of `if`, `and`, `or` and `not`. Both branches are
        built, and each sample takes its own.
      pipeline_kwargs: settings of the pipeline.
    """

    def decorate(function: Definition) -> Callable[..., Pipeline]:
        if getattr(function, rewrite.MARK, False):
            raise Invalid(
                op="pipeline_def",
                subject=getattr(function, "__name__", "the function"),
                want="a function that may be rewritten",
                got="one with do_not_convert",
            )

        @functools.wraps(function)
        def create_pipeline(*args: Any, **kwargs: Any) -> Pipeline:
            conditional = kwargs.get("enable_conditionals", enable_conditionals)
            settings, given = split(function, kwargs)
            pipe = Pipeline(**{**pipeline_kwargs, **settings})
            defines = function
            if conditional:
                pipe._conditions = conditions.Conditions()
                pipe._conditions.note([a for a in [*args, *given.values()] if _is_node(a)])
                defines = rewrite.converted(function)
            with pipe:
                made = defines(*args, **given)
                if pipe._conditions is not None:
                    made = pipe._conditions.enter_all(made)
            outputs = made if isinstance(made, tuple) else () if made is None else (made,)
            pipe.set_outputs(*outputs)
            return pipe

        setattr(create_pipeline, "_is_pipeline_def", True)  # noqa: B010
        return create_pipeline

    return decorate if fn is None else decorate(fn)


def split(function: Definition, kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split arguments of a call into settings of the pipeline and those of the function."""
    spec = inspect.getfullargspec(function)
    if spec.varkw is not None:
        raise WrongType(
            op="pipeline_def",
            subject=getattr(function, "__name__", "the function"),
            want="a function with named arguments",
            got=f"**{spec.varkw}",
        )
    own = {*spec.args, *spec.kwonlyargs}
    settings: dict[str, Any] = {}
    given: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name in own:
            given[name] = value
            if name in _settings:
                warnings.warn(
                    f"the argument {name} of the function hides the setting of the pipeline",
                    stacklevel=3,
                )
        elif name in _settings:
            settings[name] = value
        elif name not in ("debug", "enable_conditionals"):
            raise WrongType(
                op="pipeline_def",
                subject=f"argument {name!r}",
                want="an argument of the function, or a setting of the pipeline",
                got="another",
                remedy=nearest(name, own | _settings),
            )
    return settings, given


def _is_node(value: Any) -> bool:
    return isinstance(value, DataNode)


def do_not_convert(func: Any = None) -> Any:
    """Keep a function as it is when a definition with enable_conditionals calls it.

    A function that makes a source of a parallel external source needs it.
    """
    if func is None:
        return do_not_convert
    setattr(func, rewrite.MARK, True)
    return func
