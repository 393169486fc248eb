"""Classes that are registered with JAX are trees here, as they are there."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import PytreeError


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any
    activation: Any = dataclasses.field(default=tn.tanh, metadata={"static": True})

    def __call__(self, x: Any) -> Any:
        return self.activation(self.weight @ x + self.bias)


@jax.tree_util.register_pytree_with_keys_class
class Chain:
    """As a module of another library: a tuple of layers and a list, with keys of all kinds."""

    def __init__(self, layers: Any, scales: Any) -> None:
        self.layers, self.scales = layers, scales

    def tree_flatten_with_keys(self) -> Any:
        keys = jax.tree_util.GetAttrKey("layers"), jax.tree_util.DictKey("scales")
        return tuple(zip(keys, (self.layers, self.scales), strict=True)), None

    @classmethod
    def tree_unflatten(cls, _: Any, children: Any) -> Chain:
        return cls(*children)

    def __call__(self, x: Any) -> Any:
        for layer, scale in zip(self.layers, self.scales, strict=True):
            x = scale * layer(x)
        return x


def a_chain(seed: int = 0) -> Chain:
    rng = np.random.default_rng(seed)
    layers = [Layer(rng.normal(size=(3, 3)), rng.normal(size=3)) for _ in range(2)]
    return Chain(tuple(layers), [2.0, rng.normal()])


def loss(chain: Chain, x: Any) -> Any:
    return tn.sum(chain(x) ** 2)


X = np.linspace(0.5, 1.5, 3)


def test_transforms_take_and_give_them() -> None:
    chain = a_chain()
    step = tn.jit(lambda chain, x: (chain, *tn.value_and_grad(loss)(chain, x)))
    same, value, grads = step(chain, X)
    assert isinstance(same, Chain)
    assert isinstance(grads.layers[1], Layer)
    first, second = chain.layers
    hidden = 2.0 * np.tanh(first.weight @ X + first.bias)
    expected = chain.scales[1] * np.tanh(second.weight @ hidden + second.bias)
    np.testing.assert_allclose(value, np.sum(expected**2))
    np.testing.assert_allclose(grads.scales[1], 2 * np.sum(expected**2) / chain.scales[1])
    step(a_chain(1), X)
    assert step.stats().misses == 1
    batch = tn.tree.map(lambda *leaves: np.stack(leaves), chain, a_chain(1))
    values = tn.vmap(loss, in_axes=(Chain((0, 0), [0, 0]), None))(batch, X)
    np.testing.assert_allclose(values[0], value)
    assert isinstance(tn.tree.map(np.shape, chain, is_leaf=lambda node: False), Chain)


def test_what_is_static_takes_part_in_the_cache_key() -> None:
    f = tn.jit(lambda layer: layer(X), executor="numpy")
    weight, bias = np.eye(3), np.zeros(3)
    assert not np.allclose(f(Layer(weight, bias)), f(Layer(weight, bias, tn.sin)))
    f(Layer(weight, bias, tn.sin))
    assert f.stats().misses == 2
    changing = Layer(weight, bias, [tn.sin])
    g = tn.jit(lambda layer: len(layer.activation) * layer.bias, executor="numpy")
    bias += 1.0
    assert g(changing).tolist() == [1.0] * 3
    changing.activation.append(tn.cos)
    assert g(changing).tolist() == [2.0] * 3


def test_paths_have_the_keys_of_tenferro_and_errors_show_them() -> None:
    found = tn.tree.leaves_with_path(a_chain())
    texts = [tn.tree_util.keystr(path) for path, _ in found]
    assert texts[:2] == [".layers[0].weight", ".layers[0].bias"]
    assert texts[-1] == "['scales'][1]"
    expected = jax.tree_util.tree_leaves_with_path(a_chain())
    assert texts == [jax.tree_util.keystr(path) for path, _ in expected]
    assert all(isinstance(key, tn.tree_util.KeyEntry) for path, _ in found for key in path)
    chain = a_chain()
    chain.layers[1].weight = tn.sin
    with pytest.raises(PytreeError, match=r"argument chain.layers\[1\].weight is a .*partition"):
        tn.jit(loss)(chain, X)


def test_a_class_is_found_after_it_was_a_leaf() -> None:
    class Late:
        def __init__(self, x: Any) -> None:
            self.x = x

    assert len(tn.tree.leaves(Late(1.0))) == 1
    with pytest.raises(PytreeError, match="argument late is a Late, not an array"):
        tn.jit(lambda late: late.x)(Late(1.0))
    jax.tree_util.register_pytree_node(
        Late, lambda late: ((late.x,), None), lambda _, children: Late(*children)
    )
    assert tn.tree_util.is_tree_node(Late)
    assert tn.tree.leaves([Late(1.0), 2.0]) == [1.0, 2.0]
    assert tn.tree_util.flatten_one_level(Late(3.0)) == ([3.0], None)
