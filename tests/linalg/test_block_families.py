"""The families of blocks and of functions of Hermitian matrices keep the contract of ops."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro as tn
from tenferro.linalg.matrix_functions import HermitianFunction
from tenferro.linalg.subspaces import BlockCoupled, BlockSylvester, EighBlock, SvdBlock
from tenferro.linalg.svd import Svd
from tenferro.linalg.svd_truncate import SvdTruncated
from tenferro.ops.extension import ExtensionOp
from tenferro.testing import check_extension
from tenferro_xla.lowering.linalg import LOWERINGS
from tests.linalg.derivative_checks import Array, gaussian, hermitian

pytestmark = pytest.mark.exhaustive


def of_eigenvectors(*others: Array) -> list[Array]:
    a = hermitian([0.5, 2], "f")
    return [a, *np.linalg.eigh(a), *others]


def of_triplets() -> list[Array]:
    a = gaussian((4, 3), "f", 1)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return [a, s, u, vh]


def coupled() -> list[Array]:
    d, *sides = (gaussian(shape, "f", 1) / 9 for shape in [(4, 3), (4, 2), (3, 2)])
    p, s, qh = np.linalg.svd(d, full_matrices=False)
    return [np.diag([3.0, 4.0]), d, *sides, p, s, qh.T]


CONTRACTS: list[tuple[ExtensionOp, list[Array], list[int]]] = [
    (HermitianFunction("exp"), of_eigenvectors(), [0]),
    (
        HermitianFunction("inverse", None, 2),
        of_eigenvectors(*gaussian((2, 2, 2), "f", 3)),
        [0, 3, 4],
    ),
    (EighBlock(1), of_eigenvectors(), [0]),
    (EighBlock(1, largest=True), of_eigenvectors(), [0]),
    (SvdBlock(1), of_triplets(), [0]),
    (SvdBlock(None), of_triplets(), []),
    (SvdTruncated(1), [*of_triplets(), np.array(1)], [0]),
    (BlockSylvester(1), [np.diag([1.0, 2]), np.eye(3), gaussian((2, 3), "f", 1)], [0, 1, 2]),
    (BlockCoupled(), coupled(), [0, 1, 2, 3]),
    (Svd(), of_triplets()[:1], []),
]


@pytest.mark.parametrize(("op", "inputs", "wrt"), CONTRACTS, ids=[str(op) for op, *_ in CONTRACTS])
def test_the_contract_of_extension_ops_is_kept(
    op: ExtensionOp, inputs: list[Array], wrt: list[int]
) -> None:
    check_extension(
        op,
        inputs=inputs,
        wrt=wrt,
        rules=tn.linalg.ad_rules(),
        register_runtime=tn.linalg.register_runtime,
        register_xla=lambda registry: [
            registry.register(each.FAMILY_ID, lowering) for each, lowering in LOWERINGS.items()
        ],
        skip={"processes"},
    )
