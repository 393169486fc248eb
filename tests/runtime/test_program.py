"""A program is a function: of arrays, of traced values, of eager tensors."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import BindingError, DTypeError, GuardViolationError, ShapeError

N = tn.TensorSpec(("n",))
X, Y = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 4.0])


def weighted(x: Any, y: Any) -> Any:
    return tn.sum(tn.sin(x) * y)


PROGRAM = tn.make_program(weighted, N, N)
PAIR = tn.make_program(lambda x, y: (x * y, tn.sum(x)), N, N)


def loaded(program: tn.GraphProgram) -> tn.GraphProgram:
    return tn.loads(tn.dumps(program))


def from_jax() -> tn.GraphProgram:
    txla = pytest.importorskip("tenferro_xla")
    jnp = pytest.importorskip("jax.numpy")
    program: tn.GraphProgram = txla.from_jax(lambda x, y: jnp.sum(jnp.sin(x) * y), X, Y)
    return program


PROGRAMS: dict[str, Any] = {
    "made": lambda: PROGRAM,
    "loaded": lambda: loaded(PROGRAM),
    "from jax": from_jax,
}


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> tn.GraphProgram:
    made: tn.GraphProgram = PROGRAMS[request.param]()
    return made


@pytest.mark.parametrize("kind", [np.asarray, tn.Tensor, np.ndarray.tolist])
def test_it_computes_on_arrays(program: tn.GraphProgram, kind: Any) -> None:
    result = program(kind(X), kind(Y))
    assert type(result) is tn.Tensor
    np.testing.assert_allclose(result, np.sum(np.sin(X) * Y))


def test_it_computes_where_its_arguments_are(program: tn.GraphProgram) -> None:
    x = tn.Tensor(X).to_device("xla")
    result = program(x, Y)
    assert result.placement != "host"
    np.testing.assert_allclose(result, np.sum(np.sin(X) * Y))


def test_it_is_differentiated_and_compiled_like_a_function(program: tn.GraphProgram) -> None:
    want = np.cos(X) * Y
    np.testing.assert_allclose(tn.grad(program)(X, Y), want)
    np.testing.assert_allclose(tn.grad(lambda x: program(x, Y))(X), want)
    np.testing.assert_allclose(tn.jit(tn.grad(program, argnums=1))(X, Y), np.sin(X))
    np.testing.assert_allclose(tn.jit(program, executor="numpy")(X, Y), np.sum(np.sin(X) * Y))
    np.testing.assert_allclose(
        tn.hessian(lambda x: program(x, Y))(X), np.diag(-np.sin(X) * Y), atol=1e-15
    )


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_an_eager_runtime_records_it(program: tn.GraphProgram, executor: str) -> None:
    runtime = tn.EagerRuntime(executor)
    x = runtime.variable(X)
    program(x, Y).backward()
    np.testing.assert_allclose(x.grad, np.cos(X) * Y)


def test_it_is_a_part_of_other_programs() -> None:
    outer = tn.make_program(lambda x: PAIR(x, 2.0 * x)[0] + PROGRAM(x, x), tn.TensorSpec(("k",)))
    assert "f64[k] = sine" in str(outer)
    np.testing.assert_allclose(outer(X), 2 * X * X + np.sum(np.sin(X) * X))


def test_several_outputs_are_a_tuple() -> None:
    product, total = PAIR(X, Y)
    np.testing.assert_array_equal(product, X * Y)
    np.testing.assert_array_equal(total, X.sum())


def test_inputs_may_be_named() -> None:
    np.testing.assert_array_equal(PAIR(X, y=Y)[0], PAIR(y=Y, x=X)[0])
    assert list(inspect.signature(PAIR).parameters) == ["x", "y"]
    tree = tn.make_program(lambda p: p["a"] - p["b"], {"a": N, "b": N})
    assert [p.kind.name for p in inspect.signature(tree).parameters.values()] == [
        "VAR_POSITIONAL",
        "VAR_KEYWORD",
    ]
    np.testing.assert_array_equal(tree(X, Y), X - Y)
    np.testing.assert_array_equal(tree(**{"p['b']": X, "p['a']": Y}), Y - X)


def test_what_it_has_captured_may_be_left_out() -> None:
    large = np.arange(20_000.0)
    program = tn.make_program(lambda x: tn.sum(x * large), tn.TensorSpec((20_000,)))
    assert [each.default is None for each in program.inputs] == [True, False]
    np.testing.assert_allclose(program(large), np.sum(large * large))
    np.testing.assert_allclose(program(large, np.ones(20_000)), np.sum(large))


def test_numbers_and_lists_take_the_declared_dtype() -> None:
    single = tn.make_program(lambda x, s: x * s, tn.TensorSpec((2,), "f4"), tn.TensorSpec((), "f4"))
    assert single([1, 2], 3).dtype == np.float32
    assert tn.jit(lambda s: single(np.ones(2, "f4"), s))(2.0).dtype == np.float32
    with pytest.raises(BindingError, match=r"call: input 's': c128\[\] does not fit f32\[\]"):
        single([1, 2], 1j)


def test_it_is_compiled_once_for_each_size() -> None:
    txla = pytest.importorskip("tenferro_xla")
    executor = txla.XlaExecutor()
    program = tn.make_program(weighted, N, N)
    for size in (2, 3, 2, 3):
        x = tn.Tensor(np.ones(size)).to_device(executor)
        program(x, x)
    assert executor.stats().entries == 2


@pytest.mark.parametrize(
    ("args", "named", "error", "text"),
    [
        ((X,), {}, BindingError, r"call: input 'y': f64\[n\] is not given"),
        ((X, Y, X), {}, BindingError, "call: the program takes 2 inputs, got 3 values"),
        ((X,), {"z": Y}, BindingError, "call: 'z' is not an input of this program"),
        ((X, Y), {"x": X}, BindingError, "call: input 'x' is given twice"),
        ((X, Y[None]), {}, BindingError, r"call: input 'y' is f64\[n\], got f64\[1,3\]"),
        ((X, Y.astype("f4")), {}, BindingError, r"call: input 'y' is f64\[n\], got f32\[3\]"),
        ((X, Y[:2]), {}, BindingError, r"axis 0 of input 'y' is declared n \(n is 3\), but the"),
        ((X, "y"), {}, DTypeError, "call: takes arrays and numbers, got str for input 'y'"),
        ((X, [[1.0], [2.0, 3.0]]), {}, BindingError, "call: input 'y': tensor: "),
    ],
)
def test_wrong_calls_are_refused(args: Any, named: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        PROGRAM(*args, **named)


def test_arguments_on_the_host_go_where_the_others_are() -> None:
    result = PROGRAM(tn.Tensor(X).to_device("xla"), tn.Tensor(Y))
    assert result.placement != "host"
    np.testing.assert_allclose(result, PROGRAM(tn.Tensor(X), tn.Tensor(Y)), rtol=1e-14)


def test_assumptions_are_checked() -> None:
    program = tn.make_program(lambda x, y: x + y, N, tn.TensorSpec(("m",)))
    np.testing.assert_array_equal(program(X, Y), X + Y)
    with pytest.raises(GuardViolationError, match="assumed n == m, but 3 != 2"):
        program(X, Y[:2])


def test_errors_of_numbers_keep_their_type() -> None:
    with pytest.raises(ShapeError):
        tn.Tensor([[1.0], [2.0, 3.0]])
