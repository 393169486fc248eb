"""`jax.scipy.linalg`: the functions of `tn.linalg`, with SciPy's names of arguments and defaults.

`overwrite_a`, `overwrite_b` and `check_finite` change nothing: arrays are never overwritten, and
numbers that are not finite are computed with.

>>> tn.scipy.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
Tensor([[2., 1.],
        [0., 2.]])
"""

import typing as _typing

from tenferro.linalg import block_diag as block_diag
from tenferro.linalg import toeplitz as toeplitz
from tenferro.missing_names import attributes as _attributes
from tenferro.missing_names import public as _public
from tenferro.scipy.linalg.functions import *
from tenferro.scipy.linalg.special_matrices import *

if not _typing.TYPE_CHECKING:  # type checkers read the imports, and refuse other names
    __all__ = _public(vars(), home="tenferro.scipy.linalg")
    __getattr__, __dir__ = _attributes("tenferro.scipy.linalg", __all__)
