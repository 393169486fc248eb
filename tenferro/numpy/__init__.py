"""The names of NumPy and of the Python array API standard, as in `jax.numpy`.

What methods, operators and derivative rules call is declared in `tenferro.ops.functions`; the
modules of this package hold the other functions, by NumPy's topics. Each takes arrays, traced
values and eager tensors.

>>> import tenferro.numpy as jnp
>>> jnp.linalg.norm(jnp.array([3.0, 4.0]))
Tensor(5.)
"""

import typing as _typing

import tenferro as _tenferro
from tenferro.missing_names import ARRAYS as _MISSING
from tenferro.missing_names import attributes as _attributes
from tenferro.missing_names import public as _public
from tenferro.numpy.activations import *
from tenferro.numpy.array_api import *
from tenferro.numpy.creation import *
from tenferro.numpy.dtypes import *
from tenferro.numpy.index_tricks import *
from tenferro.numpy.indexing import *
from tenferro.numpy.manipulation import *
from tenferro.numpy.padding import *
from tenferro.numpy.polynomial import *
from tenferro.numpy.reductions import *
from tenferro.numpy.segments import *
from tenferro.numpy.setops import *
from tenferro.numpy.signal import *
from tenferro.numpy.sorting import *
from tenferro.numpy.statistics import *
from tenferro.numpy.ufuncs import *
from tenferro.numpy.vectorize import *
from tenferro.ops.functions.activations import *
from tenferro.ops.functions.analytic import *
from tenferro.ops.functions.creation import *
from tenferro.ops.functions.elementwise import *
from tenferro.ops.functions.logical import *
from tenferro.ops.functions.manipulation import *
from tenferro.ops.functions.products import *
from tenferro.ops.functions.reductions import *
from tenferro.transforms import block_until_ready as block_until_ready
from tenferro.transforms import default_backend as default_backend
from tenferro.transforms import device_count as device_count
from tenferro.transforms import device_get as device_get
from tenferro.transforms import device_put as device_put
from tenferro.transforms import devices as devices
from tenferro.transforms import local_device_count as local_device_count
from tenferro.transforms import local_devices as local_devices
from tenferro.transforms import with_sharding_constraint as with_sharding_constraint

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
cast = astype
concatenate = concat
conjugate = conj
mod = remainder
power = pow
transpose = permute_dims
true_divide = divide

_LATER = ("einsum", "einsum_path", "fft", "linalg")
"""Names that the front door loads when they are first used: other functions do not need them."""

if _typing.TYPE_CHECKING:
    from tenferro import fft as fft
    from tenferro import linalg as linalg
    from tenferro.network import einsum as einsum
    from tenferro.network import einsum_path as einsum_path
else:  # type checkers read the imports, and refuse other names
    __all__ = sorted(["__array_namespace_info__", *_public(vars(), *_LATER, home="tenferro")])
    __all__.remove("namespace_info")
    shape.__module__ = __name__  # `tn.shape` is a module
    _refuse, __dir__ = _attributes("tenferro.numpy", __all__, _MISSING)

    def __getattr__(name):
        return getattr(_tenferro, name) if name in _LATER else _refuse(name)
