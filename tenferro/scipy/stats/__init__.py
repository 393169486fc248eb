"""Distributions under the names of `jax.scipy.stats`, a module each.

`loc` and `scale` move and stretch a distribution, as in SciPy. Densities are 0 outside of where a
distribution lies. All functions are differentiable as their special functions are. `sem`, `mode`,
`rankdata` and `gaussian_kde` are about samples.

>>> tn.grad(tn.scipy.stats.norm.logpdf)(1.0)
Tensor(-1.)
"""

from typing import TYPE_CHECKING, Any

from tenferro.naming import missing
from tenferro.scipy.stats import (
    bernoulli,
    beta,
    betabinom,
    binom,
    cauchy,
    chi2,
    dirichlet,
    expon,
    gamma,
    gennorm,
    geom,
    gumbel_l,
    gumbel_r,
    laplace,
    logistic,
    multinomial,
    multivariate_normal,
    nbinom,
    norm,
    pareto,
    poisson,
    t,
    truncnorm,
    uniform,
    vonmises,
    wrapcauchy,
)
from tenferro.scipy.stats.descriptive import ModeResult, mode, rankdata, sem
from tenferro.scipy.stats.kde import gaussian_kde

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


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names

    def __getattr__(name: str) -> Any:
        raise missing("tenferro.scipy.stats", name, lambda: __all__)
