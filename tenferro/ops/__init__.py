"""The primitives: a topic per file, one class per op.

`ALL_OPS` is the vocabulary, with the `COLLECTIVES` on named axes. Read `broadcast` first: it shows
a complete pair of ops, each the other's transpose; then `elementwise`, whose ops are rows.
"""

import typing as _typing
from collections.abc import Callable as _Callable

from tenferro.ir import AnyTensor as _AnyTensor
from tenferro.ir import ShapeGuardContext as ShapeGuardContext
from tenferro.missing_names import attributes as _attributes
from tenferro.missing_names import public as _public
from tenferro.ops.analytic import *
from tenferro.ops.annotations import *
from tenferro.ops.base import *
from tenferro.ops.broadcast import *
from tenferro.ops.collectives import *
from tenferro.ops.dot_general import *
from tenferro.ops.dynamic_shapes import *
from tenferro.ops.elementwise import *
from tenferro.ops.error_function import *
from tenferro.ops.gamma_integrals import *
from tenferro.ops.gather_scatter import *
from tenferro.ops.piecewise import *
from tenferro.ops.random import *
from tenferro.ops.rearrange import *
from tenferro.ops.reductions import *
from tenferro.ops.slicing import *
from tenferro.ops.special import *

_NAMED: tuple[type[StdTensorOp], ...] = tuple(
    op
    for op in tuple(globals().values())
    if isinstance(op, type) and issubclass(op, StdTensorOp) and "name" in vars(op)
)
COLLECTIVES = tuple(op for op in _NAMED if issubclass(op, Collective))
"""The ops on named axes, which have no meaning alone."""

ALL_OPS: tuple[type[StdTensorOp], ...] = tuple(
    op
    for op in _NAMED
    if not issubclass(op, Collective) and op is not Argument  # which programs do not contain
)
"""The ops of the vocabulary that have a meaning alone: all that the modules list and that have a
name."""


def shape_context(rules: _Callable[[str], object | None] | None = None) -> ShapeGuardContext:
    """A metadata context for graphs of these ops."""
    return ShapeGuardContext(ADD, rules)


_OF_ARRAYS = ("segment_max", "segment_min", "segment_prod", "segment_sum")
"""The functions of `jax.ops`, which are array functions; they are loaded when they are used."""
segment_max: _Callable[..., _AnyTensor]
segment_min: _Callable[..., _AnyTensor]
segment_prod: _Callable[..., _AnyTensor]
segment_sum: _Callable[..., _AnyTensor]


if not _typing.TYPE_CHECKING:  # type checkers read the imports, and refuse other names
    import tenferro as _tenferro

    __all__ = _public(vars(), *_OF_ARRAYS)
    _refuse, __dir__ = _attributes("tenferro.ops", __all__)

    def __getattr__(name):
        return getattr(_tenferro, name) if name in _OF_ARRAYS else _refuse(name)
