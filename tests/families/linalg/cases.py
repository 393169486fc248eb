"""The cases of linear algebra for the test of surfaces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenferro.extension import apply
from tenferro.families import linalg
from tests.families.cases import Array, Case, regular
from tests.families.linalg.block_cases import block_cases


def dominant(arrays: list[Array]) -> list[Array]:
    """The same with 5 added to the second."""
    return [array + 5 * (place == 1) for place, array in enumerate(arrays)]


def positive(arrays: list[Array]) -> list[Array]:
    """The same with a positive definite first matrix."""
    a, *others = arrays
    return [a @ a.T + np.eye(len(a)), *others]


def with_tolerance(arrays: list[Array]) -> list[Array]:
    """A regular matrix, and a tolerance that leaves it its rank."""
    return [*regular(arrays[:1]), np.array(1e-3)]


def decomposed(arrays: list[Array]) -> list[Array]:
    """Eigenvalues and eigenvectors first."""
    _, a, *others = arrays
    w, v = np.linalg.eigh(a)
    return [w, v, *others]


def diagonalized(arrays: list[Array]) -> list[Array]:
    """Eigenvalues, eigenvectors and their inverse first."""
    w, a, _, *others = arrays
    v = a + 3 * np.eye(len(a))
    return [w, v, np.linalg.inv(v), *others]


def contracting(arrays: list[Array]) -> list[Array]:
    """The same divided by 4."""
    return [array / 4 for array in arrays]


def svd_of(arrays: list[Array]) -> list[Array]:
    """Singular values and vectors first."""
    _, a, _, *others = arrays
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return [s, u, vh, *others]


def qr_of(arrays: list[Array]) -> list[Array]:
    """QR factors first."""
    _, a, *others = arrays
    q, r = np.linalg.qr(a)
    return [r, q, *others]


@dataclass(frozen=True)
class Factored(Case):
    """An op of a matrix, its LU factors and further inputs, with the factors computed from it."""

    def reference(self, arrays: list[Array]) -> Array:
        packed, _, permutation = linalg.Lu().eager_execute(arrays[:1])
        inputs = [arrays[0], packed, permutation, *arrays[1:]]
        return np.asarray(self.op.eager_execute(inputs)[0])

    def function(self, *inputs: Any) -> Any:
        packed, _, permutation = apply(linalg.Lu(), inputs[0])
        return apply(self.op, inputs[0], packed, permutation, *inputs[1:])


@dataclass(frozen=True)
class Permuted(Case):
    """The first column of a matrix, times the numbers in the permutation of its rows."""

    def reference(self, arrays: list[Array]) -> Array:
        _, _, permutation = linalg.Lu().eager_execute(arrays)
        return np.asarray(permutation * arrays[0][:, 0])

    def function(self, *inputs: Any) -> Any:
        _, pivots, _ = apply(linalg.Lu(), inputs[0])
        return apply(self.op, pivots) * inputs[0][:, 0]


def linalg_cases() -> list[Case]:
    """The cases, of which one runs everywhere in the usual tests."""
    square, pair = (("m", "m"),), (("m", "m"), ("m", "n"))
    cases = [
        Case(linalg.TriangularSolve(), (("m", "m"), ("m", "n")), into=regular),
        Case(linalg.Cholesky(), (("m", "m"),), into=positive),
        Case(linalg.Eigh(), (("m", "m"),), into=regular),
        Case(linalg.Eigh.jvp_op(), (("m",), ("m", "m"), ("m", "m")), into=decomposed, brief=True),
        Case(
            linalg.Eigh.vjp_op(),
            (("m",), ("m", "m"), ("m",), ("m", "m")),
            into=decomposed,
            brief=True,
        ),
        Case(linalg.Lu(), square, into=regular),
        Case(linalg.TridiagonalSolve(), (("m",), ("m",), ("m",), ("m", "n")), into=dominant),
        Permuted(linalg.PivotsToPermutation(), square),
        Factored(linalg.LuSolve(), pair, into=regular),
        Factored(linalg.Inverse(), square, into=regular),
        Factored(linalg.Determinant(), square, into=regular),
        Factored(linalg.Adjugate(1), (*square, *square), into=regular),
        Case(linalg.DeterminantPolynomial(), square, lowering_needs=LATE, into=regular),
        Case(linalg.Pinv(), square, into=regular),
        Case(linalg.Pinv(given=True), (*square, ()), into=with_tolerance, active=1),
        *factor_cases(),
        *block_cases(),
        *general_cases(),
    ]
    return [replace(case, everywhere=case.op == linalg.Cholesky()) for case in cases]


def general_cases() -> list[Case]:
    square = ("m", "m")
    return [
        Case(linalg.Eig(), (square,), into=regular),
        Case(linalg.Eig.jvp_op(), (("m",), square, square, square), into=diagonalized, brief=True),
        Case(linalg.MatrixFunction("sqrt"), (square,), into=positive),
        Case(linalg.Frechet("sqrt"), (square, square), into=positive, brief=True),
        Case(
            linalg.Sylvester(discrete=True),
            (square, ("n", "n"), ("m", "n")),
            into=contracting,
        ),
        Case(linalg.Schur(), (square,), has_derivative=False),
        Case(
            linalg.Hessenberg(),
            (square,),
            lowering_needs=LATE,
            has_derivative=False,
        ),
    ]


LATE = "give the inputs constant sizes"


def factor_cases() -> list[Case]:
    tall, square = ("k", "m"), ("m", "m")
    svd, qr = (("m",), tall, square), (square, tall)

    def derivative(op: Any, shapes: tuple[tuple[str, ...], ...], into: Any) -> Case:
        return Case(op, shapes, lowering_needs=LATE, into=into, brief=True)

    return [
        Case(linalg.Svd(), (tall,)),
        derivative(linalg.Svd.jvp_op(), (*svd, tall), svd_of),
        derivative(linalg.Svd.vjp_op(), (*svd, *svd), svd_of),
        Case(linalg.Qr(), (tall,), lowering_needs=LATE),
        derivative(linalg.Qr.jvp_op(), (*qr, tall), qr_of),
        derivative(linalg.Qr.vjp_op(), (*qr, *qr), qr_of),
    ]
