"""What `jax.scipy` has of SciPy: `tn.scipy.linalg`, `tn.scipy.special` and `tn.scipy.stats`.

>>> tn.scipy.special.ndtr(0.0)
Tensor(0.5)
>>> tn.scipy.stats.norm.cdf(0.0)
Tensor(0.5)
"""

from typing import TYPE_CHECKING

from tenferro.missing_names import refusal
from tenferro.scipy import linalg, special, stats

__all__ = ["linalg", "special", "stats"]

_LATER = "it is not there yet; on arrays that are known, use SciPy itself"
MISSING: dict[str, str] = {
    **dict.fromkeys(("cluster", "integrate", "interpolate", "ndimage", "sparse"), _LATER),
    **dict.fromkeys(("optimize", "spatial"), _LATER),
    "fft": "use tn.fft; cosine transforms are not there yet",
    "signal": "it is not there yet; tn.convolve, tn.correlate, tn.lax.conv and tn.fft are",
}
"""Names of `jax.scipy`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__ = refusal("tenferro.scipy", __all__, MISSING)
