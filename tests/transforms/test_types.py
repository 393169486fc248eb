"""Types without values, and compiled functions as they are written."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ExecutorError, PytreeError, ShapeError


def test_the_types_of_results() -> None:
    spec = tn.ShapeDtypeStruct(("n", 3), "float32")
    found = tn.eval_shape(lambda x, *, y: {"a": x @ y, "b": [y.sum()]}, spec, y=np.ones((3, 2)))
    assert str(found) == "{'a': TensorSpec(f64[n,2]), 'b': [TensorSpec(f64[])]}"
    assert (found["a"].ndim, found["a"].dtype) == (2, np.dtype("float64"))
    assert tn.eval_shape(lambda: tn.zeros((2, 3), "int32")).shape == (2, 3)
    assert tn.jit(lambda x: tn.eval_shape(tn.sum, x).ndim + x)(1.0).item() == 1.0
    with pytest.raises(ShapeError, match=r"^matmul: "):
        tn.eval_shape(tn.matmul, spec, np.ones((4, 2)))
    with pytest.raises(PytreeError, match="str, not an array"):
        tn.eval_shape(lambda x: x, "text")


def test_compiled_functions_run_as_they_are_written() -> None:
    seen = []

    @tn.jit
    def double(x: tn.Tensor, n: int = 2) -> tn.Tensor:
        seen.append(x)
        return n * x

    with tn.disable_jit():
        assert double(np.ones(2)).tolist() == [2.0, 2.0]
        assert double(np.ones(2), n=3).tolist() == [3.0, 3.0]
        assert all(isinstance(x, tn.Tensor) for x in seen)
        assert tn.grad(double)(1.0).item() == 2.0
        with tn.disable_jit(False):
            double(np.ones(2))
        assert not isinstance(seen[-1], tn.Tensor)
    double(1.0)
    assert not isinstance(seen[-1], tn.Tensor)


def test_a_compiled_function_is_lowered_for_its_arguments() -> None:
    x = np.ones((2, 3))
    assert "tensor<2x3xf64>" in tn.jit(tn.exp).lower(x).as_text()
    symbolic = tn.jit(lambda n, x: n * x, symbolic={"x": ("n", 3)}, static_argnames="n")
    assert "tensor<2x3xf64>" in symbolic.lower(2, x).stablehlo()
    with pytest.raises(ExecutorError, match=r"^lower: the executor 'numpy' runs programs as they"):
        tn.jit(tn.exp, executor="numpy").lower(x)
