"""Dense derivatives: Jacobians and Hessians."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec

import numpy as np

from tenferro.chainrules import KeyEmitter
from tenferro.computegraph import GlobalValKey
from tenferro.config import config
from tenferro.derivatives.basis import Basis
from tenferro.derivatives.context import AD, AdContext, context_of, results_of, traced_with
from tenferro.derivatives.gradients import (
    Argnums,
    Gradients,
    normal_argnums,
    require_active,
)
from tenferro.derivatives.linear_part import LinearPart
from tenferro.errors import ADError, DTypeError, ExtentError, PytreeError
from tenferro.ops import CONJ
from tenferro.shape import TensorMeta, is_complex, is_inexact
from tenferro.traced import Trace, flatten, unflatten, wraps
from tenferro.typing import PyTree

P = ParamSpec("P")


def jacfwd(
    function: Callable[P, object],
    argnums: Argnums = 0,
    *,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
) -> Callable[P, PyTree]:
    """The Jacobian, by one forward pass for all elements of the argument, as a batch.

    The result has the structure of the function's result, with the structure of the argument in
    place of each leaf. For a result leaf of shape `[*o]` and an argument leaf of shape `[*i]` it
    has an array `[*o, *i]`; for an integer result they are integer zeros.

    The program has as many instructions for any number of elements. An op that `vmap` refuses is an
    error here too: no pass for each element takes its place. Products with unit vectors are not
    computed, so that an infinite coefficient is only in the entries that contain it.

    Args:
        function: takes and returns trees of arrays.
        argnums: which positional arguments; if a tuple, there is a tuple for each result.
        holomorphic: allow complex arguments, of complex results.
        chunk_size: the largest number of elements in one batch, to save memory; a loop runs over
            the batches. None is one batch of all.
        ad_context: has the derivative rules of extension ops that the function uses.

    Raises:
        DTypeError: the argument is complex and `holomorphic` is not set, or it is set and an
            argument or result is real.
        BatchRuleError: an op in the derivative has no batch rule.
        ADError: `chunk_size` is not a positive integer.
        ExtentError: an array of the result is larger than the byte budget.

    >>> import tenferro as tn
    >>> jacfwd(lambda x: x * x)(tn.Tensor([1.0, 2.0]))
    Tensor([[2., 0.],
            [0., 4.]])
    """

    chunk = _chunk_size("jacfwd", chunk_size)
    jacobian_of = _Jacobian("jacfwd", True, function, argnums, holomorphic, chunk, ad_context)

    def jacobian(*args: P.args, **kwargs: P.kwargs) -> PyTree:
        return jacobian_of(args, kwargs)

    return wraps(function, jacobian)


def jacrev(
    function: Callable[P, object],
    argnums: Argnums = 0,
    *,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
) -> Callable[P, PyTree]:
    """The Jacobian, by one reverse pass for all elements of the result, as a batch.

    Shapes and arguments are those of `jacfwd`; `chunk_size` counts elements of the result. For
    complex arguments and a real result, the rows are gradients in the convention of `grad`. For a
    `holomorphic` function they are the complex derivative.

    Raises:
        DTypeError: the result is complex and `holomorphic` is not set, or it is set and an argument
            or result is real, or a result is neither floating-point nor complex.
        BatchRuleError: an op in the derivative has no batch rule.
        ADError: `chunk_size` is not a positive integer.
        ExtentError: an array of the result is larger than the byte budget.

    >>> import tenferro as tn
    >>> jacrev(lambda x: tn.sum(x * x))(tn.Tensor([1.0, 2.0]))
    Tensor([2., 4.])
    """

    chunk = _chunk_size("jacrev", chunk_size)
    jacobian_of = _Jacobian("jacrev", False, function, argnums, holomorphic, chunk, ad_context)

    def jacobian(*args: P.args, **kwargs: P.kwargs) -> PyTree:
        return jacobian_of(args, kwargs)

    return wraps(function, jacobian)


def hessian(
    function: Callable[P, object],
    argnums: Argnums = 0,
    *,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
) -> Callable[P, PyTree]:
    """Second derivatives of a real scalar function.

    The result is of shape `[*i, *i]` for an argument `[*i]`. It is `jacfwd` of the gradient: one
    forward pass for all elements of the argument, or `chunk_size` at a time.

    Raises:
        NonScalarGradError: the result is not a real scalar.
        BatchRuleError: an op in the derivative has no batch rule.
        ADError: `chunk_size` is not a positive integer.
        ExtentError: an array of the result is larger than the byte budget.

    >>> import tenferro as tn
    >>> hessian(lambda x: tn.sum(x * x * x))(tn.Tensor([1.0, 2.0]))
    Tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    chunk = _chunk_size("hessian", chunk_size)
    gradient = Gradients("hessian", function, argnums, ad_context=ad_context).as_function()
    jacobian_of = _Jacobian("hessian", True, gradient, argnums, False, chunk, ad_context)

    def second(*args: P.args, **kwargs: P.kwargs) -> PyTree:
        return jacobian_of(args, kwargs)

    return wraps(function, second)


@dataclass(frozen=True, slots=True)
class _Jacobian:
    """A call of a function that `jacfwd`, `jacrev` or `hessian` returned.

    Attributes:
        name: what users called.
        forward: whether the basis is that of the arguments.
    """

    name: str
    forward: bool
    function: Callable[..., Any]
    argnums: Argnums
    holomorphic: bool
    chunk_size: int | None
    ad_context: AdContext | None

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The Jacobian."""
        function, argnums = self.function, self.argnums
        numbers = normal_argnums(self.name, argnums, len(args))

        def of_some(*arguments: Any) -> Any:
            replaced = dict(zip(numbers, arguments, strict=True))
            return function(*(replaced.get(i, arg) for i, arg in enumerate(args)), **kwargs)

        varied = tuple(args[number] for number in numbers)
        ad = context_of(self.ad_context)
        trace, leaves = traced_with(ad, of_some, varied, {})
        require_active(trace.inputs)
        results = results_of(trace, leaves, function, ad)
        _, arg_tree = flatten(varied[0] if isinstance(argnums, int) else varied)
        blocks = self._blocks(trace, ad)
        values = iter(results.of([block for row in blocks for block in row]))
        rows = [unflatten(arg_tree, [next(values) for _ in row]) for row in blocks]
        return unflatten(trace.out_tree, rows)

    def _blocks(self, trace: Trace, ad: AdContext) -> list[list[GlobalValKey]]:
        """For each result an array for each argument."""
        inputs, outputs = _metas(trace.inputs, self.name), _metas(trace.outputs, self.name)
        forward = self.forward
        domain, image = (inputs, outputs) if forward else (outputs, inputs)
        if self.holomorphic:
            self._check_complex("arguments", inputs)
            self._check_complex("results", outputs)
        else:
            self._check_real(domain)
        self._check_sizes(inputs, outputs)
        linear = ad.linearize(trace.outputs, trace.inputs)
        part = (
            LinearPart.pushforward(linear)
            if forward
            else LinearPart.pullback(linear, len(outputs), ad.shapes)
        )
        basis = Basis(domain, [seed is not None for seed in part.seeds])
        at = KeyEmitter(ad.shapes)
        images = part.of_basis(basis, self.chunk_size, at)
        if self.holomorphic and not forward:  # a pullback applies the conjugate transpose
            images = [None if key is None else at.emit(CONJ, key) for key in images]
        columns = [
            [basis.block(at, key, leaf, meta, last=forward) for leaf in range(len(domain))]
            for key, meta in zip(images, image, strict=True)
        ]
        return (
            columns
            if forward
            else [[column[leaf] for column in columns] for leaf in range(len(domain))]
        )

    def _check_sizes(self, inputs: Sequence[TensorMeta], outputs: Sequence[TensorMeta]) -> None:
        """Raise ExtentError if an array of the result is larger than the byte budget."""
        for y, x in itertools.product(outputs, inputs):
            block = TensorMeta(y.dtype, (*y.extents, *x.extents))
            needed = math.prod(block.static_shape or ()) * y.dtype.itemsize
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
            if not is_inexact(meta.dtype):
                raise DTypeError(
                    f"{self.name}: the result {meta} is not floating-point; leave it out, or use "
                    "jacfwd, which gives zeros"
                )


def _chunk_size(name: str, chunk_size: object) -> int | None:
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
