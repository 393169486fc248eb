"""Activation functions, with the names, parameters and defaults of `jax.nn`.

Those that `tn` has too are the same functions. `MISSING` lists what is left
out, with reasons. `tn.nn.initializers` makes initial weights.

>>> tn.nn.relu([-1.0, 2.0])
Tensor([0., 2.])
>>> tn.nn.relu is tn.relu
True
"""

from typing import TYPE_CHECKING, Any

from tenferro.missing_names import missing
from tenferro.namespace import (
    log_sigmoid,
    log_softmax,
    logsumexp,
    relu,
    sigmoid,
    silu,
    softmax,
    softplus,
    tanh,
)
from tenferro.nn import initializers
from tenferro.nn.activations import *
from tenferro.nn.activations import hard_silu
from tenferro.nn.attention import *

__all__ = [
    "celu",
    "dot_product_attention",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "initializers",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "one_hot",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]

hard_swish = hard_silu
swish = silu


MISSING: dict[str, str] = dict.fromkeys(
    ("get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"),
    "it needs numbers of 4 and 8 bits, which are not there",
)
"""Names of `jax.nn`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names

    def __getattr__(name: str) -> Any:
        raise missing("tenferro.nn", name, lambda: __all__, MISSING)
