""""""

from tenferro_xla.interop.export import *
from tenferro_xla.interop.from_jax import *
from tenferro_xla.interop.to_jax import *
