"""The functions that compute matrices of derivatives, and what each asks of its arguments."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.config import config
from tenferro.errors import DTypeError, ExtentError
from tenferro.jacobians.modes import Mode
from tenferro.shape import TensorMeta, is_complex, is_inexact

Metas = Sequence[TensorMeta]


@dataclass(frozen=True, slots=True)
class Kind:
    """A function that users call.

    Attributes:
        name: its name, for errors.
        of_gradient: whether it differentiates the gradient of the function that it is given, so
            that its matrix is symmetric.
        typed_by_arguments: whether its results have the dtypes of the arguments; else they have
            those of products of results and arguments.
        takes_integers: whether results that are not floating-point have derivatives, of zeros.
    """

    name: str
    of_gradient: bool = False
    typed_by_arguments: bool = False
    takes_integers: bool = True


JACOBIAN = Kind("jacobian", takes_integers=False)
JACFWD = Kind("jacfwd")
JACREV = Kind("jacrev", typed_by_arguments=True)
HESSIAN = Kind("hessian", of_gradient=True)


def check_dtypes(kind: Kind, mode: Mode, holomorphic: bool, inputs: Metas, outputs: Metas) -> None:
    """Raise DTypeError unless the passes that may be taken have unit vectors."""
    if holomorphic:
        _check_complex(kind, "arguments", inputs)
        _check_complex(kind, "results", outputs)
    elif mode == "forward" or kind.of_gradient:
        _check_real(kind, inputs)
    elif mode == "reverse" or any(is_complex(meta.dtype) for meta in inputs):
        _check_real(kind, outputs)
    if not kind.takes_integers:
        _check_inexact(kind, outputs)


def check_sizes(kind: Kind, inputs: Metas, outputs: Metas) -> None:
    """Raise ExtentError if an array of the result is larger than the byte budget."""
    for y, x in itertools.product(outputs, inputs):
        block = TensorMeta(y.dtype, (*y.extents, *x.extents))
        needed = block.known_size * y.dtype.itemsize
        if needed > config.max_bytes:
            raise ExtentError(
                f"{kind.name}: the result {block} takes {needed} bytes, more than the budget of "
                f"{config.max_bytes} bytes; chunk_size= saves memory on the way only: take "
                "products with vectors (jvp, vjp, hvp), or raise TENFERRO_MAX_BYTES"
            )


def _check_complex(kind: Kind, what: str, metas: Metas) -> None:
    """Raise DTypeError unless all are complex: a holomorphic function has no others."""
    for meta in metas:
        if not is_complex(meta.dtype):
            raise DTypeError(
                f"{kind.name}: holomorphic=True needs complex {what}, got {meta}; convert it, or "
                "leave holomorphic out"
            )


def _check_real(kind: Kind, metas: Metas) -> None:
    """Raise DTypeError unless all are real floating-point, and so have unit vectors."""
    for meta in metas:
        if is_complex(meta.dtype):
            holomorphic = "pass holomorphic=True if the function is holomorphic, or "
            advice = "" if kind.of_gradient else holomorphic
            raise DTypeError(f"{kind.name}: {meta} is complex; {advice}use jvp and vjp")
    _check_inexact(kind, metas)


def _check_inexact(kind: Kind, metas: Metas) -> None:
    """Raise DTypeError unless all are floating-point or complex."""
    for meta in metas:
        if not is_inexact(meta.dtype):
            raise DTypeError(
                f"{kind.name}: the result {meta} is not floating-point; leave it out, or use "
                "jacfwd, which gives zeros"
            )
