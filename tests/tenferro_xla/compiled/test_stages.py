"""A program stage by stage: as it is lowered, StableHLO, cost, memory, executable."""

from dataclasses import replace

import numpy as np
import pytest

import tenferro as tn
from tenferro.config import config
from tenferro.errors import BindingError
from tenferro_xla import Cost, XlaExecutor


@pytest.fixture
def xla() -> XlaExecutor:
    return XlaExecutor("cpu")


def symbolic() -> tn.GraphProgram:
    return tn.make_program(lambda x: (x * x + 0.1, x[:1]), tn.TensorSpec(("n", 3)))


def test_lowering_shows_every_stage(xla: XlaExecutor) -> None:
    lowered = xla.lower(symbolic(), {"x": tn.TensorSpec((4, 3), "float64")})
    assert "f64[4,3] = multiply" in str(lowered.exec_program)
    assert "stablehlo.multiply" in lowered.stablehlo()
    assert "tensor<4x3xf64>" in lowered.stablehlo()
    assert lowered.cost().flops >= 24
    compiled = lowered.compile()
    assert isinstance(compiled.cost(), Cost)
    assert compiled.memory().arguments == 4 * 3 * 8
    assert lowered.memory() == compiled.memory()
    assert "HloModule" in compiled.as_text()
    squares, _ = compiled.run({"x": np.full((4, 3), 2.0)})
    np.testing.assert_allclose(squares.numpy(), 4.1)
    with pytest.raises(BindingError, match="compiled for n = 4, but the inputs have n = 5"):
        compiled.run({"x": np.ones((5, 3))})
    with pytest.raises(BindingError, match="no spec gives the size of n"):
        xla.lower(symbolic())
    assert xla.stats().misses == 1


def test_stablehlo_is_dumped_on_request(
    xla: XlaExecutor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "tenferro_xla.compiled.stablehlo.config", replace(config, dump=("stablehlo",))
    )
    xla.lower(symbolic(), {"x": tn.TensorSpec((4, 3))})
    assert "stablehlo.multiply" in capsys.readouterr().err
