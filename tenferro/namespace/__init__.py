"""What users call.

The array functions. The names are the Python array API standard's, NumPy's are aliases.
"""

from tenferro.dispatch import apply
from tenferro.namespace import lax
from tenferro.namespace.activations import (
    log_sigmoid,
    log_softmax,
    logsumexp,
    relu,
    sigmoid,
    silu,
    softmax,
    softplus,
)
from tenferro.namespace.analytic import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cbrt,
    cos,
    cosh,
    degrees,
    erf,
    erf_inv,
    erfc,
    exp,
    exp2,
    expm1,
    hypot,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    radians,
    rsqrt,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from tenferro.namespace.constants import (
    bool,
    complex64,
    complex128,
    e,
    float16,
    float32,
    float64,
    inf,
    int8,
    int16,
    int32,
    int64,
    nan,
    newaxis,
    pi,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tenferro.namespace.creation import (
    arange,
    diag,
    diagflat,
    empty,
    empty_like,
    eye,
    identity,
    linspace,
    logspace,
    meshgrid,
    tri,
)
from tenferro.namespace.dynamic import dynamic_truncate, pad_to_match, shape_of
from tenferro.namespace.elementwise import (
    abs,
    add,
    angle,
    astype,
    clip,
    complex,
    conj,
    convert,
    divide,
    floor_divide,
    fmod,
    imag,
    maximum,
    minimum,
    multiply,
    nan_to_num,
    negative,
    positive,
    pow,
    real,
    reciprocal,
    remainder,
    sign,
    square,
    subtract,
    where,
)
from tenferro.namespace.indexing import (
    argmax,
    argmin,
    argsort,
    sort,
    take,
    take_along_axis,
    top_k,
)
from tenferro.namespace.inspection import (
    can_cast,
    finfo,
    iinfo,
    isdtype,
    result_type,
)
from tenferro.namespace.joining import (
    array_split,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    column_stack,
    dsplit,
    dstack,
    fliplr,
    flipud,
    hsplit,
    hstack,
    repeat,
    roll,
    split,
    swapaxes,
    tile,
    unstack,
    vsplit,
    vstack,
)
from tenferro.namespace.layout import (
    asarray,
    broadcast_to,
    concat,
    diagonal,
    expand_dims,
    flip,
    full,
    full_like,
    matrix_transpose,
    moveaxis,
    ones,
    ones_like,
    pad,
    permute_dims,
    ravel,
    reshape,
    squeeze,
    stack,
    tril,
    triu,
    zeros,
    zeros_like,
)
from tenferro.namespace.logical import (
    allclose,
    array_equal,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    copysign,
    equal,
    greater,
    greater_equal,
    isclose,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    signbit,
)
from tenferro.namespace.products import (
    cross,
    dot,
    inner,
    kron,
    matmul,
    outer,
    tensordot,
    trace,
    vdot,
    vecdot,
)
from tenferro.namespace.reductions import (
    all,
    any,
    average,
    count_nonzero,
    max,
    mean,
    min,
    prod,
    ptp,
    std,
    sum,
    var,
)
from tenferro.namespace.rounding import (
    ceil,
    floor,
    rint,
    round,
    trunc,
)
from tenferro.namespace.scans import (
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    diff,
)

# NumPy's names.
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
    "abs", "absolute", "acos", "acosh", "add", "all", "allclose", "amax", "amin", "angle", "any",
    "apply", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "argmax", "argmin", "argsort", "around", "array", "array_equal", "array_split", "asarray",
    "asin", "asinh", "astype", "atan", "atan2", "atanh", "atleast_1d", "atleast_2d", "atleast_3d",
    "average", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "bool", "broadcast_arrays", "broadcast_to", "can_cast",
    "cast", "cbrt", "ceil", "clip", "column_stack", "complex", "complex64", "complex128", "concat",
    "concatenate", "conj", "conjugate", "convert", "copysign", "cos", "cosh", "count_nonzero",
    "cross", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "deg2rad", "degrees",
    "diag", "diagflat", "diagonal", "diff", "divide", "dot", "dsplit", "dstack",
    "dynamic_truncate", "e", "empty", "empty_like", "equal", "erf", "erf_inv", "erfc", "exp",
    "exp2", "expand_dims", "expm1", "eye", "finfo", "fix", "flip", "fliplr", "flipud", "float16",
    "float32", "float64", "floor", "floor_divide", "fmod", "full", "full_like", "greater",
    "greater_equal", "hsplit", "hstack", "hypot", "identity", "iinfo", "imag", "inf", "inner",
    "int8", "int16", "int32", "int64", "invert", "isclose", "isdtype", "isfinite", "isinf",
    "isnan", "kron", "lax", "left_shift", "less", "less_equal", "linspace", "log", "log1p", "log2",
    "log10", "log_sigmoid", "log_softmax", "logaddexp", "logaddexp2", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logspace", "logsumexp", "matmul", "matrix_transpose", "max",
    "maximum", "mean", "meshgrid", "min", "minimum", "mod", "moveaxis", "multiply", "nan",
    "nan_to_num", "negative", "newaxis", "not_equal", "ones", "ones_like", "outer", "pad",
    "pad_to_match", "permute_dims", "pi", "positive", "pow", "power", "prod", "ptp", "rad2deg",
    "radians", "ravel", "real", "reciprocal", "relu", "remainder", "repeat", "reshape",
    "result_type", "right_shift", "rint", "roll", "round", "rsqrt", "shape_of", "sigmoid", "sign",
    "signbit", "silu", "sin", "sinh", "softmax", "softplus", "sort", "split", "sqrt", "square",
    "squeeze", "stack", "std", "subtract", "sum", "swapaxes", "take", "take_along_axis", "tan",
    "tanh", "tensordot", "tile", "top_k", "trace", "transpose", "tri", "tril", "triu",
    "true_divide", "trunc", "uint8", "uint16", "uint32", "uint64", "unstack", "var", "vdot",
    "vecdot", "vsplit", "vstack", "where", "zeros", "zeros_like",
]  # fmt: skip
