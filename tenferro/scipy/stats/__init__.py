"""Distributions under the names of `jax.scipy.stats`, a module each.

`loc` and `scale` move and stretch a distribution, as in SciPy. Densities are 0 outside of where a
distribution lies. All functions are differentiable as their special functions are. These are not
there:

* `dirichlet`, `multinomial`, `truncnorm`, `sem`: not yet;
* `bernoulli.cdf` and `ppf`: not yet; `poisson.entropy`: sums whose length depends on data;
* `gaussian_kde`: it draws random numbers; `mode`, `rankdata`: not yet.

>>> tn.grad(tn.scipy.stats.norm.logpdf)(1.0)
Tensor(-1.)
"""

from tenferro.scipy.stats import (
    bernoulli,
    beta,
    betabinom,
    binom,
    cauchy,
    chi2,
    expon,
    gamma,
    gennorm,
    geom,
    gumbel_l,
    gumbel_r,
    laplace,
    logistic,
    multivariate_normal,
    nbinom,
    norm,
    pareto,
    poisson,
    t,
    uniform,
    vonmises,
    wrapcauchy,
)

__all__ = [
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "expon",
    "gamma",
    "gennorm",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "t",
    "uniform",
    "vonmises",
    "wrapcauchy",
]
