"""The array functions that users call, under the names of the Python array API standard.

A function `array_function(...)` is declared in `tenferro.ops.functions`, with its types and its
docstring. The modules of this package hold the functions that do more than apply one array
function. NumPy's names are aliases.
"""

from tenferro.namespace.activations import *
from tenferro.namespace.array_api import *
from tenferro.namespace.array_api import namespace_info as __array_namespace_info__
from tenferro.namespace.creation import *
from tenferro.namespace.creation import asarray, astype
from tenferro.namespace.dtypes import *
from tenferro.namespace.indexing import *
from tenferro.namespace.joining import *
from tenferro.namespace.joining import concat
from tenferro.namespace.manipulation import *
from tenferro.namespace.optional import *
from tenferro.namespace.placement import *
from tenferro.ops.functions import activations as _activations
from tenferro.ops.functions import analytic, elementwise, logical, products, reductions
from tenferro.ops.functions import creation as _creation
from tenferro.ops.functions import manipulation as _manipulation
from tenferro.transforms import array_function

__all__ = [
    "__array_namespace_info__",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "amax",
    "amin",
    "angle",
    "any",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argsort",
    "around",
    "array",
    "array_equal",
    "array_split",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "betaln",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "block_until_ready",
    "bool",
    "broadcast_arrays",
    "broadcast_to",
    "can_cast",
    "cast",
    "cbrt",
    "ceil",
    "clip",
    "column_stack",
    "complex",
    "complex64",
    "complex128",
    "concat",
    "concatenate",
    "conj",
    "conjugate",
    "convert",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cross",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "default_backend",
    "deg2rad",
    "degrees",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "diag",
    "diagflat",
    "diagonal",
    "diff",
    "digamma",
    "divide",
    "dot",
    "dsplit",
    "dstack",
    "dynamic_truncate",
    "e",
    "empty",
    "empty_like",
    "equal",
    "erf",
    "erf_inv",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "finfo",
    "fix",
    "flip",
    "fliplr",
    "flipud",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "fmod",
    "from_dlpack",
    "full",
    "full_like",
    "gammaln",
    "greater",
    "greater_equal",
    "hsplit",
    "hstack",
    "hypot",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "identity",
    "iinfo",
    "imag",
    "inf",
    "inner",
    "int8",
    "int16",
    "int32",
    "int64",
    "invert",
    "isclose",
    "isdtype",
    "isfinite",
    "isinf",
    "isnan",
    "kron",
    "left_shift",
    "less",
    "less_equal",
    "lgamma",
    "linspace",
    "local_device_count",
    "local_devices",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_sigmoid",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logspace",
    "logsumexp",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "mod",
    "moveaxis",
    "multiply",
    "nan",
    "nan_to_num",
    "negative",
    "newaxis",
    "nextafter",
    "not_equal",
    "ones",
    "ones_like",
    "outer",
    "pad",
    "pad_to_match",
    "permute_dims",
    "pi",
    "polygamma",
    "positive",
    "pow",
    "power",
    "prod",
    "ptp",
    "rad2deg",
    "radians",
    "ravel",
    "real",
    "reciprocal",
    "relu",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "right_shift",
    "rint",
    "roll",
    "round",
    "rsqrt",
    "shape_of",
    "sigmoid",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "top_k",
    "trace",
    "transpose",
    "tri",
    "tril",
    "triu",
    "true_divide",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unstack",
    "var",
    "vdot",
    "vecdot",
    "vsplit",
    "vstack",
    "with_sharding_constraint",
    "xlog1py",
    "xlogy",
    "zeros",
    "zeros_like",
    "zeta",
]

# Arithmetic and choice.
add = array_function(elementwise.add)
subtract = array_function(elementwise.subtract)
multiply = array_function(elementwise.multiply)
divide = array_function(elementwise.divide)
floor_divide = array_function(elementwise.floor_divide)
remainder = array_function(elementwise.remainder)
fmod = array_function(elementwise.fmod)
pow = array_function(elementwise.pow)
maximum = array_function(elementwise.maximum)
minimum = array_function(elementwise.minimum)
where = array_function(elementwise.where)
abs = array_function(elementwise.abs)
negative = array_function(elementwise.negative)
positive = array_function(elementwise.positive)
sign = array_function(elementwise.sign)
square = array_function(elementwise.square)
reciprocal = array_function(elementwise.reciprocal)
real = array_function(elementwise.real)
imag = array_function(elementwise.imag)
conj = array_function(elementwise.conj)
complex = array_function(elementwise.complex)
convert = array_function(elementwise.convert)

# Exponentials.
exp = array_function(analytic.exp)
exp2 = array_function(analytic.exp2)
expm1 = array_function(analytic.expm1)
log = array_function(analytic.log)
log1p = array_function(analytic.log1p)
log2 = array_function(analytic.log2)
log10 = array_function(analytic.log10)
logaddexp = array_function(analytic.logaddexp)
logaddexp2 = array_function(analytic.logaddexp2)
sqrt = array_function(analytic.sqrt)
rsqrt = array_function(analytic.rsqrt)
cbrt = array_function(analytic.cbrt)
hypot = array_function(analytic.hypot)
erf = array_function(analytic.erf)
erfc = array_function(analytic.erfc)
erf_inv = array_function(analytic.erf_inv)

# Special functions.
xlogy = array_function(analytic.xlogy)
xlog1py = array_function(analytic.xlog1py)
lgamma = array_function(analytic.lgamma)
digamma = array_function(analytic.digamma)
polygamma = array_function(analytic.polygamma)
zeta = array_function(analytic.zeta)
betaln = array_function(analytic.betaln)
i0 = array_function(analytic.i0)
i0e = array_function(analytic.i0e)
i1 = array_function(analytic.i1)
i1e = array_function(analytic.i1e)
nextafter = array_function(analytic.nextafter)

# Angles.
sin = array_function(analytic.sin)
cos = array_function(analytic.cos)
tan = array_function(analytic.tan)
asin = array_function(analytic.asin)
acos = array_function(analytic.acos)
atan = array_function(analytic.atan)
atan2 = array_function(analytic.atan2)
sinh = array_function(analytic.sinh)
cosh = array_function(analytic.cosh)
tanh = array_function(analytic.tanh)
asinh = array_function(analytic.asinh)
acosh = array_function(analytic.acosh)
atanh = array_function(analytic.atanh)
angle = array_function(analytic.angle)
degrees = array_function(analytic.degrees)
radians = array_function(analytic.radians)

# Rounding.
floor = array_function(elementwise.floor)
ceil = array_function(elementwise.ceil)
trunc = array_function(elementwise.trunc)
round = array_function(elementwise.round)
rint = array_function(elementwise.rint)

# Comparison, logic and bits.
equal = array_function(logical.equal)
not_equal = array_function(logical.not_equal)
less = array_function(logical.less)
less_equal = array_function(logical.less_equal)
greater = array_function(logical.greater)
greater_equal = array_function(logical.greater_equal)
isclose = array_function(logical.isclose)
allclose = array_function(logical.allclose)
isfinite = array_function(logical.isfinite)
isinf = array_function(logical.isinf)
isnan = array_function(logical.isnan)
signbit = array_function(logical.signbit)
copysign = array_function(logical.copysign)
logical_and = array_function(logical.logical_and)
logical_or = array_function(logical.logical_or)
logical_xor = array_function(logical.logical_xor)
logical_not = array_function(logical.logical_not)
bitwise_and = array_function(logical.bitwise_and)
bitwise_or = array_function(logical.bitwise_or)
bitwise_xor = array_function(logical.bitwise_xor)
bitwise_invert = array_function(logical.bitwise_invert)
bitwise_left_shift = array_function(logical.bitwise_left_shift)
bitwise_right_shift = array_function(logical.bitwise_right_shift)

# Activation functions of neural networks.
sigmoid = array_function(_activations.sigmoid)
log_sigmoid = array_function(_activations.log_sigmoid)
softplus = array_function(_activations.softplus)
relu = array_function(_activations.relu)
silu = array_function(_activations.silu)

# Reductions and scans.
sum = array_function(reductions.sum)
prod = array_function(reductions.prod)
max = array_function(reductions.max)
min = array_function(reductions.min)
mean = array_function(reductions.mean)
var = array_function(reductions.var)
std = array_function(reductions.std)
ptp = array_function(reductions.ptp)
any = array_function(reductions.any)
all = array_function(reductions.all)
count_nonzero = array_function(reductions.count_nonzero)
cumulative_sum = array_function(reductions.cumulative_sum)
cumulative_prod = array_function(reductions.cumulative_prod)
cumsum = array_function(reductions.cumsum)
cumprod = array_function(reductions.cumprod)

# Products.
matmul = array_function(products.matmul)
dot = array_function(products.dot)
vdot = array_function(products.vdot)
vecdot = array_function(products.vecdot)
inner = array_function(products.inner)
outer = array_function(products.outer)
kron = array_function(products.kron)
cross = array_function(products.cross)
tensordot = array_function(products.tensordot)
trace = array_function(products.trace)

# Shapes and order of elements.
reshape = array_function(_manipulation.reshape)
ravel = array_function(_manipulation.ravel)
permute_dims = array_function(_manipulation.permute_dims)
matrix_transpose = array_function(_manipulation.matrix_transpose)
moveaxis = array_function(_manipulation.moveaxis)
expand_dims = array_function(_manipulation.expand_dims)
squeeze = array_function(_manipulation.squeeze)
broadcast_to = array_function(_manipulation.broadcast_to)
flip = array_function(_manipulation.flip)
diagonal = array_function(_manipulation.diagonal)
tril = array_function(_manipulation.tril)
triu = array_function(_manipulation.triu)
swapaxes = array_function(_manipulation.swapaxes)
tile = array_function(_manipulation.tile)
fliplr = array_function(_manipulation.fliplr)
flipud = array_function(_manipulation.flipud)

# New arrays from a diagonal.
diag = array_function(_creation.diag)
diagflat = array_function(_creation.diagflat)

# Sorting.
sort = array_function(reductions.sort)
argsort = array_function(reductions.argsort)
argmax = array_function(reductions.argmax)
argmin = array_function(reductions.argmin)

# Data-dependent sizes.
shape_of = array_function(_manipulation.shape_of)
dynamic_truncate = array_function(_manipulation.dynamic_truncate)
pad_to_match = array_function(_manipulation.pad_to_match)

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
