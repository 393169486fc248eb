"""The ops of the IR as functions, with the names and the signatures of `jax.lax` where it has them.

They do not promote and broadcast only scalars; a Python number has the dtype of the arrays beside
it. `MISSING` in `missing` lists what `jax.lax` has beyond, with reasons. Ops that it does not have
take their operands first, then their payload.

Read in this order: `operands`, `elementwise`, `creation`, `shapes`, `dynamic`, `indexing`,
`products`, `reductions`, `convolution`, `sorting`, `ops`.

>>> x = tn.array([[1.0, 2.0], [3.0, 4.0]])
>>> tn.lax.dot_general(x, x, (((1,), (0,)), ((), ())))
Tensor([[ 7., 10.],
        [15., 22.]])
"""

from typing import TYPE_CHECKING, Any

from tenferro.custom import custom_linear_solve, custom_root, stop_gradient
from tenferro.loops import associative_scan, cond, fori_loop, map, scan, switch, while_loop
from tenferro.namespace.lax.convolution import (
    ConvDimensionNumbers,
    conv,
    conv_dimension_numbers,
    conv_general_dilated,
    conv_with_general_padding,
)
from tenferro.namespace.lax.creation import broadcasted_iota, empty, full, full_like, iota
from tenferro.namespace.lax.dynamic import (
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
)
from tenferro.namespace.lax.elementwise import (
    RoundingMethod,
    abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    cbrt,
    ceil,
    clamp,
    complex,
    conj,
    convert_element_type,
    cos,
    cosh,
    div,
    eq,
    erf,
    erf_inv,
    erfc,
    exp,
    exp2,
    expm1,
    floor,
    ge,
    gt,
    imag,
    integer_pow,
    is_finite,
    le,
    log,
    log1p,
    logistic,
    lt,
    max,
    min,
    mul,
    ne,
    neg,
    pow,
    real,
    reciprocal,
    reduce_precision,
    rem,
    round,
    rsqrt,
    select,
    select_n,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    sub,
    tan,
    tanh,
)
from tenferro.namespace.lax.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    gather,
    scatter,
    scatter_add,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_sub,
)
from tenferro.namespace.lax.missing import MISSING
from tenferro.namespace.lax.ops import (
    assume_size,
    compare,
    convert,
    cumulative_prod,
    cumulative_sum,
    dynamic_broadcast_in_dim,
    dynamic_truncate,
    embed_diag,
    extract_diag,
    gamma_grad,
    gamma_sample,
    gather_dynamic_slice_sizes,
    linear_recurrence,
    log_add_exp,
    maximum,
    minimum,
    pad_to_match,
    reverse,
    round_nearest_even,
    scatter_reduce,
    shape_of,
    shift_right,
    sign_bit,
    special,
    threefry2x32,
    tril,
    triu,
)
from tenferro.namespace.lax.products import batch_matmul, dot, dot_general
from tenferro.namespace.lax.reductions import (
    argmax,
    argmin,
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
    reduce,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_window,
)
from tenferro.namespace.lax.shapes import (
    broadcast,
    broadcast_in_dim,
    broadcast_like,
    broadcast_shapes,
    broadcast_to_rank,
    collapse,
    concatenate,
    expand_dims,
    index_in_dim,
    pad,
    reshape,
    rev,
    slice,
    slice_in_dim,
    split,
    squeeze,
    stack,
    tile,
    transpose,
    unstack,
)
from tenferro.namespace.lax.sorting import sort, sort_key_val, top_k
from tenferro.namespace.lax.special_functions import (
    bessel_i0e,
    bessel_i1e,
    betainc,
    digamma,
    igamma,
    igamma_grad_a,
    igammac,
    lgamma,
    nextafter,
    polygamma,
    random_gamma_grad,
    zeta,
)
from tenferro.naming import missing

__all__ = [
    "ConvDimensionNumbers", "GatherDimensionNumbers", "GatherScatterMode", "RoundingMethod",
    "ScatterDimensionNumbers", "abs", "acos", "acosh", "add", "argmax", "argmin", "asin", "asinh",
    "associative_scan", "assume_size", "atan", "atan2", "atanh", "batch_matmul", "bessel_i0e",
    "bessel_i1e", "betainc", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "broadcast",
    "broadcast_in_dim", "broadcast_like", "broadcast_shapes", "broadcast_to_rank",
    "broadcasted_iota", "cbrt", "ceil", "clamp", "collapse", "compare", "complex", "concatenate",
    "cond", "conj", "conv", "conv_dimension_numbers", "conv_general_dilated",
    "conv_with_general_padding", "convert", "convert_element_type", "cos", "cosh", "cumlogsumexp",
    "cummax", "cummin", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum",
    "custom_linear_solve", "custom_root", "digamma", "div",
    "dot", "dot_general", "dynamic_broadcast_in_dim", "dynamic_index_in_dim", "dynamic_slice",
    "dynamic_slice_in_dim", "dynamic_truncate", "dynamic_update_index_in_dim",
    "dynamic_update_slice", "dynamic_update_slice_in_dim", "embed_diag", "empty", "eq", "erf",
    "erf_inv", "erfc", "exp", "exp2", "expand_dims", "expm1", "extract_diag", "floor", "fori_loop",
    "full", "full_like", "gamma_grad", "gamma_sample", "gather", "gather_dynamic_slice_sizes", "ge",
    "gt", "igamma", "igamma_grad_a", "igammac", "imag", "index_in_dim", "integer_pow", "iota",
    "is_finite", "le", "lgamma", "linear_recurrence", "log", "log1p", "log_add_exp", "logistic",
    "lt", "map", "max", "maximum", "min", "minimum", "mul", "ne", "neg", "nextafter", "pad",
    "pad_to_match", "polygamma", "pow", "random_gamma_grad", "real", "reciprocal", "reduce",
    "reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_precision", "reduce_prod",
    "reduce_sum", "reduce_window", "rem", "reshape", "rev", "reverse", "round",
    "round_nearest_even", "rsqrt", "scan", "scatter", "scatter_add", "scatter_max", "scatter_min",
    "scatter_mul", "scatter_reduce", "scatter_sub", "select", "select_n", "shape_of", "shift_left",
    "shift_right", "shift_right_arithmetic", "shift_right_logical", "sign", "sign_bit", "sin",
    "sinh", "slice", "slice_in_dim", "sort", "sort_key_val", "special", "split", "sqrt", "square",
    "squeeze", "stack", "stop_gradient", "sub", "switch", "tan", "tanh", "threefry2x32", "tile",
    "top_k", "transpose", "tril", "triu", "unstack", "while_loop", "zeta",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names

    def __getattr__(name: str) -> Any:
        raise missing("tn.lax", name, lambda: __all__, MISSING)
