"""To and from JAX: programs as JAX functions, JAX functions as programs, and artifacts of both.

Read in this order: `jaxprs` (JAX's primitives, and the ops that they are), `jax_functions`,
`export`.
"""

from tenferro_xla.interop.export import *
from tenferro_xla.interop.jax_functions import *
