"""Primitives of JAX that are not read, and why."""

from __future__ import annotations

__all__ = ["REFUSED", "REFUSED_MODULES"]

_DEVICES = "is a step of a program for several devices; read the function without shard_map"
_MUTABLE = "writes into a mutable array; write x.at[i].set(y) in its place"
_KERNEL = "is a step of a kernel for one accelerator"
_PACKED = "returns LAPACK's packed reflections; use the whole factorization"
_GENERATOR = (
    "draws the numbers of a generator that tn.random does not have; use jax.random.key(seed)"
)
_SYMBOLIC = "is about sizes that are symbols; pass constant shapes"
_TYPES = "is about a type of JAX that programs do not have"

REFUSED: dict[str, str] = {
    **dict.fromkeys(
        (
            *("all_gather", "all_gather_done", "all_gather_invariant", "all_gather_reduced"),
            *("all_gather_reduced_start", "all_gather_start", "all_to_all", "all_to_all_done"),
            *("all_to_all_start", "axis_index", "pbroadcast", "pbroadcast_done"),
            *("pbroadcast_dynamic", "reduced_vary_cast", "unreduced_pmax", "unreduced_pmin"),
            "vary_unreduced_cast",
            *("pbroadcast_start", "ppermute", "ppermute_done", "ppermute_start", "precv"),
            *("preduced", "psend", "psum_done", "psum_invariant", "psum_invariant_start"),
            *("psum_start", "ragged_all_to_all", "reduce_scatter", "reduce_scatter_done"),
            *("reduce_scatter_start", "reduced_vary_cast_p", "shard_map", "unreduced_psum"),
            *("unreduced_psum_start", "unreduced_reduce_scatter"),
            *("unreduced_reduce_scatter_start", "vary_unreduced_cast_p"),
        ),
        _DEVICES,
    ),
    **dict.fromkeys(
        (
            *("accum_grad_in_ref", "addupdate", "box_get", "box_set", "empty_ref", "free_ref"),
            *("freeze", "get", "log_extend", "log_read", "new_box", "new_log", "new_ref"),
            *("run_state", "swap", "create_linear", "pin", "unpin"),
        ),
        _MUTABLE,
    ),
    **dict.fromkeys(("geqp3", "hessenberg", "tridiagonal"), _PACKED),
    **dict.fromkeys(
        (
            *("iota_2x32_shape", "philox2x32", "philox4x32", "rng_bit_generator", "rng_uniform"),
            "threefry4x32",
        ),
        _GENERATOR,
    ),
    **dict.fromkeys(("dim_as_value", "dimension_size", "shape_assertion"), _SYMBOLIC),
    **dict.fromkeys(
        (
            *("after_all", "create_token", "from_edtype", "to_edtype"),
            *("call_hi_primitive", "call_hi_primitive_linearized", "stage"),
        ),
        _TYPES,
    ),
    **dict.fromkeys(("buffer_callback", "ffi_call", "call_exported"), "calls compiled code"),
    "check": "is a check that jax.experimental.checkify.checkify has not made a result",
    **dict.fromkeys(
        ("custom_jvp_call_jaxpr", "custom_lin", "unreachable"),
        "is a step of a derivative that JAX has not finished",
    ),
    "inspect_sharding": "shows where an array is, and programs do not say it",
    **dict.fromkeys(("broadcast_to", "scaled_dot"), _KERNEL),
    "select_and_scatter": "chooses elements of windows by a function",
}
"""For each primitive that is not read what it does, or what to do instead."""

REFUSED_MODULES: dict[str, str] = {
    "jax._src.cudnn": _KERNEL,
    "jax._src.pallas": _KERNEL,
    "jax._src.thunky": "is a step of a program for one accelerator",
    "jax._src.tpu_custom_call": _KERNEL,
}
"""The same for all primitives that the modules of a package define."""
