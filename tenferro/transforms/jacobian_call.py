"""One call of a function that `jacobian`, `jacfwd`, `jacrev` or `hessian` returned."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, cast

from tenferro.compiler import MemoryLimit, memory_report, optimize, tighter, without_rules
from tenferro.config import config
from tenferro.core import GlobalOpKey, GlobalValKey, resolve_keys
from tenferro.errors import (
    ADError,
    ADRuleError,
    BatchRuleError,
    DTypeError,
    ExtentError,
    PytreeError,
)
from tenferro.ir import ExecProgram, TensorMeta, integer_of, is_complex, is_inexact
from tenferro.ops.control_flow import ControlOp, Custom, foreign, program_of
from tenferro.ops.extension import Extension
from tenferro.transforms.ad_context import AD, AdContext, context_of, results_of, trace_in_context
from tenferro.transforms.grad import Argnums, Gradients, normal_argnums, require_active
from tenferro.transforms.jacobian_coloring import SparsePlan, sparse_plans
from tenferro.transforms.jacobian_passes import Matrices, Mode, Plan, Sweep, SweepCosts, block_meta
from tenferro.transforms.jacobian_sparsity import MOST_ENTRIES, Pattern, TooDenseError, pattern_of
from tenferro.transforms.linear_part import LinearGraph
from tenferro.transforms.program import wraps
from tenferro.transforms.sparse_matrix import Coordinates, SparseMatrix
from tenferro.transforms.trace import Trace
from tenferro.transforms.trees import flatten, unflatten

__all__ = [
    "HESSIAN",
    "JACFWD",
    "JACOBIAN",
    "JACREV",
    "JacobianCall",
    "SparsityOption",
    "as_chunk_size",
    "as_mode",
    "as_sparsity",
]


# The functions that compute matrices of derivatives, and what each asks of its arguments.

Metas = Sequence[TensorMeta]


@dataclass(frozen=True, slots=True)
class JacobianFunction:
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


JACOBIAN = JacobianFunction("jacobian", takes_integers=False)
JACFWD = JacobianFunction("jacfwd")
JACREV = JacobianFunction("jacrev", typed_by_arguments=True)
HESSIAN = JacobianFunction("hessian", of_gradient=True)


def check_dtypes(
    kind: JacobianFunction, mode: Mode, holomorphic: bool, inputs: Metas, outputs: Metas
) -> None:
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


def check_sizes(kind: JacobianFunction, inputs: Metas, outputs: Metas) -> None:
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


def _check_complex(kind: JacobianFunction, what: str, metas: Metas) -> None:
    for meta in metas:
        if not is_complex(meta.dtype):
            raise DTypeError(
                f"{kind.name}: holomorphic=True needs complex {what}, got {meta}; convert it, or "
                "leave holomorphic out"
            )


def _check_real(kind: JacobianFunction, metas: Metas) -> None:
    for meta in metas:
        if is_complex(meta.dtype):
            holomorphic = "pass holomorphic=True if the function is holomorphic, or "
            advice = "" if kind.of_gradient else holomorphic
            raise DTypeError(f"{kind.name}: {meta} is complex; {advice}use jvp and vjp")
    _check_inexact(kind, metas)


def _check_inexact(kind: JacobianFunction, metas: Metas) -> None:
    for meta in metas:
        if not is_inexact(meta.dtype):
            raise DTypeError(
                f"{kind.name}: the result {meta} is not floating-point; leave it out, or use "
                "jacfwd, which gives zeros"
            )


# What users say of how a Jacobian is computed.

SparsityOption = Literal["auto"] | None


def as_mode(mode: object) -> Mode:
    """The mode."""
    if mode == "auto" or mode == "forward" or mode == "reverse" or mode == "cross":
        return mode
    raise ADError(f"jacobian: mode must be 'auto', 'forward', 'reverse' or 'cross', got {mode!r}")


def as_sparsity(name: str, sparsity: object, mode: Mode = "auto") -> SparsityOption:
    """The kind of sparsity."""
    if sparsity is None:
        return None
    if sparsity != "auto":
        raise ADError(f"{name}: sparsity must be None or 'auto', got {sparsity!r}")
    if mode == "cross":
        raise ADError(f"{name}: mode='cross' is for dense Jacobians; leave sparsity out")
    return "auto"


def as_chunk_size(name: str, chunk_size: object) -> int | None:
    """The chunk size."""
    if chunk_size is None:
        return None
    number = integer_of(chunk_size)
    if number is None or number < 1:
        raise ADError(f"{name}: chunk_size must be a positive integer or None, got {chunk_size!r}")
    return number


# One call of a function that `jacobian`, `jacfwd`, `jacrev` or `hessian` returned.

LEAST_COLOURED = 32
"""The smallest number of rows and columns from which on a dense matrix may be coloured."""

MOST_IN_A_ROW = 16
"""The largest number of places in a row or column, on average, of a matrix that may be."""

Operand = TypeVar("Operand")
Result = TypeVar("Result")
MOST_STEPS_COLOURED = 500
"""The number of steps for which its loops are followed."""

Blocks = tuple[list[list[GlobalValKey]], list[list[Coordinates | None]]]
"""For each result an array for each argument, and if it is sparse, its places."""


@dataclass(frozen=True, slots=True)
class JacobianCall:
    """A function that is differentiated, with what was said of how.

    Attributes:
        kind: the function that users called.
        mode: which passes may be taken.
        sparsity: whether the results are sparse matrices.
        limit: the memory limit of the program.
        traced: the traces of a function whose gradient is differentiated.
    """

    kind: JacobianFunction
    mode: Mode
    function: Callable[..., Any]
    argnums: Argnums
    has_aux: bool
    holomorphic: bool
    chunk_size: int | None
    ad_context: AdContext | None
    sparsity: SparsityOption = None
    limit: MemoryLimit | None = None
    traced: Sequence[Trace] = ()

    def as_function(self) -> Callable[..., Any]:
        """The function of the Jacobians, or of the pair of them and the auxiliary result."""

        def jacobian(*args: Any, **kwargs: Any) -> Any:
            call = self._of_gradient() if self.kind.of_gradient else self
            return call._called(args, kwargs)

        return wraps(self.function, jacobian)

    def _of_gradient(self) -> JacobianCall:
        traced: list[Trace] = []
        gradient = Gradients(
            self.kind.name,
            self.function,
            self.argnums,
            self.has_aux,
            self.holomorphic,
            ad_context=self.ad_context,
            on_trace=traced.append,
        )
        return replace(self, function=gradient.as_function(), traced=traced)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        function, argnums = self.function, self.argnums
        numbers = normal_argnums(self.kind.name, argnums, len(args), kwargs)

        def of_some(*arguments: Any) -> Any:
            replaced = dict(zip(numbers, arguments, strict=True))
            return function(*(replaced.get(i, arg) for i, arg in enumerate(args)), **kwargs)

        varied = tuple(args[number] for number in numbers)
        ad = context_of(self.ad_context)
        trace, leaves = trace_in_context(ad, of_some, varied, {}, self.has_aux)
        require_active(trace.inputs)
        results = results_of(trace, leaves, function, ad, self.limit)
        _, arg_tree = flatten(varied[0] if isinstance(argnums, int) else varied)
        blocks, places = self._blocks_within(tighter([self.limit, trace.context.limit]), trace, ad)
        values = iter(results.of([*itertools.chain(*blocks), *trace.aux.keys]))
        rows = [
            unflatten(arg_tree, [_with_places(next(values), each) for each in row])
            for row in places
        ]
        jacobian = unflatten(trace.tree, rows)
        return (jacobian, trace.aux.rebuild(list(values))) if self.has_aux else jacobian

    def _blocks_within(self, limit: MemoryLimit | None, trace: Trace, ad: AdContext) -> Blocks:
        """The blocks; under a limit by batches of as many unit vectors as are predicted to fit.

        If none fits, by those that need least.
        """
        blocks = self._blocks(trace, ad)
        if limit is None or self.chunk_size is not None:
            return blocks
        chunk = max(
            sum(AD.shapes.meta(key).known_size for key in keys)
            for keys in (trace.inputs, trace.outputs)
        )
        least = _peak(blocks, trace)
        while chunk > 1 and least > limit.bytes:
            chunk = (chunk + 1) // 2
            other = replace(self, chunk_size=chunk)._blocks(trace, ad)
            peak = _peak(other, trace)
            blocks, least = (other, peak) if peak < least else (blocks, least)
        return blocks

    def _blocks(self, trace: Trace, ad: AdContext) -> Blocks:
        """For each result an array for each argument, and if it is sparse, its places."""
        inputs, outputs = (
            [AD.shapes.meta(key) for key in keys] for keys in (trace.inputs, trace.outputs)
        )
        mode = self._possible_mode(inputs, outputs)
        if mode != self.mode:
            return replace(self, mode=mode)._blocks(trace, ad)
        check_dtypes(self.kind, self.mode, self.holomorphic, inputs, outputs)
        if self.sparsity is None:
            check_sizes(self.kind, inputs, outputs)
        linear = ad.linearize(trace.outputs, trace.inputs, trace.context.varies)
        matrices = Matrices(linear, inputs, outputs, ad.shapes, self.chunk_size, self.holomorphic)
        if self.sparsity is not None:
            pattern = self._pattern(linear, inputs, outputs, ad)
            colours = self._colours(linear, pattern, inputs, outputs, ad)
            plan, sparse = _first_possible(colours, matrices.sparse)
            return _with_types(sparse, inputs, outputs, str(plan))
        _, blocks = _first_possible(self._plans(linear, inputs, outputs, ad), matrices.dense)
        if not self.kind.typed_by_arguments:
            blocks = [
                [
                    matrices.converted(key, block_meta(y, x).dtype)
                    for key, x in zip(row, inputs, strict=True)
                ]
                for row, y in zip(blocks, outputs, strict=True)
            ]
        return blocks, [[None] * len(inputs) for _ in outputs]

    def _possible_mode(self, inputs: Metas, outputs: Metas) -> Mode:
        """The mode, or the only one that has unit vectors where sizes are not constant."""
        named = [
            [meta for meta in metas if meta.static_shape is None] for metas in (inputs, outputs)
        ]
        possible = [
            mode
            for mode, unknown in (("forward", named[0]), ("reverse", named[1]))
            if not unknown and self.mode in ("auto", mode)
        ]
        if not any(named):
            return self.mode
        if self.sparsity is None and possible:
            return "forward" if possible[0] == "forward" else "reverse"
        unknown = named[1] if self.mode == "reverse" else [*named[0], *named[1]]
        raise PytreeError(
            f"{self.kind.name}: needs constant extents, got {unknown[0]}; use jvp or vjp"
        )

    def _plans(
        self, linear: LinearGraph, inputs: Metas, outputs: Metas, ad: AdContext
    ) -> Sequence[Plan | SparsePlan]:
        """How to compute a dense matrix; what costs least first."""
        if self.mode == "forward" or self.mode == "reverse":
            return [Sweep(self.mode == "forward")]
        if self.mode == "auto" and _has_rules_by_hand(linear.fragment.nodes):
            return [Sweep(forward=False)]
        costs = SweepCosts(linear, ad.shapes, self.holomorphic, self.kind.of_gradient)
        plans = costs.plans(self.mode)
        if not plans:
            raise ADError(
                f"{self.kind.name}: mode='cross' needs values to cut at, between the arguments and "
                "the results, that all tangents go through; use mode='auto'"
            )
        if self.mode == "cross" or min(costs.rows, costs.columns) < LEAST_COLOURED:
            return plans
        most = MOST_IN_A_ROW * max(costs.rows, costs.columns)
        try:
            pattern = pattern_of(linear, inputs, outputs, ad.shapes, most, MOST_STEPS_COLOURED)
        except TooDenseError:
            return plans
        if pattern.is_identity and len(inputs) == 1 and inputs[0].rank == 1:
            return plans  # of which only the diagonal is computed
        colours = self._colours(linear, pattern, inputs, outputs, ad)
        count, places = colours[0].colouring.count, colours[0].pattern.entries.size
        return plans if costs.of_colours(count, places) >= plans[0].seconds else [*colours, *plans]

    def _colours(
        self,
        linear: LinearGraph,
        pattern: Pattern,
        inputs: Metas,
        outputs: Metas,
        ad: AdContext,
    ) -> list[SparsePlan]:
        """How to compute a sparse matrix; what takes few passes first."""
        forward, reverse = (
            all(is_complex(meta.dtype) == self.holomorphic for meta in metas)
            and self.mode in ("auto", mode)
            for metas, mode in ((inputs, "forward"), (outputs, "reverse"))
        )
        if forward and reverse and _has_rules_by_hand(linear.fragment.nodes):
            return sparse_plans(pattern, False, True, False)
        # rules by hand need not be the derivatives of anything, and so their matrix not symmetric
        symmetric = self.kind.of_gradient and not any(
            _has_rules_by_hand(resolve_keys().topo_order(trace.outputs, leaves=trace.inputs)[0], ad)
            for trace in self.traced
        )
        return sparse_plans(pattern, forward, reverse, symmetric)

    def _pattern(
        self, linear: LinearGraph, inputs: Metas, outputs: Metas, ad: AdContext
    ) -> Pattern:
        """The pattern of a sparse matrix; all places, if too many would be on the way."""
        rows, columns = (sum(meta.known_size for meta in metas) for metas in (outputs, inputs))
        with suppress(TooDenseError):
            return pattern_of(linear, inputs, outputs, ad.shapes)
        with suppress(TooDenseError):
            return Pattern.dense(rows, columns)
        raise ExtentError(
            f"{self.kind.name}: of the {rows} x {columns} elements of the derivative more than "
            f"{MOST_ENTRIES} may differ from zero, as far as its ops tell; take products with "
            "vectors (jvp, vjp, hvp)"
        )


def _peak(blocks: Blocks, trace: Trace) -> int:
    """The bytes that are predicted for blocks."""
    outputs = [*itertools.chain(*blocks[0])]
    inputs = [*trace.inputs, *foreign(outputs, trace.inputs)]
    return memory_report(optimize(without_rules(program_of(inputs, outputs)))).peak


def _has_rules_by_hand(nodes: Iterable[GlobalOpKey], ad: AdContext | None = None) -> bool:
    """Whether an op, or one in the programs inside it, has derivatives that a rule gives.

    With `ad`, also by the rules that this context has of extension families.
    """
    return any(
        isinstance(op, Custom)
        or (ad is not None and isinstance(op, Extension) and ad.is_ruled_by_hand(op.family_id))
        for op in _all_ops(nodes)
    )


def _all_ops(nodes: Iterable[GlobalOpKey]) -> Iterator[object]:
    """The ops, and those in the programs inside them."""
    for node in nodes:
        op: object = node.primitive
        yield op
        if isinstance(op, ControlOp):
            for body in op.bodies.values():
                for part in cast(ExecProgram, body).walk():
                    yield from part.ops()


def _first_possible(
    plans: Sequence[Operand], emit: Callable[[Operand], Result]
) -> tuple[Operand, Result]:
    """The first plan for which all ops on the way have rules, and what `emit` makes of it."""
    *others, last = plans
    for plan in others:
        with suppress(ADRuleError, BatchRuleError):
            return plan, emit(plan)
    return last, emit(last)


def _with_types(
    blocks: list[list[tuple[GlobalValKey, Pattern]]], inputs: Metas, outputs: Metas, passes: str
) -> Blocks:
    """The values of sparse blocks, and their places with the types of results and arguments."""
    places: list[list[Coordinates | None]] = [
        [
            Coordinates(pattern.row_numbers, pattern.column_numbers, y, x, passes)
            for x, (_, pattern) in zip(inputs, row, strict=True)
        ]
        for y, row in zip(outputs, blocks, strict=True)
    ]
    return [[values for values, _ in row] for row in blocks], places


def _with_places(values: Any, places: Coordinates | None) -> Any:
    return values if places is None else SparseMatrix(values, places)
