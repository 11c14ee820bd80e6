"""Keras continues with the epoch after the last one that was committed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bivouac import errors

if "KERAS_BACKEND" not in os.environ:
    os.environ["KERAS_BACKEND"] = "jax"
pytest.importorskip("jax", reason="jax is not installed")
keras: Any = pytest.importorskip("keras", reason="keras is not installed")

pytestmark = pytest.mark.usefixtures("sidecar")


def fit(directory: Path, epochs: int, units: int = 8, dies: int = -1, **options: Any) -> Any:
    from bivouac.integrations.keras import BivouacCallback

    class Dies(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            seen[-1] += 1

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            seen.append(0)
            if epoch == dies:
                raise ZeroDivisionError

    seen: list[int] = []
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [keras.layers.Dense(units, activation="relu"), keras.layers.Dropout(0.5)]
        + [keras.layers.BatchNormalization(), keras.layers.Dense(1)]
    )
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
    x = np.random.default_rng(1).normal(size=(24, 3)).astype(np.float32)
    callbacks = [BivouacCallback(directory, **options), Dies()]
    model.fit(x, x.sum(1), batch_size=8, epochs=epochs, verbose=0, callbacks=callbacks)
    return [np.asarray(v) for v in model.variables + model.optimizer.variables], seen


def test_resume(tmp_path: Path) -> None:
    want, _ = fit(tmp_path / "unbroken", 5)
    with pytest.raises(ZeroDivisionError):
        fit(tmp_path / "run", 5, dies=3)
    got, seen = fit(tmp_path / "run", 5)
    assert len(seen) == 2
    assert all(a.tobytes() == b.tobytes() for a, b in zip(want, got)) and len(want) == len(got)
    names = sorted(p.name for p in (tmp_path / "run").iterdir() if p.name[0] != ".")
    assert names == ["3", "4", "5"]
    fit(tmp_path / "run", 6, save_every=4)
    assert (tmp_path / "run" / "6").is_dir()


def test_another_model_is_refused(tmp_path: Path) -> None:
    fit(tmp_path, 1)
    with pytest.raises(errors.Mismatch, match="kernel"):
        fit(tmp_path, 2, units=9)
    with pytest.raises(errors.Mismatch, match="identity"):
        fit(tmp_path, 2, identity="b")
