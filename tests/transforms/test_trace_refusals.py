"""Arguments of the wrong kind get a typed error that says what was expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    ADError,
    AxisError,
    BindingError,
    DeviceError,
    DTypeError,
    ExecutorError,
    GraphError,
    TenferroError,
    TracingError,
)

X = tn.TracedTensor.input((2,), "float64", name="x")
PROGRAM = tn.GraphCompiler().compile([X * 2])
EXECUTOR = tn.GraphExecutor(tn.NumpyBackend())
CTX = tn.AdContext.builder().build()


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: tn.jit(3), TracingError, "jit: takes a function, got an int"),
        (lambda: tn.jit(tn.sin, executor=3), ExecutorError, "jit: executor must be an executor"),
        (lambda: tn.Tensor([1.0]).to_device(3), DeviceError, "takes the name of a device or an"),
        (lambda: tn.grad(tn.sin, argnums=1.5)(1.0), ADError, "argnums must be integers"),
        (
            lambda: tn.tensordot([1.0], [1.0], axes="a"),
            AxisError,
            "axes must be a number or a pair",
        ),
        (lambda: EXECUTOR.run(PROGRAM, [1]), BindingError, "bindings must map inputs to values"),
        (lambda: tn.GraphCompiler().compile([1]), TracingError, "compile: takes traced tensors"),
        (
            lambda: CTX.grad(X.sum(), [tn.Tensor([1.0])]),
            ADError,
            "takes traced tensors, got a Tens",
        ),
        (lambda: X.numpy(), TracingError, r"numpy\(\) of a traced value"),
        (lambda: X.tolist(), TracingError, r"tolist\(\) of a traced value"),
        (lambda: tn.lax.reverse([1.0], wrong=1), GraphError, "reverse: .*wrong"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_refused(
    call: Callable[[], Any], kind: type[TenferroError], text: str
) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_cotangents_may_be_concrete() -> None:
    (ct,) = CTX.vjp([X * 3], [X], [np.ones(2)])
    (out,) = EXECUTOR.run(tn.GraphCompiler().compile([ct], inputs=[X]), {X: np.zeros(2)})
    assert out.tolist() == [3.0, 3.0]


def test_lax_takes_its_payload_by_position_too() -> None:
    x = tn.Tensor([1.0, 2.0, 3.0])
    assert tn.lax.slice(x, (1,), (3,), (1,)).tolist() == [2.0, 3.0]
    assert tn.lax.concatenate([x, x], 0).shape == (6,)


def test_results_cannot_be_made_writable() -> None:
    with pytest.raises(ValueError, match="WRITEABLE"):
        np.asarray(tn.Tensor([1.0]) + 1).setflags(write=True)


@pytest.mark.parametrize(
    "array",
    [
        np.ones(2, np.longdouble),
        np.longdouble(1),
        np.array(["2020"], "datetime64[D]"),
        np.array(["a"]),
        np.array([None]),
    ],
    ids=lambda array: str(array.dtype),
)
def test_an_array_of_a_dtype_that_is_not_supported_is_told_so_everywhere(array: Any) -> None:
    for call in (tn.jit(lambda x: x), tn.grad(lambda x: x), tn.asarray):
        with pytest.raises(DTypeError, match=r"dtype: .* is not supported; use one of"):
            call(array)
    with pytest.raises(DTypeError, match=r"^argument x: dtype"):
        tn.jit(lambda x: x)(array)
