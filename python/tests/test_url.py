"""URLs in place of paths: what passes as it is, what becomes a path, what is refused."""

from __future__ import annotations

import os
import pathlib
import pickle
from pathlib import Path

import pytest

import bivouac.checkpoint as ocp
from bivouac import _environment, _url, errors
from bivouac._url import URL


class EPath:
    """What `epath.Path` of etils shows of itself: a path whose text is a URL."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __fspath__(self) -> str:
        return self._text


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/runs/7",
        "gs://bucket",
        "az://account/container/runs",
        "s3://b/r?endpoint=http://127.0.0.1:7070",
        "S3://b/r",
    ],
)
def test_urls_pass_as_they_are(text: str) -> None:
    assert _url.absolute(text) == text
    assert _url.absolute(EPath(text)) == text
    assert _url.absolute(URL(text)) == text
    assert isinstance(_url.located(text), URL) and str(_url.located(text)) == text


def test_paths_and_file_urls_become_absolute(tmp_path: Path) -> None:
    odd = tmp_path / "a b%20c?d#e"
    assert _url.absolute(odd.as_uri()) == str(odd)
    assert _url.absolute(f"file://localhost{tmp_path}") == str(tmp_path)
    assert _url.absolute("FILE:///x/../y") == "/y"
    assert _url.absolute("runs/7") == os.path.abspath("runs/7")
    assert _url.located(_url.absolute(odd)) == odd
    assert _url.absolute("s3:/x") == os.path.abspath("s3:/x")  # a directory that is called so


@pytest.mark.parametrize("text", ["file://host/x", "file://", "file://x"])
def test_file_urls_of_other_machines_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="without file://"):
        _url.absolute(text)


@pytest.mark.parametrize("scheme", ["s3", "gs", "az", "file"])
def test_what_pathlib_took_apart_is_refused(scheme: str) -> None:
    with pytest.raises(errors.Invalid, match="give the URL as a string"):
        _url.absolute(pathlib.Path(f"{scheme}://bucket/run"))


def test_url_behaves_like_a_path() -> None:
    run = ocp.path.URL("s3://bucket/runs/7")
    assert run / "100" == URL("s3://bucket/runs/7/100") and (run / "100").name == "100"
    assert run.parent == URL("s3://bucket/runs") and run.name == "7"
    assert run.joinpath("a", "b/c") == URL("s3://bucket/runs/7/a/b/c")
    assert run / "/top" == URL("s3://bucket/top") and run / "gs://b/x" == URL("gs://b/x")
    whole = URL("s3://bucket")
    assert whole.name == "" and whole.parent == whole and whole / "x" == URL("s3://bucket/x")
    asked = URL("s3://bucket/run?endpoint=http://h:1")
    assert str(asked / "5") == "s3://bucket/run/5?endpoint=http://h:1" and asked.name == "run"
    assert str(asked.parent) == "s3://bucket?endpoint=http://h:1"
    assert os.fspath(run) == str(run) and len({run, URL("s3://bucket/runs/7")}) == 1
    assert pickle.loads(pickle.dumps(run)) == run and repr(run) == "URL('s3://bucket/runs/7')"
    assert run != "s3://bucket/runs/7"
    with pytest.raises(ValueError, match="a URL such as"):
        URL("/runs/7")


def test_names_of_steps_are_not_searched_in_buckets() -> None:
    names = ocp.path.step.standard_name_format()
    with pytest.raises(errors.Unsupported, match="Checkpointer"):
        list(names.find_all("s3://bucket/run"))
    with pytest.raises(errors.Unsupported, match="Checkpointer"):
        names.find_step(URL("s3://bucket/run"), 3)


def test_which_variables_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    before = _environment.now()
    monkeypatch.setenv("AWS_PROFILE", "other")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/x.json")
    monkeypatch.setenv("AZURE_STORAGE_KEY", "k")
    monkeypatch.setenv("MY_PASSWORD", "no")
    changed = _environment.changes(before, _environment.now())
    names = {"AWS_PROFILE", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_STORAGE_KEY"}
    assert set(changed) == names and changed["AWS_PROFILE"] == "other"
    after = _environment.now()
    monkeypatch.delenv("AWS_PROFILE")
    assert _environment.changes(after, _environment.now()) == {"AWS_PROFILE": None}
    monkeypatch.setenv("AWS_ODD", os.fsdecode(b"\xff"))
    assert "AWS_ODD" not in _environment.now()


def test_which_calls_open_urls() -> None:
    opens = _environment.opens_url
    assert opens({"path": "s3://b/x"}) and opens({"dir": "gs://b/x"})
    assert opens({"base": "az://a/c/x"})
    assert opens({"paths": ["/x", "s3://b/x"]}) and opens({"tiers": [{"directory": "s3://b"}]})
    assert not opens({"path": "/x", "paths": None, "custom": "s3://b/x"}) and not opens({})


@pytest.mark.parametrize("text", ["s3://bucket/runs/7", "gs://bucket", "az://account/c/x"])
def test_paths_of_etils(text: str) -> None:
    epath = pytest.importorskip("etils.epath", reason="needs etils")
    assert _url.absolute(epath.Path(text)) == text


def test_some_integrations_need_a_disk(tmp_path: Path) -> None:
    from bivouac.integrations import _steps

    assert _steps.on_disk(tmp_path.as_uri(), "train", "output_dir") == tmp_path
    with pytest.raises(errors.Unsupported, match="bivouac sync DIRECTORY URL"):
        _steps.on_disk("s3://bucket/run", "train", "output_dir")
