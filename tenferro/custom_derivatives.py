"""`jax.custom_derivatives`: derivatives by hand, under their older names.

A zero that is symbolic is None here, and so `SymbolicZero` is the type of None.
"""

from __future__ import annotations

from typing import Any

from tenferro import tree
from tenferro.ir import PyTree, dtype_kind
from tenferro.missing_names import attributes
from tenferro.runtime import Tensor
from tenferro.transforms import (
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    leaf_meta,
)

__all__ = [
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "zero_from_primal",
]

SymbolicZero = type(None)
"""What stands for a tangent or cotangent that is zero."""

MISSING: dict[str, str] = {
    "CustomVJPPrimal": "leaves that fwd gets with symbolic_zeros have value and perturbed",
    "linear_call": "use tn.custom_vjp, or tn.custom_linear_solve for solutions of linear equations",
    "optimize_remat_of_custom_vjp_fwd": "derivatives store what they read alone; leave it out",
}
"""Names of `jax.custom_derivatives`, and what to do instead."""


def zero_from_primal(primal: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of a value: zeros, or None if it is symbolic, or of an integer.

    >>> import tenferro as tn
    >>> zero_from_primal(tn.ones(2)), zero_from_primal(3)
    (Tensor([0., 0.]), None)
    """
    meta = leaf_meta(primal, "zero_from_primal: the value")
    if symbolic_zeros or dtype_kind(meta.dtype) not in "fc":
        return None
    array = primal if hasattr(primal, "dtype") else Tensor(primal)
    return array * 0 if meta.rank else Tensor(0, meta.dtype)


def custom_vjp_primal_tree_values(tree_of_primals: PyTree) -> PyTree:
    """The values of what `fwd` gets with `symbolic_zeros`.

    >>> import tenferro as tn
    >>> custom_vjp_primal_tree_values((1.0, 2.0))
    (1.0, 2.0)
    """

    def is_leaf(each: Any) -> bool:
        return hasattr(each, "perturbed") and hasattr(each, "value")

    return tree.map(
        lambda each: each.value if is_leaf(each) else each, tree_of_primals, is_leaf=is_leaf
    )


__getattr__, __dir__ = attributes("tenferro.custom_derivatives", __all__, MISSING)
