"""Random numbers as functions of keys: `tn.random`, with the names and the bits of `jax.random`.

A draw is a function of a key, the shape and the dtype, on any executor and in any transform: the
same key gives the same numbers. `split` makes new keys from a key.

>>> key, for_noise = tn.random.split(tn.random.key(0))
>>> tn.random.normal(for_noise, (2,)).shape
(2,)

Read in this order: `prng` (keys, their bits, and arguments of draws), `continuous`, `discrete`,
`gamma`, `poisson_binomial`, `derived`, `multivariate`.
"""

import typing as _typing

from tenferro.missing_names import attributes as _attributes
from tenferro.missing_names import public as _public
from tenferro.random.continuous import *
from tenferro.random.derived import *
from tenferro.random.discrete import *
from tenferro.random.gamma import *
from tenferro.random.multivariate import *
from tenferro.random.poisson_binomial import *
from tenferro.random.prng import *

MISSING: dict[str, str] = {
    **dict.fromkeys(
        ("RandomState", "default_rng", "seed"), "there is no state; make a key, tn.random.key(seed)"
    ),
    **dict.fromkeys(("rand", "random", "random_sample"), "use tn.random.uniform(key, shape)"),
    **dict.fromkeys(("randn", "standard_normal"), "use tn.random.normal(key, shape)"),
    "key_dtype": "key.dtype is the type of keys",
    "random_gamma_p": "it is an internal of JAX; use tn.random.gamma",
    "shuffle": "use tn.random.permutation(key, x)",
}
"""Names of `jax.random`, and of `numpy.random`, and what to do instead."""


if not _typing.TYPE_CHECKING:  # type checkers read the imports, and refuse other names
    __all__ = _public(vars(), home="tenferro.random")
    __getattr__, __dir__ = _attributes("tenferro.random", __all__, MISSING)
