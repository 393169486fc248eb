from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DTypeError
from tests.tolerances import assert_close, rounding

ARITHMETIC = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
]
COMPARISONS = [
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]
X, Y = np.array([[1.0, 2.5], [3.0, 4.0]]), np.array([2.0, 3.0])
OTHERS: list[Any] = [Y, [2.0, 3.0], (2.0, 3.0), np.float64(2.0), np.float32(2.0), np.int64(2), 2.5]
Binary = Callable[[Any, Any], Any]


@pytest.mark.parametrize("other", OTHERS, ids=repr)
@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS], ids=lambda op: op.__name__)
def test_an_operator_takes_arrays_and_numbers_on_either_side(op: Binary, other: Any) -> None:
    t = tn.Tensor(X)
    plain = np.asarray(other)
    for actual, expected in [(op(t, other), op(X, plain)), (op(other, t), op(plain, X))]:
        assert isinstance(actual, tn.Tensor)
        assert actual.dtype == expected.dtype
        assert_close(np.asarray(actual), expected, rounding(actual.dtype))


@pytest.mark.parametrize("other", OTHERS, ids=repr)
@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS], ids=lambda op: op.__name__)
def test_an_operator_records_with_arrays_on_either_side(op: Binary, other: Any) -> None:
    plain = np.asarray(other)
    right, left = tn.jit(lambda t: (op(t, other), op(other, t)), executor="numpy")(X)
    for actual, expected in [(right, op(X, plain)), (left, op(plain, X))]:
        assert actual.dtype == expected.dtype
        assert_close(np.asarray(actual), expected, rounding(actual.dtype))


def test_matrix_products_with_a_numpy_array_on_the_left() -> None:
    assert_close(X @ tn.Tensor(Y), X @ Y, rounding("f64"))
    assert isinstance(X @ tn.Tensor(Y), tn.Tensor)
    assert_close(tn.jit(lambda y: X @ y, executor="numpy")(Y), X @ Y, rounding("f64"))


def test_a_tensor_and_a_traced_tensor_make_a_traced_one() -> None:
    t = tn.Tensor(Y)
    assert_close(tn.jit(lambda x: t * x - t, executor="numpy")(Y), Y * Y - Y, rounding("f64"))


def test_comparison_with_an_object_that_is_not_an_array_is_pythons() -> None:
    t = tn.Tensor([1.0])
    assert (t == None) is False  # noqa: E711
    assert (t != "a") is True
    with pytest.raises(TypeError, match="not supported between instances"):
        t < "a"  # noqa: B015


def test_unary_operators() -> None:
    t = tn.Tensor([-1.5, 2.0])
    assert (-t).tolist() == [1.5, -2.0]
    assert +t is t
    assert abs(t).tolist() == [1.5, 2.0]


@pytest.mark.parametrize(
    "op", [operator.and_, operator.or_, operator.xor], ids=lambda op: op.__name__
)
def test_logical_operators_take_bools_on_either_side(op: Binary) -> None:
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    for result in (op(tn.Tensor(x), y), op(x, tn.Tensor(y)), tn.jit(op, executor="numpy")(x, y)):
        assert result.tolist() == op(x, y).tolist()
    assert (~tn.Tensor(x)).tolist() == (~x).tolist()
    assert op(tn.Tensor(x), True).tolist() == op(x, True).tolist()


BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]


@pytest.mark.parametrize("op", BITS, ids=lambda op: op.__name__)
def test_operators_on_bits_take_integers_on_either_side(op: Binary) -> None:
    x, y = np.array([6, -5, 1, 0]), np.array([3, 1, 2, 60])
    for result in (op(tn.Tensor(x), y), op(x, tn.Tensor(y)), tn.jit(op)(x, y)):
        assert result.tolist() == op(x, y).tolist()
    assert op(tn.Tensor(x), 2).tolist() == op(x, 2).tolist()
    assert op(2, tn.Tensor(y)).tolist() == op(2, y).tolist()
    assert (~tn.Tensor(x)).tolist() == (~x).tolist()


@pytest.mark.parametrize("executor", ["numpy", "xla"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_shifts_by_more_places_than_there_are_move_every_bit_out(executor: str, dtype: str) -> None:
    x = np.array([1, 100, 0, 255]).astype(dtype)
    for op in (operator.lshift, operator.rshift):
        result = tn.jit(op, executor=executor)(x, np.full(4, 70, dtype))
        assert result.tolist() == op(x, np.full(4, 70, dtype)).tolist()


@pytest.mark.parametrize("op", BITS, ids=lambda op: op.__name__)
def test_operators_on_bits_refuse_floats(op: Binary) -> None:
    with pytest.raises(DTypeError, match=r"bitwise_\w+: takes .*integer.* operands, got f64"):
        op(tn.Tensor([1.0, 2.0]), 1)
    with pytest.raises(DTypeError, match=r"bitwise_invert: takes .* got f64"):
        ~tn.Tensor([1.0, 2.0])


def test_methods_are_the_functions() -> None:
    t = tn.Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert t.T.tolist() == t.mT.tolist() == t.transpose().tolist() == t.transpose(1, 0).tolist()
    assert t.transpose((1, 0)).tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert t.reshape(4).tolist() == t.reshape((4,)).tolist() == t.reshape(-1).tolist()
    assert t.ravel(order="F").tolist() == [1.0, 3.0, 2.0, 4.0]
    assert t.sum(axis=0).tolist() == [4.0, 6.0]
    assert t.mean().item() == 2.5
    assert t.prod(axis=1, keepdims=True).tolist() == [[2.0], [12.0]]
    assert (t.max().item(), t.min(axis=1).tolist()) == (4.0, [1.0, 3.0])
    assert t.astype("complex64").conj().imag.dtype == np.float32
    assert t.real.tolist() == t.tolist()


def test_methods_that_numpy_has_are_the_functions_too() -> None:
    x = np.array([[1.25, 2.0], [0.0, 4.5]])
    t = tn.Tensor(x)
    assert (t.any().item(), t.all(axis=1).tolist()) == (True, [True, False])
    assert_close(np.asarray(t.var(axis=0, ddof=1)), x.var(axis=0, ddof=1), rounding("f64"))
    assert_close(np.asarray(t.std()), x.std(), rounding("f64"))
    assert t.cumsum(axis=1).tolist() == x.cumsum(axis=1).tolist()
    assert t.cumprod().tolist() == x.cumprod().tolist()
    assert t.round(1).tolist() == x.round(1).tolist()
    assert t.swapaxes(0, 1).tolist() == x.T.tolist()
    assert t[:1].squeeze().tolist() == [1.25, 2.0]
    assert t.dot(t).tolist() == x.dot(x).tolist()
    assert t.trace().item() == 5.75
    assert t.clip(1, 2).tolist() == x.clip(1, 2).tolist()
    assert t.clip(max=2).tolist() == x.clip(max=2).tolist()
    assert t.clip(1).tolist() == x.clip(1).tolist()
    assert t.clip() is t
    assert t.flatten("F").tolist() == x.flatten("F").tolist()
    assert t.sort(axis=0).tolist() == np.sort(x, axis=0).tolist()


def test_methods_take_traced_operands() -> None:
    t = tn.Tensor([1.0, 5.0])
    f = tn.jit(lambda x: (t.dot(x), t.clip(x, x + 1), t.clip(max=x)), executor="numpy")
    product, held, below = f(np.array([2.0, 3.0]))
    assert (product.item(), held.tolist(), below.tolist()) == (17.0, [2.0, 4.0], [1.0, 3.0])


def test_an_array_is_not_changed_in_place() -> None:
    t = tn.Tensor([1.0, 5.0])
    with pytest.raises(DTypeError, match=r"f64\[2\] cannot be changed; .* x = x.at\[...\].set"):
        t[0] = 3.0
    with pytest.raises(DTypeError, match=r"f64\[2\] cannot be changed"):
        tn.make_program(lambda x: x.__setitem__(0, 1.0), tn.TensorSpec((2,)))


def test_in_asks_whether_an_element_is_equal() -> None:
    x = tn.arange(4)
    assert 3 in x
    assert 9 not in x
    assert tn.asarray(1) in tn.asarray([[1, 2]])
    with pytest.raises(DTypeError, match=r"in: 'a' is not a number, and i64\[4\] has nothing else"):
        assert "a" in x
