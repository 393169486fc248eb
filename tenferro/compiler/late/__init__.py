"""Sizes that are known late: decided by data, or rounded up so that many share one executable.

`segments` cuts a program where data decide a size; `padding` proves that sizes may be rounded up,
and masks what lies beyond the true ones; `buckets` says to what they are rounded.
"""

from tenferro.compiler.late.buckets import Buckets, Rounding
from tenferro.compiler.late.padding import Axes, Masked, MaskPadding, mask_program
from tenferro.compiler.late.segments import (
    SegmentPlan,
    Specialised,
    XlaSegment,
    is_dynamic,
    plan_segments,
    refuse_dynamic,
    specialise,
)

__all__ = [
    "Axes",
    "Buckets",
    "MaskPadding",
    "Masked",
    "Rounding",
    "SegmentPlan",
    "Specialised",
    "XlaSegment",
    "is_dynamic",
    "mask_program",
    "plan_segments",
    "refuse_dynamic",
    "specialise",
]
