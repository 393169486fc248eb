"""The names of NumPy, as in `jax.numpy`.

>>> import tenferro.numpy as jnp
>>> jnp.linalg.norm(jnp.array([3.0, 4.0]))
Tensor(5.)
"""

from tenferro import composed, fft, linalg, namespace
from tenferro.composed import *
from tenferro.namespace import *

__all__ = sorted({*namespace.__all__, *composed.__all__, "fft", "linalg"})
