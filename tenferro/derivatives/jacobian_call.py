"""One call of a function that `jacobian`, `jacfwd`, `jacrev` or `hessian` returned."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.computegraph import GlobalValKey
from tenferro.config import config
from tenferro.derivatives.context import AD, AdContext, context_of, results_of
from tenferro.derivatives.gradients import Argnums, normal_argnums, require_active
from tenferro.derivatives.matrices import Matrices, block_meta
from tenferro.derivatives.modes import Linear, Mode, Plan, planned
from tenferro.errors import ADError, DTypeError, ExtentError, PytreeError
from tenferro.shape import TensorMeta, is_complex, is_inexact
from tenferro.traced import Trace, flatten, trace_function, unflatten, wraps


@dataclass(frozen=True, slots=True)
class JacobianCall:
    """A function that is differentiated, with what was said of how.

    Attributes:
        name: what users called.
        mode: which passes may be taken.
    """

    name: str
    mode: Mode
    function: Callable[..., Any]
    argnums: Argnums
    has_aux: bool
    holomorphic: bool
    chunk_size: int | None
    ad_context: AdContext | None

    def as_function(self) -> Callable[..., Any]:
        """The function of the Jacobians, or of the pair of them and the auxiliary result."""

        def jacobian(*args: Any, **kwargs: Any) -> Any:
            return self._called(args, kwargs)

        return wraps(self.function, jacobian)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        function, argnums = self.function, self.argnums
        numbers = normal_argnums(self.name, argnums, len(args))

        def of_some(*arguments: Any) -> Any:
            replaced = dict(zip(numbers, arguments, strict=True))
            return function(*(replaced.get(i, arg) for i, arg in enumerate(args)), **kwargs)

        varied = tuple(args[number] for number in numbers)
        trace, leaves = trace_function(of_some, varied, {}, self.has_aux)
        require_active(trace.inputs)
        ad = context_of(self.ad_context)
        results = results_of(trace, leaves, function, ad)
        _, arg_tree = flatten(varied[0] if isinstance(argnums, int) else varied)
        blocks = self._blocks(trace, ad)
        values = iter(results.of([*itertools.chain(*blocks), *trace.aux.keys]))
        rows = [unflatten(arg_tree, [next(values) for _ in row]) for row in blocks]
        jacobian = unflatten(trace.out_tree, rows)
        return (jacobian, trace.aux.rebuild(list(values))) if self.has_aux else jacobian

    def _blocks(self, trace: Trace, ad: AdContext) -> list[list[GlobalValKey]]:
        """For each result an array for each argument."""
        inputs, outputs = _metas(trace.inputs, self.name), _metas(trace.outputs, self.name)
        self._check_dtypes(inputs, outputs)
        self._check_sizes(inputs, outputs)
        linear = ad.linearize(trace.outputs, trace.inputs)
        matrices = Matrices(ad.shapes, self.chunk_size, self.holomorphic)
        blocks = matrices.blocks(linear, self._plan(linear, ad), inputs, outputs)
        if self.name == "jacrev":  # its results have the dtypes of the arguments
            return blocks
        return [
            [
                matrices.converted(key, block_meta(y, x).dtype)
                for key, x in zip(row, inputs, strict=True)
            ]
            for row, y in zip(blocks, outputs, strict=True)
        ]

    def _plan(self, linear: Linear, ad: AdContext) -> Plan:
        """How to compute it."""
        symmetric = self.name == "hessian"
        plan = planned(linear, ad.shapes, self.mode, self.holomorphic, symmetric)
        if plan is None:
            raise ADError(
                f"{self.name}: mode='cross' needs values to cut at, between the arguments and the "
                "results, that all tangents go through; use mode='auto'"
            )
        return plan

    def _check_dtypes(self, inputs: Sequence[TensorMeta], outputs: Sequence[TensorMeta]) -> None:
        """Raise DTypeError unless the passes that may be taken have unit vectors."""
        if self.holomorphic:
            self._check_complex("arguments", inputs)
            self._check_complex("results", outputs)
        elif self.mode == "forward" or self.name == "hessian":
            self._check_real(inputs)
        elif self.mode == "reverse" or any(is_complex(meta.dtype) for meta in inputs):
            self._check_real(outputs)
        if self.name == "jacobian":
            self._check_inexact(outputs)

    def _check_sizes(self, inputs: Sequence[TensorMeta], outputs: Sequence[TensorMeta]) -> None:
        """Raise ExtentError if an array of the result is larger than the byte budget."""
        for y, x in itertools.product(outputs, inputs):
            block = TensorMeta(y.dtype, (*y.extents, *x.extents))
            needed = block.known_size * y.dtype.itemsize
            if needed > config.max_bytes:
                raise ExtentError(
                    f"{self.name}: the result {block} takes {needed} bytes, more than the budget "
                    f"of {config.max_bytes} bytes; chunk_size= saves memory on the way only: take "
                    "products with vectors (jvp, vjp, hvp), or raise TENFERRO_MAX_BYTES"
                )

    def _check_complex(self, what: str, metas: Sequence[TensorMeta]) -> None:
        """Raise DTypeError unless all are complex: a holomorphic function has no others."""
        for meta in metas:
            if not is_complex(meta.dtype):
                raise DTypeError(
                    f"{self.name}: holomorphic=True needs complex {what}, got {meta}; convert it, "
                    "or leave holomorphic out"
                )

    def _check_real(self, metas: Sequence[TensorMeta]) -> None:
        """Raise DTypeError unless all are real floating-point, and so have unit vectors."""
        for meta in metas:
            if is_complex(meta.dtype):
                advice = (
                    ""
                    if self.name == "hessian"
                    else ("pass holomorphic=True if the function is holomorphic, or ")
                )
                raise DTypeError(f"{self.name}: {meta} is complex; {advice}use jvp and vjp")
        self._check_inexact(metas)

    def _check_inexact(self, metas: Sequence[TensorMeta]) -> None:
        """Raise DTypeError unless all are floating-point or complex."""
        for meta in metas:
            if not is_inexact(meta.dtype):
                raise DTypeError(
                    f"{self.name}: the result {meta} is not floating-point; leave it out, or use "
                    "jacfwd, which gives zeros"
                )


def as_mode(mode: object) -> Mode:
    """The mode.

    Raises:
        ADError: there is no such mode.
    """
    if mode == "auto" or mode == "forward" or mode == "reverse" or mode == "cross":
        return mode
    raise ADError(f"jacobian: mode must be 'auto', 'forward', 'reverse' or 'cross', got {mode!r}")


def as_chunk_size(name: str, chunk_size: object) -> int | None:
    """The chunk size.

    Raises:
        ADError: it is not a positive integer.
    """
    if chunk_size is None:
        return None
    if (
        isinstance(chunk_size, bool)
        or not isinstance(chunk_size, int | np.integer)
        or chunk_size < 1
    ):
        raise ADError(f"{name}: chunk_size must be a positive integer or None, got {chunk_size!r}")
    return int(chunk_size)


def _metas(keys: Sequence[GlobalValKey], name: str) -> list[TensorMeta]:
    metas = [AD.shapes.meta(key) for key in keys]
    for meta in metas:
        if meta.static_shape is None:
            raise PytreeError(f"{name}: needs constant extents, got {meta}; use jvp or vjp")
    return metas
