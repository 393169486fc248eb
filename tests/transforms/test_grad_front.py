"""One front for the derivatives of traced and of eager values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADError, DTypeError, NonScalarGradError, ShapeError


@dataclass(frozen=True)
class Front:
    """Derivatives of one kind of value; `value` makes one, `array` tells what it computes."""

    ad: Any
    kind: str

    def value(self, data: Any) -> Any:
        if self.kind == "eager":
            array = np.asarray(data)
            return self.ad.variable(array) if array.dtype.kind in "fc" else self.ad.constant(array)
        return tn.TracedTensor.constant(data)

    def arrays(self, values: Any) -> list[Any]:
        if self.kind == "eager":
            return [value.numpy() for value in values]
        program = tn.GraphCompiler().compile(values)
        results = tn.GraphExecutor(tn.NumpyBackend()).run(program, {})
        return [result.numpy() for result in results]


@pytest.fixture(params=["traced", "eager"])
def front(request: pytest.FixtureRequest) -> Front:
    ad: Any = tn.AdContext() if request.param == "traced" else tn.EagerRuntime()
    return Front(ad, request.param)


def test_grad_and_grad_of_it(front: Front) -> None:
    x = front.value([1.0, 2.0])
    (dx,) = front.ad.grad((x * x * x).sum(), [x])
    (ddx,) = front.ad.grad(dx.sum(), [x])
    np.testing.assert_allclose(front.arrays([dx, ddx]), [[3.0, 12.0], [6.0, 12.0]])


def test_zeros_or_none_where_nothing_reaches(front: Front) -> None:
    x, y = front.value([1.0, 2.0]), front.value([3.0])
    z = (x * x).sum()
    assert front.ad.grad_optional(z, [x, y])[1] is None
    assert front.ad.vjp_optional([z], [y], [1.0]) == [None]
    assert front.ad.jvp_optional([z], [y], [[1.0]]) == [None]
    (zeros,) = front.arrays(front.ad.grad(z, [x, y])[1:])
    np.testing.assert_array_equal(zeros, [0.0])


def test_seeds_are_arrays_numbers_or_none(front: Front) -> None:
    x = front.value([1.0, 2.0])
    y, s = x * x, (x * x).sum()
    results = [
        *front.ad.vjp([y, s], [x], [np.array([1.0, 0.0]), 2]),
        *front.ad.vjp([y, s], [x], [None, 2.0]),
        *front.ad.jvp([y], [x], [[0.0, 1.0]]),
        *front.ad.jvp_many([s], [x], [[[1.0, 0.0]], [[0.0, 1.0]]])[1],
    ]
    expected = [[6.0, 8.0], [4.0, 8.0], [0.0, 4.0]]
    np.testing.assert_allclose(front.arrays(results[:3]), expected)
    np.testing.assert_allclose(front.arrays(results[3:]), [4.0])


def test_holomorphic_gradients(front: Front) -> None:
    z = front.value(1 + 2j)
    with pytest.raises(NonScalarGradError, match=r"the result must be real, got c128\[\]"):
        front.ad.grad(z * z, [z])
    (dz,) = front.arrays(front.ad.grad(z * z, [z], holomorphic=True))
    np.testing.assert_allclose(dz, 2 + 4j)


def test_what_cannot_be_differentiated_is_refused(front: Front) -> None:
    x, i = front.value([1.0, 2.0]), front.value([1, 2])
    y = (x * x).sum()
    ad = front.ad
    with pytest.raises(NonScalarGradError, match=r"must be a scalar, got f64\[2\]"):
        ad.grad(x * x, [x])
    with pytest.raises(DTypeError, match="is neither floating-point nor complex"):
        ad.grad(y, [i])
    with pytest.raises(ADError, match=rf"grad: takes {front.kind} tensors, got a ndarray"):
        ad.grad(y, [np.ones(2)])
    for call in (
        lambda: ad.grad(y, x),
        lambda: ad.jvp([y], x, [x]),
        lambda: ad.vjp(x, [x], [x]),
    ):
        with pytest.raises(ADError, match=rf"takes a list of {front.kind} tensors, got a single "):
            call()
    with pytest.raises(ADError, match=r"jvp: takes a list of tangents, got a single one; write \["):
        ad.jvp([y], [x], x)
    with pytest.raises(ADError, match=rf"jvp: takes {front.kind} tensors, got a float"):
        ad.jvp([1.0], [x], [x])
    with pytest.raises(ADError, match="vjp: 2 cotangents for 1 value"):
        ad.vjp([y], [x], [1.0, 1.0])
    with pytest.raises(ShapeError, match=r"vjp: the cotangent of f64\[\] must have its type"):
        ad.vjp([y], [x], [[1.0]])
    with pytest.raises(ShapeError, match=r"jvp: the tangent of f64\[2\] must have its type"):
        ad.jvp([y], [x], [np.ones(2, "f4")])
    with pytest.raises(DTypeError, match=r"vjp: the cotangent of f64\[\]: c128\[\] does not fit"):
        ad.vjp([y], [x], [1j])
    with pytest.raises(ADError, match=r"the tangent of f64\[2\] is a str, not an array"):
        ad.jvp([y], [x], ["x"])
