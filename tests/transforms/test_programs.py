from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    BindingError,
    GuardViolationError,
    PytreeError,
    ShapeError,
    TracingError,
)

NUMPY = tn.GraphExecutor(tn.NumpyBackend())


def test_specs_may_be_trees_arrays_and_symbolic_types() -> None:
    def f(p: Any, x: Any) -> Any:
        return {"y": x @ p["w"] + p["b"][0], "n": tn.sum(x)}

    w, b = np.ones((3, 2)), (np.zeros(2), None)
    program = tn.make_program(f, {"w": w, "b": b}, tn.TensorSpec(("n", 3)))
    assert [declared.name for declared in program.inputs] == ["p['b'][0]", "p['w']", "x"]
    x = np.arange(6.0).reshape(2, 3)
    total, y = NUMPY.run(program, {"p['w']": w, "p['b'][0]": b[0], "x": x})
    assert (total.item(), y.tolist()) == (15.0, (x @ w).tolist())


def test_a_program_names_inputs_that_nothing_reads() -> None:
    program = tn.make_program(lambda x, y: x * 2, tn.TensorSpec((2,)), tn.TensorSpec((3,)))
    assert [declared.name for declared in program.inputs] == ["x", "y"]
    with pytest.raises(BindingError, match=r"input 'y': f64\[3\] is not bound"):
        NUMPY.run(program, {"x": np.ones(2)})


@pytest.mark.parametrize("n", [0, 1, 4, 9])
def test_one_symbolic_program_runs_at_every_size_on_either_executor(n: int) -> None:
    xla = pytest.importorskip("tenferro_xla").XlaExecutor()

    def f(x: Any) -> Any:
        centred = x - tn.sum(x, axis=0) / (x.shape[0] + 1)
        return tn.tanh(centred @ centred.T), tn.concat([x, x * 2])

    program = tn.make_program(f, tn.TensorSpec(("n", 2)))
    x = np.sin(np.arange(2.0 * n)).reshape(n, 2)
    centred = x - x.sum(0) / (n + 1)
    for executor in (NUMPY, xla):
        gram, joined = executor.run(program, {"x": x})
        np.testing.assert_allclose(np.asarray(gram), np.tanh(centred @ centred.T), atol=1e-15)
        np.testing.assert_allclose(np.asarray(joined), np.concatenate([x, x * 2]))


def test_one_symbol_is_one_size() -> None:
    program = tn.make_program(lambda x, y: x + y, tn.TensorSpec(("n",)), tn.TensorSpec(("n",)))
    with pytest.raises(BindingError, match=r"axis 0 of input 'y' is declared n \(n is 2\)"):
        NUMPY.run(program, {"x": np.ones(2), "y": np.ones(3)})
    longer = tn.TensorSpec(("n + 1",))
    with pytest.raises(ShapeError, match=r"axis -1 has sizes n and n \+ 1, which do not broadcast"):
        tn.make_program(lambda x, y: x + y, tn.TensorSpec(("n",)), longer)


def test_options_choose_the_passes() -> None:
    def f(x: Any) -> Any:
        return tn.permute_dims(tn.permute_dims(x)) + x

    plain = tn.make_program(f, np.ones((2, 2)), options=tn.OptimizerOptions.none())
    best = tn.make_program(f, np.ones((2, 2)))
    assert len(best.exec_program.instructions) < len(plain.exec_program.instructions)
    x = np.arange(4.0).reshape(2, 2)
    assert NUMPY.run(plain, {"x": x})[0].tolist() == NUMPY.run(best, {"x": x})[0].tolist()


def test_what_cannot_be_a_program_is_refused() -> None:
    with pytest.raises(PytreeError, match="argument x is a str, not an array or number"):
        tn.make_program(lambda x: x, "f64[3]")
    with pytest.raises(PytreeError, match="result leaf 0 is a str, not an array or number"):
        tn.make_program(lambda x: "text", 1.0)

    def outer(y: Any) -> Any:
        tn.make_program(lambda x: x * y, tn.TensorSpec((2,)))
        return y

    with pytest.raises(
        TracingError, match="make_program: the function reads values of another trace"
    ):
        tn.grad(outer)(1.0)


def _unread(x: Any, y: Any) -> dict[str, Any]:
    """Results that do not read the values for which sizes of x and y are assumed equal."""
    return {
        "grad": tn.grad(lambda x, y: tn.sum(x + y), argnums=1)(x, y),
        "jvp": tn.jvp(lambda y: x + y, (y,), (y,))[1],
        "shape": y * (x + y).shape[0],
        "size": y * (x * y).size,
        "ones_like": tn.ones_like(x * y),
        "zeros_like": tn.zeros_like(tn.where(x > 0, x, y)),
        "concat": y * tn.stack([x, y]).shape[0],
        "scan": tn.scan(lambda c, _: (c * (x + y).size, None), y, None, length=2)[0],
        "cond": tn.cond(True, lambda: y * (x - y).size, lambda: y),
        "vmap": tn.vmap(lambda a: a * (x + y).size)(y),
        "checkpoint": tn.checkpoint(lambda a: a * (x + y).size)(y),
        "jit": tn.jit(lambda a: a * (x + y).size)(y),
    }


@pytest.mark.parametrize("name", list(_unread(tn.ones(2), tn.ones(2))))
def test_what_is_assumed_of_sizes_is_checked_though_no_result_reads_the_value(name: str) -> None:
    specs = tn.TensorSpec(("n",)), tn.TensorSpec(("m",))
    program = tn.make_program(lambda x, y: _unread(x, y)[name], *specs)
    program(np.ones(2), np.ones(2))
    with pytest.raises(GuardViolationError, match=r"operands have types .* but 2 != 3"):
        program(np.ones(2), np.ones(3))


def test_a_function_with_names_checks_what_its_results_do_not_read() -> None:
    names = {"x": ("n",), "y": ("m",)}
    function = tn.jit(lambda x, y: _unread(x, y)["grad"], symbolic=names)
    assert function(np.ones(2), np.ones(2)).shape == (2,)
    with pytest.raises(GuardViolationError, match="assumed n == m, but 2 != 3"):
        function(np.ones(2), np.ones(3))


def test_assumptions_are_in_files_and_digests_and_in_programs_that_call_the_program() -> None:
    specs = tn.TensorSpec(("n",)), tn.TensorSpec(("m",))
    unguarded = tn.make_program(lambda x, y: y * x.shape[0], *specs)
    program = tn.make_program(lambda x, y: (x + y, y * x.shape[0])[1], *specs)
    assert unguarded.exec_program == program.exec_program
    assert unguarded.digest != program.digest
    loaded = tn.loads(tn.dumps(program))
    assert (loaded.digest, loaded.guards) == (program.digest, program.guards)
    other = tn.TensorSpec(("k",)), tn.TensorSpec(("l",))
    for called in (program, loaded):
        outer = tn.make_program(lambda a, b, called=called: called(a, b), *other)
        with pytest.raises(GuardViolationError, match="assumed k == l, but 2 != 3"):
            outer(np.ones(2), np.ones(3))


def test_the_names_of_another_program_are_not_those_of_the_enclosing_trace() -> None:
    def function(x: Any, y: Any) -> Any:
        specs = tn.TensorSpec(("n",)), tn.TensorSpec(("m",))
        tn.make_program(lambda a, b: a + b, *specs)
        tn.jit(lambda a, b: a + b, symbolic={"a": ("n",), "b": ("m",)})(np.ones(3), np.ones(3))
        return y * x.shape[0]

    program = tn.make_program(function, tn.TensorSpec(("n",)), tn.TensorSpec(("m",)))
    assert program.guards == ()
