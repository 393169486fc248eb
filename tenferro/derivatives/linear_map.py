"""The derivative of a function at a point, as a linear function that can be applied repeatedly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from tenferro.autodiff import transpose
from tenferro.chainrules import Cotangent
from tenferro.computegraph import GlobalValKey, Input, ResolvedView, resolve_keys
from tenferro.derivatives.context import AdContext
from tenferro.ops import StdTensorOp
from tenferro.shape import fresh_input
from tenferro.traced import Results, Trace, substitute

Keys = Sequence[GlobalValKey]


class LinearMap:
    """A map from tangents to tangents, or cotangents to cotangents, with computed coefficients.

    The forward run computes the function's values and the *residuals*: the values of the primal
    part that the linear part reads. Applying the map runs only the linear part. In an outer trace
    nothing is run, and the graphs of all applications share the primal part.

    Attributes:
        values: the function's results.
        aux: its auxiliary result.
    """

    def __init__(
        self,
        trace: Trace,
        results: Results,
        seeds: Keys,
        outputs: Sequence[GlobalValKey | None],
        like: Keys,
        ad: AdContext,
    ) -> None:
        filled = [
            ad.zeros_like(primal) if key is None else key
            for key, primal in zip(outputs, like, strict=True)
        ]
        residuals = [] if results.traced else _residuals(filled, seeds)
        values = results.of([*trace.outputs, *trace.aux.keys, *residuals])
        n_outputs, n_aux = len(trace.outputs), len(trace.aux.keys)
        self.values = values[:n_outputs]
        self.aux = trace.aux.rebuild(values[n_outputs : n_outputs + n_aux])
        self._seeds = list(seeds)
        if results.traced:
            self._inputs, self._actual = list(results.inputs), list(results.actual)
            self._outputs = filled
        else:
            self._inputs = [
                fresh_input(ad.shapes.meta(key), f"residual{i}") for i, key in enumerate(residuals)
            ]
            self._actual = values[n_outputs + n_aux :]
            replaced = substitute(
                filled, dict(zip(residuals, self._inputs, strict=True)), ad.shapes
            )
            self._outputs = [key for key in replaced if key is not None]
        self._results = results

    @classmethod
    def pushforward(cls, trace: Trace, results: Results, ad: AdContext) -> Self:
        """The map from tangents of the inputs to tangents of the outputs."""
        linear = ad.linearize(trace.outputs, trace.inputs)
        return cls(trace, results, linear.input_keys, linear.output_keys, trace.outputs, ad)

    @classmethod
    def pullback(cls, trace: Trace, results: Results, ad: AdContext) -> Self:
        """The map from cotangents of the outputs to cotangents of the inputs."""
        reverse = transpose(ad.linearize(trace.outputs, trace.inputs), ctx=ad.shapes)
        by_slot = {
            key.slot: seed
            for (key, _), seed in zip(reverse.tangent_inputs, reverse.input_keys, strict=True)
            if isinstance(key, Cotangent)
        }
        seeds = [
            by_slot[slot] if slot in by_slot else fresh_input(ad.shapes.meta(key), f"unused{slot}")
            for slot, key in enumerate(trace.outputs)
        ]
        return cls(trace, results, seeds, reverse.output_keys, trace.inputs, ad)

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        """The image of one tangent or cotangent, as leaves."""
        seeds = [key for key in self._seeds if isinstance(key, Input)]
        applied = self._results.extended([*self._inputs, *seeds], [*self._actual, *leaves])
        return applied.of(self._outputs)


def _residuals(outputs: Keys, seeds: Keys) -> list[GlobalValKey]:
    """The values, except constants, that ops which depend on `seeds` read of the other ops."""
    view: ResolvedView[StdTensorOp] = resolve_keys()
    ops, inputs = view.topo_order(outputs)
    active: set[GlobalValKey] = set(seeds)
    variable: set[GlobalValKey] = set(inputs)
    residuals: dict[GlobalValKey, None] = {}
    for op in ops:
        if any(key in active for key in op.inputs):
            active.update(op.outputs)
            residuals.update(
                (key, None) for key in op.inputs if key not in active and key in variable
            )
        elif any(key in variable for key in op.inputs):
            variable.update(op.outputs)
    residuals.update((key, None) for key in outputs if key not in active and key in variable)
    return list(residuals)
