"""The array functions that users call, under the names of the Python array API standard.

A function `array_function(...)` is declared in `tenferro.arrays`, with its types and its docstring.
The modules of this package hold the functions that do more than apply one array function. NumPy's
names are aliases.
"""

from tenferro import arrays
from tenferro.dispatch import apply as apply
from tenferro.dispatch import array_function
from tenferro.namespace import lax
from tenferro.namespace.activations import log_softmax, logsumexp, softmax
from tenferro.namespace.comparison import array_equal
from tenferro.namespace.constants import e, inf, nan, newaxis, pi
from tenferro.namespace.creation import (
    arange,
    asarray,
    empty,
    eye,
    from_dlpack,
    full,
    identity,
    linspace,
    logspace,
    ones,
    tri,
    zeros,
)
from tenferro.namespace.dtypes import (
    bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tenferro.namespace.indexing import repeat, take, take_along_axis, top_k
from tenferro.namespace.inspection import can_cast, finfo, iinfo, isdtype, result_type
from tenferro.namespace.joining import column_stack, concat, dstack, hstack, stack, vstack
from tenferro.namespace.likeness import (
    astype,
    empty_like,
    full_like,
    meshgrid,
    ones_like,
    zeros_like,
)
from tenferro.namespace.optional import average, clip, diff, nan_to_num, pad
from tenferro.namespace.places import (
    block_until_ready,
    default_backend,
    device_count,
    device_get,
    device_put,
    devices,
    local_device_count,
    local_devices,
)
from tenferro.namespace.rolling import roll
from tenferro.namespace.sharded import with_sharding_constraint
from tenferro.namespace.splitting import (
    array_split,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    dsplit,
    hsplit,
    split,
    unstack,
    vsplit,
)
from tenferro.namespace.standard import namespace_info as __array_namespace_info__

# Arithmetic and choice.
add = array_function(arrays.elementwise.add)
subtract = array_function(arrays.elementwise.subtract)
multiply = array_function(arrays.elementwise.multiply)
divide = array_function(arrays.elementwise.divide)
floor_divide = array_function(arrays.elementwise.floor_divide)
remainder = array_function(arrays.elementwise.remainder)
fmod = array_function(arrays.elementwise.fmod)
pow = array_function(arrays.elementwise.pow)
maximum = array_function(arrays.elementwise.maximum)
minimum = array_function(arrays.elementwise.minimum)
where = array_function(arrays.elementwise.where)
abs = array_function(arrays.elementwise.abs)
negative = array_function(arrays.elementwise.negative)
positive = array_function(arrays.elementwise.positive)
sign = array_function(arrays.elementwise.sign)
square = array_function(arrays.elementwise.square)
reciprocal = array_function(arrays.elementwise.reciprocal)
real = array_function(arrays.elementwise.real)
imag = array_function(arrays.elementwise.imag)
conj = array_function(arrays.elementwise.conj)
complex = array_function(arrays.elementwise.complex)
convert = array_function(arrays.elementwise.convert)

# Exponentials.
exp = array_function(arrays.analytic.exp)
exp2 = array_function(arrays.analytic.exp2)
expm1 = array_function(arrays.analytic.expm1)
log = array_function(arrays.analytic.log)
log1p = array_function(arrays.analytic.log1p)
log2 = array_function(arrays.analytic.log2)
log10 = array_function(arrays.analytic.log10)
logaddexp = array_function(arrays.analytic.logaddexp)
logaddexp2 = array_function(arrays.analytic.logaddexp2)
sqrt = array_function(arrays.analytic.sqrt)
rsqrt = array_function(arrays.analytic.rsqrt)
cbrt = array_function(arrays.analytic.cbrt)
hypot = array_function(arrays.analytic.hypot)
erf = array_function(arrays.analytic.erf)
erfc = array_function(arrays.analytic.erfc)
erf_inv = array_function(arrays.analytic.erf_inv)

# Special functions.
xlogy = array_function(arrays.special.xlogy)
xlog1py = array_function(arrays.special.xlog1py)
lgamma = array_function(arrays.special.lgamma)
digamma = array_function(arrays.special.digamma)
polygamma = array_function(arrays.special.polygamma)
zeta = array_function(arrays.special.zeta)
betaln = array_function(arrays.special.betaln)
i0 = array_function(arrays.special.i0)
i0e = array_function(arrays.special.i0e)
i1 = array_function(arrays.special.i1)
i1e = array_function(arrays.special.i1e)
nextafter = array_function(arrays.special.nextafter)

# Angles.
sin = array_function(arrays.analytic.sin)
cos = array_function(arrays.analytic.cos)
tan = array_function(arrays.analytic.tan)
asin = array_function(arrays.analytic.asin)
acos = array_function(arrays.analytic.acos)
atan = array_function(arrays.analytic.atan)
atan2 = array_function(arrays.analytic.atan2)
sinh = array_function(arrays.analytic.sinh)
cosh = array_function(arrays.analytic.cosh)
tanh = array_function(arrays.analytic.tanh)
asinh = array_function(arrays.analytic.asinh)
acosh = array_function(arrays.analytic.acosh)
atanh = array_function(arrays.analytic.atanh)
angle = array_function(arrays.analytic.angle)
degrees = array_function(arrays.analytic.degrees)
radians = array_function(arrays.analytic.radians)

# Rounding.
floor = array_function(arrays.rounding.floor)
ceil = array_function(arrays.rounding.ceil)
trunc = array_function(arrays.rounding.trunc)
round = array_function(arrays.rounding.round)
rint = array_function(arrays.rounding.rint)

# Comparison, logic and bits.
equal = array_function(arrays.logical.equal)
not_equal = array_function(arrays.logical.not_equal)
less = array_function(arrays.logical.less)
less_equal = array_function(arrays.logical.less_equal)
greater = array_function(arrays.logical.greater)
greater_equal = array_function(arrays.logical.greater_equal)
isclose = array_function(arrays.logical.isclose)
allclose = array_function(arrays.logical.allclose)
isfinite = array_function(arrays.logical.isfinite)
isinf = array_function(arrays.logical.isinf)
isnan = array_function(arrays.logical.isnan)
signbit = array_function(arrays.logical.signbit)
copysign = array_function(arrays.logical.copysign)
logical_and = array_function(arrays.logical.logical_and)
logical_or = array_function(arrays.logical.logical_or)
logical_xor = array_function(arrays.logical.logical_xor)
logical_not = array_function(arrays.logical.logical_not)
bitwise_and = array_function(arrays.logical.bitwise_and)
bitwise_or = array_function(arrays.logical.bitwise_or)
bitwise_xor = array_function(arrays.logical.bitwise_xor)
bitwise_invert = array_function(arrays.logical.bitwise_invert)
bitwise_left_shift = array_function(arrays.logical.bitwise_left_shift)
bitwise_right_shift = array_function(arrays.logical.bitwise_right_shift)

# Activation functions of neural networks.
sigmoid = array_function(arrays.activations.sigmoid)
log_sigmoid = array_function(arrays.activations.log_sigmoid)
softplus = array_function(arrays.activations.softplus)
relu = array_function(arrays.activations.relu)
silu = array_function(arrays.activations.silu)

# Reductions and scans.
sum = array_function(arrays.reductions.sum)
prod = array_function(arrays.reductions.prod)
max = array_function(arrays.reductions.max)
min = array_function(arrays.reductions.min)
mean = array_function(arrays.reductions.mean)
var = array_function(arrays.reductions.var)
std = array_function(arrays.reductions.std)
ptp = array_function(arrays.reductions.ptp)
any = array_function(arrays.reductions.any)
all = array_function(arrays.reductions.all)
count_nonzero = array_function(arrays.reductions.count_nonzero)
cumulative_sum = array_function(arrays.scans.cumulative_sum)
cumulative_prod = array_function(arrays.scans.cumulative_prod)
cumsum = array_function(arrays.scans.cumsum)
cumprod = array_function(arrays.scans.cumprod)

# Products.
matmul = array_function(arrays.products.matmul)
dot = array_function(arrays.products.dot)
vdot = array_function(arrays.products.vdot)
vecdot = array_function(arrays.products.vecdot)
inner = array_function(arrays.products.inner)
outer = array_function(arrays.products.outer)
kron = array_function(arrays.products.kron)
cross = array_function(arrays.products.cross)
tensordot = array_function(arrays.products.tensordot)
trace = array_function(arrays.products.trace)

# Shapes and order of elements.
reshape = array_function(arrays.rearrange.reshape)
ravel = array_function(arrays.rearrange.ravel)
permute_dims = array_function(arrays.rearrange.permute_dims)
matrix_transpose = array_function(arrays.rearrange.matrix_transpose)
moveaxis = array_function(arrays.rearrange.moveaxis)
expand_dims = array_function(arrays.rearrange.expand_dims)
squeeze = array_function(arrays.rearrange.squeeze)
broadcast_to = array_function(arrays.rearrange.broadcast_to)
flip = array_function(arrays.rearrange.flip)
diagonal = array_function(arrays.rearrange.diagonal)
tril = array_function(arrays.rearrange.tril)
triu = array_function(arrays.rearrange.triu)
swapaxes = array_function(arrays.joining.swapaxes)
tile = array_function(arrays.joining.tile)
fliplr = array_function(arrays.joining.fliplr)
flipud = array_function(arrays.joining.flipud)

# New arrays from a diagonal.
diag = array_function(arrays.creation.diag)
diagflat = array_function(arrays.creation.diagflat)

# Sorting.
sort = array_function(arrays.sorting.sort)
argsort = array_function(arrays.sorting.argsort)
argmax = array_function(arrays.sorting.argmax)
argmin = array_function(arrays.sorting.argmin)

# Data-dependent sizes.
shape_of = array_function(arrays.dynamic.shape_of)
dynamic_truncate = array_function(arrays.dynamic.dynamic_truncate)
pad_to_match = array_function(arrays.dynamic.pad_to_match)

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

__all__ = [
    "__array_namespace_info__",
    "abs", "absolute", "acos", "acosh", "add", "all", "allclose", "amax", "amin", "angle", "any",
    "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax",
    "argmin", "argsort", "around", "array", "array_equal", "array_split", "asarray", "asin",
    "asinh", "astype", "atan", "atan2", "atanh", "atleast_1d", "atleast_2d", "atleast_3d",
    "average", "betaln", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_not",
    "bitwise_or", "bitwise_right_shift", "bitwise_xor", "block_until_ready", "bool",
    "broadcast_arrays", "broadcast_to",
    "can_cast", "cast", "cbrt", "ceil", "clip", "column_stack", "complex", "complex64",
    "complex128", "concat", "concatenate", "conj", "conjugate", "convert", "copysign", "cos",
    "cosh", "count_nonzero", "cross", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum",
    "default_backend", "deg2rad", "degrees", "device_count", "device_get", "device_put", "devices",
    "diag", "diagflat", "diagonal", "diff", "digamma", "divide", "dot",
    "dsplit", "dstack", "dynamic_truncate", "e", "empty", "empty_like", "equal", "erf", "erf_inv",
    "erfc", "erfinv", "exp", "exp2", "expand_dims", "expm1", "eye", "finfo", "fix", "flip",
    "fliplr", "flipud", "float16", "float32", "float64", "floor", "floor_divide", "fmod",
    "from_dlpack", "full", "full_like", "gammaln", "greater", "greater_equal", "hsplit", "hstack",
    "hypot", "i0", "i0e", "i1", "i1e", "identity", "iinfo", "imag", "inf", "inner", "int8",
    "int16", "int32", "int64", "invert", "isclose", "isdtype", "isfinite", "isinf", "isnan",
    "kron", "lax", "left_shift", "less", "less_equal", "lgamma", "linspace", "local_device_count",
    "local_devices", "log", "log1p",
    "log2", "log10", "log_sigmoid", "log_softmax", "logaddexp", "logaddexp2", "logical_and",
    "logical_not", "logical_or", "logical_xor", "logspace", "logsumexp", "matmul",
    "matrix_transpose", "max", "maximum", "mean", "meshgrid", "min", "minimum", "mod", "moveaxis",
    "multiply", "nan", "nan_to_num", "negative", "newaxis", "nextafter", "not_equal", "ones",
    "ones_like", "outer", "pad", "pad_to_match", "permute_dims", "pi", "polygamma", "positive",
    "pow", "power", "prod", "ptp", "rad2deg",
    "radians", "ravel", "real", "reciprocal", "relu", "remainder", "repeat", "reshape",
    "result_type", "right_shift", "rint", "roll", "round", "rsqrt", "shape_of", "sigmoid", "sign",
    "signbit", "silu", "sin", "sinh", "softmax", "softplus", "sort", "split", "sqrt", "square",
    "squeeze", "stack", "std", "subtract", "sum", "swapaxes", "take", "take_along_axis", "tan",
    "tanh", "tensordot", "tile", "top_k", "trace", "transpose", "tri", "tril", "triu",
    "true_divide", "trunc", "uint8", "uint16", "uint32", "uint64", "unstack", "var", "vdot",
    "vecdot", "vsplit", "vstack", "with_sharding_constraint",
    "xlog1py", "xlogy", "zeros", "zeros_like", "zeta",
]  # fmt: skip
