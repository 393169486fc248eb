"""JAX functions as programs: their values, derivatives and errors are those of JAX."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import tenferro as tn
from tenferro.errors import ADRuleError, BindingError, DTypeError, ExecutorError
from tenferro.ops.control_flow import Scan, Switch, While
from tenferro_xla import from_jax, to_jax
from tests.tenferro_xla.interop import jax_primitives, jax_programs
from tests.tenferro_xla.interop.jax_programs import LARGE, Case, X, measured, newton, rnn

CASES = jax_programs.CASES | jax_primitives.CASES

USUAL = [
    *("scan of a network", "scan in a scan", "scan of several carries, in reverse"),
    *("scan without xs", "scan of complex numbers", "loop whose number of rounds is computed"),
    *("while loop with consts", "map", "switch", "cond in a scan", "vmap of a scan"),
    *("vmap of a while loop", "grad of a scan", "activations", "derivative rules"),
    *("gather out of bounds", "dynamic slices in a batch", "solve in a scan"),
    *("convolution", "gradient of a convolution", "gradient of extrema of windows"),
    *("gradient of equal extrema", "functions of windows", "bits of floats", "bits of integers"),
    *("reductions by other functions", "functions of elements", "collectives of a batch"),
    *("primitive of a library", "primitive of a library in a loop"),
    "primitive of a library with a known number",
]
"""The cases of the usual run, whose reference values are computed by one compiled function."""

FAST = {"xla_backend_optimization_level": 0}


def reference(case: Case) -> Callable[..., Any]:
    """Of the arguments, the results of JAX, and its gradient or None."""
    function = measured(case)
    if not case.differentiated:
        return lambda *args: (function(*args), None)
    return jax.value_and_grad(function, has_aux=True)


def computed(cases: dict[str, Case]) -> dict[str, Any]:
    """What JAX says of the cases."""

    def everything(args: dict[str, Any]) -> dict[str, Any]:
        return {name: reference(case)(*args[name]) for name, case in cases.items()}

    with jax.enable_x64(True):
        args = {name: tuple(map(jnp.asarray, case.args)) for name, case in cases.items()}
        found: dict[str, Any] = jax.jit(everything).lower(args).compile(FAST)(args)
    return found


@pytest.fixture(scope="module")
def of_jax() -> dict[str, Any]:
    return computed({name: CASES[name] for name in USUAL})


def assert_same(actual: Any, expected: Any) -> None:
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-9, atol=1e-9)


def assert_agrees(program: tn.GraphProgram, case: Case, expected: Any) -> None:
    """The value, the results and the gradient of the program are those of JAX."""
    (value, results), gradient = expected
    found = tn.tree.leaves(program(*case.args))
    for actual, wanted in zip(found, [value, *results], strict=True):
        assert_same(actual, wanted)
    if case.differentiated:
        slope = tn.grad(lambda *args: program(*args)[0])(*case.args)
        assert_same(slope, np.conj(gradient))


@pytest.mark.exhaustive(but=8)
@pytest.mark.parametrize("name", USUAL)
def test_a_program_has_the_values_and_the_gradient_of_its_function(
    name: str, of_jax: dict[str, Any]
) -> None:
    assert_agrees(from_jax(measured(CASES[name]), *CASES[name].args), CASES[name], of_jax[name])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_a_program_goes_through_jax_and_back(name: str) -> None:
    """A program of a primitive of a library goes without the library's rules, which differ."""
    case = CASES[name]
    if name in jax_primitives.LIBRARIES:
        case = case._replace(differentiated=False)
    expected = computed({name: case})[name]
    program = from_jax(measured(case), *case.args)
    assert_agrees(program, case, expected)
    back = to_jax(program)
    again = Case(lambda *args: back(*args)[1], case.args, case.differentiated)
    (value, results), gradient = computed({name: again})[name]
    assert_agrees(from_jax(back, *case.args), case, expected)
    for actual, wanted in zip([value, *results], [expected[0][0], *expected[0][1]], strict=True):
        assert_same(actual, wanted)
    if case.differentiated:
        assert_same(gradient, expected[1])


def test_loops_and_branches_become_ops() -> None:
    def ops(function: Callable[..., Any], *args: Any) -> list[type]:
        program = from_jax(function, *args).exec_program
        return [type(op) for op in program.ops() if isinstance(op, Scan | Switch | While)]

    assert ops(rnn, np.eye(4), X) == [Scan]
    assert ops(newton, X) == [While]
    assert ops(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x), np.ones(())) == [Switch]
    many = from_jax(lambda x: lax.fori_loop(0, 1000, lambda i, y: y + x, x), X)
    assert len(many.exec_program.instructions) < 5


def test_a_loop_reads_large_arrays_as_inputs_with_defaults() -> None:
    def function(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, y: y + jnp.sum(x * jnp.asarray(LARGE)), 0.0)

    program = from_jax(function, LARGE)
    assert [declared.default is None for declared in program.inputs] == [True, False]
    np.testing.assert_allclose(program(LARGE), 3 * np.sum(LARGE**2))
    np.testing.assert_allclose(tn.grad(program)(LARGE), 3 * LARGE)


def test_a_program_is_saved_batched_and_differentiated_again() -> None:
    program = from_jax(lambda w, x: rnn(w, x)[1].sum(), np.eye(4), X)
    loaded = tn.loads(tn.dumps(program))
    batch = np.stack([X, 2 * X, -X])
    np.testing.assert_allclose(
        tn.vmap(loaded, in_axes=(None, 0))(np.eye(4), batch),
        [program(np.eye(4), x).item() for x in batch],
    )
    direction = np.ones((4, 4))
    forward = tn.jvp(tn.grad(loaded), (np.eye(4), X), (direction, 0 * X))[1]
    step = 1e-6
    sides = [np.asarray(tn.grad(loaded)(np.eye(4) + s * direction, X)) for s in (step, -step)]
    np.testing.assert_allclose(forward, (sides[0] - sides[1]) / (2 * step), atol=1e-8)


def test_derivatives_of_a_solution_are_right_to_second_order() -> None:
    matrix, right = X @ X.T + np.eye(3), X[:, 0]
    program = from_jax(lambda a, b: jnp.sum(jnp.linalg.solve(a, b)), matrix, right)
    inverse, row = np.linalg.inv(matrix), np.ones(3)
    found = tn.jvp(tn.grad(program), (matrix, right), (np.eye(3), np.zeros(3)))[1]
    left, solution = inverse.T @ row, inverse @ right
    expected = np.outer(inverse.T @ left, solution) + np.outer(left, inverse @ solution)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_while_loop_needs_forward_mode() -> None:
    program = from_jax(lambda x: newton(x)[0].sum(), X)
    value, tangent = tn.jvp(program, (X,), (np.ones_like(X),))
    np.testing.assert_allclose(value, np.sum(np.sqrt(X * X + 1)))
    np.testing.assert_allclose(tangent, np.sum(X / np.sqrt(X * X + 1)))
    with pytest.raises(ADRuleError, match="reverse mode needs a bound on the rounds"):
        tn.grad(program)(X)


@pytest.mark.parametrize("setting", [False, True])
def test_the_mode_of_64_bits_is_that_of_the_argument(setting: bool) -> None:
    def function(x: Any) -> Any:
        total, parts = lax.scan(lambda c, r: (c + r * 2, jnp.argsort(r)), jnp.zeros(4), x)
        return total, parts, jnp.arange(3)

    with jax.enable_x64(setting):
        wide, narrow = (from_jax(function, X), from_jax(function, X.astype("f4"), x64=False))
        mixed = from_jax(lambda x: x + jnp.ones(4), X.astype("f4"))
        with pytest.raises(BindingError, match=re.escape("f64[3,4] is 64 bits wide; pass x64=Tr")):
            from_jax(function, X, x64=False)
    assert [result.dtype for result in wide(X)] == ["float64", "int64", "int64"]
    assert mixed(X.astype("f4")).dtype == "float64"
    with jax.enable_x64(False):
        expected = jax.jit(function)(X)
    for actual, wanted in zip(narrow(X.astype("f4")), expected, strict=True):
        assert actual.dtype == wanted.dtype
        np.testing.assert_allclose(actual, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (
            lambda x: lax.linalg.hessenberg(x @ x.T),
            "'hessenberg'.* returns LAPACK's packed reflections",
        ),
        (
            lambda x: lax.rng_bit_generator(x[0].astype("uint32"), (3,))[1],
            r"'rng_bit_generator' at test_from_jax.py:\d+ draws the numbers of a generator",
        ),
        (
            lambda x: lax.scan(lambda c, r: (c, jax.new_ref(r)[0]), 0.0, x)[1],
            r"at test_from_jax.py:\d+ writes into a mutable array",
        ),
    ],
)
def test_a_primitive_that_is_not_read_is_named_with_its_line_and_the_reason(
    function: Callable[..., Any], text: str
) -> None:
    with pytest.raises(ExecutorError, match=text):
        from_jax(function, X)


def test_what_a_primitive_cannot_do_is_said_with_its_line() -> None:
    with pytest.raises(DTypeError, match="int4 is not supported") as raised:
        from_jax(lambda x: x.astype(jnp.int4), X)
    assert re.search(r"'convert_element_type' at test_from_jax.py:\d+", raised.value.__notes__[0])


def test_ops_have_the_line_of_the_function() -> None:
    program = from_jax(lambda x: lax.map(jnp.sin, x) * 2, X).exec_program
    steps = [step for part in program.walk() for step, _ in part.results()]
    sites = [str(step.site) for step in steps if step.op.name != "constant"]
    assert len(sites) == 4
    assert all(re.fullmatch(r"test_from_jax.py:\d+", site) for site in sites)
