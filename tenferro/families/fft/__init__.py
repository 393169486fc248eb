"""The family of discrete Fourier transforms along the last axes of an operand.

`op` has the op and its rules; `kernels` computes it with NumPy.
"""

from tenferro.families.fft.op import *
from tenferro.families.fft.op import Fft, FftBatchRule, FftRule
from tenferro.families.runtimes import KernelRuntime
from tenferro.ops.extension import Package

__all__ = ["FFT", "Fft", "exact_size", "points", "spectrum_length"]

FFT = Package(
    name="tenferro-fft",
    ops=(Fft,),
    rules=(FftRule(),),
    runtimes=(KernelRuntime(Fft.FAMILY_ID),),
    batch_rules=(FftBatchRule(),),
)
