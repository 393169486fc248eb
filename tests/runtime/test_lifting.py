"""What a value that a user hands in is."""

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DTypeError
from tenferro.runtime import as_operand, fitted, is_array, leading, meta_of_value, weak_number
from tenferro.shape import TensorMeta

F4 = TensorMeta.of("f4", (2,))
TRACED = tn.TracedTensor.input((2,), name="x")
EAGER = tn.EagerRuntime().variable([1.0, 2.0])


@pytest.mark.parametrize(
    "value", [np.ones(2), np.float64(1), tn.Tensor([1.0]), TRACED, EAGER], ids=repr
)
def test_arrays_are_arrays(value: Any) -> None:
    assert is_array(value)
    meta = meta_of_value(value)
    assert meta is not None
    assert (meta.dtype, meta.rank) == (value.dtype, value.ndim)


@pytest.mark.parametrize("value", [1, 2.0, True, 1j, [1.0], (1, 2), "x", None, object()])
def test_other_values_are_not(value: Any) -> None:
    assert not is_array(value)


def test_array_like_data_have_a_type_and_other_objects_none() -> None:
    assert meta_of_value([1, 2]) == TensorMeta.of("i64", (2,))
    assert meta_of_value(tn.TensorSpec(("n",), "f4")) == TensorMeta.of("f4", ("n",))
    assert meta_of_value("x") is None
    assert meta_of_value(object()) is None


def test_a_jax_array_is_an_array() -> None:
    jnp = pytest.importorskip("jax.numpy")
    assert is_array(jnp.ones(2))
    assert meta_of_value(jnp.ones(2)) == TensorMeta.of("f4", (2,))


def test_weak_numbers_are_python_numbers_and_traced_values_that_stand_for_them() -> None:
    assert weak_number(1.5) == 1.5
    assert weak_number(np.float64(1.5)) is None
    seen: list[Any] = []
    tn.jit(lambda s: seen.append(weak_number(s)) or s, executor="numpy")(2.0)
    assert seen == [2.0]


@pytest.mark.parametrize("value", [[1, 2], (1.0, 2.0), [True, 2]])
def test_what_gives_way_takes_the_declared_dtype(value: Any) -> None:
    assert fitted(value, F4).meta == F4


def test_what_does_not_give_way_stays() -> None:
    for value in (np.ones(2), TRACED, EAGER, "x", None):
        assert fitted(value, F4) is value


@pytest.mark.parametrize(
    ("value", "dtype"), [(1j, "f8"), (1.5, "i4"), (300, "u1"), (2**40, "i4"), ([0.5], "bool")]
)
def test_what_does_not_fit_is_refused(value: Any, dtype: str) -> None:
    with pytest.raises(DTypeError, match="does not fit"):
        fitted(value, TensorMeta.of(dtype, ()))


def test_operands_of_other_kinds_come_first() -> None:
    assert as_operand(3) == 3
    assert type(as_operand([1.0, 2.0])) is tn.Tensor
    for value in (TRACED, EAGER, "x", ["x"]):
        assert as_operand(value) is NotImplemented
    assert leading([1.0, tn.Tensor([1.0]), EAGER]) is EAGER
    assert leading([EAGER, TRACED]) is TRACED
    assert isinstance(leading([np.ones(2)]), tn.Tensor)
    assert isinstance(leading([]), tn.Tensor)
