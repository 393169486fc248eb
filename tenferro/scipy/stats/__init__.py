"""Distributions under the names of `jax.scipy.stats`, an object each.

`loc` and `scale` move and stretch a distribution, as in SciPy. Densities are 0 outside of where a
distribution lies. NaN of any argument gives NaN, and so do parameters that are not allowed, such as
a scale of 0 or a probability of 2, and `ppf` outside of 0 to 1. All functions are differentiable as
their special functions are. `sem`, `mode`, `rankdata` and `gaussian_kde` are about samples.

>>> tn.grad(tn.scipy.stats.norm.logpdf)(1.0)
Tensor(-1.)
"""

import sys
from typing import TYPE_CHECKING, Any

from tenferro.missing_names import missing
from tenferro.scipy.stats.continuous import *
from tenferro.scipy.stats.descriptive import *
from tenferro.scipy.stats.discrete import *
from tenferro.scipy.stats.distribution import Distribution
from tenferro.scipy.stats.kde import *
from tenferro.scipy.stats.multivariate import *

__all__ = [
    "ModeResult",
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "gaussian_kde",
    "gennorm",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "mode",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "rankdata",
    "sem",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "wrapcauchy",
]

for _name, _value in list(globals().items()):
    if isinstance(_value, Distribution):  # programs of JAX import them as modules
        sys.modules[f"{__name__}.{_name}"] = _value  # type: ignore[assignment]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names

    def __getattr__(name: str) -> Any:
        raise missing("tenferro.scipy.stats", name, lambda: __all__)
