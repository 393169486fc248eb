"""The family of discrete Fourier transforms along the last axes of an operand.

`op` has the op and its rules; `kernels` computes it with NumPy.
"""

from tenferro.families.fft.op import (
    Fft,
    FftBatchRule,
    FftRule,
    exact_size,
    points,
    spectrum_length,
)
from tenferro.families.runtime import KernelRuntime
from tenferro.family import Package

FFT = Package(
    name="tenferro-fft",
    ops=(Fft,),
    rules=(FftRule(),),
    runtimes=(KernelRuntime(Fft.FAMILY_ID),),
    batch_rules=(FftBatchRule(),),
)

__all__ = ["FFT", "Fft", "exact_size", "points", "spectrum_length"]
