"""vmap: a contraction of batches is one contraction with one more label."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_ext_tropical as tropical

PACKAGES = (tropical.PACKAGE,)
RNG = np.random.default_rng(0)
A, B = RNG.integers(-2, 3, (3, 2, 4)).astype(float), RNG.integers(-2, 3, (3, 4, 5)).astype(float)


def product(a: Any, b: Any) -> Any:
    return tropical.einsum("ij,jk->ik", a, b)


@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0)])
def test_a_batch_is_one_contraction(in_axes: Any, ctx: Any) -> None:
    operands = [x if axis == 0 else x[0] for x, axis in zip((A, B), in_axes, strict=True)]
    rows = [
        [x[entry] if axis == 0 else x for x, axis in zip(operands, in_axes, strict=True)]
        for entry in range(3)
    ]
    batched = tn.vmap(product, in_axes=in_axes, packages=PACKAGES)
    np.testing.assert_array_equal(batched(*operands), [np.asarray(product(*row)) for row in rows])
    gradient = tn.grad(lambda a, b: tn.sum(product(a, b) ** 2), (0, 1), ad_context=ctx)
    one = tn.jit(gradient, executor="numpy", packages=PACKAGES)
    each = tn.jit(
        tn.vmap(gradient, in_axes=in_axes, packages=PACKAGES), executor="numpy", packages=PACKAGES
    )
    for place, found in enumerate(each(*operands)):
        np.testing.assert_array_equal(found, [np.asarray(one(*row)[place]) for row in rows])


def test_what_is_the_same_for_all_entries_is_not_repeated() -> None:
    batched = tn.vmap(product, in_axes=(0, None), packages=PACKAGES)
    program = tn.make_program(batched, tn.TensorSpec(("n", 2, 4)), tn.TensorSpec((4, 5)))
    (step,) = program.exec_program.instructions
    assert step.op.op.subscripts == "abc,cd->abd"


def test_xla_and_numpy_agree_on_batches(executors: Any) -> None:
    batched = tn.vmap(product, packages=PACKAGES)
    program = tn.make_program(batched, tn.TensorSpec(A.shape), tn.TensorSpec(B.shape))
    results = [executor.run(program, {"a": A, "b": B})[0] for executor in executors.values()]
    for result in results[1:]:
        np.testing.assert_array_equal(np.asarray(result), np.asarray(results[0]))
