"""The derivative of a function at a point, as a linear function that can be applied repeatedly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from tenferro.autodiff import residuals
from tenferro.computegraph import GlobalValKey, Input
from tenferro.derivatives.context import AdContext
from tenferro.derivatives.linear_part import LinearPart
from tenferro.shape import fresh_input
from tenferro.traced import Results, Trace, substitute

Keys = Sequence[GlobalValKey]


class LinearMap:
    """A map from tangents to tangents, or cotangents to cotangents, with computed coefficients.

    The forward run computes the function's values and the *residuals*: the values of the primal
    part that the linear part reads. Applying the map runs only the linear part. In an outer trace
    nothing is run, and the graphs of all applications share the primal part. Within `vmap` the map
    is applied to all entries of a batch at once.

    Attributes:
        values: the function's results.
        aux: its auxiliary result.
    """

    def __init__(
        self,
        trace: Trace,
        results: Results,
        part: LinearPart,
        domain: Keys,
        image: Keys,
        ad: AdContext,
    ) -> None:
        seeds = [
            fresh_input(ad.shapes.meta(like), f"unused{slot}") if seed is None else seed
            for slot, (seed, like) in enumerate(zip(part.seeds, domain, strict=True))
        ]
        filled = [
            ad.zeros_like(primal) if key is None else key
            for key, primal in zip(part.outputs, image, strict=True)
        ]
        read = [] if results.traced else residuals(filled, seeds)
        values = results.of([*trace.outputs, *trace.aux.keys, *read])
        n_outputs, n_aux = len(trace.outputs), len(trace.aux.keys)
        self.values = values[:n_outputs]
        self.aux = trace.aux.rebuild(values[n_outputs : n_outputs + n_aux])
        self._seeds = seeds
        if results.traced:
            self._inputs, self._actual = list(results.inputs), list(results.actual)
            self._outputs = filled
        else:
            self._inputs = [
                fresh_input(ad.shapes.meta(key), f"residual{i}") for i, key in enumerate(read)
            ]
            self._actual = values[n_outputs + n_aux :]
            replaced = substitute(filled, dict(zip(read, self._inputs, strict=True)), ad.shapes)
            self._outputs = [key for key in replaced if key is not None]
        self._results = results

    @classmethod
    def pushforward(cls, trace: Trace, results: Results, ad: AdContext) -> Self:
        """The map from tangents of the inputs to tangents of the outputs."""
        part = LinearPart.pushforward(ad.linearize(trace.outputs, trace.inputs))
        return cls(trace, results, part, trace.inputs, trace.outputs, ad)

    @classmethod
    def pullback(cls, trace: Trace, results: Results, ad: AdContext) -> Self:
        """The map from cotangents of the outputs to cotangents of the inputs."""
        linear = ad.linearize(trace.outputs, trace.inputs)
        part = LinearPart.pullback(linear, len(trace.outputs), ad.shapes)
        return cls(trace, results, part, trace.outputs, trace.inputs, ad)

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        """The image of one tangent or cotangent, as leaves."""
        seeds = [key for key in self._seeds if isinstance(key, Input)]
        applied = self._results.extended([*self._inputs, *seeds], [*self._actual, *leaves])
        return applied.of(self._outputs)
