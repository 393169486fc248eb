"""XLA on GPUs by CUDA."""

from __future__ import annotations

from tenferro.compiler import DeviceCosts, Runs
from tenferro_xla.platforms.platform import Platform

H200 = DeviceCosts(
    multiply=4e-14,
    complex_multiply=1.6e-13,
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
"""An H200 by its data sheet: 67·10¹² operations of 64-bit products and 4.8·10¹² bytes a second, of
which three quarters are expected. No run has been measured; `tests/benchmarks/contraction_costs.py`
fits them on a device.

cuBLAS takes operands in either order and complex ones as they are, so that no side is better on the
left, and contracted axes may come first."""

CUDA_PLATFORM = Platform(
    "cuda",
    costs=H200,
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
