"""Jacobians and Hessians, by the passes that cost least, dense or sparse.

Read in this order: `cuts` and `modes` (which passes cost least), `pattern`, `propagation`
(which places may differ from zero), `colours`, `sparsity` and `sparse_matrix` (sparse ones),
`matrices` (by the passes), `options` (what users say), `kinds`, `call` and `functions` (on trees).
"""

from tenferro.jacobians.functions import hessian, jacfwd, jacobian, jacrev
from tenferro.jacobians.sparse_matrix import SparseMatrix

__all__ = ["SparseMatrix", "hessian", "jacfwd", "jacobian", "jacrev"]
