"""What `jax.scipy` has of SciPy: `tn.scipy.linalg`, `tn.scipy.special` and `tn.scipy.stats`.

>>> tn.scipy.special.ndtr(0.0)
Tensor(0.5)
>>> tn.scipy.stats.norm.cdf(0.0)
Tensor(0.5)
"""

from tenferro.scipy import linalg, special, stats

__all__ = ["linalg", "special", "stats"]
