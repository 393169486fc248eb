"""The cases of linear algebra for the test of surfaces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenferro.extension import apply
from tenferro.linalg.cholesky import Cholesky
from tenferro.linalg.determinant import Adjugate, Determinant, DeterminantPolynomial
from tenferro.linalg.eig import Eig
from tenferro.linalg.eigh import Eigh
from tenferro.linalg.lu import Lu, PivotsToPermutation
from tenferro.linalg.matrix_functions import Frechet, MatrixFunction
from tenferro.linalg.pinv import Pinv
from tenferro.linalg.qr import Qr, QrPivots
from tenferro.linalg.schur import Hessenberg, Schur
from tenferro.linalg.solve import Inverse, LuSolve
from tenferro.linalg.svd import Svd
from tenferro.linalg.sylvester import Sylvester
from tenferro.linalg.triangular_solve import TriangularSolve, TridiagonalSolve
from tests.linalg.block_cases import block_cases
from tests.ops.extension.cases import Array, Case, regular


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
        packed, _, permutation = Lu().eager_execute(arrays[:1])
        inputs = [arrays[0], packed, permutation, *arrays[1:]]
        return np.asarray(self.op.eager_execute(inputs)[0])

    def function(self, *inputs: Any) -> Any:
        packed, _, permutation = apply(Lu(), inputs[0])
        return apply(self.op, inputs[0], packed, permutation, *inputs[1:])


@dataclass(frozen=True)
class Permuted(Case):
    """The first column of a matrix, times the numbers in the permutation of its rows."""

    def reference(self, arrays: list[Array]) -> Array:
        _, _, permutation = Lu().eager_execute(arrays)
        return np.asarray(permutation * arrays[0][:, 0])

    def function(self, *inputs: Any) -> Any:
        _, pivots, _ = apply(Lu(), inputs[0])
        return apply(self.op, pivots) * inputs[0][:, 0]


def linalg_cases() -> list[Case]:
    """The cases, of which one runs everywhere in the usual tests."""
    square, pair = (("m", "m"),), (("m", "m"), ("m", "n"))
    cases = [
        Case(TriangularSolve(), (("m", "m"), ("m", "n")), into=regular),
        Case(Cholesky(), (("m", "m"),), into=positive),
        Case(Eigh(), (("m", "m"),), into=regular),
        Case(Eigh.jvp_op(), (("m",), ("m", "m"), ("m", "m")), into=decomposed, brief=True),
        Case(
            Eigh.vjp_op(),
            (("m",), ("m", "m"), ("m",), ("m", "m")),
            into=decomposed,
            brief=True,
        ),
        Case(Lu(), square, into=regular),
        Case(TridiagonalSolve(), (("m",), ("m",), ("m",), ("m", "n")), into=dominant),
        Permuted(PivotsToPermutation(), square),
        Factored(LuSolve(), pair, into=regular),
        Factored(Inverse(), square, into=regular),
        Factored(Determinant(), square, into=regular),
        Factored(Adjugate(1), (*square, *square), into=regular),
        Case(DeterminantPolynomial(), square, lowering_needs=LATE, into=regular),
        Case(Pinv(), square, into=regular),
        Case(Pinv(given=True), (*square, ()), into=with_tolerance, active=1),
        *factor_cases(),
        *block_cases(),
        *general_cases(),
    ]
    return [replace(case, everywhere=case.op == Cholesky()) for case in cases]


def general_cases() -> list[Case]:
    square = ("m", "m")
    return [
        Case(Eig(), (square,), into=regular),
        Case(Eig.jvp_op(), (("m",), square, square, square), into=diagonalized, brief=True),
        Case(MatrixFunction("sqrt"), (square,), into=positive),
        Case(Frechet("sqrt"), (square, square), into=positive, brief=True),
        Case(
            Sylvester(discrete=True),
            (square, ("n", "n"), ("m", "n")),
            into=contracting,
        ),
        Case(Schur(), (square,), has_derivative=False),
        Case(QrPivots(), (square,), lowering_needs=LATE, is_portable=False, has_derivative=False),
        Case(
            Hessenberg(),
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
        Case(Svd(), (tall,)),
        derivative(Svd.jvp_op(), (*svd, tall), svd_of),
        derivative(Svd.vjp_op(), (*svd, *svd), svd_of),
        Case(Qr(), (tall,), lowering_needs=LATE),
        derivative(Qr.jvp_op(), (*qr, tall), qr_of),
        derivative(Qr.vjp_op(), (*qr, *qr), qr_of),
    ]
