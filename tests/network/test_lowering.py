"""Networks as core ops: gradients are right, and linear in the number of sites."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

import tenferro as tn
from tenferro.ir import ExecProgram
from tenferro.ir import NumpyArray as Array
from tenferro.ops import DotGeneral
from tests.in_jax import in_jax
from tests.networks import expressions, random_array

GENERATOR = np.random.default_rng(0)
A, B, C = (GENERATOR.normal(size=shape) for shape in ((2, 3), (3, 4), (4, 5)))
CHAIN = "ij,jk,kl->il"


@settings(max_examples=20)
@given(expressions())
def test_gradients_are_jaxs(case: tuple[str, list[tuple[int, ...]]]) -> None:
    text, shapes = case
    operands = [random_array(GENERATOR, shape, "float64") for shape in shapes]
    argnums = tuple(range(len(operands)))

    def loss(*values: object) -> tn.Tensor:
        return tn.sum(tn.sin(tn.einsum(text, *values)))  # type: ignore[no-any-return]

    ours = tn.grad(loss, argnums=argnums)(*operands)
    peer = jax.grad(lambda *v: jnp.sum(jnp.sin(jnp.einsum(text, *v))), argnums=argnums)
    expected = in_jax(peer, *operands)
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def mps_inner_product(sites: int, bond: int = 3) -> tuple[str, list[tuple[int, ...]]]:
    """⟨ψ|ψ⟩ of a matrix product state, as integer labels in letters from another alphabet."""
    upper = [chr(0x400 + i) for i in range(sites + 1)]
    lower = [chr(0x600 + i) for i in range(sites + 1)]
    physical = [chr(0x4E00 + i) for i in range(sites)]
    terms, shapes = [], []
    for site in range(sites):
        for bonds in (upper, lower):
            left = bonds[site] if site else ""
            right = bonds[site + 1] if site < sites - 1 else ""
            terms.append(left + physical[site] + right)
            shapes.append((bond,) * len(left) + (2,) + (bond,) * len(right))
    return ",".join(terms) + "->", shapes


def dot_flops(program: ExecProgram) -> int:
    metas = program.slot_metas()
    total = 0
    for step in program.instructions:
        if isinstance(step.op, DotGeneral):
            lhs = metas[step.input_slots[0]]
            assert lhs is not None
            shape, out = lhs.static_shape or (), step.output_metas[0].static_shape or ()
            inner = np.prod([shape[axis] for axis in step.op.lhs_contract], dtype=np.int64)
            total += 2 * int(np.prod(out, dtype=np.int64)) * int(inner)
    return total


@pytest.mark.exhaustive
def test_the_gradient_of_a_chain_is_linear_in_its_length_and_three_times_the_work() -> None:
    counts = {}
    for sites in (8, 16, 32, 64):
        text, shapes = mps_inner_product(sites)
        specs = [tn.TensorSpec(shape) for shape in shapes]

        def inner(*values: object, text: str = text) -> tn.TracedTensor:
            return tn.einsum(text, *values, optimize=False)  # type: ignore[no-any-return]

        forward = tn.make_program(inner, *specs)
        argnums = tuple(range(len(specs)))
        both = tn.make_program(tn.value_and_grad(inner, argnums=argnums), *specs)
        counts[sites] = len(both.exec_program.instructions)
        assert dot_flops(both.exec_program) <= 3.05 * dot_flops(forward.exec_program)
    assert counts[64] - counts[32] == 2 * (counts[32] - counts[16])


def test_complex_gradients_are_conjugates_of_jaxs() -> None:
    operands = [random_array(GENERATOR, x.shape, "complex128") for x in (A, B, C)]

    def norm(*values: Array) -> tn.Tensor:
        return tn.sum(tn.abs(tn.einsum(CHAIN, *values)) ** 2)  # type: ignore[no-any-return]

    ours = tn.grad(norm, argnums=(0, 1, 2))(*operands)
    peer = jax.grad(lambda *v: jnp.sum(jnp.abs(jnp.einsum(CHAIN, *v)) ** 2), argnums=(0, 1, 2))
    expected = in_jax(peer, *operands)
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one, np.conj(other), rtol=1e-12, atol=1e-12)
