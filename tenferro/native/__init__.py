"""The native executor: programs run op by op on a backend, NumPy's by default."""

from tenferro.native.backends import *
from tenferro.native.blas_threads import *
from tenferro.native.executor import *
