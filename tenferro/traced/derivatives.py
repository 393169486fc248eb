"""AdContext: derivatives of traced tensors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from tenferro.autodiff import LinearFragment, differentiate, pull_back, push_forward
from tenferro.chainrules import KeyEmitter
from tenferro.computegraph import (
    BoundedCache,
    CacheStats,
    Capacity,
    GlobalValKey,
    ResolvedView,
    resolve_keys,
)
from tenferro.config import config
from tenferro.contract import ExtensionRuleSet
from tenferro.errors import ADError, DTypeError, NonScalarGradError, ShapeError
from tenferro.ops import StdTensorOp, full_like, shape_context, zeros_like
from tenferro.shape import ShapeGuardContext, TensorMeta, is_complex, is_inexact
from tenferro.traced.tensor import TracedTensor, as_key

Linear = LinearFragment[StdTensorOp]
_CacheKey = tuple[tuple[GlobalValKey, ...], tuple[GlobalValKey, ...]]


class AdContext:
    """Takes derivatives of traced tensors, and keeps the linearizations it has made.

    >>> x = TracedTensor.input((3,), "float64", name="x")
    >>> ctx = AdContext.builder().build()
    >>> (dx,) = ctx.grad((x * x).sum(), [x])
    >>> dx
    TracedTensor(f64[3])
    """

    def __init__(
        self, capacity: int = config.cache_entries, rules: ExtensionRuleSet | None = None
    ) -> None:
        self._rules = ExtensionRuleSet() if rules is None else rules.copy()
        self._shapes = shape_context(self._rules.lookup)
        self._cache: BoundedCache[_CacheKey, Linear] = BoundedCache(Capacity(capacity))

    @classmethod
    def builder(cls) -> AdContextBuilder:
        """A builder with the default settings."""
        return AdContextBuilder()

    @property
    def shapes(self) -> ShapeGuardContext:
        """Metadata of graph values, and the guards that rules have recorded."""
        return self._shapes

    @property
    def extension_rules(self) -> ExtensionRuleSet:
        """A copy of the derivative rules of extension families that the context was built with."""
        return self._rules.copy()

    def grad(self, y: TracedTensor, wrt: Sequence[TracedTensor]) -> list[TracedTensor]:
        """Gradients of the real scalar `y`; zeros where nothing reaches.

        Raises:
            NonScalarGradError: `y` is not a real scalar.
            DTypeError: an entry of `wrt` is neither floating-point nor complex.
        """
        return self._filled(self.grad_optional(y, wrt), wrt)

    def grad_optional(
        self, y: TracedTensor, wrt: Sequence[TracedTensor]
    ) -> list[TracedTensor | None]:
        """Gradients of the real scalar `y`; None where nothing reaches."""
        check_scalar(y.meta)
        one = full_like(KeyEmitter(self._shapes), 1, y.key)
        return self.vjp_optional([y], wrt, [TracedTensor(one)])

    def vjp(
        self,
        ys: Sequence[TracedTensor],
        wrt: Sequence[TracedTensor],
        cts: Sequence[TracedTensor | None],
    ) -> list[TracedTensor]:
        """Cotangents of `wrt` from cotangents of `ys`; zeros where nothing reaches."""
        return self._filled(self.vjp_optional(ys, wrt, cts), wrt)

    def vjp_optional(
        self,
        ys: Sequence[TracedTensor],
        wrt: Sequence[TracedTensor],
        cts: Sequence[TracedTensor | None],
    ) -> list[TracedTensor | None]:
        """Cotangents of `wrt`; None where nothing reaches."""
        linear = self.linearize(_keys(ys), _active(wrt))
        return _traced(self.pull_back(linear, _seeds("vjp", "cotangent", cts, ys)))

    def jvp(
        self,
        ys: Sequence[TracedTensor],
        wrt: Sequence[TracedTensor],
        tangents: Sequence[TracedTensor | None],
    ) -> list[TracedTensor]:
        """Tangents of `ys` from tangents of `wrt`; zeros where nothing reaches."""
        return self._filled(self.jvp_optional(ys, wrt, tangents), ys)

    def jvp_optional(
        self,
        ys: Sequence[TracedTensor],
        wrt: Sequence[TracedTensor],
        tangents: Sequence[TracedTensor | None],
    ) -> list[TracedTensor | None]:
        """Tangents of `ys`; None where nothing reaches."""
        outputs, sources = _keys(ys), _active(wrt)
        seeds = _seeds("jvp", "tangent", tangents, wrt)
        return _traced(self.push_forward(outputs, sources, seeds))

    def jvp_many(
        self,
        ys: Sequence[TracedTensor],
        wrt: Sequence[TracedTensor],
        tangents: Sequence[Sequence[TracedTensor | None]],
    ) -> list[list[TracedTensor]]:
        """Tangents of `ys` for each of several directions."""
        return [self.jvp(ys, wrt, direction) for direction in tangents]

    def linearize(self, outputs: Sequence[GlobalValKey], wrt: Sequence[GlobalValKey]) -> Linear:
        """The linear fragment of `outputs` by `wrt`, made once for each pair."""
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
        """Tangents of graph values for given seeds."""
        return push_forward(_everything(), outputs, wrt, tangents, ctx=self._shapes)

    def pull_back(
        self, linear: Linear, cotangents: Sequence[GlobalValKey | None]
    ) -> list[GlobalValKey | None]:
        """Cotangents of graph values for given seeds."""
        return pull_back(linear, cotangents, ctx=self._shapes)

    def zeros_like(self, key: GlobalValKey) -> GlobalValKey:
        """Explicit zeros of the type of a graph value."""
        return zeros_like(KeyEmitter(self._shapes), key)

    def stats(self) -> CacheStats:
        """How many linearizations are held, and how often one was reused."""
        return self._cache.stats()

    def clear(self) -> None:
        """Drop the linearizations."""
        self._cache.clear()

    @property
    def capacity(self) -> Capacity:
        """The bounds of the cache."""
        return self._cache.capacity

    def _filled(
        self, values: Sequence[TracedTensor | None], like: Sequence[TracedTensor]
    ) -> list[TracedTensor]:
        return [
            TracedTensor(self.zeros_like(other.key)) if value is None else value
            for value, other in zip(values, like, strict=True)
        ]


class AdContextBuilder:
    """Settings of an `AdContext`."""

    def __init__(self) -> None:
        self._capacity = config.cache_entries
        self._rules = ExtensionRuleSet()

    def with_extension_rules(self, rules: ExtensionRuleSet) -> AdContextBuilder:
        """Add the derivative rules of extension families. May be called for several packages.

        Raises:
            DuplicateRuleError: a family has rules already.
            ADError: `rules` is no rule set.
        """
        if not isinstance(rules, ExtensionRuleSet):
            raise ADError(
                f"with_extension_rules: takes an ExtensionRuleSet, got a {type(rules).__name__}; "
                "make one, and register each rule in it with register_rule(rule)"
            )
        self._rules = self._rules | rules
        return self

    def with_capacity(self, entries: int) -> AdContextBuilder:
        """Bound the transform cache."""
        self._capacity = entries
        return self

    def build(self) -> AdContext:
        """The context."""
        return AdContext(self._capacity, self._rules)


def check_scalar(meta: TensorMeta, holomorphic: bool = False) -> None:
    """Raise NonScalarGradError unless a value is a real scalar; complex if `holomorphic`."""
    if meta.rank != 0:
        raise NonScalarGradError(
            f"grad: the result must be a scalar, got {meta}; sum it, or use vjp or jacrev"
        )
    if is_complex(meta.dtype) and not holomorphic:
        raise NonScalarGradError(
            f"grad: the result must be real, got {meta}; "
            "take its real part, or pass holomorphic=True"
        )
    if not is_inexact(meta.dtype):
        raise NonScalarGradError(f"grad: the result must be floating-point, got {meta}")


def check_active(meta: TensorMeta, what: str) -> None:
    """Raise DTypeError unless a value can be differentiated by."""
    if not is_inexact(meta.dtype):
        raise DTypeError(f"{what}: {meta} is neither floating-point nor complex; convert it first")


def _everything() -> ResolvedView[StdTensorOp]:
    return resolve_keys()


def _keys(values: Sequence[TracedTensor]) -> list[GlobalValKey]:
    for value in values:
        if not isinstance(value, TracedTensor):
            raise ADError(f"derivative: takes traced tensors, got a {type(value).__name__}")
    return [value.key for value in values]


def _active(values: Sequence[TracedTensor]) -> list[GlobalValKey]:
    keys = _keys(values)
    for value in values:
        check_active(value.meta, f"derivative by {value.name}")
    return keys


def _traced(keys: Sequence[GlobalValKey | None]) -> list[TracedTensor | None]:
    return [None if key is None else TracedTensor(key) for key in keys]


def _seeds(
    name: str, what: str, seeds: Sequence[Any], values: Sequence[TracedTensor]
) -> list[GlobalValKey | None]:
    """Graph values of seeds, traced or concrete, each of the type of the value it belongs to."""
    if len(seeds) != len(values):
        raise ADError(f"{name}: {len(seeds)} {what}s for {len(values)} values")
    keys = [None if seed is None else as_key(seed) for seed in seeds]
    for key, value in zip(keys, values, strict=True):
        have = None if key is None else TracedTensor(key).meta
        if have is not None and have != value.meta:
            raise ShapeError(f"{name}: the {what} of {value.meta} must have its type, got {have}")
    return keys
