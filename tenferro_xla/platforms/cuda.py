"""XLA on GPUs by CUDA."""

from __future__ import annotations

from tenferro.compiler import DeviceCosts, Runs
from tenferro_xla.platforms.platform import Platform

HOPPER = DeviceCosts(
    multiply=3.5e-14,
    complex_multiply=1.4e-13,
    edge=128.0,
    matrix=2e-9,
    complex_matrix=4e-9,
    reduce=2.5e-12,
    contracted_first=0.0,
    short_left=0.0,
    move=6e-12,
    load=2.5e-12,
    write=2.5e-12,
    kernel=4e-6,
)
"""Products as measured on an H100, 64-bit ones and 32-bit ones without TF32; its copies, at
2.9·10¹² bytes a second, confirm `move`. The other constants follow from data sheets;
`tests/benchmarks/contraction_costs.py` fits them on a device.

cuBLAS takes operands in either order and complex ones as they are, so that no side is better on the
left, and contracted axes may come first."""

CUDA_PLATFORM = Platform(
    "cuda",
    costs=HOPPER,
    rewrites=True,
    # Blocks of XLA's allocator; the largest workspace that cuBLAS is given, on Hopper.
    runs=Runs(as_written=True, fuses=True, reads_transposed=True, block=256, workspace=32 << 20),
    drops_nan=False,
    precision={
        "highest": "32 bits, without TF32; the default",
        "default": "TF32: products of 32-bit numbers have 3 digits",
    },
    own_memory=True,
)
"""Complex products stay complex, transposes in front of products are left to cuBLAS."""
