"""Linear algebra: `tn.linalg`, with the names of the Python array API, NumPy and SciPy.

A matrix is the last two axes of an array; all other axes are a batch. Float32, float64, complex64
and complex128 are kept; integers and bool become float64. Results of several arrays are named
tuples.

>>> lower = tn.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
>>> tn.linalg.solve_triangular(lower, [2.0, 5.0], lower=True)
Tensor([1., 2.])
"""

from functools import partial

from tenferro.dispatch import array_function
from tenferro.linalg import factors, solving

_public = partial(array_function, module="tenferro.linalg")

cholesky = _public(factors.cholesky)
solve_triangular = _public(solving.solve_triangular)

__all__ = ["cholesky", "solve_triangular"]
