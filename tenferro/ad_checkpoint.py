"""`jax.ad_checkpoint`: what derivatives in reverse mode store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro.core import GlobalValKey, Input, residuals
from tenferro.ir import PyTree, TensorSpec, fresh_input, is_inexact, type_of
from tenferro.missing_names import attributes
from tenferro.transforms import (
    AdContext,
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    remat,
    trace_function,
)

__all__ = [
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
    "saved_residuals",
]

MISSING: dict[str, str] = dict.fromkeys(
    ("Offloadable", "Recompute", "Saveable"),
    "a policy returns whether results are stored: True or False",
)
"""Names of `jax.ad_checkpoint`, and what to do instead."""


def saved_residuals(
    f: Callable[..., PyTree], *args: PyTree, **kwargs: PyTree
) -> list[tuple[TensorSpec, str]]:
    """What the derivative of a function in reverse mode stores: types, and where values come from.

    Args:
        f: takes and returns trees of arrays.
        args, kwargs: its arguments: arrays, or `TensorSpec`s.

    Raises:
        PytreeError: an argument or a result is not an array.

    >>> import tenferro as tn
    >>> saved_residuals(lambda x: tn.sum(tn.sin(x)), tn.ones(3))
    [(TensorSpec(f64[3]), 'output of cosine')]
    """
    trace, _ = trace_function(f, args, kwargs, nested=False)
    wrt = [key for key in trace.inputs if is_inexact(type_of(key).dtype)]
    outputs = [key for key in trace.outputs if is_inexact(type_of(key).dtype)]
    ad = AdContext()
    linear = ad.linearize(outputs, wrt)
    seeds = [
        None if key is None else fresh_input(type_of(output), "ct")
        for key, output in zip(linear.output_keys, outputs, strict=True)
    ]
    pulled = [key for key in ad.pull_back(linear, seeds) if key is not None]
    stored = residuals(pulled, [seed for seed in seeds if seed is not None])
    return [(TensorSpec.of(type_of(key)), _source(key)) for key in stored]


def _source(key: GlobalValKey) -> str:
    if isinstance(key, Input):
        return f"from the argument {key.key.name}" if hasattr(key.key, "name") else "a constant"
    made: Any = key
    op = made.op
    tag = getattr(op.primitive, "tag", None)
    place = "" if op.site is None else f" at {op.site}"
    return f"named {tag!r}{place}" if tag is not None else f"output of {op.primitive.name}{place}"


def print_saved_residuals(f: Callable[..., PyTree], *args: PyTree, **kwargs: PyTree) -> None:
    """Print what `saved_residuals` returns, one value a line.

    >>> import tenferro as tn
    >>> print_saved_residuals(lambda x: tn.sum(tn.sin(x)), tn.ones(3))
    f64[3] output of cosine
    """
    for spec, source in saved_residuals(f, *args, **kwargs):
        print(f"{spec.meta} {source}")  # noqa: T201  # what it is for


__getattr__, __dir__ = attributes("tenferro.ad_checkpoint", __all__, MISSING)
