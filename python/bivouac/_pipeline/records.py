"""Readers of TFRecord files, whose outputs have names."""

from __future__ import annotations

from typing import Any

from bivouac._pipeline.operators import Operator
from bivouac._pipeline.refusals import WrongType

__all__ = ["TFRecordReader"]


class TFRecordReader(Operator):
    """A TFRecordReader returns a dictionary: an output for each feature, by its name."""

    def __init__(
        self, path: Any, index_path: Any = None, features: Any = None, **kwargs: Any
    ) -> None:
        if not isinstance(features, dict):
            raise WrongType(
                subject="features", want="a dictionary of features", got=type(features).__name__
            )
        self._features = features
        paths = path if isinstance(path, list) else [path]
        indices = index_path if index_path is None or isinstance(index_path, list) else [index_path]
        super().__init__(path=paths, index_path=indices, **kwargs)

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        names = list(self._features)
        more = {"feature_names": names, "features": list(self._features.values())}
        made = super().__call__(*inputs, **kwargs, **more)
        return dict(zip(names, made if isinstance(made, list) else [made]))
