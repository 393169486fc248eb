"""Derivatives of values that exist already: one front for traced tensors and for eager ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from tenferro.errors import ADError, DTypeError, NonScalarGradError, ShapeError, TenferroError
from tenferro.shape import TensorMeta, is_complex, is_inexact
from tenferro.values import fitted, meta_of_value

T = TypeVar("T")


class Derivatives(ABC, Generic[T]):
    """`grad`, `vjp` and `jvp` of values of one kind.

    They are functional: what they return is a value like any other, which can be differentiated in
    turn. Values that are differentiated by are taken to be independent: nothing behind them is
    differentiated. The forms named `_optional` have None where nothing reaches, in place of zeros.
    """

    def grad(self, y: T, wrt: Sequence[T], *, holomorphic: bool = False) -> list[T]:
        """Gradients of the real scalar `y`; zeros where nothing reaches.

        Raises:
            NonScalarGradError: `y` is not a real scalar; a complex one is taken if `holomorphic`.
            DTypeError: an entry of `wrt` is neither floating-point nor complex.
            ADError: an entry of `wrt` is not a value of this kind.
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
        """As `grad`, with None where nothing reaches."""
        (meta,) = self._metas("grad", [y])
        check_scalar(meta, holomorphic)
        return self._pulled("grad", [y], wrt, [self._one(y)])

    def vjp(self, ys: Sequence[T], wrt: Sequence[T], cts: Sequence[Any]) -> list[T]:
        """Cotangents of `wrt` from cotangents of `ys`, None for zero; zeros where nothing reaches.

        Raises:
            ShapeError: a cotangent has not the type of its value.
            DTypeError: an entry of `wrt` is neither floating-point nor complex.
            ADError: an entry of `wrt` is not a value of this kind; or there are more cotangents
                than values, or fewer.
            ADRuleError: an op on the way has no rule.
        """
        return self._filled(self.vjp_optional(ys, wrt, cts), wrt)

    def vjp_optional(self, ys: Sequence[T], wrt: Sequence[T], cts: Sequence[Any]) -> list[T | None]:
        """As `vjp`, with None where nothing reaches."""
        return self._pulled("vjp", ys, wrt, self._seeds("vjp", "cotangent", cts, ys))

    def jvp(self, ys: Sequence[T], wrt: Sequence[T], tangents: Sequence[Any]) -> list[T]:
        """Tangents of `ys` from tangents of `wrt`, None for zero; zeros where nothing reaches.

        Raises:
            ShapeError: a tangent has not the type of its value.
            DTypeError: an entry of `wrt` is neither floating-point nor complex.
            ADError: an entry of `wrt` is not a value of this kind; or there are more tangents than
                values, or fewer.
            ADRuleError: an op on the way has no rule.
        """
        return self._filled(self.jvp_optional(ys, wrt, tangents), ys)

    def jvp_optional(
        self, ys: Sequence[T], wrt: Sequence[T], tangents: Sequence[Any]
    ) -> list[T | None]:
        """As `jvp`, with None where nothing reaches."""
        self._metas("jvp", ys)
        return self._pushed("jvp", ys, wrt, self._seeds("jvp", "tangent", tangents, wrt))

    def jvp_many(
        self, ys: Sequence[T], wrt: Sequence[T], tangents: Sequence[Sequence[Any]]
    ) -> list[list[T]]:
        """Tangents of `ys` for each of several directions."""
        return [self.jvp(ys, wrt, direction) for direction in tangents]

    @abstractmethod
    def _metas(self, name: str, values: Sequence[T]) -> list[TensorMeta]:
        """The types of the values; ADError if one is not of this kind."""

    @abstractmethod
    def _pulled(
        self, name: str, ys: Sequence[T], wrt: Sequence[T], cts: Sequence[T | None]
    ) -> list[T | None]:
        """Cotangents of `wrt`, after a check that it may be differentiated by them."""

    @abstractmethod
    def _pushed(
        self, name: str, ys: Sequence[T], wrt: Sequence[T], tangents: Sequence[T | None]
    ) -> list[T | None]:
        """Tangents of `ys`, after a check that it may be differentiated by `wrt`."""

    @abstractmethod
    def _value(self, name: str, array: Any) -> T:
        """An array, or a value of this kind, as a value of this kind."""

    @abstractmethod
    def _one(self, y: T) -> T:
        """The number 1 of the type of a scalar."""

    @abstractmethod
    def _zeros_like(self, value: T) -> T:
        """Zeros of the type of a value."""

    def _seeds(
        self, name: str, what: str, seeds: Sequence[Any], values: Sequence[T]
    ) -> list[T | None]:
        """Seeds as values of this kind, each of the type of the value that it belongs to."""
        metas = self._metas(name, values)
        if len(seeds) != len(metas):
            raise ADError(f"{name}: {len(seeds)} {what}s for {len(metas)} values")
        return [
            None if seed is None else self._value(name, matching(name, what, seed, meta))
            for seed, meta in zip(seeds, metas, strict=True)
        ]

    def _filled(self, values: Sequence[T | None], like: Sequence[T]) -> list[T]:
        return [
            self._zeros_like(similar) if value is None else value
            for value, similar in zip(values, like, strict=True)
        ]


def matching(name: str, what: str, seed: Any, meta: TensorMeta) -> Any:
    """A tangent or cotangent of a value of type `meta`; a Python number takes a scalar's dtype.

    Raises:
        ShapeError: its type is another.
        ADError: it is not an array.
    """
    if meta.rank == 0:
        try:
            seed = fitted(seed, meta)
        except TenferroError as error:
            raise type(error)(f"{name}: the {what} of {meta}: {error}") from None
    have = meta_of_value(seed)
    if have is None:
        raise ADError(f"{name}: the {what} of {meta} is a {type(seed).__name__}, not an array")
    if have != meta:
        raise ShapeError(f"{name}: the {what} of {meta} must have its type, got {have}")
    return seed


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
