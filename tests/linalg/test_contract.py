"""The families of factors hold the contract of extension ops, for matrices of all proportions."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro as tn
from tenferro.linalg.eigh import Eigh
from tenferro.linalg.pinv import Pinv
from tenferro.linalg.qr import Qr
from tenferro.linalg.svd import Svd
from tenferro.ops.extension import ExtensionOp
from tenferro.testing import check_extension
from tests.linalg.matrices import Array

pytestmark = pytest.mark.exhaustive

RNG = np.random.default_rng(0)


def cases(shape: tuple[int, ...]) -> list[tuple[ExtensionOp, list[Array]]]:
    a, da = RNG.normal(size=shape), RNG.normal(size=shape)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    q, r = np.linalg.qr(a)
    cts = [RNG.normal(size=x.shape) for x in (s, u, vh)]
    return [
        (Svd(), [a]),
        (Svd(vectors=False), [a]),
        (Svd.jvp_op(), [s, u, vh, da]),
        (Svd.vjp_op(), [s, u, vh, *cts]),
        (Qr(), [a]),
        (Qr("r"), [a]),
        (Qr.jvp_op(), [r, q, da]),
        (Qr.vjp_op(), [r, q, RNG.normal(size=r.shape), RNG.normal(size=q.shape)]),
        (Pinv(), [a]),
        (Pinv(given=True), [a, np.full(a.shape[:-2], 1e-3)]),
    ]


DERIVATIVES = (Svd.jvp_op, Svd.vjp_op, Qr.jvp_op, Qr.vjp_op)
CASES = cases((2, 3, 2)) + [case for case in cases((2, 3)) if isinstance(case[0], DERIVATIVES)]
IDS = [f"{type(op).__name__}-{number}" for number, (op, _) in enumerate(CASES)]


@pytest.mark.parametrize(("op", "inputs"), CASES, ids=IDS)
def test_a_family_holds_the_contract(op: ExtensionOp, inputs: list[Array]) -> None:
    check_extension(op, inputs=inputs, rules=tn.linalg.ad_rules())


@pytest.mark.parametrize("op", [Eigh.jvp_op(), Eigh.vjp_op()])
def test_the_derivatives_of_eigh_hold_the_contract(op: ExtensionOp) -> None:
    x = RNG.normal(size=(2, 3, 3))
    w, v = np.linalg.eigh(x + x.swapaxes(-1, -2))
    inputs = [x] if isinstance(op, Eigh.jvp_op) else [RNG.normal(size=w.shape), x]
    check_extension(op, inputs=[w, v, *inputs], rules=tn.linalg.ad_rules())
