"""Derivatives of graphs, generic over the op set: linearize, then transpose.

Read in this order: `linear_fragment`, `differentiate`, `transpose`, `closure`.
"""

from tenferro.autodiff.closure import check_closure
from tenferro.autodiff.differentiate import differentiate, push_forward
from tenferro.autodiff.linear_fragment import LinearFragment
from tenferro.autodiff.transpose import pull_back, transpose

__all__ = [
    "LinearFragment",
    "check_closure",
    "differentiate",
    "pull_back",
    "push_forward",
    "transpose",
]
