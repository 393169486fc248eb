"""The families of linear algebra. A matrix is the last two axes of an operand; others are a batch.

Read in this order: `matrix_op` (checks of operands, parts of formulas, kinds of ops), `lapack`
(kernels over batches), `degeneracy`, then one file for each topic: its ops, each with shape rule,
kernel, derivatives and batch rule.
"""

from tenferro.families.linalg.cholesky import *
from tenferro.families.linalg.degeneracy import *
from tenferro.families.linalg.determinant import *
from tenferro.families.linalg.eig import *
from tenferro.families.linalg.eigh import *
from tenferro.families.linalg.lu import *
from tenferro.families.linalg.matrix_functions import *
from tenferro.families.linalg.matrix_op import *
from tenferro.families.linalg.pinv import *
from tenferro.families.linalg.qr import *
from tenferro.families.linalg.schur import *
from tenferro.families.linalg.solve import *
from tenferro.families.linalg.subspaces import *
from tenferro.families.linalg.svd import *
from tenferro.families.linalg.svd_truncate import *
from tenferro.families.linalg.sylvester import *
from tenferro.families.linalg.triangular_solve import *
from tenferro.ops.extension import ops_of
from tenferro.runtime import family_package

LINALG = family_package("tenferro-linalg", *ops_of(globals()))
"""All ops of the topics above."""
