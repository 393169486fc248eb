"""A program of a user: Newton's method with a state in a loop, and derivatives by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_type

import tenferro as tn

System = Callable[[tn.Array, tn.Array], tn.Array]


@tn.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    x: tn.Array
    residual: tn.Array
    step: tn.Array
    key: tn.random.Key


def system(x: tn.Array, p: tn.Array) -> tn.Array:
    return tn.stack([x[0] ** 2 + p * x[1] - 3.0, tn.exp(x[0]) - p * x[1] - 1.0])


def newton(f: System, start: tn.Array, p: tn.Array, tolerance: float = 1e-10) -> State:
    def running(state: State) -> tn.Array:
        return (tn.linalg.norm(state.residual) > tolerance) & (state.step < 50)

    def step(state: State) -> State:
        key, noise = tn.random.split(state.key)
        jacobian = tn.jacfwd(f)(state.x, p)
        dx = tn.linalg.solve(jacobian, -state.residual)
        x = state.x + dx * (1.0 + 1e-12 * tn.random.normal(noise))
        return replace(state, x=x, residual=f(x, p), step=state.step + 1, key=key)

    first = State(start, f(start, p), tn.asarray(0), tn.random.key(1))
    return tn.lax.while_loop(running, step, first)


@tn.custom_vjp(nondiff_argnums=(0,))
def root(f: System, start: tn.Array, p: tn.Array) -> tn.Array:
    return newton(f, start, p).x


def root_fwd(f: System, start: tn.Array, p: tn.Array) -> tuple[tn.Array, tuple[tn.Array, tn.Array]]:
    x = root(f, start, p)
    return x, (x, p)


def root_bwd(
    f: System, residuals: tuple[tn.Array, tn.Array], ct: tn.Array
) -> tuple[tn.Array, tn.Array]:
    x, p = residuals
    adjoint = tn.linalg.solve(tn.jacrev(f)(x, p).T, -ct)
    _, pullback = tn.vjp(lambda q: f(x, q), p)
    (dp,) = pullback(adjoint)
    return tn.zeros_like(x), dp


root.defvjp(root_fwd, root_bwd)


@tn.custom_vjp
def clipped(x: tn.Array) -> tn.Array:
    return x


def clipped_fwd(x: tn.Array) -> tuple[tn.Array, None]:
    return clipped(x), None


def clipped_bwd(_: None, ct: tn.Array) -> tuple[tn.Array]:
    return (tn.clip(ct, -1.0, 1.0),)


clipped.defvjp(clipped_fwd, clipped_bwd)


def objective(p: tn.Array) -> tn.Array:
    x = root(system, tn.asarray([1.0, 1.0]), clipped(p))
    return tn.sum(x * x)


def fitted(p: tn.Array, rounds: int) -> tuple[tn.Array, tn.Array]:
    def body(_: tn.Array, carry: tuple[tn.Array, tn.Array]) -> tuple[tn.Array, tn.Array]:
        p, rate = carry
        return p - rate * tn.grad(objective)(p), rate * 0.9

    return tn.lax.fori_loop(0, rounds, body, (p, tn.asarray(0.1)))


def with_state(p: tn.Array) -> tuple[tn.Array, State]:
    state = newton(system, tn.asarray([1.0, 1.0]), p)
    return state.x, state


def main(flag: bool = True) -> None:
    ps = tn.linspace(1.0, 2.0, 4)
    states = tn.vmap(lambda p: newton(system, tn.asarray([1.0, 1.0]), p))(ps)
    slopes = tn.jit(tn.vmap(tn.grad(objective)))(ps)
    jacobian, state = tn.jacfwd(with_state, has_aux=True)(ps[0])
    best, _ = fitted(ps[0], rounds=5)
    out = tn.jvp(with_state, (ps[0],), (ps[1],), has_aux=flag)
    print(states.step.tolist(), slopes.shape, jacobian.shape, int(state.step), best, len(out))  # noqa: T201


def types(x: tn.Array, p: tn.Array) -> None:
    assert_type(tn.jacfwd(system)(x, p), tn.Array)
    assert_type(tn.jacfwd(tn.jacrev(system))(x, p=p), tn.Array)
    assert_type(tn.jacfwd(with_state, has_aux=True)(p), tuple[tn.Array, State])
    assert_type(tn.vmap(newton, in_axes=(None, 0, 0))(system, x, p), State)
    assert_type(root(system, x, p), tn.Array)
    assert_type(tn.linearize(with_state, p, has_aux=True)[2], State)
    assert_type(tn.jacobian(system, sparsity="auto")(x, p), tn.SparseMatrix)


def mistakes(state: State, x: tn.Array, p: tn.Array) -> None:
    tn.jacfwd(system)(x, p, p)  # E: arguments
    tn.jacfwd(system)(x, p)["x"]  # E: "str"
    tn.jacrev(with_state, has_aux=True)(p).shape  # noqa: B018  # E: "shape"
    newton(system, x, p).y  # noqa: B018  # E: "y"
    newton(objective, x, p)  # E: "newton"
    root(system, x)  # E: "p"
    clipped(x, p)  # E: argument
    State(x, x, x)  # E: "key"
    tn.vjp(objective, p)[1](x)[0].grad  # noqa: B018  # E: "grad"


if __name__ == "__main__":
    main()
