"""The pages for people who come from another library show examples that run here."""

from __future__ import annotations

import importlib.util
import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from jobs import Batches, damage

import bivouac as bv
from bivouac import errors

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "python"
GUIDE = ROOT / "docs" / "guide"
PAGES = (
    "moving-from-dali.md",
    "moving-from-orbax.md",
    "moving-from-torchdata.md",
    "python-pipelines.md",
    "python-dynamic.md",
)

pytestmark = [
    pytest.mark.usefixtures("sidecar"),
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not here"),
]


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def region(source: str, name: str) -> str:
    """Return the lines between `# begin NAME` and `# end`, without their indentation."""
    found = re.findall(rf"^ *# begin {re.escape(name)}\n(.*?)^ *# end$", source, re.M | re.S)
    assert len(found) == 1, f"want one region {name!r}, got {len(found)}"
    return textwrap.dedent(found[0])


@pytest.mark.parametrize("page", PAGES)
def test_blocks_are_regions_of_examples(page: str) -> None:
    text = (GUIDE / page).read_text()
    comment = r"(?:<!-- example: (\S+)#([^>\n]+) -->\n)?"
    blocks = re.findall(comment + r"```python\n(.*?)^```$", text, re.M | re.S)
    assert len(blocks) >= 4
    for file, name, block in blocks:
        assert file, f"no comment <!-- example: FILE#REGION --> before:\n{block}"
        assert block == region((ROOT / file).read_text(), name), f"{file}#{name}"


def test_regions_are_found_and_checked() -> None:
    assert region("x\n  # begin a b\n  y = 1\n\n  z\n  # end\n", "a b") == "y = 1\n\nz\n"
    with pytest.raises(AssertionError, match="want one region 'c'"):
        region("  # begin a b\n  # end\n", "c")


# DALI.


def pictures(root: Path) -> None:
    """Make a data set of twenty pictures in two folders."""
    picture = (ROOT / "codec" / "jpeg" / "testdata" / "flower.jpg").read_bytes()
    for i in range(20):
        folder = root / f"class{i % 2}"
        folder.mkdir(exist_ok=True)
        (folder / f"{i:02}.jpg").write_bytes(picture)


def test_dali_pipelines(tmp_path: Path) -> None:
    pictures(tmp_path)
    module = example("dali_pipeline")
    train, pipe, images, labels = module.training(str(tmp_path))
    assert images.shape() == [(3, 32, 32)] * 8 and labels.shape() == [(1,)] * 8
    following, same = module.resumed(train, pipe)
    for a, b in zip(following, same):
        assert np.array_equal(a.as_array(), b.as_array())
    arrays, elements, offsets = module.own_data()
    assert [a.shape for a in arrays] == [(i + 1, 2) for i in range(4)]
    assert offsets.tolist() == [0, 2, 6, 12, 20] and elements[-1] == 1.5
    paths = [tmp_path / f"{i}.npy" for i in range(10)]
    for i, path in enumerate(paths):
        np.save(path, np.full(2, i))
    loaded, batch = module.in_workers(paths)
    assert [int(a[0]) for a in [*batch.views(), *loaded.run()[0].views()]] == list(range(8))
    with pytest.raises(StopIteration):  # the last two are no batch
        loaded.run()
    assert len(module.debug(str(tmp_path))) == 4
    borders, brightness, _ = module.own_functions(str(tmp_path))
    assert len(borders) == 8 and str(brightness.dtype).endswith("FLOAT64")
    rotated = module.conditions(str(tmp_path))
    sizes = {shape for shape in rotated.shape()}
    assert len(rotated) == 8 and 1 < len(sizes) < 8  # a rotation makes a picture larger


def test_dali_dynamic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "files"
    root.mkdir()
    pictures(root)
    module = example("dali_dynamic")
    seen: list[Any] = []
    module.training(str(root), lambda images, labels: seen.append((images.shape, labels.shape)))
    assert len(seen) >= 2 and all(one == ((8, 32, 32, 3), [(1,)] * 8) for one in seen)
    module.values()
    assert capsys.readouterr().out == "(2, 2) i32 40\n[6.0, 5.0]\n"
    text, right = module.mistakes()
    assert "dali_dynamic.py:" in text and "crop" in text
    assert np.asarray(right).tolist() == [[1, 3], [2, 4]]
    following, same = module.resumed(str(root), str(tmp_path / "run" / "state_{seq:04d}.json"))
    assert following[1] == same[1]
    for a, b in zip(following[0], same[0]):
        assert [np.asarray(x).tolist() for x in a] == [np.asarray(x).tolist() for x in b]


def test_dali_in_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pictures(tmp_path)
    module = example("dali_pipeline")
    train = module.training(str(tmp_path))[0]
    sizes: list[int] = []
    module.torch_loop(train, lambda images, labels: sizes.append(len(labels)))
    assert sizes == [8, 8, 4] * 2


# Orbax.


def orbax() -> tuple[ModuleType, Any]:
    pytest.importorskip("orbax.checkpoint", reason="orbax is not installed")
    jnp = pytest.importorskip("jax.numpy")
    return example("from_orbax"), {"w": jnp.arange(6.0).reshape(2, 3), "step": 3}


def equal(a: Any, b: Any) -> bool:
    return sorted(a) == sorted(b) and all(np.array_equal(a[k], b[k]) for k in a)


@pytest.mark.filterwarnings("ignore")
def test_orbax_v1(tmp_path: Path) -> None:
    module, state = orbax()
    assert equal(module.v1_before(tmp_path / "a", state), module.v1_after(tmp_path / "b", state))
    assert equal(bv.load(tmp_path / "a"), bv.load(tmp_path / "b"))


@pytest.mark.filterwarnings("ignore")
def test_orbax_manager(tmp_path: Path) -> None:
    """Both keep the same steps, and each finds the newest step of the other one."""
    module, state = orbax()
    module.manager_before(tmp_path / "a", state, 45)
    module.manager_after(tmp_path / "b", state, 45)
    kept = [sorted(int(p.name) for p in (tmp_path / d).iterdir() if p.name.isdigit()) for d in "ab"]
    assert kept == [[20, 30, 40]] * 2
    for directory in ("a", "b"):
        for latest in (module.latest_before, module.latest_after):
            step, restored = latest(tmp_path / directory, state)
            assert step == 40 and equal(restored, state)


@pytest.mark.filterwarnings("ignore")
def test_orbax_loop(tmp_path: Path) -> None:
    module, state = orbax()

    def train(state: Any, ids: Any) -> Any:
        return {"w": state["w"] * 1.5 + float(ids.sum()), "step": state["step"] + 1}

    for steps in (3, 9):
        want = module.loop_before(tmp_path / "a", Batches(), state, train, steps)
        got = module.loop_after(tmp_path / "b", Batches(), state, train, steps)
        assert equal(want, got)


def test_orbax_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = example("from_orbax")
    state = {"w": np.arange(2048.0)}
    bv.save(tmp_path / "c", state)
    assert equal(module.errors_after(tmp_path / "c", state), state)
    assert module.errors_after(tmp_path / "c", {"w": np.zeros(3)}) is None
    assert capsys.readouterr().out == "shape [3] [2048]\n"
    damage(tmp_path / "c")
    assert module.errors_after(tmp_path / "c", state) is None
    assert "corrupt" in capsys.readouterr().out
    with pytest.raises(ValueError):
        bv.load(tmp_path / "c")
    with pytest.raises(errors.Corrupt, match="w"):
        bv.load(tmp_path / "c")


# torchdata.


class Squares:
    def __len__(self) -> int:
        return 26

    def __getitem__(self, i: int) -> int:
        return i * i


def ids(batch: Any) -> list[int]:
    values: list[int] = batch.tolist()
    return values


@pytest.mark.torch
def test_torch_torchdata_loader(tmp_path: Path) -> None:
    """Both give the same batches, and each goes on from a state of the other one."""
    torch: Any = pytest.importorskip("torch")
    pytest.importorskip("torchdata.stateful_dataloader")
    module = example("from_torchdata")
    made = (module.loader_before, module.loader_after)

    def fresh(make: Any) -> Any:
        torch.manual_seed(4)
        return make(Squares())

    want = [ids(batch) for batch in fresh(made[0])]
    assert [ids(batch) for batch in fresh(made[1])] == want
    for saving in made:
        for going_on in made:
            loader, model = fresh(saving), torch.nn.Linear(2, 2)
            batches = iter(loader)
            next(batches), next(batches), next(batches)
            module.saved_before(tmp_path / "s", loader, model)
            later, other = fresh(going_on), torch.nn.Linear(2, 2)
            module.loaded_before(tmp_path / "s", later, other)
            assert [ids(batch) for batch in later] == want[3:]
            assert torch.equal(other.weight, model.weight)


@pytest.mark.torch
def test_torch_torchdata_job(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    module = example("from_torchdata")

    def run(directory: Path, steps: int) -> tuple[Any, list[list[int]]]:
        torch.manual_seed(4)
        model = torch.nn.Linear(1, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        seen = []

        def train(model: Any, optimizer: Any, batch: Any) -> None:
            seen.append(ids(batch))
            optimizer.zero_grad()
            model(batch[:, None].float()).square().mean().backward()
            optimizer.step()

        loader = module.loader_after(Squares())
        module.saved_after(directory, loader, model, optimizer, train, steps)
        return model.weight.detach().clone(), seen

    want, order = run(tmp_path / "unbroken", 10)
    _, first = run(tmp_path / "run", 4)
    got, rest = run(tmp_path / "run", 10)
    assert first + rest == order and torch.equal(got, want)


@pytest.mark.torch
def test_torch_torchdata_ranks() -> None:
    pytest.importorskip("torch")
    module = example("from_torchdata")
    seen = []
    for rank in range(2):
        loader = module.ranks(Squares(), rank, 2)
        seen += [i for batch in loader for i in ids(batch)]
    assert sorted(seen) == sorted(i * i for i in range(26))
