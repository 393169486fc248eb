"""Functions of JAX with derivative rules, read by `from_jax`."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend import core

import tenferro as tn
from tenferro.errors import ADRuleError, BackendFailureError, ExecutorError
from tenferro_xla import export, from_jax, to_jax
from tests.tenferro_xla.interop.jax_primitives import any_p

SCALAR = tn.TensorSpec(())


@jax.custom_vjp
def scaled(x: Any, n: Any, z: Any) -> Any:
    return jnp.sin(x) * n * z


scaled.defvjp(
    lambda x, n, z: (scaled(x, n, z), (x, n, z)),
    lambda kept, ct: (
        3 * (ct * kept[2]).real * jnp.cos(kept[0]) * kept[1],
        None,
        ct * jnp.sin(kept[0]) * kept[1] * 1j,
    ),
)


def network(w: Any, x: Any) -> Any:
    def step(h: Any, _: Any) -> Any:
        return jax.nn.relu(w @ h) + 0.1 * jax.nn.silu(h), jnp.sum(h)

    h, sums = jax.lax.scan(step, x, None, length=3)
    return jnp.sum(h**2) + jnp.sum(sums)


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize("at", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("f", [jax.nn.relu, jax.nn.relu6, jax.nn.leaky_relu, jnp.sinc])
def test_derivatives_are_those_of_jax_also_at_kinks(f: Callable[..., Any], at: float) -> None:
    program = from_jax(f, SCALAR)
    with jax.enable_x64(True):
        expected = [float(jax.grad(f)(at)), float(jax.grad(jax.grad(f))(at))]
    found = [tn.grad(program)(at).item(), tn.grad(tn.grad(program))(at).item()]
    np.testing.assert_allclose(found, expected, atol=1e-13)
    assert tn.jvp(program, (at,), (1.0,))[1].item() == pytest.approx(expected[0], abs=1e-13)


def test_rules_in_loops_are_kept() -> None:
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(3, 3)), rng.normal(size=3)
    w[0] = 0  # relu at 0 in every round
    program = from_jax(network, w, x)
    with jax.enable_x64(True):
        expected = jax.grad(network, (0, 1))(jnp.asarray(w), jnp.asarray(x))
    for ours, theirs in zip(tn.grad(program, (0, 1))(w, x), expected, strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, atol=1e-13)


def test_a_rule_for_cotangents_is_called_in_the_convention_of_jax() -> None:
    def f(x: Any, z: Any) -> Any:
        return jnp.abs(scaled(x, 2, z)) ** 2

    program = from_jax(f, SCALAR, tn.TensorSpec((), "complex128"))
    with jax.enable_x64(True):
        by_x, by_z = jax.grad(f, (0, 1))(0.5, 1 + 2j)
    ours = tn.grad(program, (0, 1))(0.5, 1 + 2j)
    assert ours[0].item() == pytest.approx(by_x.real)
    assert ours[1].item() == pytest.approx(np.conj(by_z))
    with pytest.raises(ADRuleError, match="has no forward mode"):
        tn.jvp(lambda x: program(x, 1 + 2j), (0.5,), (1.0,))


def test_a_batch_of_a_function_with_a_rule_is_read() -> None:
    batched = jax.vmap(lambda x, z: scaled(x, 3, z).real, (0, None))
    program = from_jax(batched, tn.TensorSpec((2,)), SCALAR)
    gradient = tn.grad(lambda x: tn.sum(program(x, 2.0)))(np.ones(2))
    np.testing.assert_allclose(np.asarray(gradient), 18 * np.cos(np.ones(2)))


def test_rules_for_batches_are_kept() -> None:
    @jax.custom_batching.custom_vmap
    def doubled(x: Any) -> Any:
        return 2 * x

    doubled.def_vmap(lambda size, batched, x: (3 * x, True))
    program = from_jax(lambda x: doubled(x) + any_p.bind(x > 1), SCALAR)
    batch = np.array([0.5, 2.0, 0.0])
    np.testing.assert_allclose(tn.vmap(program)(batch), 3 * batch + 1)
    np.testing.assert_allclose([program(x).item() for x in batch], 2 * batch + [0, 1, 0])
    assert tn.grad(program)(0.5).item() == 2.0


def test_a_branch_on_any_entry_of_a_batch_is_one_branch() -> None:
    def checked(x: Any) -> Any:
        def fail(x: Any) -> Any:
            raise ValueError("too large")

        like = jax.ShapeDtypeStruct((), "float64")
        return jax.lax.cond(any_p.bind(x > 3), lambda: jax.pure_callback(fail, like, x), lambda: x)

    batched = tn.jit(tn.vmap(from_jax(checked, SCALAR)), executor="numpy")
    np.testing.assert_allclose(batched(np.array([1.0, 2.0])), [1.0, 2.0])
    with pytest.raises(BackendFailureError, match="too large"):
        batched(np.array([1.0, 4.0]))


def test_a_derivative_is_asked_for_by_what_moves_alone() -> None:
    moving: list[list[bool]] = []

    @jax.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return x * y

    def fwd(x: Any, y: Any) -> Any:
        moving.append([x.perturbed, y.perturbed])
        return x.value * y.value, (x.value, y.value)

    f.defvjp(fwd, lambda kept, ct: (7 * ct * kept[1], ct * kept[0]), symbolic_zeros=True)
    assert tn.grad(from_jax(f, SCALAR, SCALAR))(2.0, 3.0).item() == 21.0
    assert moving == [[True, False]]


def test_a_saved_program_has_the_derivatives_of_its_ops() -> None:
    program = tn.loads(tn.dumps(from_jax(jax.nn.relu, SCALAR)))
    assert tn.grad(program)(0.0).item() == 0.5


def test_jax_documents_what_equations_are_called_with() -> None:
    """`jaxprs.custom` makes a function of one equation with these names of `jax.extend.core`."""
    closed = jax.make_jaxpr(jax.nn.relu)(1.0)
    (equation,) = closed.eqns[:1]
    debug_info = equation.params["call_jaxpr"].jaxpr.debug_info
    jaxpr = core.Jaxpr((), equation.invars, equation.outvars, [equation], debug_info=debug_info)
    assert core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, ()))(2.0) == [2.0]


def test_an_artifact_does_not_hold_a_callback() -> None:
    program = tn.make_program(lambda x: tn.pure_callback(np.sin, x, x), 1.0)
    with pytest.raises(ExecutorError, match="export: pure_callback sin is a Python function, whi"):
        export(program)
    with jax.enable_x64(True):
        assert float(to_jax(program)(1.0)) == pytest.approx(np.sin(1.0))
