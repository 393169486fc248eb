"""What `jax.scipy` has of SciPy, by SciPy's topics.

>>> tn.scipy.special.ndtr(0.0)
Tensor(0.5)
>>> tn.scipy.stats.norm.cdf(0.0)
Tensor(0.5)
"""

from typing import TYPE_CHECKING

from tenferro.missing_names import attributes
from tenferro.scipy import (
    cluster,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    special,
    stats,
)

__all__ = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "special",
    "stats",
]

_LATER = "it is not there yet; on arrays that are known, use SciPy itself"
MISSING: dict[str, str] = {"spatial": _LATER}
"""Names of `jax.scipy`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.scipy", __all__, MISSING)
