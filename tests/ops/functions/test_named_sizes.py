"""Programs with named sizes give what the same programs give with constants, or refuse as well."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ExtentError, TenferroError, TracingError

VECTOR = tn.TensorSpec(("n",))


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """Dtypes, shapes and elements of the results; None for a typed refusal."""
    try:
        results = function(*args)
    except (TenferroError, ZeroDivisionError):
        return None
    leaves = results if isinstance(results, tuple | list) else [results]
    return [(str(leaf.dtype), leaf.shape, leaf.tolist()) for leaf in map(np.asarray, leaves)]


def check(
    function: Callable[..., Any], sizes: tuple[int, ...] = (0, 1, 2, 3, 7), compiled: bool = False
) -> None:
    """Compare `function` of a vector under names with the same function of a constant size."""
    named = tn.jit(function, symbolic={"x": ("n",)}) if compiled else tn.make_program(
        function, VECTOR
    )  # fmt: skip
    for n in sizes:
        x = np.arange(1.0, n + 1)
        got, want = outcome(named, x), outcome(lambda x: function(tn.asarray(x)), x)
        np.testing.assert_equal(got, want, err_msg=f"n = {n}")


ARITHMETIC: dict[str, Callable[[Any], Any]] = {
    "times a float": lambda n: n * 1.5,
    "divided": lambda n: n / 2,
    "reciprocal": lambda n: 1 / (n + 1),
    "of two sizes": lambda n: n / (n + 1),
    "root": lambda n: n**0.5,
    "power of a float": lambda n: 2.0**n,
    "negative power": lambda n: (n + 1) ** -2,
    "remainder": lambda n: n % 2 + 0.0,
    "remainder of an integer": lambda n: 7 % (n + 1) + 0.0,
    "divmod": lambda n: divmod(n, 2)[0] * 10.0 + divmod(n, 2)[1],
    "remainder of a float": lambda n: n % 1.5 + 7.5 % (n + 1),
    "floor of a float": lambda n: n // 1.5 + 7.5 // (n + 1),
    "abs": lambda n: abs(n - 3) + 0.0,
    "difference": lambda n: (2.5 - n) - (n - 0.5) + +n,
    "number of NumPy": lambda n: np.float32(2) * n,
    "array of NumPy": lambda n: np.arange(3.0) * n + n,
    "integers of NumPy": lambda n: np.arange(3) - n,
}


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_of_a_size_gives_what_it_gives_for_a_number(name: str) -> None:
    check(lambda x: ARITHMETIC[name](x.shape[0]))


def test_xla_gives_the_same_arithmetic() -> None:
    check(lambda x: [f(x.shape[0]) for f in ARITHMETIC.values()], (1, 6), compiled=True)


def test_numbers_made_of_sizes_yield_to_the_dtype_of_arrays() -> None:
    check(lambda x: x.astype("float32") * (x.shape[0] * 1.5) + x.shape[0] / 2)
    check(lambda x: tn.sum(x) * (1 / (x.shape[0] + 1)))


@pytest.mark.parametrize(
    "size", [lambda n: -(-n // 2), lambda n: (n - 5) // 2, lambda n: n - 5, lambda n: n * (n // 2)]
)
def test_an_expression_that_may_be_negative_is_a_number(size: Callable[[Any], Any]) -> None:
    check(lambda x: x * size(x.shape[0]))
    check(lambda x: tn.maximum(x, size(x.shape[0])))


def test_ranges_may_start_at_a_size() -> None:
    check(lambda x: tn.arange(x.shape[0], 0, -1))
    check(lambda x: tn.arange(x.shape[0], 2 * x.shape[0]))
    check(lambda x: tn.arange(x.shape[0] - 3, x.shape[0], 2))
    check(lambda x: tn.arange(x.shape[0], x.shape[0] * 2 + 1, 2, dtype="float32"))


@pytest.mark.parametrize("use", [bool, int, float, complex, range, operator.index])
def test_python_cannot_take_the_number_of_a_size(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TracingError, match="of the size n: it has no value while tracing"):
        tn.make_program(lambda x: x * (1 if use(x.shape[0]) else 2), VECTOR)


def test_a_size_that_is_certainly_not_0_is_true() -> None:
    check(lambda x: x if x.shape[0] + 1 else -x)


def test_sizes_are_not_ordered_by_floats_and_not_divided_by_0() -> None:
    with pytest.raises(TracingError, match=r"size n < 2.5: n has no value while tracing"):
        tn.make_program(lambda x: x if x.shape[0] < 2.5 else -x, VECTOR)
    program = tn.make_program(lambda x: tn.zeros(6 // x.shape[0]), VECTOR)
    assert program(np.ones(3)).shape == (2,)
    with pytest.raises(ExtentError, match="size: 6 divided by a size that is 0"):
        program(np.ones(0))


@pytest.mark.parametrize("endpoint", [True, False])
def test_evenly_spaced_numbers_of_a_named_count(endpoint: bool) -> None:
    check(lambda x: tn.linspace(3.0, 5.0, x.shape[0], endpoint=endpoint))
    check(lambda x: tn.logspace(0.0, 3.0, x.shape[0], endpoint=endpoint))
    check(lambda x: tn.linspace(tn.zeros(2), tn.asarray([1.0, 2.0]), x.shape[0] + 1, axis=-1))


TABLE = np.arange(5.0)

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "roll by a size": lambda x: tn.roll(x, x.shape[0] // 2),
    "roll by more than the size": lambda x: [tn.roll(x, 5), tn.roll(x, -x.shape[0] - 1)],
    "roll of two axes": lambda x: tn.roll(x[:, None] * np.ones(2), (-2, 1), (0, 1)),
    "gradient of roll": tn.grad(lambda x: tn.sum(tn.roll(x, 5) * x * tn.arange(x.shape[0]))),
    "tile": lambda x: [tn.tile(x, x.shape[0]), tn.tile(TABLE, (2, x.shape[0]))],
    "repeat": lambda x: tn.repeat(x[:, None], x.shape[0] // 2, axis=1),
    "trace": lambda x: tn.trace(x[:, None] * np.ones(3)),
    "diagonal": lambda x: [tn.diagonal(x[:, None] * np.arange(3.0), k) for k in (-1, 0, 1)],
    "diagonal of a square": lambda x: tn.diagonal(x[:, None] * x, -2),
    "split": lambda x: tn.split(x, [1, 3]) + tn.split(x, [-2]) + tn.split(x, [x.shape[0] // 2]),
    "split from the end": lambda x: tn.split(x, [-(x.shape[0] // 2), x.shape[0] - 3]),
    "diff": lambda x: [tn.diff(x, n=2), tn.diff(x > 2, n=3)],
    "reshape": lambda x: (x[:, None] * np.ones(2)).reshape(-1, x.shape[0]),
    "reshape a constant": lambda x: tn.ones((2, 3)).reshape(x.shape[0], -1),
    "rfftfreq": lambda x: tn.fft.rfftfreq(x.shape[0]),
    "fftfreq": lambda x: tn.fft.fftfreq(x.shape[0]),
    "array_equal": lambda x: [
        tn.array_equal(x, np.arange(1.0, 4.0)),
        tn.array_equal(x, x[1:]),
        tn.array_equal(x[:, None] * np.ones(2), np.ones((2, 1)) * x),
        tn.array_equal(x, x + 0),
    ],
    "vander": lambda x: [
        tn.vander(x),
        tn.vander(x, 3),
        tn.vander(x, x.shape[0] // 2, increasing=True),
    ],
    "a captured tensor": lambda x: [
        tn.asarray(TABLE)[: x.shape[0]],
        tn.asarray(TABLE).at[: x.shape[0] // 2].set(7.0),
        tn.asarray(TABLE)[x.shape[0] // 2],
    ],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_named_sizes_give_what_they_give_for_numbers(name: str) -> None:
    check(FUNCTIONS[name])


def test_xla_gives_the_same_functions() -> None:
    check(lambda x: [leaf for f in FUNCTIONS.values() for leaf in tn.tree_util.tree_leaves(f(x))],
          (3,), compiled=True)  # fmt: skip


def test_arrays_of_two_names_are_equal_if_their_sizes_are() -> None:
    program = tn.make_program(tn.array_equal, VECTOR, tn.TensorSpec(("m",)))
    assert program(np.ones(3), np.ones(3)).item()
    assert not program(np.ones(3), np.ones(2)).item()
    assert program(np.ones(0), np.ones(0)).item()
    assert not program(np.ones(2), np.zeros(2)).item()


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (tn.squeeze, "squeeze: axis 0 of .* stays, so its size must not be 1; name the axes"),
        (lambda x: tn.corrcoef(x[:, None] * np.ones(3)), "squeeze: axis 0 of"),
    ],
)
def test_results_have_as_many_axes_for_all_sizes_of_a_name(
    function: Callable[[Any], Any], advice: str
) -> None:
    program = tn.make_program(function, VECTOR)
    for n in (2, 3):
        assert program(np.arange(1.0, n + 1)).shape == function(np.arange(1.0, n + 1)).shape
    with pytest.raises(TenferroError, match=advice):
        program(np.ones(1))
