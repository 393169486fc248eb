"""`tenferro.linalg` at the path that it has in JAX: `import tenferro.numpy.linalg`."""

import sys as _sys

from tenferro import linalg as _linalg

_sys.modules[__name__] = _linalg
