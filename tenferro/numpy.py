"""The names of NumPy, as in `jax.numpy`: `import tenferro.numpy as jnp`."""

from tenferro import composed, namespace
from tenferro.composed import *
from tenferro.namespace import *

__all__ = sorted({*namespace.__all__, *composed.__all__})
