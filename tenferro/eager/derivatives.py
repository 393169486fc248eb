"""Derivatives of what a runtime has recorded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from tenferro.arrays import is_number
from tenferro.autodiff import Leaf, LocalProgram, Mask, Origin, Record, pull_records, push_records
from tenferro.chainrules import Slots
from tenferro.eager.emitter import EagerEmitter
from tenferro.eager.kinds import Kind
from tenferro.eager.plan import OpDerivative
from tenferro.eager.tensor import EagerTensor, pausing
from tenferro.errors import ADError, ShapeError
from tenferro.runtime import Tensor
from tenferro.shape import TensorMeta
from tenferro.traced import check_active, check_scalar

Values = Sequence[EagerTensor]
Optional = list[EagerTensor | None]


class Differentiator(ABC):
    """The part of a runtime that takes derivatives.

    `grad`, `vjp` and `jvp` are functional: slots of variables stay as they are, and results are
    recorded like any other value, so that they can be differentiated in turn. Values that are
    differentiated by are taken to be independent: nothing behind them is differentiated.
    """

    @abstractmethod
    def constant(self, value: Any, dtype: object = None) -> EagerTensor:
        """A tensor of which nothing is recorded."""

    @abstractmethod
    def invoke(self, op: Any, *operands: EagerTensor) -> tuple[EagerTensor, ...]:
        """The outputs of one op."""

    @abstractmethod
    def run_local(self, local: LocalProgram, operands: Values) -> list[EagerTensor]:
        """The outputs of a derivative on values of the runtime."""

    @abstractmethod
    def restored(self, buffer: Any, kind: Kind | None, origin: Origin | None) -> EagerTensor:
        """A tensor around a buffer that a record holds."""

    @abstractmethod
    def _check_own(self, operand: EagerTensor, name: str) -> None:
        """Raise ContextMismatch unless the tensor is attached to this runtime."""

    def grad(self, y: EagerTensor, wrt: Values, *, holomorphic: bool = False) -> list[EagerTensor]:
        """Gradients of the real scalar `y`; zeros where nothing reaches.

        Raises:
            NonScalarGradError: `y` is no real scalar; a complex one is taken if `holomorphic`.
            ADError: an entry of `wrt` is not tracked, or named twice.
            ADRuleError: an op on the way has no rule.

        >>> import tenferro as tn
        >>> rt = tn.EagerRuntime()
        >>> x = rt.variable(2.0)
        >>> (dy,) = rt.grad(x * x * x, [x])
        >>> dy, *rt.grad(dy, [x])
        (EagerTensor(12.), EagerTensor(12.))
        """
        return self._filled(self.grad_optional(y, wrt, holomorphic=holomorphic), wrt)

    def grad_optional(self, y: EagerTensor, wrt: Values, *, holomorphic: bool = False) -> Optional:
        """As `grad`, with None where nothing reaches."""
        self._check_values([y], "grad")
        check_scalar(y.meta, holomorphic)
        return self._pulled("grad", [y], wrt, [self._one(y)])

    def vjp(self, ys: Values, wrt: Values, cts: Sequence[Any]) -> list[EagerTensor]:
        """Cotangents of `wrt` from cotangents of `ys` (None: zero); zeros where nothing reaches.

        Raises:
            ShapeError: a cotangent has not the type of its value.
            ADError: an entry of `wrt` is not tracked, or named twice.
            ADRuleError: an op on the way has no rule.
        """
        return self._filled(self.vjp_optional(ys, wrt, cts), wrt)

    def vjp_optional(self, ys: Values, wrt: Values, cts: Sequence[Any]) -> Optional:
        """As `vjp`, with None where nothing reaches."""
        self._check_values(ys, "vjp")
        return self._pulled("vjp", ys, wrt, self._seeds("vjp", "cotangent", cts, ys))

    def jvp(self, ys: Values, wrt: Values, tangents: Sequence[Any]) -> list[EagerTensor]:
        """Tangents of `ys` from tangents of `wrt` (None: zero); zeros where nothing reaches.

        Raises:
            ShapeError: a tangent has not the type of its value.
            ADError: an entry of `wrt` is not tracked, or named twice.
            ADRuleError: an op on the way has no rule.
        """
        return self._filled(self.jvp_optional(ys, wrt, tangents), ys)

    def jvp_optional(self, ys: Values, wrt: Values, tangents: Sequence[Any]) -> Optional:
        """As `jvp`, with None where nothing reaches."""
        self._check_values(ys, "jvp")
        origins = self._independent("jvp", wrt)
        seeds = self._seeds("jvp", "tangent", tangents, wrt)
        known = {o: t for o, t in zip(origins, seeds, strict=True) if t is not None}
        return push_records([y._origin for y in ys], known, RecordApplier(self))

    def _pulled(
        self, name: str, ys: Values, wrt: Values, cts: Sequence[EagerTensor | None]
    ) -> Optional:
        origins = self._independent(name, wrt)
        seeds = [
            (y._origin, ct)
            for y, ct in zip(ys, cts, strict=True)
            if y._origin is not None and ct is not None
        ]
        found = pull_records(seeds, origins, RecordApplier(self))
        return [found.get(origin) for origin in origins]

    def _of_leaves(self, y: EagerTensor, seed: Any) -> dict[Leaf, EagerTensor]:
        """Cotangents of all leaves, with nothing recorded."""
        self._check_values([y], "backward")
        if y._origin is None:
            raise ADError(
                f"backward: {y.meta} is not tracked; it depends on no variable, or was computed "
                "within no_grad"
            )
        if seed is None:
            check_scalar(y.meta)
        (ct,) = [self._one(y)] if seed is None else self._seeds("backward", "seed", [seed], [y])
        assert ct is not None, "backward_with refuses None"
        with pausing(self):
            found = pull_records([(y._origin, ct)], None, RecordApplier(self))
        return cast("dict[Leaf, EagerTensor]", found)

    def _independent(self, name: str, wrt: Values) -> list[Origin]:
        """The origins of values to differentiate by."""
        self._check_values(wrt, name)
        origins: list[Origin] = []
        for value in wrt:
            check_active(value.meta, f"{name} by {value.meta}")
            if value._origin is None:
                raise ADError(
                    f"{name}: {value.meta} is not tracked, so nothing is known of what depends on "
                    "it; make it with runtime.variable"
                )
            if value._origin in origins:
                raise ADError(f"{name}: {value.meta} is named twice; name each value once")
            origins.append(value._origin)
        return origins

    def _check_values(self, values: Any, name: str) -> None:
        if isinstance(values, Tensor):
            raise ADError(f"{name}: takes a list of eager tensors, got one; write [x]")
        for value in values:
            if not isinstance(value, EagerTensor):
                raise ADError(f"{name}: takes eager tensors, got a {type(value).__name__}")
            self._check_own(value, name)

    def _seeds(
        self, name: str, what: str, seeds: Sequence[Any], values: Values
    ) -> list[EagerTensor | None]:
        """Seeds as tensors of this runtime, each of the type of the value it belongs to."""
        if len(seeds) != len(values):
            raise ADError(f"{name}: {len(seeds)} {what}s for {len(values)} values")
        return [
            None if seed is None else self._seed(name, what, seed, value.meta)
            for seed, value in zip(seeds, values, strict=True)
        ]

    def _seed(self, name: str, what: str, seed: Any, meta: TensorMeta) -> EagerTensor:
        if isinstance(seed, EagerTensor):
            self._check_own(seed, name)
        else:
            weak = is_number(seed) and meta.rank == 0
            seed = self.constant(seed, meta.dtype if weak else None)
        if seed.meta != meta:
            raise ShapeError(f"{name}: the {what} of {meta} must have its type, got {seed.meta}")
        return cast(EagerTensor, seed)

    def _one(self, y: EagerTensor) -> EagerTensor:
        return self.constant(np.ones((), y.dtype))

    def _filled(self, values: Sequence[EagerTensor | None], like: Values) -> list[EagerTensor]:
        return [
            self.constant(np.zeros(other.shape, other.dtype)) if value is None else value
            for value, other in zip(values, like, strict=True)
        ]


class RecordApplier:
    """Applies the derivatives of records, by computing with tensors of a runtime."""

    def __init__(self, runtime: Differentiator) -> None:
        self._runtime = runtime

    def push(self, record: Record, tangents: Slots[EagerTensor]) -> Slots[EagerTensor]:
        """Tangents of the record's outputs."""
        moving = tuple([tangent is not None for tangent in tangents])
        return self._run(record, record.derivative.push(moving), tangents)

    def pull(self, record: Record, cts: Slots[EagerTensor], wanted: Mask) -> Slots[EagerTensor]:
        """Cotangents of the `wanted` operands."""
        given = tuple([ct is not None for ct in cts])
        return self._run(record, record.derivative.pull(wanted, given), cts)

    def add(self, a: EagerTensor, b: EagerTensor) -> EagerTensor:
        """The sum, by the op set's addition."""
        emitter = EagerEmitter(self._runtime)
        return emitter.ctx.adder.add(emitter, a, b)

    def _run(
        self, record: Record, local: LocalProgram, seeds: Slots[EagerTensor]
    ) -> Slots[EagerTensor]:
        operands = [self._saved(record, number) for number in local.saved]
        operands += [seed for seed in seeds if seed is not None]
        made = self._runtime.run_local(local, operands)
        return tuple([None if place is None else made[place] for place in local.results])

    def _saved(self, record: Record, number: int) -> EagerTensor:
        """A value that a record holds, with the origin that it has."""
        derivative = cast(OpDerivative, record.derivative)
        read, count = derivative.reads[number], len(record.sources)
        if read < count:
            origin = record.sources[read]
        else:
            origin = record.output(read - count) if derivative.reaches[read - count] else None
        return self._runtime.restored(record.saved[number], derivative.kinds[number], origin)
