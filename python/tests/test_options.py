"""Options reach the server, act in this process, or are refused with the reason."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac.checkpoint as ocp
from bivouac import errors
from bivouac.checkpoint import _context
from bivouac.checkpoint.options import _base

o = ocp.options
Storage = o.ArrayOptions.Saving.StorageOptions

VALUES: dict[str, Any] = {
    "storage_options": Storage(chunk_byte_size=1 << 20, shard_axes=(0,), dtype=np.float32),
    "use_ocdbt": False,
    "use_zarr3": False,
    "use_compression": True,
    "ocdbt_target_data_file_size": 1 << 20,
    "enable_pinned_host_transfer": True,
    "enable_post_merge_validation": False,
    "use_replica_parallel": True,
    "min_slice_bytes_for_replica_parallel": 1024,
    "max_replicas_for_replica_parallel": 2,
    "enable_replica_parallel_separate_folder": True,
    "enable_write_sharding_file": False,
    "array_metadata_store": None,
    "scoped_storage_options_creator": lambda key, value: None,
    "enable_padding_and_truncation": True,
    "raise_array_data_missing_error": False,
    "use_load_and_broadcast": True,
    "replica_axis_index": 1,
    "primary_replica_id": 1,
    "broadcast_memory_limit_bytes": 1 << 20,
    "broadcast_memory_scaling_factor": 0.5,
    "timeout_secs": 100,
    "post_finalization_callback": lambda: None,
    "barrier_timeout_secs": 7.5,
    "create_directories_asynchronously": False,
    "mode": o.AtomicityMode.ATOMIC_RENAME,
    "allow_legacy_atomic_rename": True,
    "registry": ocp.handlers.local_registry(),
    "leaf_handler_registry": ocp.serialization.StandardLeafHandlerRegistry(),
    "todelete_full_path": "trash",
    "path_permission_mode": 0o750,
    "path_class": pathlib.PosixPath,
    "skip_sync_file_validations": True,
    "primary_host": None,
    "active_processes": {0},
    "barrier_sync_key_prefix": "x",
    "support_rich_types": True,
    "partial_load": True,
    "max_over_read_ratio": 1.5,
    "read_chunk_bytes": 1 << 20,
    "write_concurrent_bytes": 1 << 24,
    "read_concurrent_bytes": 1 << 24,
    "transfer_concurrent_bytes": 1 << 24,
    "expected_surge_bytes": 1 << 10,
    "is_prioritized_key_fn": lambda key: True,
    "deepcopy_host_arrays": False,
    "layout": "zarr3",
    "compression": "bytesplit",
    "memory_budget": 1 << 24,
    "parity": 10,
    "annotations": {"owner": "me"},
    "label": "run",
    "pad": True,
    "truncate": True,
    "leaf_storage": [
        o.BivouacOptions.LeafStorage(match="a/**", storage_options=Storage(dtype="float16"))
    ],
    "save_timeout_secs": 60.5,
    "load_timeout_secs": 60,
}
REFUSED = {"regulator_options", "serialization_status_callback", "checkpointing_impl"}
APART = {"verification_key", "zarr_metadata_key"}  # they need a signed checkpoint, and Zarr 2


def fields() -> list[tuple[str, str]]:
    """Return path and name of each option of a context."""
    found: list[tuple[str, str]] = []

    def walk(group: Any, path: str) -> None:
        for f in dataclasses.fields(group):
            value = getattr(group, f.name)
            if isinstance(value, _base.Options) and f.name != "storage_options":
                walk(value, f"{path}.{f.name}")
            else:
                found.append((path, f.name))

    for name, (attribute, make) in _context._GROUPS.items():
        del name
        walk(make(), attribute)
    return found


def test_every_option_has_a_case() -> None:
    names = {name for _, name in fields()}
    assert names - REFUSED - APART == set(VALUES)


@pytest.mark.usefixtures("sidecar")
@pytest.mark.parametrize(("path", "name"), fields())
def test_every_option_reaches_the_server(path: str, name: str, tmp_path: Path) -> None:
    """A value that is not the default is taken by the server, or refused with the reason."""
    context = ocp.Context()
    group: Any = context
    for part in path.split("."):
        group = getattr(group, part)
    if name in REFUSED:
        with pytest.raises(errors.Unsupported) as caught:
            setattr(group, name, object())
        assert name in caught.value.subject and caught.value.remedy
        return
    if name == "verification_key":
        group.verification_key = bytes(32)
    elif name == "zarr_metadata_key":
        group.layout, group.zarr_metadata_key = "zarr2", "meta"
    else:
        setattr(group, name, VALUES[name])
    acts_here = any(
        f.metadata.get("local") and f.name != "storage_options" and f.name == name
        for f in dataclasses.fields(group)
    )
    assert bool(context.as_json()) != acts_here
    state = {"a": np.arange(8, dtype=np.float32)}
    with context:
        ocp.save(tmp_path / "c", state)
        if name in ("verification_key", "label"):  # a load wants a signature
            with pytest.raises(ValueError):
                ocp.load(tmp_path / "c")
        else:
            loaded = ocp.load(tmp_path / "c")
            assert np.array_equal(loaded["a"], state["a"])
            assert ocp.delete(tmp_path / "c")


@pytest.mark.usefixtures("sidecar")
def test_options_act(tmp_path: Path) -> None:
    """What is on the disk shows that the server took the options."""
    context = ocp.Context()
    context.bivouac.layout = "zarr2"
    context.bivouac.annotations = {"owner": "me"}
    context.file.path_permission_mode = 0o700
    with context:
        ocp.save(tmp_path / "a", {"x": np.zeros(4)})
    assert (tmp_path / "a" / "state" / "x" / ".zarray").exists()
    assert (tmp_path / "a" / "bivouac.annotations").exists()
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    layout = ocp.Context(checkpoint_layout="safetensors")
    with layout:
        ocp.save(tmp_path / "s", {"x": np.zeros(4)})
        assert ocp.load(tmp_path / "s")["x"].shape == (4,)
        with pytest.raises(ocp.errors.InvalidLayoutError):
            ocp.load(tmp_path / "a")
    assert list((tmp_path / "s").glob("*.safetensors"))


def test_values_that_make_no_sense_are_refused() -> None:
    for make in (
        lambda: o.AsyncOptions(timeout_secs=-5),
        lambda: o.AsyncOptions(post_finalization_callback=3),  # type: ignore[arg-type]
        lambda: o.AtomicityOptions(mode="auto"),  # type: ignore[arg-type]
        lambda: o.MemoryOptions(write_concurrent_bytes=0),
        lambda: o.MultiprocessingOptions(primary_host=-1),
        lambda: o.BivouacOptions(layout="zip"),
        lambda: o.BivouacOptions(parity=99),
        lambda: o.BivouacOptions(verification_key=b"short"),
        lambda: o.SafetensorsOptions(max_over_read_ratio=0.5),
        lambda: Storage(shard_axes=(-1,)),
    ):
        with pytest.raises(ValueError):
            make()
    with pytest.raises(TypeError):
        Storage(dtype="no such type")
    with pytest.raises(TypeError):
        ocp.Context(array_options=o.AsyncOptions())  # type: ignore[arg-type]
    with pytest.raises(errors.Unsupported):
        o.FileOptions(path_class=str)  # type: ignore[arg-type]
    with pytest.raises(errors.Unsupported):
        o.ArrayOptions.Saving(array_metadata_store=object())


def test_a_context_has_copies() -> None:
    given = o.ArrayOptions()
    context = ocp.Context(array_options=given)
    given.saving.use_zarr3 = False
    given.saving.storage_options.dtype = np.float16
    assert context.as_json() == {}
    child = ocp.Context(context)
    child.array.saving.use_zarr3 = False
    assert context.array.saving.use_zarr3
    assert child.as_json() == {"array": {"saving": {"use_zarr3": False}}}


def test_threads_have_no_context() -> None:
    seen: list[bool] = []
    context = ocp.Context()
    with context:
        assert _context.get_context() is context
        thread = threading.Thread(target=lambda: seen.append(_context.get_context() is context))
        thread.start()
        thread.join()
    assert seen == [False]


def test_a_context_can_be_entered_twice() -> None:
    context = ocp.Context()
    with context:
        with context:
            pass
        with pytest.raises(RuntimeError):
            context.array.saving.use_zarr3 = False
    context.array.saving.use_zarr3 = False


def test_configure() -> None:
    context = ocp.Context()
    context.array.saving.use_zarr3 = False
    restore = ocp.configure(context)
    try:
        assert not ocp.Context().array.saving.use_zarr3
        assert not _context.get_context().array.saving.use_zarr3
        context.array.saving.use_zarr3 = True
        assert not ocp.Context().array.saving.use_zarr3
        inner = ocp.configure(None)
        assert ocp.Context().array.saving.use_zarr3
        inner()
        assert not ocp.Context().array.saving.use_zarr3
    finally:
        restore()
    assert ocp.Context().array.saving.use_zarr3


@pytest.mark.usefixtures("sidecar")
def test_callback_after_a_save_in_the_background(tmp_path: Path) -> None:
    ended = threading.Event()
    context = ocp.Context()
    context.asynchronous.post_finalization_callback = ended.set
    with context:
        response = ocp.save_async(tmp_path / "a", {"x": 1})
    assert response.result() is None
    assert ended.wait(10)
    with context, pytest.raises(ValueError):
        ended.clear()
        ocp.save_async(tmp_path / "a", {"x": 1}).result()
    assert not ended.is_set()


@pytest.mark.usefixtures("sidecar")
def test_storage_of_one_array(tmp_path: Path) -> None:
    paths: list[str] = []

    def creator(key: tuple[Any, ...], value: Any) -> Any:
        paths.append(".".join(str(getattr(k, "key", getattr(k, "idx", "?"))) for k in key))
        return Storage(dtype=np.float16) if paths[-1] == "l.1.*b[" else None

    context = ocp.Context()
    context.array.saving.scoped_storage_options_creator = creator
    state = {"l": [np.zeros(2), {"*b[": np.zeros(3), "xb[": np.zeros(3)}], "n": 1}
    with context:
        ocp.save(tmp_path / "a", state)
    assert sorted(paths) == ["l.0", "l.1.*b[", "l.1.xb["]
    described = ocp.metadata(tmp_path / "a").metadata
    assert described["l"][1]["*b["].dtype == np.float16
    assert described["l"][1]["xb["].dtype == np.float64
    with context, pytest.raises(errors.Unsupported):
        context2 = ocp.Context()
        context2.array.saving.scoped_storage_options_creator = lambda k, v: Storage(dtype="int8")
        with context2:
            ocp.save(tmp_path / "b", {"a/b": np.zeros(2)})


def test_groups_have_values(tmp_path: Path) -> None:
    assert o.AsyncOptions(timeout_secs=3) == o.AsyncOptions(timeout_secs=3)
    assert "timeout_secs=3" in repr(o.AsyncOptions(timeout_secs=3))
    assert os.fspath(tmp_path)
