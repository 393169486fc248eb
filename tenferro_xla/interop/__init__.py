"""To and from JAX: programs as JAX functions, JAX functions as programs, and artifacts of both.

Read in this order: `jaxprs` (JAX's primitives, and the ops that they are), `from_jax`, `to_jax`,
`artifact`.
"""

from tenferro_xla.interop.artifact import Exported, export, load_exported
from tenferro_xla.interop.from_jax import from_jax
from tenferro_xla.interop.to_jax import jax_gradient, to_jax

__all__ = ["Exported", "export", "from_jax", "jax_gradient", "load_exported", "to_jax"]
