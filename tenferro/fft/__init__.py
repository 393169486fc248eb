"""Discrete Fourier transforms: `tn.fft`, with the names of NumPy and the Python array API.

Single and double precision are kept; integers and bool become float64 or complex128. All transforms
are differentiable to any order.

>>> tn.fft.fft([1.0, 0.0, 0.0, 0.0])
Tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
>>> tn.fft.irfft(tn.fft.rfft([1.0, 2.0, 4.0]), n=3)
Tensor([1., 2., 4.])
"""

from typing import TYPE_CHECKING

from tenferro.families.fft import FFT
from tenferro.fft.transforms import *
from tenferro.fft.transforms import (
    fft,
    fft2,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)
from tenferro.missing_names import refusal
from tenferro.ops.extension import ExtensionRegistry, ExtensionRuleSet, register_runtimes, rules_of

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


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__ = refusal("tenferro.fft", __all__)
