"""Discrete Fourier transforms: `tn.fft`, with the names of NumPy and the Python array API.

Single and double precision are kept; integers and bool become float64 or complex128. All transforms
are differentiable to any order.

>>> tn.fft.fft([1.0, 0.0, 0.0, 0.0])
Tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
>>> tn.fft.irfft(tn.fft.rfft([1.0, 2.0, 4.0]), n=3)
Tensor([1., 2., 4.])
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from tenferro.dispatch import array_function
from tenferro.families.fft import FFT
from tenferro.family import ExtensionRegistry, ExtensionRuleSet, register_runtimes, rules_of
from tenferro.fft import frequencies, one_axis, several_axes
from tenferro.fft.creation import fftfreq, rfftfreq
from tenferro.naming import missing


def ad_rules() -> ExtensionRuleSet:
    """A new set of the derivative rules of these families; every context has these rules."""
    return rules_of([FFT])


def register_runtime(registry: ExtensionRegistry) -> None:
    """Register the runtimes of these families; for `register_extension(register_runtime)`.

    Executors do not need it: they have them.
    """
    register_runtimes([FFT], registry)


_public = partial(array_function, module="tenferro.fft")

fft = _public(one_axis.fft)
ifft = _public(one_axis.ifft)
rfft = _public(one_axis.rfft)
irfft = _public(one_axis.irfft)
hfft = _public(one_axis.hfft)
ihfft = _public(one_axis.ihfft)
fft2 = _public(several_axes.fft2)
ifft2 = _public(several_axes.ifft2)
rfft2 = _public(several_axes.rfft2)
irfft2 = _public(several_axes.irfft2)
fftn = _public(several_axes.fftn)
ifftn = _public(several_axes.ifftn)
rfftn = _public(several_axes.rfftn)
irfftn = _public(several_axes.irfftn)
fftshift = _public(frequencies.fftshift)
ifftshift = _public(frequencies.ifftshift)

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


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names

    def __getattr__(name: str) -> Any:
        raise missing("tenferro.fft", name, lambda: __all__)
