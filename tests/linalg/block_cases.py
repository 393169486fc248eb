"""The cases of blocks and functions of Hermitian matrices for the test of surfaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tenferro as tn
from tenferro.extension import apply
from tenferro.linalg.eigh import Eigh
from tenferro.linalg.matrix_functions import HermitianFunction
from tenferro.linalg.subspaces import BlockCoupled, BlockSylvester, EighBlock, SvdBlock
from tenferro.linalg.svd import Svd
from tenferro.linalg.svd_truncate import SvdTruncated
from tests.ops.extension.cases import Array, Case, regular


@dataclass(frozen=True)
class Composed(Case):
    """An op in a function that computes its inputs, some of which are not free."""

    made: Callable[..., Any] = apply

    def reference(self, arrays: list[Array]) -> Array:
        return np.asarray(self.made(*arrays))

    def function(self, *inputs: Any) -> Any:
        return self.made(*inputs)


def hermitian_function(a: Any, e: Any) -> Any:
    return apply(HermitianFunction("exp", None, 1), a, *apply(Eigh(), a), e)


def eigh_block(a: Any) -> Any:
    v, b, _, _ = apply(EighBlock(1), a, *apply(Eigh(), a))
    return v @ b @ v.mT


def svd_block(a: Any) -> Any:
    u, b, v = apply(SvdBlock(1), a, *apply(Svd(), a))
    return u @ b @ v.mT


def svd_truncated(a: Any) -> Any:
    rank = tn.astype(tn.sum(a - a) + 1, "int64")
    u, b, v = apply(SvdTruncated(), a, *apply(Svd(), a), rank)
    return u @ b @ v.mT


def block_sylvester(c: Any, b: Any, right: Any) -> Any:
    return apply(BlockSylvester(), tn.diag(c + 3), tn.diag(b - 3), right)


def block_coupled(b: Any, d: Any, right: Any, other: Any) -> Any:
    values, p, qh = apply(Svd(), d)
    block = tn.diag(b + 9)
    return apply(BlockCoupled(), block, d, right, other, p, values, qh.mT)[0]


def block_cases() -> list[Case]:
    square = ("m", "m")
    coupled = (("n",), ("k", "m"), ("k", "n"), ("m", "n"))
    return [
        Composed(HermitianFunction("exp", None, 1), (square, square), made=hermitian_function),
        Composed(EighBlock(1), (square,), into=regular, made=eigh_block),
        Composed(BlockSylvester(), (("m",), ("n",), ("m", "n")), made=block_sylvester),
        Composed(BlockCoupled(), coupled, made=block_coupled),
        Composed(SvdBlock(1), (("k", "m"),), made=svd_block),
        Composed(SvdTruncated(), (("k", "m"),), made=svd_truncated),
    ]
