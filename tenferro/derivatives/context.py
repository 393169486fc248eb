"""AdContext: derivatives of traced tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tenferro.autodiff import LinearFragment, differentiate, pull_back, push_forward
from tenferro.chainrules import KeyEmitter
from tenferro.compiler import MemoryLimit, tighter
from tenferro.computegraph import (
    BoundedCache,
    CacheOwner,
    Capacity,
    GlobalValKey,
    ResolvedView,
    resolve_keys,
)
from tenferro.config import config
from tenferro.derivatives.front import Derivatives, check_active, listed
from tenferro.derivatives.linear_part import LinearPart
from tenferro.errors import ADError
from tenferro.families import STANDARD, further
from tenferro.family import ExtensionRuleSet, Package, rules_of
from tenferro.ops import StdTensorOp, full_like, shape_context, zeros_like
from tenferro.shape import ShapeGuardContext, TensorMeta
from tenferro.traced import Results, Trace, TracedTensor, as_key, flatten, trace_function
from tenferro.values import holder_of, planning_for

Linear = LinearFragment[StdTensorOp]
_CacheKey = tuple[tuple[GlobalValKey, ...], tuple[GlobalValKey, ...]]


class AdContext(CacheOwner, Derivatives[TracedTensor]):
    """Takes derivatives of traced tensors, and caches linearizations.

    >>> x = TracedTensor.input((3,), "float64", name="x")
    >>> ctx = AdContext.builder().build()
    >>> (dx,) = ctx.grad((x * x).sum(), [x])
    >>> dx
    TracedTensor(f64[3])
    """

    def __init__(
        self,
        capacity: int = config.cache_entries,
        rules: ExtensionRuleSet | None = None,
        packages: Sequence[Package] = (),
    ) -> None:
        """A context with the rules of tenferro's own families, of `packages`, and further `rules`.

        `rules` for a family of tenferro's own replace its rules.

        Raises:
            ExtensionRegistryError: a package is given twice, or is not one.
            DuplicateRuleError: a family of a package is among `rules`.
        """
        self._packages = further(packages)
        if rules is not None:
            _require_rules("AdContext", rules)
        own = rules_of(self._packages)
        own = own if rules is None else own | rules
        self._own_rules = own
        self._rules = own.over(rules_of(STANDARD))
        self._shapes = shape_context(self._rules.lookup)
        self._cache: BoundedCache[_CacheKey, Linear] = BoundedCache(Capacity(capacity))

    @classmethod
    def builder(cls) -> AdContextBuilder:
        """A builder with the default settings."""
        return AdContextBuilder()

    @property
    def packages(self) -> tuple[Package, ...]:
        """The packages of extension families in addition to tenferro's own."""
        return self._packages

    @property
    def shapes(self) -> ShapeGuardContext:
        """Metadata of graph values, and the guards that rules recorded."""
        return self._shapes

    def is_ruled_by_hand(self, family: str) -> bool:
        """Whether derivatives of a family follow from a rule that is not tenferro's own.

        Such a rule need not be the derivative of anything, nor have a symmetric second one.
        """
        return self._own_rules.lookup(family) is not None

    @property
    def extension_rules(self) -> ExtensionRuleSet:
        """A copy of the context's derivative rules of extension families."""
        return self._rules.copy()

    def linearize(self, outputs: Sequence[GlobalValKey], wrt: Sequence[GlobalValKey]) -> Linear:
        """The linear fragment of `outputs` with respect to `wrt`; cached."""
        return self._cache.get_or_make(
            (tuple(outputs), tuple(wrt)), lambda: self._linearize(outputs, wrt)
        )

    def _linearize(self, outputs: Sequence[GlobalValKey], wrt: Sequence[GlobalValKey]) -> Linear:
        linear = differentiate(_everything(), outputs, wrt, ctx=self._shapes)
        if "fragment" in config.dump:
            sys.stderr.write(f"{linear}\n")
        return linear

    def push_forward(
        self,
        outputs: Sequence[GlobalValKey],
        wrt: Sequence[GlobalValKey],
        tangents: Sequence[GlobalValKey | None],
    ) -> list[GlobalValKey | None]:
        """Tangents of graph values from `seeds`."""
        return push_forward(_everything(), outputs, wrt, tangents, ctx=self._shapes)

    def pull_back(
        self, linear: Linear, cotangents: Sequence[GlobalValKey | None]
    ) -> list[GlobalValKey | None]:
        """Cotangents of graph values from `seeds`."""
        return pull_back(linear, cotangents, ctx=self._shapes)

    def zeros_like(self, key: GlobalValKey) -> GlobalValKey:
        """An array of zeros of the type of a graph value."""
        return zeros_like(KeyEmitter(self._shapes), key)

    def _metas(self, name: str, values: Sequence[TracedTensor]) -> list[TensorMeta]:
        listed(name, "traced tensors", values)
        for value in values:
            if not isinstance(value, TracedTensor):
                raise ADError(f"{name}: takes traced tensors, got a {type(value).__name__}")
            value.in_use(name)
        return [value.meta for value in values]

    def _pulled(
        self,
        name: str,
        ys: Sequence[TracedTensor],
        wrt: Sequence[TracedTensor],
        cts: Sequence[TracedTensor | None],
    ) -> list[TracedTensor | None]:
        linear = self.linearize([y.key for y in ys], self._sources(name, wrt))
        return _traced(self.pull_back(linear, _keys(cts)))

    def _pushed(
        self,
        name: str,
        ys: Sequence[TracedTensor],
        wrt: Sequence[TracedTensor],
        tangents: Sequence[TracedTensor | None],
    ) -> list[TracedTensor | None]:
        sources = self._sources(name, wrt)
        return _traced(self.push_forward([y.key for y in ys], sources, _keys(tangents)))

    def _pushed_many(
        self,
        name: str,
        ys: Sequence[TracedTensor],
        wrt: Sequence[TracedTensor],
        tangents: Sequence[TracedTensor | None],
        size: int,
    ) -> list[TracedTensor | None]:
        sources = self._sources(name, wrt)
        moving = {
            key: tangent.key
            for key, tangent in zip(sources, tangents, strict=True)
            if tangent is not None
        }
        part = LinearPart.pushforward(self.linearize([y.key for y in ys], tuple(moving)))
        return _traced(part.batched(list(moving.values()), size, KeyEmitter(self._shapes)))

    def _sources(self, name: str, wrt: Sequence[TracedTensor]) -> list[GlobalValKey]:
        """The graph values of `wrt`; raises DTypeError if one is not floating-point or complex."""
        for value, meta in zip(wrt, self._metas(name, wrt), strict=True):
            check_active(meta, f"derivative by {value.name}")
        return [value.key for value in wrt]

    def _value(self, name: str, array: Any) -> TracedTensor:
        return TracedTensor(as_key(array))

    def _unit(self, y: TracedTensor) -> TracedTensor:
        return TracedTensor(full_like(KeyEmitter(self._shapes), 1, y.key))

    def _zeros_like(self, value: TracedTensor) -> TracedTensor:
        return TracedTensor(self.zeros_like(value.key))


class AdContextBuilder:
    """Settings of an `AdContext`."""

    def __init__(self) -> None:
        self._capacity = config.cache_entries
        self._rules = ExtensionRuleSet()
        self._packages: tuple[Package, ...] = ()

    def with_packages(self, *packages: Package) -> AdContextBuilder:
        """Add packages of extension families.

        Raises:
            ExtensionRegistryError: a package is given twice, or is not one.
        """
        self._packages = further((*self._packages, *packages))
        return self

    def with_extension_rules(self, rules: ExtensionRuleSet) -> AdContextBuilder:
        """Add the derivative rules of extension families. May be called for several packages.

        Raises:
            DuplicateRuleError: a family has rules already.
            ADError: `rules` is not a rule set.
        """
        _require_rules("with_extension_rules", rules)
        self._rules = self._rules | rules
        return self

    def with_capacity(self, entries: int) -> AdContextBuilder:
        """Set the bounds of the transform cache."""
        self._capacity = entries
        return self

    def build(self) -> AdContext:
        """The context."""
        return AdContext(self._capacity, self._rules, self._packages)


def _require_rules(name: str, rules: object) -> None:
    if not isinstance(rules, ExtensionRuleSet):
        raise ADError(
            f"{name}: takes an ExtensionRuleSet, got a {type(rules).__name__}; "
            "make one, and register each rule in it with register_rule(rule)"
        )


def _everything() -> ResolvedView[StdTensorOp]:
    return resolve_keys()


def _keys(values: Sequence[TracedTensor | None]) -> list[GlobalValKey | None]:
    return [None if value is None else value.key for value in values]


def _traced(keys: Sequence[GlobalValKey | None]) -> list[TracedTensor | None]:
    return [None if key is None else TracedTensor(key) for key in keys]


AD = AdContext(capacity=0)
"""The context of the functional transforms. It has no cache: each call makes a new trace."""


_around: ContextVar[AdContext] = ContextVar("tenferro_ad_context", default=AD)


def context_of(ad_context: AdContext | None) -> AdContext:
    """The context, or that of the transform around this one, or the default one.

    The default one has the rules of tenferro's own families.

    Raises:
        ADError: it is not a context.
    """
    given: object = ad_context
    if given is None:
        return _around.get()
    if not isinstance(given, AdContext):
        kind = type(given).__name__
        made = ".builder().with_extension_rules(rules).build()"
        raise ADError(
            f"ad_context: takes an AdContext, got a {kind}; write ad_context=AdContext"
            f"{made if isinstance(given, ExtensionRuleSet) else '(packages=(...))'}"
        )
    return given


@contextmanager
def inside(ad: AdContext) -> Iterator[None]:
    """A context in which transforms without a context of their own have this one."""
    token = _around.set(ad)
    try:
        yield
    finally:
        _around.reset(token)


def traced_with(
    ad: AdContext, function: Callable[..., Any], args: tuple[Any, ...], *rest: Any
) -> tuple[Trace, list[Any]]:
    """`trace_function`, with the context for the transforms that the function calls."""
    with inside(ad), planning_for(holder_of(flatten(args)[0])):
        return trace_function(function, args, *rest)


def results_of(
    trace: Trace,
    leaves: Sequence[Any],
    function: Any,
    ad: AdContext,
    limit: MemoryLimit | None = None,
) -> Results:
    """What makes results of the graph values of a trace.

    Their executor gets the packages of the context, and those that the function brings; the program
    keeps `limit` and the limit that the function brings.
    """
    brought = [package for package in trace.packages if package not in ad.packages]
    packages = (*ad.packages, *brought)
    least = tighter([limit, trace.limit])
    return Results(trace.inputs, leaves, trace.outer, function, packages, least)
