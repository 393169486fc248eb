"""Types without values, and compiled functions as they are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ControlFlowError, ExecutorError, PytreeError, ShapeError


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


def test_python_runs_loops_and_branches_where_jit_is_disabled() -> None:
    met: list[Any] = []

    def noted(value: Any) -> Any:
        met.append(value)
        return value

    def program(x: Any) -> Any:
        y = tn.cond(x > 0, lambda x: noted(x) * 2, lambda x: noted(-x), x)
        y = tn.switch(7, [lambda y: y, lambda y: noted(y) + 1.0], y)
        y = tn.while_loop(lambda y: y < 20.0, lambda y: noted(y) * y, y)
        y = tn.fori_loop(1, 3, lambda i, y: noted(y) + 3 * i, y)
        carry, rows = tn.scan(
            lambda c, x: (noted(c) + x, {"y": c * x}), 0, tn.arange(4.0), reverse=True
        )
        return (
            carry + y,
            rows["y"],
            tn.map(lambda x: noted(x) + y, tn.ones(2)),
            tn.cond(True, lambda: 1.0, lambda: 2.0),
        )

    with tn.disable_jit():
        assert tn.fori_loop(0, 3, lambda i, y: y + [5, 7, 9][i], 0).item() == 21
        found = program(2.0)
        assert len(met) == 11
        assert all(isinstance(value, tn.Tensor | float | int) for value in met)
        mapped = tn.vmap(lambda x: tn.while_loop(lambda y: y < 20.0, lambda y: y * y, x))
        assert mapped(np.array([2.0, 3.0])).tolist() == [256.0, 81.0]
        with pytest.raises(ControlFlowError, match="scan: f returns ys of two structures"):
            tn.scan(lambda c, x: (c + 1, [x] * (int(c) + 1)), 0, tn.ones(2))
    for one, other in zip(found, tn.jit(lambda: program(tn.asarray(2.0)))(), strict=True):
        assert one.tolist() == other.tolist()


def test_a_compiled_function_is_lowered_for_its_arguments() -> None:
    x = np.ones((2, 3))
    assert "tensor<2x3xf64>" in tn.jit(tn.exp).lower(x).as_text()
    symbolic = tn.jit(lambda n, x: n * x, symbolic={"x": ("n", 3)}, static_argnames="n")
    assert "tensor<2x3xf64>" in symbolic.lower(2, x).stablehlo()
    with pytest.raises(ExecutorError, match=r"^lower: the executor 'numpy' runs programs as they"):
        tn.jit(tn.exp, executor="numpy").lower(x)


def test_loops_that_python_runs_keep_the_types_of_the_carry() -> None:
    x, zero = tn.arange(3.0), tn.array(0, "int8")
    for loop in (
        lambda: tn.fori_loop(0, 3, lambda i, c: c + i, zero),
        lambda: tn.fori_loop(0, 3, lambda i, c: c + i, np.float32(0)),
        lambda: tn.fori_loop(0, 3, lambda i, c: (c[1] * i, tn.float32(2)), (zero, np.float32(1))),
        lambda: tn.fori_loop(0, 3, lambda i, c: c + tn.float64(1.5) * i, 0),
        lambda: tn.scan(lambda c, x: (c + x, c * tn.float32(2)), 0, x),
        lambda: tn.while_loop(lambda c: c < 3, lambda c: tn.asarray(c + 1), 0),
        lambda: tn.scan(lambda c, x: (c + 1j, x), 0.0, x),
        lambda: tn.scan(lambda c, x: (c + 1j, x), zero, x),
        lambda: tn.scan(lambda c, x: (tn.stack([c, c]), x), zero, x),
        lambda: tn.fori_loop(0, 3, lambda i, c: c + 1.5, zero),
        lambda: tn.fori_loop(0, 3, lambda i, c: (c, c), 0),
        lambda: tn.while_loop(lambda c: c < 3, lambda c: c + 1.5, zero),
        lambda: tn.while_loop(lambda c: c - 3.0, lambda c: c + 1, 0.0),
        lambda: tn.while_loop(lambda c: x < c, lambda c: c + 1, 0.0),
        lambda: tn.while_loop(lambda c: (c < 3, c), lambda c: c + 1, 0),
        lambda: tn.cond(x < 1, lambda: 1, lambda: 2),
        lambda: tn.cond(True, lambda flag: flag + flag, lambda flag: flag, True),
        lambda: tn.scan(lambda c, x: (c, x), 0, x, length=2),
        lambda: tn.scan(lambda c, x: (c, x), 0, (x, x[:2])),
    ):
        found: list[Any] = []
        for disable in (False, True):
            with tn.disable_jit(disable):
                try:
                    found.append([(y.dtype, y.tolist()) for y in tn.tree.leaves(loop())])
                except ControlFlowError as error:
                    found.append(str(error))
        assert found[0] == found[1]
    with tn.disable_jit(), pytest.raises(ControlFlowError, match=r"f returns ys of two types, f64"):
        tn.scan(lambda c, x: (c + 1, [x, x.astype("float32")][c]), 0, tn.ones(2))


def test_a_loop_that_python_runs_is_recorded_from_the_first_unknown_condition_on() -> None:
    met: list[Any] = []

    def count(limit: Any) -> Any:
        def condition(c: Any) -> Any:
            met.append(c)
            return c < limit if len(met) > 2 else True

        return tn.while_loop(condition, lambda c: c + 1.0, 0.0, max_steps=6)

    with tn.disable_jit():
        program = tn.make_program(count, tn.TensorSpec((), "float64"))
    assert len(met) == 4
    assert [program(limit).item() for limit in (0.0, 4.5, 9.0)] == [2.0, 5.0, 6.0]
