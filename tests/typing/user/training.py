"""A program in JAX's idiom: what a user trains is typed by the functions that the user wrote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, assert_type

import numpy as np

import tenferro as tn

Params = dict[str, tn.Array]


class Batch(NamedTuple):
    x: tn.Array
    y: tn.Array


@tn.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    params: Params
    momentum: Params
    key: tn.random.Key


def init(key: tn.random.Key, width: int = 4) -> State:
    first, second, rest = tn.random.split(key, 3)
    params = {"w": tn.random.normal(first, (width, 2)), "b": tn.random.uniform(second, (2,))}
    return State(params, {name: tn.zeros_like(p) for name, p in params.items()}, rest)


def loss(params: Params, batch: Batch, weights: tn.Array | None = None) -> tn.Array:
    errors = (tn.tanh(batch.x @ params["w"] + params["b"]) - batch.y) ** 2
    return tn.mean(errors if weights is None else errors * weights[:, None])


def with_penalty(params: Params, batch: Batch) -> tuple[tn.Array, dict[str, tn.Array]]:
    penalty = 1e-3 * sum(tn.sum(p * p) for p in params.values())
    return loss(params, batch) + penalty, {"penalty": tn.asarray(penalty)}


@tn.jit(static_argnames="rate")
def step(state: State, batch: Batch, rate: float = 0.1) -> tuple[State, tn.Array]:
    value, grads = tn.value_and_grad(loss)(state.params, batch)
    momentum = {name: 0.9 * m + grads[name] for name, m in state.momentum.items()}
    params = {name: p - rate * momentum[name] for name, p in state.params.items()}
    return State(params, momentum, state.key), value


class Model:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    @tn.jit(static_argnums=0)
    def predict(self, params: Params, x: tn.Array) -> tn.Array:
        return self.scale * tn.nn.relu(x @ params["w"])

    @partial(tn.jit, static_argnums=0)
    def largest(self, x: tn.Array, axis: int | None = None) -> tn.Array:
        return tn.max(x.at[0].set(self.scale), axis)


def train(steps: int) -> float:
    state = init(tn.random.key(0))
    batch = Batch(tn.asarray(np.ones((8, 4))), tn.zeros((8, 2)))

    def body(carry: State, rate: tn.Array) -> tuple[State, tn.Array]:
        grads, aux = tn.grad(with_penalty, has_aux=True)(carry.params, batch)
        params = {name: p - rate * grads[name] for name, p in carry.params.items()}
        return State(params, carry.momentum, carry.key), aux["penalty"]

    state, penalties = tn.lax.scan(body, state, tn.linspace(0.1, 0.01, steps))
    state, value = step(state, batch, rate=0.05)
    model = Model(2.0)
    rows = tn.vmap(model.predict, in_axes=(None, 0))(state.params, batch.x)
    norms = tn.vmap(lambda row: tn.linalg.norm(row))(rows)
    squares = tn.grad(lambda p: tn.sum(p["w"] ** 2))(state.params)
    if norms[0] < 0.5 and isinstance(value, tn.Array):
        print(f"{float(value):.3f}", squares["w"].shape, penalties[-1].item())  # noqa: T201
    return float(model.largest(x=rows, axis=None))


def types(state: State, batch: Batch, model: Model, x: tn.Array | np.ndarray) -> None:
    assert_type(tn.grad(loss)(state.params, batch), Params)
    assert_type(tn.jit(tn.grad(loss))(state.params, batch=batch), Params)
    assert_type(tn.value_and_grad(loss)(state.params, batch), tuple[tn.Array, Params])
    assert_type(step(state, batch), tuple[State, tn.Array])
    assert_type(model.predict(state.params, batch.x), tn.Array)
    if isinstance(x, tn.Array):
        assert_type(x, tn.Array)


def mistakes(state: State, batch: Batch, model: Model) -> None:
    tn.grad(loss)(state, batch)  # E: State
    tn.grad(loss)(state.params, batch)["w"].shapes  # noqa: B018  # E: "shapes"
    step(state, batch, rate="fast")  # E: "float"
    step(state)  # E: "batch"
    model.predict(state.params, 3)  # E: "AnyTensor"
    value: float = tn.jit(loss)(state.params, batch)  # E: "float"
    tn.value_and_grad(loss)(state.params, batch)[1].shape  # noqa: B018  # E: "shape"
    loss(state.params, batch, weights=2.0)  # E: "float"
    print(value)  # noqa: T201


def branches(params: Params) -> None:
    tn.cond(True, lambda p: p, lambda p: p, params)["w"]
    first = tn.cond(True, lambda p: tn.sum(p["w"]), lambda p: 0.0, params)
    print(first + 1)  # noqa: T201
