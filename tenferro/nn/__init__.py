"""Activation functions, with the names, parameters and defaults of `jax.nn`.

Those that `tn` has too are the same functions. These of `jax.nn` are not there:

* `initializers`, which need random numbers;
* `dot_product_attention`: `tn.einsum` and `tn.softmax(..., where=mask)` write it in three lines;
* `scaled_matmul`, `scaled_dot_general`: they need numbers of 4 and 8 bits.

>>> tn.nn.relu([-1.0, 2.0])
Tensor([0., 2.])
>>> tn.nn.relu is tn.relu
True
"""

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
from tenferro.nn.functions import (
    celu,
    elu,
    gelu,
    glu,
    hard_sigmoid,
    hard_silu,
    hard_tanh,
    identity,
    leaky_relu,
    log1mexp,
    logmeanexp,
    mish,
    one_hot,
    relu6,
    selu,
    soft_sign,
    sparse_plus,
    sparse_sigmoid,
    squareplus,
    standardize,
)

hard_swish = hard_silu
swish = silu

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
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
