"""`tn.lax`: the signatures of `jax.lax`."""

from __future__ import annotations

from typing import assert_type

import tenferro as tn
from tenferro.ir import AnyTensor

X = tn.Tensor([[1.0, 2.0], [3.0, 4.0]])


def calls() -> None:
    assert_type(tn.lax.exp(X), AnyTensor)
    assert_type(tn.lax.add(X, 1.0), AnyTensor)
    assert_type(tn.lax.select(X, X, X), AnyTensor)
    assert_type(tn.lax.transpose(X, (1, 0)), AnyTensor)
    assert_type(tn.lax.reduce_sum(X, axes=(0,)), AnyTensor)
    assert_type(tn.lax.dot_general(X, X, (((1,), (0,)), ((), ()))), AnyTensor)
    assert_type(tn.lax.concatenate([X, X], 0), AnyTensor)
    assert_type(tn.lax.convert(X, dtype="f32"), AnyTensor)
    assert_type(tn.lax.dynamic_slice(X, (0, 1), (1, 1)), AnyTensor)
    assert_type(tn.lax.sort(X), AnyTensor)
    assert_type(tn.lax.sort([X, X]), tuple[AnyTensor, ...])
    assert_type(tn.lax.iota("i32", "n"), AnyTensor)


def refused() -> None:
    tn.lax.exp(X, X)  # E: Too many positional arguments
    tn.lax.transpose(X)  # E: Missing positional argument "permutation"
    tn.lax.transpose(X, perm=(1, 0))  # E: Unexpected keyword argument "perm"
    tn.lax.reduce_sum(X, 0)  # E: has incompatible type "int"
    tn.lax.add(X, tn.lax.add)  # E: has incompatible type
    tn.lax.nothing(X)  # E: Module has no attribute "nothing"
