"""Derivatives of graphs, generic over the op set: linearize, then transpose.

Read in this order: `linear_fragment`, `rules`, `differentiate`, `transpose`, `residuals`,
`closure`; then `record` and `backward`, for values that are computed immediately.
"""

from tenferro.autodiff.backward import Applier, pull_records, push_records
from tenferro.autodiff.closure import check_closure
from tenferro.autodiff.differentiate import differentiate, push_forward
from tenferro.autodiff.linear_fragment import LinearFragment, active_operands, finish
from tenferro.autodiff.record import (
    Derivative,
    LeafOrigin,
    LocalProgram,
    Mask,
    Origin,
    Output,
    Record,
)
from tenferro.autodiff.residuals import residuals
from tenferro.autodiff.transpose import pull_back, transpose

__all__ = [
    "Applier",
    "Derivative",
    "LeafOrigin",
    "LinearFragment",
    "LocalProgram",
    "Mask",
    "Origin",
    "Output",
    "Record",
    "active_operands",
    "check_closure",
    "differentiate",
    "finish",
    "pull_back",
    "pull_records",
    "push_forward",
    "push_records",
    "residuals",
    "transpose",
]
