"""Derivatives of values: one interface for traced tensors and for eager ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from tenferro.arrays import elementwise, rearrange
from tenferro.errors import ADError, DTypeError, NonScalarGradError, ShapeError, TenferroError
from tenferro.shape import TensorMeta, is_complex, is_inexact
from tenferro.values import fitted, meta_of_value

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
        return [None if each is None else each._apply(elementwise.conj, each) for each in grads]

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
            raise ADError(f"{name}: {len(seeds)} {what}s for {len(metas)} values")
        return [
            None if seed is None else self._value(name, matching(name, what, seed, meta))
            for seed, meta in zip(seeds, metas, strict=True)
        ]

    def _stacked(self, column: Sequence[T | None], like: T) -> T:
        """The tangents of one value along a new first axis; zeros for None."""
        values: list[Any] = self._filled(column, [like] * len(column))
        return values[0]._apply(rearrange.stack, *values)  # type: ignore[no-any-return]  # a T

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
    """Check that a tangent or cotangent is of type `meta`; a Python number takes a scalar's dtype.

    Raises:
        ShapeError: the seed is of another type.
        ADError: the seed is not an array.
    """
    if meta.rank == 0:
        try:
            seed = fitted(seed, meta)
        except TenferroError as error:
            raise type(error)(f"{name}: the {what} of {meta}: {error}") from None
    seed_meta = meta_of_value(seed)
    if seed_meta is None:
        raise ADError(f"{name}: the {what} of {meta} is a {type(seed).__name__}, not an array")
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
