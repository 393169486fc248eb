"""The derivative of a function at a point, as a linear function that can be applied repeatedly.

It is a tree. Its leaves are the stored values, which the linear graph reads; the graph is its
structure. So functions that are compiled, mapped or scanned take it and return it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from tenferro.core import GlobalValKey, Input, residuals
from tenferro.errors import PytreeError, ShapeError
from tenferro.ir import PyTree, TensorMeta, fresh_input, type_of
from tenferro.transforms.ad_context import AD, AdContext, matching, with_zeros
from tenferro.transforms.linear_part import LinearPart
from tenferro.transforms.program import Evaluation
from tenferro.transforms.trace import Trace, leaf_meta, substitute_keys
from tenferro.transforms.trees import TreeDef, flatten, register_class, shown, unflatten

Keys = Sequence[GlobalValKey]


@dataclass(frozen=True, slots=True, eq=False)
class StoredGraph:
    """A linear graph that reads stored values.

    Attributes:
        inputs: an input for each stored value.
        seeds: the inputs in which it is linear.
        outputs: the graph values, which depend on these inputs alone.
        results: makes results of them.
        domain: the types of what it is applied to.
        image: the types of its results.
    """

    inputs: Keys
    seeds: Keys
    outputs: Keys
    results: Evaluation
    domain: Sequence[TensorMeta]
    image: Sequence[TensorMeta]

    def applied(self, values: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
        """The results for stored values and the leaves of an argument."""
        results = self.results.extended([*self.inputs, *self.seeds], [*values, *leaves])
        return results.of(self.outputs)


@dataclass(frozen=True, slots=True, eq=False)
class StoredMap:
    """A map whose stored values have gone through another function, as the leaves of a tree."""

    name: str
    graph: StoredGraph
    values: Sequence[Any]

    @property
    def domain(self) -> Sequence[TensorMeta]:
        """The types of what it is applied to."""
        return self.graph.domain

    @property
    def image(self) -> Sequence[TensorMeta]:
        """The types of its results."""
        return self.graph.image

    def stored(self) -> tuple[StoredGraph, Sequence[Any]]:
        """The graph, and the stored values."""
        return self.graph, self.values

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        """The images of these leaves."""
        for key, value in zip(self.graph.inputs, self.values, strict=True):
            stored, meta = type_of(key), leaf_meta(value, f"{self.name}: a stored value")
            if meta.dtype != stored.dtype or meta.rank != stored.rank:
                raise ShapeError(
                    f"{self.name}: a stored value of the derivative was {stored}, and is {meta} "
                    "now; what vmap or scan has stacked is applied in a function that they map"
                )
        return self.graph.applied(self.values, leaves)


class LinearMap:
    """A map from tangents to tangents, or cotangents to cotangents, with computed coefficients.

    The forward run computes the function's values and the *residuals*: the values of the primal
    part that the linear part reads. Applying the map runs only the linear part. In an outer trace
    nothing is run, and the graphs of all applications share the primal part. Within `vmap` the map
    is applied to all entries of a batch at once.

    Attributes:
        values: the function's results.
        aux: its auxiliary result.
        domain: the types of what it is applied to.
        image: the types of its results.
    """

    def __init__(
        self,
        trace: Trace,
        results: Evaluation,
        part: LinearPart,
        domain: Keys,
        image: Keys,
        ad: AdContext,
    ) -> None:
        seeds = [
            fresh_input(ad.shapes.meta(like), f"unused{slot}") if seed is None else seed
            for slot, (seed, like) in enumerate(zip(part.seeds, domain, strict=True))
        ]
        filled = with_zeros(ad, part.outputs, image)
        read = [] if results.traced else residuals(filled, seeds)
        values = results.of([*trace.outputs, *trace.aux.keys, *read])
        n_outputs, n_aux = len(trace.outputs), len(trace.aux.keys)
        self.values = values[:n_outputs]
        self.aux = trace.aux.rebuild(values[n_outputs : n_outputs + n_aux])
        self.domain = [ad.shapes.meta(key) for key in domain]
        self.image = [ad.shapes.meta(key) for key in image]
        self._seeds = [key for key in seeds if isinstance(key, Input)]
        self._outputs, self._results = filled, results
        self._stored: tuple[StoredGraph, Sequence[Any]] | None = None
        if not results.traced:
            self._stored = self._reading(read), values[n_outputs + n_aux :]

    @classmethod
    def pushforward(cls, trace: Trace, results: Evaluation, ad: AdContext) -> Self:
        """The map from tangents of the inputs to tangents of the outputs."""
        part = LinearPart.pushforward(
            ad.linearize(trace.outputs, trace.inputs, trace.context.varies)
        )
        return cls(trace, results, part, trace.inputs, trace.outputs, ad)

    @classmethod
    def pullback(cls, trace: Trace, results: Evaluation, wrt: Keys, ad: AdContext) -> Self:
        """The map from cotangents of the outputs to those of some inputs."""
        linear = ad.linearize(trace.outputs, wrt, trace.context.varies)
        part = LinearPart.pullback(linear, len(trace.outputs), ad.shapes)
        return cls(trace, results, part, trace.outputs, wrt, ad)

    def _reading(self, read: Keys) -> StoredGraph:
        """The graph with inputs in the place of the values `read`."""
        inputs = [fresh_input(type_of(key), f"residual{i}") for i, key in enumerate(read)]
        replaced = substitute_keys(self._outputs, dict(zip(read, inputs, strict=True)), AD.shapes)
        outputs = [key for key in replaced if key is not None]
        results = replace(self._results, inputs=(), actual=(), traced=False, effects=())
        return StoredGraph(inputs, self._seeds, outputs, results, self.domain, self.image)

    def stored(self) -> tuple[StoredGraph, Sequence[Any]]:
        """The graph, and the stored values; in an outer trace they are values of it."""
        if self._stored is None:
            read = residuals(self._outputs, self._seeds)
            self._stored = self._reading(read), replace(self._results, effects=()).of(read)
        return self._stored

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        """The images of these leaves."""
        results = self._results
        if not results.traced:
            graph, values = self.stored()
            return graph.applied(values, leaves)
        inputs, actual = [*results.inputs, *self._seeds], [*results.actual, *leaves]
        return results.extended(inputs, actual).of(self._outputs)


# What users get: functions of trees, which are trees themselves.


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """Adds the derivatives by integers, which are constant, to the others.

    Attributes:
        whole: these derivatives, by the places of the arguments.
        count: the number of all.
    """

    whole: dict[int, Any]
    count: int

    def __call__(self, others: Sequence[Any]) -> list[Any]:
        """All derivatives in their order."""
        return with_integers(self.whole, others, self.count)


def with_integers(whole: dict[int, Any], others: Iterable[Any], count: int) -> list[Any]:
    """All derivatives in their order: those by integers at their places, the others between."""
    rest = iter(others)
    return [whole[place] if place in whole else next(rest) for place in range(count)]


class LinearFunction:
    """A linear function that is a tree: its leaves are the values that it stores."""

    name: ClassVar[str]
    what: ClassVar[str]

    def __init__(
        self,
        linear_map: LinearMap | StoredMap,
        domain: TreeDef,
        image: TreeDef,
        fill: Filled | None = None,
    ) -> None:
        self._map, self._domain, self._image, self._fill = linear_map, domain, image, fill

    def _of(self, tree: Any) -> Any:
        """The image of a tree."""
        linear_map = self._map
        leaves = matching_leaves(self.name, self.what, tree, self._domain, linear_map.domain)
        return unflatten(self._image, self._filled(linear_map(leaves)))

    def _filled(self, image: Sequence[Any]) -> Sequence[Any]:
        return image if self._fill is None else self._fill(image)

    def __repr__(self) -> str:
        domain = shown(self._domain, self._map.domain)
        image = shown(self._image, self._filled(self._map.image))
        return f"{type(self).__name__}({domain} -> {image})"

    @classmethod
    def register(cls) -> None:
        """Make the instances of a subclass trees."""

        def children_of(function: Any) -> tuple[Sequence[Any], Any, None]:
            graph, values = function._map.stored()
            return values, (graph, function._domain, function._image, function._fill), None

        def made_again(rest: Any, children: Iterable[Any]) -> LinearFunction:
            graph, *trees = rest
            return cls(StoredMap(cls.name, graph, tuple(children)), *trees)

        register_class(cls, children_of, made_again)


class Pullback(LinearFunction):
    """What `vjp` returns: the map from a cotangent of the result to those of the arguments."""

    name, what = "vjp", "cotangent"

    def __call__(self, ct: PyTree) -> Any:
        """A tuple of cotangents, one for each argument."""
        return self._of(ct)


class Linearized(LinearFunction):
    """What `linearize` returns: the map from tangents of the arguments to one of the result."""

    name, what = "linearize", "tangent"

    def __call__(self, *tangents: PyTree) -> Any:
        """The tangent of the result."""
        return self._of(tangents)


Pullback.register()
Linearized.register()


def matching_leaves(
    name: str, what: str, tree: Any, expected: TreeDef, metas: Sequence[TensorMeta]
) -> list[Any]:
    """The leaves of a tree of tangents or cotangents, which must be of these types."""
    leaves, treedef = flatten(tree)
    if treedef != expected:
        raise PytreeError(f"{name}: the {what} has structure {treedef}, expected {expected}")
    for leaf in leaves:
        leaf_meta(leaf, f"{name}: the {what}")
    return [matching(name, what, leaf, meta) for leaf, meta in zip(leaves, metas, strict=True)]
