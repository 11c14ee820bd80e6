"""The fields of records that `fn.readers.tfrecord` reads."""

from __future__ import annotations

from bivouac._pipeline.features import (
    Feature,
    FeatureType,
    FixedLenFeature,
    VarLenFeature,
    float32,
    int64,
    string,
)

__all__ = [
    "Feature",
    "FeatureType",
    "FixedLenFeature",
    "VarLenFeature",
    "float32",
    "int64",
    "string",
]
