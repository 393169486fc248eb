"""Memory limits of forward mode and of products with Hessians."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, MemoryLimitError

NORMAL = np.random.default_rng(0).normal
X, W, U = NORMAL(size=6), NORMAL(size=(90, 90)) / 6, NORMAL(size=(90, 6))


def network(x: Any) -> Any:
    x = U @ x
    for _ in range(5):
        x = tn.tanh(W @ x)
    return tn.permute_dims(tn.asarray(U), (1, 0)) @ x


def energy(x: Any) -> Any:
    return tn.sum(network(x) ** 2)


def predicted(function: Callable[..., Any]) -> int:
    return int(tn.jit(function, executor="numpy").memory(X).peak)


def test_forward_mode_keeps_a_limit_or_refuses_it() -> None:
    assert tn.jvp(network, (X,), (X,), memory_limit="1 MB")[1].shape == (6,)
    assert tn.linearize(network, X, memory_limit="1 MB")[1](X).shape == (6,)
    product = partial(tn.hvp, energy, X, X)
    limit = int(0.7 * predicted(lambda x: tn.hvp(energy, x, x)))
    assert predicted(lambda x: tn.hvp(energy, x, x, memory_limit=limit)) <= limit
    np.testing.assert_allclose(
        np.asarray(product(memory_limit=limit)), np.asarray(product()), rtol=1e-12
    )
    calls: dict[str, Callable[..., Any]] = {
        "jvp": partial(tn.jvp, network, (X,), (X,)),
        "linearize": partial(tn.linearize, network, X),
        "hvp": product,
    }
    for name, call in calls.items():
        with pytest.raises(MemoryLimitError, match=f"{name}: needs"):
            call(memory_limit=99)
        with pytest.raises(ConfigError, match=f"{name}: memory_limit must be"):
            call(memory_limit=-1)
