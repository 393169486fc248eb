"""`tenferro.fft` at the path that it has in JAX: `import tenferro.numpy.fft`."""

import sys as _sys

from tenferro import fft as _fft

_sys.modules[__name__] = _fft
