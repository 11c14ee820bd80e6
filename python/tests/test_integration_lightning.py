"""Lightning and Fabric save and resume with Bivouac."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import bivouac as bv
from bivouac import errors

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
lightning: Any = pytest.importorskip("lightning", reason="lightning is not installed")

pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("sidecar"),
    pytest.mark.filterwarnings("ignore"),
]
warnings.filterwarnings("ignore")


class Model(lightning.LightningModule):  # type: ignore[misc]
    def __init__(self, rate: float = 0.1) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Linear(3, 1)

    def training_step(self, batch: Any, i: int) -> Any:
        return self.net(batch).square().mean()

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), lr=0.1)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]


def fit(directory: Path, epochs: int, resume: Path | None = None, background: bool = False) -> Any:
    from bivouac.integrations.lightning import BivouacCheckpointIO

    torch.manual_seed(0)
    data = torch.utils.data.DataLoader(torch.randn(12, 3), batch_size=4)
    model = Model()
    keep = lightning.pytorch.callbacks.ModelCheckpoint(directory, save_top_k=1, save_last=False)
    trainer = lightning.Trainer(
        max_epochs=epochs,
        plugins=[BivouacCheckpointIO(background)],
        callbacks=[keep],
        logger=False,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, data, ckpt_path=None if resume is None else str(resume))
    return model, Path(keep.best_model_path), trainer


@pytest.mark.parametrize("background", [False, True])
def test_lightning_resumes(tmp_path: Path, background: bool) -> None:
    want, _, _ = fit(tmp_path / "unbroken", 4)
    _, path, _ = fit(tmp_path / "run", 2, background=background)
    assert path.is_dir() and len(list((tmp_path / "run").iterdir())) == 1
    assert bv.checkpoint.verify(path)
    got, _, trainer = fit(tmp_path / "rest", 4, resume=path)
    assert trainer.current_epoch == 4
    for a, b in zip(want.parameters(), got.parameters()):
        assert torch.equal(a, b)


def test_fabric(tmp_path: Path) -> None:
    from bivouac.integrations.lightning import BivouacCheckpointIO

    fabric = lightning.Fabric(accelerator="cpu", plugins=[BivouacCheckpointIO()])
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model, optimizer = fabric.setup(model, optimizer)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    state = {"model": model, "optimizer": optimizer, "step": 3}
    fabric.save(tmp_path / "c", state)
    weights = model.weight.detach().clone()
    with torch.no_grad():
        model.weight.zero_()
    state["step"] = 0
    fabric.load(tmp_path / "c", state)
    assert torch.equal(model.weight, weights) and state["step"] == 3
    assert list(bv.checkpoint.metadata(tmp_path / "c").metadata) == ["model", "optimizer"]


def test_objects_are_refused_by_name(tmp_path: Path) -> None:
    from bivouac.integrations.lightning import BivouacCheckpointIO

    io = BivouacCheckpointIO()
    with pytest.raises(errors.Invalid, match="checkpoint.hyper_parameters.x"):
        io.save_checkpoint({"hyper_parameters": {"x": object()}}, tmp_path / "c")
    with pytest.raises(errors.NotFound):
        io.load_checkpoint(tmp_path / "none")
    io.remove_checkpoint(tmp_path / "none")
