"""The array functions that users call, under the names of the Python array API standard.

What methods, operators and derivative rules call is declared in `tenferro.ops.functions`; the
modules of this package hold the other functions. NumPy's names are aliases.
"""

import typing as _typing

from tenferro.missing_names import public as _public
from tenferro.namespace.activations import *
from tenferro.namespace.array_api import *
from tenferro.namespace.creation import *
from tenferro.namespace.dtypes import *
from tenferro.namespace.indexing import *
from tenferro.namespace.joining import *
from tenferro.namespace.manipulation import *
from tenferro.namespace.optional import *
from tenferro.namespace.placement import *
from tenferro.ops.functions.activations import *
from tenferro.ops.functions.analytic import *
from tenferro.ops.functions.creation import *
from tenferro.ops.functions.elementwise import *
from tenferro.ops.functions.elementwise import where as where
from tenferro.ops.functions.logical import *
from tenferro.ops.functions.manipulation import *
from tenferro.ops.functions.products import *
from tenferro.ops.functions.reductions import *

__array_namespace_info__ = namespace_info

# NumPy's and SciPy's names.
erfinv = erf_inv
gammaln = lgamma
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
bitwise_not = bitwise_invert
invert = bitwise_invert
left_shift = bitwise_left_shift
right_shift = bitwise_right_shift
rad2deg = degrees
deg2rad = radians
fix = trunc
around = round
amax = max
amin = min
absolute = abs
array = asarray
cast = astype
concatenate = concat
conjugate = conj
mod = remainder
power = pow
transpose = permute_dims
true_divide = divide

if not _typing.TYPE_CHECKING:  # type checkers read the imports
    __all__ = ["__array_namespace_info__", *_public(vars())]
    for _name in ("namespace_info", "where"):  # `tenferro.composed` has `where`
        __all__.remove(_name)
