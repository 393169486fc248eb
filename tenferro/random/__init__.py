"""Random numbers as functions of keys: `tn.random`, with the names and the bits of `jax.random`.

A draw is a function of a key, the shape and the dtype, on any executor and in any transform: the
same key gives the same numbers. `split` makes new keys from a key.

>>> key, for_noise = tn.random.split(tn.random.key(0))
>>> tn.random.normal(for_noise, (2,)).shape
(2,)

Read in this order: `keys`, `blocks` (words and bits of keys and counters), `making` (keys),
`parameters`, `formulas`, `continuous`.
"""

from tenferro.random.continuous import (
    cauchy,
    exponential,
    gumbel,
    laplace,
    logistic,
    normal,
    truncated_normal,
    uniform,
)
from tenferro.random.discrete import (
    bernoulli,
    bits,
    categorical,
    choice,
    permutation,
    rademacher,
    randint,
)
from tenferro.random.keys import Key
from tenferro.random.making import PRNGKey, fold_in, key, key_data, split, wrap_key_data

__all__ = [
    "Key",
    "PRNGKey",
    "bernoulli",
    "bits",
    "categorical",
    "cauchy",
    "choice",
    "exponential",
    "fold_in",
    "gumbel",
    "key",
    "key_data",
    "laplace",
    "logistic",
    "normal",
    "permutation",
    "rademacher",
    "randint",
    "split",
    "truncated_normal",
    "uniform",
    "wrap_key_data",
]
