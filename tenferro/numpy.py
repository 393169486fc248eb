"""The names of NumPy, as in `jax.numpy`.

>>> import tenferro.numpy as jnp
>>> jnp.linalg.norm(jnp.array([3.0, 4.0]))
Tensor(5.)
"""

from typing import TYPE_CHECKING

from tenferro import composed, namespace
from tenferro import fft as fft
from tenferro import linalg as linalg
from tenferro.composed import *
from tenferro.namespace import *  # type: ignore[no-redef]  # `where` is that of `composed`

if not TYPE_CHECKING:  # type checkers read the imports
    __all__ = sorted({*namespace.__all__, *composed.__all__, "fft", "linalg"})
