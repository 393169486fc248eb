"""Distributions under the names of `jax.scipy.stats`, an object each.

`loc` and `scale` move and stretch a distribution, as in SciPy. Densities are 0 outside of where a
distribution lies. NaN of any argument gives NaN, and so do parameters that are not allowed, such as
a scale of 0 or a probability of 2, and `ppf` outside of 0 to 1. All functions are differentiable as
their special functions are. `sem`, `mode`, `rankdata` and `gaussian_kde` are about samples.

>>> tn.grad(tn.scipy.stats.norm.logpdf)(1.0)
Tensor(-1.)
"""

import sys as _sys
import typing as _typing

from tenferro.missing_names import attributes as _attributes
from tenferro.missing_names import public as _public
from tenferro.scipy.stats.continuous import *
from tenferro.scipy.stats.descriptive import *
from tenferro.scipy.stats.discrete import *
from tenferro.scipy.stats.distribution import Distribution as _Distribution
from tenferro.scipy.stats.kde import *
from tenferro.scipy.stats.multivariate import *

for _name, _value in list(globals().items()):
    if isinstance(_value, _Distribution):  # programs of JAX import them as modules
        _sys.modules[f"{__name__}.{_name}"] = _value  # type: ignore[assignment]


if not _typing.TYPE_CHECKING:  # type checkers read the imports, and refuse other names
    __all__ = _public(vars(), home="tenferro.scipy.stats")
    __getattr__, __dir__ = _attributes("tenferro.scipy.stats", __all__)
