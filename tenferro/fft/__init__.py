"""Discrete Fourier transforms: `tn.fft`, with the names of NumPy and the Python array API.

Single and double precision are kept; integers and bool become float64 or complex128. All transforms
are differentiable to any order.

>>> tn.fft.fft([1.0, 0.0, 0.0, 0.0])
Tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
>>> tn.fft.irfft(tn.fft.rfft([1.0, 2.0, 4.0]), n=3)
Tensor([1., 2., 4.])
"""

from functools import partial
from typing import TYPE_CHECKING

from tenferro.families.fft import FFT
from tenferro.fft import transforms
from tenferro.fft.transforms import *
from tenferro.missing_names import refusal
from tenferro.ops.extension import ExtensionRegistry, ExtensionRuleSet, register_runtimes, rules_of
from tenferro.transforms import array_function

__all__ = [
    "ad_rules",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "register_runtime",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def ad_rules() -> ExtensionRuleSet:
    """A new set of the derivative rules of these families; every context has these rules."""
    return rules_of([FFT])


def register_runtime(registry: ExtensionRegistry) -> None:
    """Register the runtimes of these families; for `register_extension(register_runtime)`.

    Executors do not need it: they have them.
    """
    register_runtimes([FFT], registry)


_public = partial(array_function, module="tenferro.fft")

fft = _public(transforms.fft)
ifft = _public(transforms.ifft)
rfft = _public(transforms.rfft)
irfft = _public(transforms.irfft)
hfft = _public(transforms.hfft)
ihfft = _public(transforms.ihfft)
fft2 = _public(transforms.fft2)
ifft2 = _public(transforms.ifft2)
rfft2 = _public(transforms.rfft2)
irfft2 = _public(transforms.irfft2)
fftn = _public(transforms.fftn)
ifftn = _public(transforms.ifftn)
rfftn = _public(transforms.rfftn)
irfftn = _public(transforms.irfftn)
fftshift = _public(transforms.fftshift)
ifftshift = _public(transforms.ifftshift)


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__ = refusal("tenferro.fft", __all__)
