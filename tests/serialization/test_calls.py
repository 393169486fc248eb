"""A loaded program is a function: run, differentiated, compiled again, on both executors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import BindingError, DTypeError, GuardViolationError
from tenferro.runtime import GraphProgram
from tenferro.shape import Guard, dim
from tests.serialization.samples import program
from tests.tolerances import assert_close, rounding

RNG = np.random.default_rng(0)
BIG = RNG.normal(size=400)
W, B, X = RNG.normal(size=(3, 4)), RNG.normal(size=4), RNG.normal(size=(5, 3))
Z = RNG.normal(size=3) + 1j * RNG.normal(size=3)


def layer(w: Any, b: Any, x: Any) -> Any:
    return tn.mean(tn.tanh(x @ w + b) ** 2) + tn.sum(x) / tn.sum(tn.exp(BIG))


def modulus(z: Any) -> Any:
    return tn.sum(tn.real(z * tn.conj(z)) ** 2) + tn.sum(tn.imag(z * z))


def pieces(x: Any) -> Any:
    return tn.sum(tn.max(x, axis=0) * x[1] / (1 + x[0] ** 2)) + tn.prod(x[:, 0])


def kept(scores: Any, weights: Any) -> Any:
    """Keeps as many values as there are positive scores."""
    count = tn.sum(tn.astype(scores > 0, "int64"))
    values = tn.dynamic_truncate(scores, count)
    return tn.sum(tn.exp(values) * tn.dynamic_truncate(weights, count))


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "layer": (layer, (W, B, X), (W, B, tn.TensorSpec(("n", 3), "float64"))),
    "modulus": (modulus, (Z,), (tn.TensorSpec(("k",), "complex128"),)),
    "kept": (kept, (W[0], B), (tn.TensorSpec(("n",)), tn.TensorSpec(("n",)))),
    "pieces": (pieces, (X,), (tn.TensorSpec((5, "m"), "float64"),)),
}
every_function = pytest.mark.parametrize("name", FUNCTIONS)
every_executor = pytest.mark.parametrize("executor", ["numpy", "xla"], indirect=True)


@pytest.fixture
def executor(request: pytest.FixtureRequest) -> str:
    """The name of an executor that is installed."""
    if request.param == "xla":
        pytest.importorskip("jax")
    return str(request.param)


def loaded(name: str) -> tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]:
    """A function, the same after it was a file, and arguments."""
    function, args, specs = FUNCTIONS[name]
    held = tn.loads(tn.dumps(tn.make_program(function, *specs)))
    return function, partial(tn.call, held), args


def check_same(one: Any, other: Any) -> None:
    for left, right in zip(_tuple(one), _tuple(other), strict=True):
        assert left.dtype == right.dtype
        assert_close(left.numpy(), right.numpy(), rounding(left.dtype))


def _tuple(value: Any) -> Any:
    return value if isinstance(value, tuple) else (value,)


@every_function
@every_executor
def test_the_loaded_program_has_the_gradient_of_the_original(name: str, executor: str) -> None:
    function, again, args = loaded(name)
    argnums = tuple(range(len(args)))
    expected = tn.grad(function, argnums)(*args)
    check_same(tn.grad(again, argnums)(*args), expected)
    check_same(tn.jit(tn.grad(again, argnums), executor=executor)(*args), expected)


@every_function
@every_executor
def test_the_loaded_program_has_the_values_of_the_original(name: str, executor: str) -> None:
    function, again, args = loaded(name)
    expected = function(*args)
    check_same(again(*args), expected)
    check_same(tn.jit(again, executor=executor)(*args), expected)


@every_function
def test_the_saved_gradient_is_the_gradient_of_the_saved(name: str) -> None:
    function, again, args = loaded(name)
    _, _, specs = FUNCTIONS[name]
    argnums = tuple(range(len(args)))
    saved = tn.loads(tn.dumps(tn.make_program(tn.grad(function, argnums), *specs)))
    check_same(tn.call(saved, *args), tn.grad(again, argnums)(*args))


def test_second_derivatives_of_a_loaded_program() -> None:
    function, again, args = loaded("pieces")
    expected = tn.hessian(function)(*args)
    check_same(tn.hessian(again)(*args), expected)


def test_a_loaded_program_is_optimized_again() -> None:
    text = """exec_program(%0: f64[n]) {
      %1: f64[n] = negate %0
      %2: f64[n] = negate %1
      return %2
    }"""
    held = tn.loads(tn.dumps(program(text, "x")))
    again = tn.make_program(partial(tn.call, held), tn.TensorSpec(("k",), "float64"))
    assert str(again) == "# inputs: %0 = arg0\nexec_program(%0: f64[k]) {\n  return %0\n}"


def test_sizes_of_a_program_may_become_other_expressions() -> None:
    text = """exec_program(%0: f64[n], %1: f64[2*n]) {
      %2: f64[2,n] = reshape[shape=(2, n)] %1
      %3: f64[n] = reduce_sum[axes=(0,)] %2
      %4: f64[n] = add %0, %3
      return %4, %3
    }"""
    held = tn.loads(tn.dumps(program(text, "x y")))
    specs = tn.TensorSpec(("k + 1",), "float64"), tn.TensorSpec(("2*k + 2",), "float64")
    again = tn.make_program(partial(tn.call, held), *specs)
    assert "f64[2,k + 1] = reshape[shape=(2, k + 1)]" in str(again)
    first, second = tn.call(held, [1.0, 2.0], [1.0, 2.0, 3.0, 4.0])
    assert (first.tolist(), second.tolist()) == ([5.0, 8.0], [4.0, 6.0])


SUM = "exec_program(%0: f64[n], %1: f64[n]) {\n %2: f64[n] = add %0, %1\n return %2\n}"


def summed(**options: Any) -> GraphProgram:
    value = tn.loads(tn.dumps(program(SUM, "x y", **options)))
    assert isinstance(value, GraphProgram)
    return value


def test_inputs_are_given_in_order_or_by_name() -> None:
    for result in (
        tn.call(summed(), [1.0], [2.0]),
        tn.call(summed(), y=[2.0], x=[1.0]),
        tn.call(summed(), [1.0], y=np.array([2.0])),
        tn.call(summed(defaults={0: np.array([1.0])}), [2.0]),
        tn.call(summed(defaults={0: np.array([7.0])}), [2.0], [1.0]),
        tn.call(summed(defaults={0: np.array([7.0])}), x=[1.0], y=[2.0]),
    ):
        assert result.tolist() == [3.0]


def test_numbers_take_the_declared_dtype() -> None:
    text = "exec_program(%0: f32[], %1: c64[2]) {\n %2: f32[] = sine %0\n return %2, %1\n}"
    held = program(text, "x y")
    assert tn.call(held, 0, [1, 2])[0].dtype == np.float32

    def f(x: Any) -> Any:
        return tn.call(held, x, np.zeros(2, "c8"))[0]

    assert tn.grad(f)(0.0).item() == 1.0


@pytest.mark.parametrize(
    ("args", "named", "match"),
    [
        (([1.0],), {}, r"call: input 'y': f64\[n\] is not given"),
        (([1.0], [1.0], [1.0]), {}, "call: the program takes 2 inputs, got 3 values"),
        (([1.0],), {"z": [1.0]}, "call: 'z' is not an input of this program"),
        (([1.0],), {"x": [1.0]}, "call: input 'x' is given twice"),
        (([1.0], [[1.0]]), {}, r"input 'y' is f64\[n\], got f64\[1,1\]"),
        ((np.ones(1, "f4"), [1.0]), {}, r"call: input 'x' is f64\[n\], got f32\[1\]"),
        (([1.0], [1.0, 2.0]), {}, r"call: axis 0 of input 'y' is declared n \(n is 1\), but the"),
    ],
)
def test_what_does_not_fit_is_refused(args: Any, named: Any, match: str) -> None:
    with pytest.raises(BindingError, match=match):
        tn.call(summed(), *args, **named)


def test_what_is_no_array_is_refused() -> None:
    with pytest.raises(DTypeError, match="call: takes arrays and numbers, got str"):
        tn.call(summed(), "x", [1.0])


def test_symbols_that_differ_are_not_taken_for_equal() -> None:
    specs = tn.TensorSpec(("k",), "float64"), tn.TensorSpec(("m",), "float64")
    with pytest.raises(
        BindingError, match=r"axis 0 of input 'y' is declared n \(n is k\), but the"
    ):
        tn.make_program(partial(tn.call, summed()), *specs)


def test_a_size_that_no_input_gives_is_refused() -> None:
    text = "exec_program(%0: f64[2*n]) {\n return %0\n}"
    with pytest.raises(BindingError, match="and no input has the extent n alone"):
        tn.call(program(text, "x"), [1.0, 2.0])


def test_assumptions_are_checked() -> None:
    text = "exec_program(%0: f64[n], %1: f64[m]) {\n return %0, %1\n}"
    held = program(text, "x y", guards=(Guard(dim("n"), dim("m"), "add: x + y"),))
    tn.call(held, [1.0], [2.0])
    with pytest.raises(GuardViolationError, match=r"add: x \+ y: assumed n == m, but 1 != 2"):
        tn.call(held, [1.0], [2.0, 3.0])
