"""Functions of tensors on the host give in each call what they gave in the first, op by op."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import TenferroError
from tenferro.ops.functions import apply
from tenferro.runtime import HOST_PLANS

X = tn.Tensor(np.linspace(-2.0, 2.0, 12).reshape(3, 4))
SQUARE = tn.Tensor(np.diag([1.0, 2.0, 3.0]) + 0.1)
SINGLE, WHOLE = X.astype("float32"), tn.Tensor([3, 1, 2])
COMPLEX = X + 1j
CALLS: dict[str, Callable[[], Any]] = {
    "add": lambda: X + X,
    "number": lambda: SINGLE * 2,
    "signed zero": lambda: X * -0.0,
    "negative": lambda: -COMPLEX,
    "where": lambda: tn.where(X > 0, X, 0.0),
    "transposed": lambda: X.T,
    "itself": lambda: tn.real(X),
    "reshaped": lambda: X.reshape(4, 3),
    "index": lambda: X[1, ::-2],
    "integer index": lambda: X[:, np.array([2, 0])],
    "mask": lambda: X[X > 0],
    "nonzero": lambda: tn.nonzero(X > 0),
    "sum": lambda: tn.sum(X, axis=0, keepdims=True),
    "several": lambda: tn.unstack(X),
    "divmod": lambda: divmod(WHOLE, 2),
    "sort": lambda: tn.sort(WHOLE),
    "median": lambda: tn.median(X, axis=1),
    "matmul": lambda: X @ X.T,
    "einsum": lambda: tn.einsum("ij,kj,kl->il", X, X, X),
    "solve": lambda: tn.linalg.solve(SQUARE, X),
    "svd": lambda: tn.linalg.svd(SQUARE),
    "eigvals": lambda: tn.linalg.eigvals(SQUARE),
    "fft": lambda: tn.fft.fft(X),
    "softmax": lambda: tn.softmax(X, axis=-1),
    "invalid": lambda: tn.log(X),
    "gamma": lambda: tn.scipy.special.gammaln(X),
    "normal": lambda: tn.random.normal(tn.random.key(0), (3,)),
    "scalar": lambda: tn.sum(X) / 3,
    "empty": lambda: tn.sin(X[:0]),
}


def leaves(result: Any) -> list[np.ndarray]:
    return [leaf.numpy() for leaf in tn.tree.leaves(result)]


@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits(name: str) -> None:
    with np.errstate(all="raise"):
        first = leaves(CALLS[name]())
        for _ in range(3):
            for array, expected in zip(leaves(CALLS[name]()), first, strict=True):
                assert array.dtype == expected.dtype
                assert array.tobytes() == expected.tobytes()
                assert array.shape == expected.shape
                assert not array.flags.writeable


def test_the_same_errors() -> None:
    wrong: list[Callable[[], Any]] = [
        lambda: X + tn.ones(5),
        lambda: X.reshape(5),
        lambda: tn.sum(X, axis=7),
        lambda: X[9],
        lambda: tn.add(X, "a"),  # type: ignore[arg-type]
        lambda: tn.ones(1).astype("uint8") + 300,
    ]
    for call in wrong:
        texts = set()
        for _ in range(3):
            with pytest.raises((TenferroError, IndexError)) as raised:
                call()
            texts.add((type(raised.value), str(raised.value)))
        assert len(texts) == 1


def test_what_is_kept_is_small_and_can_be_cleared() -> None:
    HOST_PLANS.clear()
    expected = tn.linspace(0.0, 1.0, 100_000)
    tracemalloc.start()
    for _ in range(3):
        tn.linspace(0.0, 1.0, 100_000)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 100_000
    assert bool(tn.all(tn.linspace(0.0, 1.0, 100_000) == expected))
    assert len(HOST_PLANS) >= 1
    HOST_PLANS.clear()
    assert len(HOST_PLANS) == 0


def test_operands_that_were_one_array_may_be_two() -> None:
    y = tn.Tensor(np.arange(12.0).reshape(3, 4))
    for first, second in ((X, X), (X, y), (y, X), (y, y)):
        np.testing.assert_array_equal(first - second, first.numpy() - second.numpy())
        np.testing.assert_array_equal(
            tn.where(first > 0, second, first), np.where(first.numpy() > 0, second, first)
        )


def test_later_calls_run_the_program_that_the_first_one_wrote() -> None:
    HOST_PLANS.clear()
    bodies = []

    def doubled(x: Any) -> Any:
        bodies.append(x)
        return x + x

    doubled.__qualname__ = "doubled"  # as a function of a module
    for x in (X, X, X.numpy()):
        np.testing.assert_array_equal(apply(doubled, x), 2 * X.numpy())
    assert len(bodies) == 1


def test_code_of_users_that_an_op_calls_is_no_part_of_the_function_that_runs() -> None:
    def host(x: Any) -> Any:
        return np.asarray(tn.ones(4) * tn.sin(0.5)) + np.asarray(x)

    def function(x: Any) -> Any:
        return tn.pure_callback(host, tn.TensorSpec((3, 4)), x) * 2.0

    expected = 2 * (np.sin(0.5) + X.numpy())
    program = tn.make_program(function, tn.TensorSpec((3, 4)))
    constant = tn.EagerRuntime().constant(X)
    for call in (function, program, tn.jit(function, executor="numpy")):
        for argument in (X, X, constant):
            np.testing.assert_allclose(call(argument), expected)


class Meters(int):
    """A number of a class of the user."""


def test_numbers_of_classes_of_users_are_numbers() -> None:
    runtime = tn.EagerRuntime()
    for array in (X, runtime.variable(X)):
        np.testing.assert_array_equal((array + Meters(3)).numpy(), X.numpy() + 3)
    assert tn.add(Meters(3), Meters(2)).item() == 5


def test_a_callback_has_the_context_of_the_caller_in_every_call() -> None:
    runtime = tn.EagerRuntime()
    variable, found = runtime.variable([1.0, 2.0]), []

    def host(x: Any) -> Any:
        found.append((variable * 2).tracked)
        return np.asarray(x)

    with runtime.no_grad():
        for _ in range(3):
            tn.pure_callback(host, tn.TensorSpec((3, 4)), X)
    assert found == [False] * 3


def test_a_callback_without_operands_is_made_in_every_call() -> None:
    calls = iter(range(1, 9))
    spec = tn.TensorSpec(())
    made = [tn.pure_callback(lambda: np.float64(next(calls)), spec).item() for _ in "abc"]
    assert made == [1, 2, 3]


def test_options_that_are_equal_in_python_are_not_one_option() -> None:
    tn.sum(X, axis=(0,))
    with pytest.raises(TenferroError, match="axis False is not an integer"):
        tn.sum(X, axis=(False,))


def test_results_of_no_operand_are_not_shared() -> None:
    first, second = (tn.arange(5) for _ in range(2))
    third = tn.arange(5)
    assert not np.shares_memory(second.numpy(), third.numpy())
    np.testing.assert_array_equal(first, third)
