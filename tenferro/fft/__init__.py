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
from tenferro.missing_names import public as _public
from tenferro.missing_names import refusal as _refusal
from tenferro.ops.extension import ExtensionRegistry as _ExtensionRegistry
from tenferro.ops.extension import ExtensionRuleSet as _ExtensionRuleSet
from tenferro.ops.extension import register_runtimes as _register_runtimes
from tenferro.ops.extension import rules_of as _rules_of


def ad_rules() -> _ExtensionRuleSet:
    """A new set of the derivative rules of these families; every context has these rules."""
    return _rules_of([_FFT])


def register_runtime(registry: _ExtensionRegistry) -> None:
    """Register the runtimes of these families; for `register_extension(register_runtime)`.

    Executors do not need it: they have them.
    """
    _register_runtimes([_FFT], registry)


if not _typing.TYPE_CHECKING:  # type checkers read the imports, and refuse other names
    __all__ = _public(vars())
    __getattr__ = _refusal("tenferro.fft", __all__)
