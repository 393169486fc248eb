"""AdContext: grad, vjp, jvp of values, with rules and cached linearizations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from tenferro.compiler import MemoryLimit, tighter
from tenferro.config import config
from tenferro.core import (
    BoundedCache,
    CacheOwner,
    Capacity,
    GlobalValKey,
    KeyEmitter,
    differentiate,
    pull_back,
    push_forward,
    resolve_keys,
)
from tenferro.errors import (
    ADError,
    DTypeError,
    NonScalarGradError,
    ShapeError,
    TenferroError,
    class_of,
    counted,
)
from tenferro.ir import TensorMeta, is_complex, is_inexact
from tenferro.logs import logger
from tenferro.ops import full_like, shape_context, zeros_like
from tenferro.ops.extension import ExtensionRuleSet, Package, rules_of
from tenferro.ops.functions import apply_method, elementwise, manipulation
from tenferro.runtime import (
    added_packages,
    builtin_packages,
    current_trace,
    fitted,
    holder_of,
    is_array,
    meta_of_value,
    over_builtin,
    planning_for,
)
from tenferro.transforms.device_axes import with_copies_for_devices
from tenferro.transforms.linear_part import LinearGraph, LinearPart
from tenferro.transforms.program import Evaluation
from tenferro.transforms.trace import Trace, trace_function
from tenferro.transforms.traced_tensor import TracedTensor, as_key
from tenferro.transforms.trees import flatten

__all__ = [
    "AD",
    "AdContext",
    "AdContextBuilder",
    "Derivatives",
    "check_active",
    "check_scalar",
    "context_of",
    "listed",
    "results_of",
    "trace_in_context",
    "with_zeros",
]

_DUMP = logger("dump.fragment")


# Derivatives of values: one interface for traced tensors and for eager ones.

T = TypeVar("T")


class Derivatives(ABC, Generic[T]):
    """`grad`, `vjp` and `jvp` of values of one kind.

    The results are ordinary values, which can be differentiated again. The values in `wrt` are
    treated as independent: the ops that computed them are not differentiated. The methods named
    `_optional` return None instead of zeros if there is no path between two values.
    """

    def grad(self, y: T, wrt: Sequence[T], *, holomorphic: bool = False) -> list[T]:
        """Gradients of the real scalar `y`; zeros for values on which it does not depend.

        Of a complex `y`, a holomorphic function of complex values, the complex derivatives.

        Raises:
            NonScalarGradError: `y` is not a real scalar. A complex one is allowed if `holomorphic`.
            DTypeError: an entry of `wrt` is neither floating-point nor complex.
            ADError: an entry of `wrt` is not a value of this kind, or it is not a list.
            ADRuleError: an op on the way has no rule.

        >>> import tenferro as tn
        >>> rt = tn.EagerRuntime()
        >>> x = rt.variable(2.0)
        >>> (dy,) = rt.grad(x * x * x, [x])
        >>> dy, *rt.grad(dy, [x])
        (EagerTensor(12.), EagerTensor(12.))
        """
        return self._filled(self.grad_optional(y, wrt, holomorphic=holomorphic), wrt)

    def grad_optional(self, y: T, wrt: Sequence[T], *, holomorphic: bool = False) -> list[T | None]:
        """Like `grad`, with None for values on which `y` does not depend."""
        (meta,) = self._metas("grad", [y])
        check_scalar(meta, holomorphic)
        grads: list[Any] = self._pulled("grad", [y], wrt, [self._unit(y)])
        if not is_complex(meta.dtype):
            return grads
        # A pullback applies the conjugate transpose.
        return [None if each is None else apply_method(elementwise.conj, each) for each in grads]

    def vjp(self, ys: Sequence[T], wrt: Sequence[T], cts: Sequence[Any]) -> list[T]:
        """Cotangents of `wrt` from cotangents of `ys`, of which None is a zero.

        Raises:
            ShapeError: the type of a cotangent is not that of its value.
            DTypeError: an entry of `wrt` is neither floating-point nor complex.
            ADError: an entry of `wrt` is not a value of this kind; or there are more cotangents
                than values, or fewer.
            ADRuleError: an op on the way has no rule.
        """
        return self._filled(self.vjp_optional(ys, wrt, cts), wrt)

    def vjp_optional(self, ys: Sequence[T], wrt: Sequence[T], cts: Sequence[Any]) -> list[T | None]:
        """Like `vjp`, with None for values on which `ys` do not depend."""
        return self._pulled("vjp", ys, wrt, self._seeds("vjp", "cotangent", cts, ys))

    def jvp(self, ys: Sequence[T], wrt: Sequence[T], tangents: Sequence[Any]) -> list[T]:
        """Tangents of `ys` from tangents of `wrt`, of which None is a zero.

        Raises:
            ShapeError: the type of a tangent is not that of its value.
            DTypeError: an entry of `wrt` is neither floating-point nor complex.
            ADError: an entry of `wrt` is not a value of this kind; or there are more tangents than
                values, or fewer.
            ADRuleError: an op on the way has no rule.
        """
        return self._filled(self.jvp_optional(ys, wrt, tangents), ys)

    def jvp_optional(
        self, ys: Sequence[T], wrt: Sequence[T], tangents: Sequence[Any]
    ) -> list[T | None]:
        """Like `jvp`, with None for values that do not depend on `wrt`."""
        self._metas("jvp", ys)
        return self._pushed("jvp", ys, wrt, self._seeds("jvp", "tangent", tangents, wrt))

    def jvp_many(
        self, ys: Sequence[T], wrt: Sequence[T], tangents: Sequence[Sequence[Any]]
    ) -> list[list[T]]:
        """Tangents of `ys` for each of several directions, by one pass for all of them as a batch.

        Raises:
            BatchRuleError: an op in the derivative has no batch rule.
            TenferroError: as `jvp`.

        >>> import tenferro as tn
        >>> rt = tn.EagerRuntime()
        >>> x = rt.variable([1.0, 2.0])
        >>> rt.jvp_many([tn.sum(x * x)], [x], [[[1.0, 0.0]], [[0.0, 1.0]]])
        [[EagerTensor(2.)], [EagerTensor(4.)]]
        """
        if len(tangents) < 2:
            return [self.jvp(ys, wrt, direction) for direction in tangents]
        self._metas("jvp", ys)
        rows = [self._seeds("jvp", "tangent", direction, wrt) for direction in tangents]
        columns = [
            None if all(tangent is None for tangent in column) else self._stacked(column, value)
            for column, value in zip(zip(*rows, strict=True), wrt, strict=True)
        ]
        pushed: list[Any] = self._pushed_many("jvp", ys, wrt, columns, len(rows))
        return [
            self._filled([None if batch is None else batch[row] for batch in pushed], ys)
            for row in range(len(rows))
        ]

    @abstractmethod
    def _metas(self, name: str, values: Sequence[T]) -> list[TensorMeta]:
        """The types of the values; ADError if one is not of this kind."""

    @abstractmethod
    def _pulled(
        self, name: str, ys: Sequence[T], wrt: Sequence[T], cts: Sequence[T | None]
    ) -> list[T | None]:
        """Cotangents of `wrt`; checks that `wrt` are floating-point or complex."""

    @abstractmethod
    def _pushed(
        self, name: str, ys: Sequence[T], wrt: Sequence[T], tangents: Sequence[T | None]
    ) -> list[T | None]:
        """Tangents of `ys`; checks that `wrt` are floating-point or complex."""

    @abstractmethod
    def _pushed_many(
        self, name: str, ys: Sequence[T], wrt: Sequence[T], tangents: Sequence[T | None], size: int
    ) -> list[T | None]:
        """Tangents of `ys` for `size` directions, which are entries along axis 0; as `_pushed`."""

    @abstractmethod
    def _value(self, name: str, array: Any) -> T:
        """Convert an array to a value of this kind; such values are returned unchanged."""

    @abstractmethod
    def _unit(self, y: T) -> T:
        """The number 1 of the type of a scalar."""

    @abstractmethod
    def _zeros_like(self, value: T) -> T:
        """Zeros of the type of a value."""

    def _seeds(
        self, name: str, what: str, seeds: Sequence[Any], values: Sequence[T]
    ) -> list[T | None]:
        """Seeds as values of this kind; checks that their types are those of `values`."""
        metas = self._metas(name, values)
        listed(name, f"{what}s", seeds)
        if len(seeds) != len(metas):
            raise ADError(f"{name}: {len(seeds)} {what}s for {counted(len(metas), 'value')}")
        return [
            None if seed is None else self._value(name, matching(name, what, seed, meta))
            for seed, meta in zip(seeds, metas, strict=True)
        ]

    def _stacked(self, column: Sequence[T | None], like: T) -> T:
        """The tangents of one value along a new first axis; zeros for None."""
        values: list[Any] = self._filled(column, [like] * len(column))
        return apply_method(manipulation.stack, *values)

    def _filled(self, values: Sequence[T | None], like: Sequence[T]) -> list[T]:
        return [
            self._zeros_like(similar) if value is None else value
            for value, similar in zip(values, like, strict=True)
        ]


def listed(name: str, what: str, values: object) -> None:
    """Raise ADError if one array is where a list belongs, which would be taken row by row."""
    if hasattr(values, "ndim"):
        raise ADError(f"{name}: takes a list of {what}, got a single one; write [x]")


def matching(name: str, what: str, seed: Any, meta: TensorMeta) -> Any:
    """Check that a tangent or cotangent has type `meta`; a Python number takes a scalar's dtype."""
    if meta.rank == 0 or is_array(seed):
        try:
            seed = fitted(seed, meta)
        except TenferroError as error:
            raise type(error)(f"{name}: the {what} of {meta}: {error}") from None
    seed_meta = meta_of_value(seed)
    if seed_meta is None:
        raise ADError(f"{name}: the {what} of {meta} is {class_of(seed)}, not an array")
    if seed_meta != meta:
        raise ShapeError(f"{name}: the {what} of {meta} must have its type, got {seed_meta}")
    return seed


def check_scalar(meta: TensorMeta, holomorphic: bool = False, name: str = "grad") -> None:
    """Raise NonScalarGradError unless a value is a real scalar (or complex, if `holomorphic`)."""
    second = name == "hessian"
    if meta.rank != 0:
        others = "jacfwd(jacrev(f))" if second else "vjp or jacrev"
        raise NonScalarGradError(
            f"{name}: the result must be a scalar, got {meta}; sum it, or use {others}"
        )
    if is_complex(meta.dtype) and not holomorphic:
        others = "" if second else ", or pass holomorphic=True"
        raise NonScalarGradError(
            f"{name}: the result must be real, got {meta}; take its real part{others}"
        )
    if not is_inexact(meta.dtype):
        raise NonScalarGradError(f"{name}: the result must be floating-point, got {meta}")


def check_active(meta: TensorMeta, what: str) -> None:
    """Raise DTypeError unless derivatives with respect to values of this type are defined."""
    if not is_inexact(meta.dtype):
        raise DTypeError(f"{what}: {meta} is neither floating-point nor complex; convert it first")


# AdContext: derivatives of traced tensors.

Values = Sequence[TracedTensor]
Seeds = Sequence[TracedTensor | None]
_CacheKey = tuple[tuple[GlobalValKey, ...], tuple[GlobalValKey, ...], bool]


class AdContext(CacheOwner, Derivatives[TracedTensor]):
    """Takes derivatives of traced tensors, and caches linearizations.

    Attributes:
        packages: the packages of extension families in addition to tenferro's own.
        shapes: metadata of graph values, and the guards that rules recorded.

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
        self.packages = added_packages(packages)
        if rules is not None:
            _require_rules("AdContext", rules)
        own = rules_of(self.packages)
        own = own if rules is None else own | rules
        self._own_rules = own
        self.shapes = shape_context(over_builtin(own))
        self._cache: BoundedCache[_CacheKey, LinearGraph] = BoundedCache(Capacity(capacity))

    @classmethod
    def builder(cls) -> AdContextBuilder:
        """A builder with the default settings."""
        return AdContextBuilder()

    def is_ruled_by_hand(self, family: str) -> bool:
        """Whether derivatives of a family follow from a rule that is not tenferro's own.

        Such a rule need not be the derivative of anything, nor have a symmetric second one.
        """
        return self._own_rules.lookup(family) is not None

    @property
    def extension_rules(self) -> ExtensionRuleSet:
        """A copy of the context's derivative rules of extension families."""
        return self._own_rules.over(rules_of(builtin_packages()))

    def linearize(
        self,
        outputs: Sequence[GlobalValKey],
        wrt: Sequence[GlobalValKey],
        varies: bool = False,
    ) -> LinearGraph:
        """The linear fragment of `outputs` with respect to `wrt`; cached.

        `varies` as in `TraceContext`, of the trace that the values are of.
        """
        key = (tuple(outputs), tuple(wrt), varies)
        known = self._cache.get(key)
        if known is not None:
            return known
        linear: LinearGraph = differentiate(resolve_keys(), outputs, wrt, ctx=self.shapes)
        if varies:
            linear = with_copies_for_devices(linear, wrt, self.shapes)
        _DUMP.debug("%s", linear)
        return self._cache.put(key, linear)

    def push_forward(
        self,
        outputs: Sequence[GlobalValKey],
        wrt: Sequence[GlobalValKey],
        tangents: Sequence[GlobalValKey | None],
    ) -> list[GlobalValKey | None]:
        """Tangents of `outputs` from the `tangents` of `wrt`; None is a symbolic zero."""
        return push_forward(resolve_keys(), outputs, wrt, tangents, ctx=self.shapes)

    def pull_back(
        self, linear: LinearGraph, cotangents: Sequence[GlobalValKey | None]
    ) -> list[GlobalValKey | None]:
        """Cotangents of the inputs of `linear` from those of its outputs; None is a zero."""
        return pull_back(linear, cotangents, ctx=self.shapes)

    def zeros_like(self, key: GlobalValKey) -> GlobalValKey:
        """An array of zeros of the type of a graph value."""
        return zeros_like(KeyEmitter(self.shapes), key)

    def _metas(self, name: str, values: Sequence[TracedTensor]) -> list[TensorMeta]:
        listed(name, "traced tensors", values)
        for value in values:
            if not isinstance(value, TracedTensor):
                raise ADError(f"{name}: takes traced tensors, got {class_of(value)}")
            value.in_use(name)
        return [value.meta for value in values]

    def _pulled(self, name: str, ys: Values, wrt: Values, cts: Seeds) -> list[TracedTensor | None]:
        around = current_trace()
        varies = around is not None and around.varies
        linear = self.linearize([y.key for y in ys], self._sources(name, wrt), varies)
        return _traced(self.pull_back(linear, _keys(cts)))

    def _pushed(
        self, name: str, ys: Values, wrt: Values, tangents: Seeds
    ) -> list[TracedTensor | None]:
        sources = self._sources(name, wrt)
        return _traced(self.push_forward([y.key for y in ys], sources, _keys(tangents)))

    def _pushed_many(
        self, name: str, ys: Values, wrt: Values, tangents: Seeds, size: int
    ) -> list[TracedTensor | None]:
        sources = self._sources(name, wrt)
        moving = {
            key: tangent.key
            for key, tangent in zip(sources, tangents, strict=True)
            if tangent is not None
        }
        part = LinearPart.pushforward(self.linearize([y.key for y in ys], tuple(moving)))
        return _traced(part.batched(list(moving.values()), size, KeyEmitter(self.shapes)))

    def _sources(self, name: str, wrt: Sequence[TracedTensor]) -> list[GlobalValKey]:
        """The graph values of `wrt`; raises DTypeError if one is not floating-point or complex."""
        for value, meta in zip(wrt, self._metas(name, wrt), strict=True):
            check_active(meta, f"derivative by {value.name}")
        return [value.key for value in wrt]

    def _value(self, name: str, array: Any) -> TracedTensor:
        return TracedTensor(as_key(array))

    def _unit(self, y: TracedTensor) -> TracedTensor:
        return TracedTensor(full_like(KeyEmitter(self.shapes), 1, y.key))

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
        self._packages = added_packages((*self._packages, *packages))
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
            f"{name}: takes an ExtensionRuleSet, got {class_of(rules)}; "
            "make one, and register each rule in it with register_rule(rule)"
        )


def with_zeros(
    ad: AdContext, keys: Sequence[GlobalValKey | None], like: Sequence[GlobalValKey]
) -> list[GlobalValKey]:
    """The values, with zeros of the type of `like` where there is none."""
    pairs = zip(keys, like, strict=True)
    return [ad.zeros_like(similar) if key is None else key for key, similar in pairs]


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
    context: object = ad_context
    if context is None:
        return _around.get()
    if not isinstance(context, AdContext):
        kind = class_of(context)
        made = ".builder().with_extension_rules(rules).build()"
        raise ADError(
            f"ad_context: takes an AdContext, got {kind}; write ad_context=AdContext"
            f"{made if isinstance(context, ExtensionRuleSet) else '(packages=(...))'}"
        )
    return context


@contextmanager
def inside(ad: AdContext) -> Iterator[None]:
    """A context in which transforms without a context of their own have this one."""
    token = _around.set(ad)
    try:
        yield
    finally:
        _around.reset(token)


def trace_in_context(
    ad: AdContext,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    has_aux: bool = False,
    active: Container[int] | None = None,
) -> tuple[Trace, list[Any]]:
    """`trace_function`, with the context for the transforms that the function calls."""
    with inside(ad), planning_for(holder_of(flatten(args)[0])):
        return trace_function(function, args, kwargs, has_aux, active, has_elements=True)


def results_of(
    trace: Trace,
    leaves: Sequence[Any],
    function: Any,
    ad: AdContext,
    limit: MemoryLimit | None = None,
) -> Evaluation:
    """What makes results of the graph values of a trace.

    Their executor gets the packages of the context, and those that the function brings; the program
    keeps `limit` and the limit that the function brings.
    """
    of_function = [package for package in trace.context.packages if package not in ad.packages]
    packages = (*ad.packages, *of_function)
    least = tighter([limit, trace.context.limit])
    effects = trace.effects
    return Evaluation(trace.inputs, leaves, trace.outer, function, packages, least, effects)
