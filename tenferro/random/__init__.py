"""Random numbers as functions of keys: `tn.random`, with the names and the bits of `jax.random`.

A draw is a function of a key, the shape and the dtype, on any executor and in any transform: the
same key gives the same numbers. `split` makes new keys from a key.

>>> key, for_noise = tn.random.split(tn.random.key(0))
>>> tn.random.normal(for_noise, (2,)).shape
(2,)

Read in this order: `threefry` (words and bits of keys and counters), `prng` (keys, and arguments
of draws), `formulas`, `continuous`, `discrete`, `gamma`, `poisson_binomial`, `derived`,
`multivariate`.
"""

from typing import TYPE_CHECKING, Any

from tenferro.missing_names import missing
from tenferro.random.continuous import *
from tenferro.random.derived import *
from tenferro.random.discrete import *
from tenferro.random.gamma import *
from tenferro.random.multivariate import *
from tenferro.random.poisson_binomial import *
from tenferro.random.prng import *

__all__ = [
    "Key",
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]

MISSING: dict[str, str] = {
    **dict.fromkeys(
        ("RandomState", "default_rng", "seed"), "there is no state; make a key, tn.random.key(seed)"
    ),
    **dict.fromkeys(("rand", "random", "random_sample"), "use tn.random.uniform(key, shape)"),
    **dict.fromkeys(("randn", "standard_normal"), "use tn.random.normal(key, shape)"),
    **dict.fromkeys(
        ("key_impl", "key_dtype"), "all keys are of one kind, of Threefry, and are not a dtype"
    ),
    "clone": "use the key again; TENFERRO_CHECK_KEYS=1 tells where keys are used twice",
    "double_sided_maxwell": "use tn.random.rademacher and tn.random.maxwell",
    "random_gamma_p": "it is an internal of JAX; use tn.random.gamma",
    "shuffle": "use tn.random.permutation(key, x)",
}
"""Names of `jax.random`, and of `numpy.random`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names

    def __getattr__(name: str) -> Any:
        raise missing("tenferro.random", name, lambda: __all__, MISSING)
