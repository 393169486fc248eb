"""One call of a function that `jacobian`, `jacfwd`, `jacrev` or `hessian` returned."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from tenferro.compiler import MemoryLimit, memory_report, optimize, tighter, without_rules
from tenferro.computegraph import GlobalOpKey, GlobalValKey, ResolvedView, resolve_keys
from tenferro.control import ControlOp, Custom, foreign, program_of
from tenferro.derivatives import (
    AD,
    AdContext,
    Argnums,
    Gradients,
    Linear,
    context_of,
    normal_argnums,
    require_active,
    results_of,
    traced_with,
)
from tenferro.errors import (
    ADError,
    ADRuleError,
    BatchRuleError,
    ExtentError,
    PytreeError,
)
from tenferro.exec_ir import ExecProgram
from tenferro.family import Extension
from tenferro.jacobians.kinds import Kind, check_dtypes, check_sizes
from tenferro.jacobians.matrices import Matrices, block_meta
from tenferro.jacobians.modes import Costs, Mode, Pass, Plan
from tenferro.jacobians.options import Sparsity
from tenferro.jacobians.pattern import MOST_ENTRIES, Pattern, TooDenseError
from tenferro.jacobians.propagation import pattern_of
from tenferro.jacobians.sparse_matrix import Places, SparseMatrix
from tenferro.jacobians.sparsity import SparsePlan, sparse_plans
from tenferro.ops import StdTensorOp
from tenferro.shape import TensorMeta, is_complex
from tenferro.traced import Trace, flatten, unflatten, wraps

LEAST_COLOURED = 32
"""The smallest number of rows and columns from which on a dense matrix may be coloured."""

MOST_IN_A_ROW = 16
"""The largest number of places in a row or column, on average, of a matrix that may be."""

P = TypeVar("P")
R = TypeVar("R")
MOST_STEPS_COLOURED = 500
"""The number of steps for which its loops are followed."""

Metas = Sequence[TensorMeta]
Blocks = tuple[list[list[GlobalValKey]], list[list[Places | None]]]
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

    kind: Kind
    mode: Mode
    function: Callable[..., Any]
    argnums: Argnums
    has_aux: bool
    holomorphic: bool
    chunk_size: int | None
    ad_context: AdContext | None
    sparsity: Sparsity = None
    limit: MemoryLimit | None = None
    traced: Sequence[Trace] = ()

    def as_function(self) -> Callable[..., Any]:
        """The function of the Jacobians, or of the pair of them and the auxiliary result."""

        def jacobian(*args: Any, **kwargs: Any) -> Any:
            call = self._of_gradient() if self.kind.of_gradient else self
            return call._called(args, kwargs)

        return wraps(self.function, jacobian)

    def _of_gradient(self) -> JacobianCall:
        """The call of the gradient in place of the function."""
        traced: list[Trace] = []
        gradient = Gradients(
            self.kind.name,
            self.function,
            self.argnums,
            self.has_aux,
            ad_context=self.ad_context,
            told=traced.append,
        )
        return replace(self, function=gradient.as_function(), traced=traced)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        function, argnums = self.function, self.argnums
        numbers = normal_argnums(self.kind.name, argnums, len(args))

        def of_some(*arguments: Any) -> Any:
            replaced = dict(zip(numbers, arguments, strict=True))
            return function(*(replaced.get(i, arg) for i, arg in enumerate(args)), **kwargs)

        varied = tuple(args[number] for number in numbers)
        ad = context_of(self.ad_context)
        trace, leaves = traced_with(ad, of_some, varied, {}, self.has_aux)
        require_active(trace.inputs)
        results = results_of(trace, leaves, function, ad, self.limit)
        _, arg_tree = flatten(varied[0] if isinstance(argnums, int) else varied)
        blocks, places = self._blocks_within(tighter([self.limit, trace.limit]), trace, ad)
        values = iter(results.of([*itertools.chain(*blocks), *trace.aux.keys]))
        rows = [
            unflatten(arg_tree, [_with_places(next(values), each) for each in row])
            for row in places
        ]
        jacobian = unflatten(trace.out_tree, rows)
        return (jacobian, trace.aux.rebuild(list(values))) if self.has_aux else jacobian

    def _blocks_within(self, limit: MemoryLimit | None, trace: Trace, ad: AdContext) -> Blocks:
        """The blocks; under a limit by batches of as many unit vectors as are predicted to fit.

        If none fits, by those that need least.
        """
        found = self._blocks(trace, ad)
        if limit is None or self.chunk_size is not None:
            return found
        chunk = max(
            sum(AD.shapes.meta(key).known_size for key in keys)
            for keys in (trace.inputs, trace.outputs)
        )
        least = _peak(found, trace)
        while chunk > 1 and least > limit.bytes:
            chunk = (chunk + 1) // 2
            other = replace(self, chunk_size=chunk)._blocks(trace, ad)
            peak = _peak(other, trace)
            found, least = (other, peak) if peak < least else (found, least)
        return found

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
        linear = ad.linearize(trace.outputs, trace.inputs)
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
        """The mode, or the only one that has unit vectors where sizes are not constant.

        Raises:
            PytreeError: there is no such mode, or not the one that was asked for.
        """
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
        self, linear: Linear, inputs: Metas, outputs: Metas, ad: AdContext
    ) -> Sequence[Plan | SparsePlan]:
        """How to compute a dense matrix; what costs least first."""
        if self.mode == "forward" or self.mode == "reverse":
            return [Pass(self.mode == "forward")]
        if self.mode == "auto" and _has_rules_by_hand(linear.fragment.nodes):
            return [Pass(forward=False)]
        costs = Costs(linear, ad.shapes, self.holomorphic, self.kind.of_gradient)
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
        self, linear: Linear, pattern: Pattern, inputs: Metas, outputs: Metas, ad: AdContext
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
            _has_rules_by_hand(_ops_of(trace), ad) for trace in self.traced
        )
        return sparse_plans(pattern, forward, reverse, symmetric)

    def _pattern(self, linear: Linear, inputs: Metas, outputs: Metas, ad: AdContext) -> Pattern:
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


def _peak(found: Blocks, trace: Trace) -> int:
    """The bytes that are predicted for blocks."""
    outputs = [*itertools.chain(*found[0])]
    inputs = [*trace.inputs, *foreign(outputs, trace.inputs)]
    return memory_report(optimize(without_rules(program_of(inputs, outputs)))).peak


def _ops_of(trace: Trace) -> Sequence[GlobalOpKey]:
    """The ops of a function."""
    view: ResolvedView[StdTensorOp] = resolve_keys()
    ops, _ = view.topo_order(trace.outputs, leaves=trace.inputs)
    return ops


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


def _first_possible(plans: Sequence[P], emit: Callable[[P], R]) -> tuple[P, R]:
    """The first plan for which all ops on the way have rules, and what `emit` makes of it.

    Raises:
        ADRuleError, BatchRuleError: there is none; of the last one.
    """
    *others, last = plans
    for plan in others:
        with suppress(ADRuleError, BatchRuleError):
            return plan, emit(plan)
    return last, emit(last)


def _with_types(
    blocks: list[list[tuple[GlobalValKey, Pattern]]], inputs: Metas, outputs: Metas, passes: str
) -> Blocks:
    """The values of sparse blocks, and their places with the types of results and arguments."""
    places: list[list[Places | None]] = [
        [
            Places(pattern.row_numbers, pattern.column_numbers, y, x, passes)
            for x, (_, pattern) in zip(inputs, row, strict=True)
        ]
        for y, row in zip(outputs, blocks, strict=True)
    ]
    return [[values for values, _ in row] for row in blocks], places


def _with_places(values: Any, places: Places | None) -> Any:
    return values if places is None else SparseMatrix(values, places)
