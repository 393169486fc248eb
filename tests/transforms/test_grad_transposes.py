"""Transposes of linear functions."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADError, DTypeError

A = np.arange(6.0).reshape(2, 3)
SPEC = tn.TensorSpec((3,))


def test_the_transpose_of_a_matrix() -> None:
    transposed = tn.linear_transpose(lambda x, y: (A @ x, 2 * y), SPEC, tn.TensorSpec(()))
    ct = np.array([1.0, 10.0])
    x, y = transposed((ct, 1.0))
    np.testing.assert_allclose(x, A.T @ ct)
    assert y.item() == 2.0
    assert tn.linear_transpose(lambda x, y: A @ x, SPEC, 1.0)(ct)[1].item() == 0.0
    inside = tn.jit(lambda a, ct: tn.linear_transpose(lambda x: a @ x, SPEC)(ct), executor="numpy")(
        A, ct
    )
    np.testing.assert_allclose(inside[0], A.T @ ct)
    batch = tn.vmap(tn.linear_transpose(lambda x: A @ x, SPEC))(np.eye(2))
    np.testing.assert_allclose(batch[0], A)


def test_it_is_the_adjoint_for_complex_numbers() -> None:
    (ct,) = tn.linear_transpose(lambda z: (1 + 2j) * z, tn.TensorSpec((), "complex128"))(1 + 0j)
    assert ct.item() == 1 - 2j


def test_what_is_not_linear_is_refused() -> None:
    with pytest.raises(ADError, match=r"^linear_transpose: the function is not linear in x; take"):
        tn.linear_transpose(lambda x: x * x, 1.0)
    with pytest.raises(DTypeError, match=r"^derivative by x"):
        tn.linear_transpose(lambda x: x, 1)
