"""Arguments after the key, for each function that draws."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenferro as tn

KEYS = {"Key", "PRNGKey", "clone", "fold_in", "key", "key_data", "key_impl", "split"}
KEYS |= {"wrap_key_data"}
"""The names of `tn.random` that do not draw."""

SHAPES = np.array([0.5, 3.0])
LOGITS = np.log([0.1, 0.2, 0.3, 0.4])

CALLS: dict[str, tuple[Any, ...]] = {
    "ball": (2, 3.0),
    "bernoulli": (0.5, (4,)),
    "beta": (SHAPES, 2.0),
    "binomial": (np.array([3.0, 100.0, -1.0]), np.array([0.9, 0.3, 0.5])),
    "bits": ((2,),),
    "categorical": (LOGITS, -1, (4,)),
    "cauchy": ((2,),),
    "chisquare": (SHAPES,),
    "choice": (9, (4,), False),
    "dirichlet": (SHAPES,),
    "double_sided_maxwell": (1.0, 2.0, (2,)),
    "exponential": ((2,),),
    "f": (SHAPES, 4.0),
    "gamma": (SHAPES,),
    "generalized_normal": (4.0, (2,)),
    "geometric": (np.array([0.5, 0.01]),),
    "gumbel": ((2,),),
    "laplace": ((2,),),
    "loggamma": (np.array([0.01, 2.0]),),
    "logistic": ((2,),),
    "lognormal": (SHAPES,),
    "maxwell": ((2,),),
    "multinomial": (20, np.array([0.2, 0.5, 0.3])),
    "multivariate_normal": (np.array([1.0, -1.0]), np.array([[2.0, 0.5], [0.5, 1.0]])),
    "normal": ((2,),),
    "orthogonal": (2,),
    "pareto": (SHAPES,),
    "permutation": (6,),
    "poisson": (np.array([0.0, 3.0, 50.0, 1e3, np.nan]),),
    "rademacher": ((4,),),
    "randint": ((4,), -5, 1000),
    "rayleigh": (SHAPES,),
    "t": (SHAPES,),
    "triangular": (0.0, np.array([0.2, 0.9]), 1.0),
    "truncated_normal": (-1.0, np.array([0.5, 2.0])),
    "uniform": ((2,),),
    "wald": (SHAPES,),
    "weibull_min": (SHAPES, 2.0, (2,)),
}

LOOPS = {
    *("ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma"),
    *("binomial", "multinomial", "poisson", "t"),
}
"""Those that draw by rejection."""


def draw(name: str, key: Any) -> Any:
    """What `tn.random` draws."""
    return getattr(tn.random, name)(key, *CALLS[name])
