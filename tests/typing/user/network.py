"""A program of a user: time evolution of a matrix product state, by einsum and svd in a loop."""

from __future__ import annotations

from typing import NamedTuple, assert_type

import numpy as np

import tenferro as tn


class State(NamedTuple):
    """Two tensors that repeat, the weights between them, and the key of the samples."""

    tensors: tuple[tn.Array, tn.Array]
    weights: tuple[tn.Array, tn.Array]
    key: tn.random.Key


def initial(key: tn.random.Key, chi: int, d: int = 2) -> State:
    first, second, rest = tn.random.split(key, 3)
    shape = (chi, d, chi)
    tensors = tn.random.normal(first, shape), tn.random.normal(second, shape)
    return State(tensors, (tn.ones(chi), tn.ones(chi)), rest)


def gate(field: tn.Array | float, step: float) -> tn.Array:
    x, z = tn.asarray([[0.0, 1.0], [1.0, 0.0]]), tn.diag(tn.asarray([1.0, -1.0]))
    one = tn.eye(2)
    energy = -tn.kron(z, z) - field / 2 * (tn.kron(x, one) + tn.kron(one, x))
    values, vectors = tn.linalg.eigh(energy)
    return ((vectors * tn.exp(-step * values)) @ vectors.T).reshape(2, 2, 2, 2)


def updated(state: State, u: tn.Array) -> tuple[State, tn.Array]:
    (a, b), (inner, outer) = state.tensors, state.weights
    theta = tn.einsum("x,xiy,y,yjz,z->xijz", outer, a, inner, b, outer)
    theta = tn.einsum("ijkl,xklz->xijz", u, theta)
    chi, d, _, _ = theta.shape
    left, s, right = tn.linalg.svd(tn.reshape(theta, (chi * d, d * chi)), full_matrices=False)
    largest = s[: inner.shape[0]]
    norm = tn.linalg.norm(largest)
    new = left[:, : inner.shape[0]].reshape(chi, d, -1) / outer[:, None, None]
    other = right[: inner.shape[0]].reshape(-1, d, chi) / outer
    return State((other, new), (outer, largest / norm), state.key), tn.log(norm)


@tn.jit(static_argnames=("steps", "chi"))
def evolved(field: tn.Array, steps: int, chi: int = 8) -> tuple[State, tn.Array]:
    u = gate(field, 0.01)

    def body(state: State, _: None) -> tuple[State, tn.Array]:
        return updated(state, u)

    state, norms = tn.lax.scan(body, initial(tn.random.key(0), chi), None, length=steps)
    return state, tn.mean(norms)


def energy(field: tn.Array, steps: int = 40) -> tn.Array:
    _, norm = evolved(field, steps)
    return -norm / 0.01


def entropies(state: State) -> tuple[tn.Array, ...]:
    return tuple(-tn.sum(w**2 * tn.log(w**2)) for w in state.weights)


def sampled(state: State, count: int) -> tn.Array:
    keys = tn.random.split(state.key, count)

    def one(key: tn.random.Key) -> tn.Array:
        p = tn.einsum("xiy,xiy->i", state.tensors[0], tn.conj(state.tensors[0]))
        return tn.random.categorical(key, tn.log(p))

    return tn.vmap(one)(keys)


def main() -> None:
    fields = tn.linspace(0.5, 1.5, 3)
    energies = tn.vmap(energy)(fields)
    slope, curvature = tn.grad(energy)(fields[0]), tn.hessian(energy)(fields[0])
    state, _ = evolved(fields[1], steps=40)
    plan = tn.einsum_plan("xiy,yjz->xijz", *state.tensors)
    counts = np.bincount(np.asarray(sampled(state, 100)), minlength=2)
    rest = [float(entropy) for entropy in entropies(state)]
    print(energies.shape, f"{float(slope):.3f} {curvature.item()}", plan, counts, rest)  # noqa: T201


def types(state: State, field: tn.Array) -> None:
    assert_type(state.key[0], tn.random.Key)
    assert_type(state._replace(weights=(field, field)), State)
    assert_type(tn.jit(updated)(state, field), tuple[State, tn.Array])
    assert_type(tn.linalg.svd(field, compute_uv=False), tn.Array)
    assert_type(tn.hessian(energy)(field, steps=3), tn.Array)
    assert_type(tn.hvp(energy, (field,), (field,)), tn.Array)
    assert_type(tn.value_and_grad(energy)(field), tuple[tn.Array, tn.Array])
    assert_type(tn.vjp(entropies, state)[1]((field, field)), tuple[State])


def mistakes(state: State, field: tn.Array) -> None:
    tn.random.normal(0, (2,), 3)  # E: dtype
    updated(state.tensors, field)  # E: "State"
    tn.linalg.svd(field).V  # noqa: B018  # E: "V"
    evolved(field, steps="40")  # E: "int"
    tn.hessian(energy)(field, stops=3)  # E: "stops"
    tn.einsum("ij,jk->ik", field, field).rank  # noqa: B018  # E: "rank"
    state.key.dtypes  # noqa: B018  # E: "dtypes"
    State(state.tensors, state.weights)  # E: "key"


if __name__ == "__main__":
    main()
