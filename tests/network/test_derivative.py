"""Derivatives of networks of late sizes: one op, of any order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro import network

GENERATOR = np.random.default_rng(0)
A, B, C = (GENERATOR.normal(size=shape) for shape in ((2, 3), (3, 4), (4, 5)))
CHAIN = "ij,jk,kl->il"
SPECS = (tn.TensorSpec(("n", 3)), tn.TensorSpec((3, "m")), tn.TensorSpec(("m", 5)))
BINDING = {"a": A, "b": B, "c": C}


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("executor", ["xla", "numpy"])
def test_a_network_of_late_sizes_is_differentiated_to_any_order(executor: str) -> None:
    def loss(a: object, b: object, c: object) -> tn.TracedTensor:
        return tn.sum(tn.einsum(CHAIN, a, b, c) ** 2)  # type: ignore[no-any-return]

    programs = [
        tn.make_program(tn.grad(loss, argnums=(0, 1, 2)), *SPECS),
        tn.make_program(lambda a, b, c: tn.hvp(lambda x: loss(a, x, c), (b,), (b,)), *SPECS),
        tn.make_program(tn.grad(lambda a, b, c: tn.sum(tn.grad(loss)(a, b, c) ** 2), 1), *SPECS),
    ]
    with jax.enable_x64(True):

        def peer(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
            return jnp.sum(jnp.einsum(CHAIN, a, b, c) ** 2)

        expected = [
            jax.grad(peer, argnums=(0, 1, 2))(A, B, C),
            (jax.jvp(jax.grad(peer, 1), (A, B, C), (A * 0, B, C * 0))[1],),
            (jax.grad(lambda a, b, c: jnp.sum(jax.grad(peer)(a, b, c) ** 2), 1)(A, B, C),),
        ]
    run = _runner(executor)
    for program, wanted in zip(programs, expected, strict=True):
        for one, other in zip(run(program), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def _runner(executor: str):  # type: ignore[no-untyped-def]
    if executor == "xla":
        xla = txla.XlaExecutor()
        return lambda program: xla.run(program, BINDING)
    native = tn.GraphExecutor(tn.NumpyBackend())
    native.register_extension(network.register_runtime)
    return lambda program: native.run(program, BINDING)


def test_gradients_of_all_operands_are_one_op() -> None:
    program = tn.make_program(
        tn.grad(lambda a, b, c: tn.sum(tn.einsum(CHAIN, a, b, c)), argnums=(0, 1, 2)), *SPECS
    )
    families = [
        step.op.family_id
        for step in program.exec_program.instructions
        if isinstance(step.op, tn.extension.Extension)
    ]
    assert families == ["tenferro-einsum.derivative.v1"]
