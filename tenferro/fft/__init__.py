"""Discrete Fourier transforms: `tn.fft`, with the names of NumPy and the Python array API.

Single and double precision are kept; integers and bool become float64 or complex128. All transforms
are differentiable to any order.

>>> tn.fft.fft([1.0, 0.0, 0.0, 0.0])
Tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
>>> tn.fft.irfft(tn.fft.rfft([1.0, 2.0, 4.0]), n=3)
Tensor([1., 2., 4.])
"""

import typing as _typing

from tenferro.fft.op import FFT as _FFT
from tenferro.fft.transforms import *
from tenferro.missing_names import attributes as _attributes
from tenferro.missing_names import public as _public

ad_rules = _FFT.ad_rules
register_runtime = _FFT.register_runtime

if not _typing.TYPE_CHECKING:  # type checkers read the imports, and refuse other names
    __all__ = _public(vars(), home="tenferro.fft")
    __getattr__, __dir__ = _attributes("tenferro.fft", __all__)
