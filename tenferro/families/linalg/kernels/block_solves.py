"""Linear systems of block derivatives, for coefficients that need not be diagonal."""

from __future__ import annotations

import numpy as np

from tenferro.exec_ir import Array
from tenferro.families.linalg.block_solves import BlockCoupled, BlockSylvester
from tenferro.families.linalg.kernels.batches import over_batch


def sylvester(op: BlockSylvester, c: Array, b: Array, right: Array) -> list[Array]:
    """The solution of C X + sign · X B = R, as one system of all entries of X."""

    def one(c: Array, b: Array, right: Array) -> tuple[Array]:
        left = np.kron(c, np.eye(len(b))) + op.sign * np.kron(np.eye(len(c)), b.T)
        return (np.linalg.solve(left, right.reshape(-1, 1)).reshape(right.shape),)

    return over_batch(one, [c, b, right], [2, 2, 2], [np.empty_like(right)])


def coupled(
    op: BlockCoupled, b: Array, d: Array, right: Array, other: Array, *factors: Array
) -> list[Array]:
    """The solution of X B − D Y = R, Y B − Dᴴ X = S, as one system of all entries of X and Y."""

    def one(b: Array, d: Array, right: Array, other: Array) -> tuple[Array, Array]:
        m, n = d.shape
        middle = np.block([[np.zeros((m, m)), d], [np.conj(d.T), np.zeros((n, n))]])
        left = np.kron(np.eye(m + n), b.T) - np.kron(middle, np.eye(len(b)))
        both = np.concatenate([right, other])
        solution = np.linalg.solve(left, both.reshape(-1, 1)).reshape(both.shape)
        return solution[:m], solution[m:]

    outputs = [np.empty_like(right), np.empty_like(other)]
    return over_batch(one, [b, d, right, other], [2, 2, 2, 2], outputs)
