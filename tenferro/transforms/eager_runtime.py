"""EagerRuntime: computes immediately, and records the ops that depend on its variables."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from operator import attrgetter
from typing import Any, TypeVar, cast

import numpy as np

from tenferro.compiler import compile_std_to_exec
from tenferro.config import DEFAULT_RULES, RULES_OF_PROCESS, config, dtype_rules, rules_here
from tenferro.core import (
    BatchSite,
    BoundedCache,
    CacheOwner,
    Capacity,
    CompiledProgram,
    Emitter,
    LeafOrigin,
    LocalProgram,
    Mask,
    Origin,
    PrimitiveOp,
    Record,
    Slots,
    only_output,
    pull_records,
    push_records,
)
from tenferro.errors import (
    ADError,
    ConfigError,
    ContextMismatch,
    DeviceError,
    ExecutorError,
    GaugeError,
    class_of,
)
from tenferro.ir import TensorMeta, program_of_op
from tenferro.ops import StdTensorOp, repeated
from tenferro.ops.extension import Extension, ExtensionCaches, Package, Register
from tenferro.ops.functions import emit_function, is_number, manipulation, outside
from tenferro.runtime import (
    Executor,
    GraphExecutor,
    Tensor,
    ValueContext,
    added_packages,
    by_dtype_rules,
    executor_named,
    host_array,
    is_worth_caching,
    narrowed,
    number_key,
    owner_of,
    program_of_function,
    with_options,
    with_packages,
)
from tenferro.transforms.ad_context import (
    AdContext,
    Derivatives,
    check_active,
    check_scalar,
    listed,
)
from tenferro.transforms.eager_plan import EagerPlan, EagerPlanner, OpDerivative
from tenferro.transforms.eager_tensor import (
    EagerTensor,
    EagerType,
    eager_type,
    is_paused,
    pausing,
)

__all__ = ["EagerRuntime"]

Values = Sequence[EagerTensor]
Optional = list[EagerTensor | None]
T = TypeVar("T")

_UNPLANNED = object()
"""The cache entry of functions that are computed op by op."""


class EagerRuntime(CacheOwner, Derivatives[EagerTensor]):
    """Computes immediately on one executor, and records the ops that depend on its variables.

    Array functions, operators and methods take eager tensors, NumPy arrays, numbers, and tensors on
    the host or on the device of the runtime. Ops that do not depend on a variable are not recorded.

    Args:
        executor: `"numpy"`, `"xla"`, or an executor.
        ad_context: has the derivative rules of extension families, and replaces those of
            `packages`.
        capacity: bound of the cache, in entries.
        packages: extension families in addition to tenferro's own, with their derivative rules and
            their runtimes or lowerings. If `executor` is not a native one, it is replaced by one
            like it with these packages.
        check_gauge: whether a derivative that does not exist, since a loss depends on the choice of
            eigenvectors or singular vectors, is an error and not NaN. The check reads all results
            of such derivatives.

    Raises:
        ExecutorError: `executor` is neither an executor nor the name of one.
        ExtensionRegistryError: a package is given twice, or is not one.

    >>> rt = EagerRuntime()
    >>> x, c = rt.variable([1.0, 2.0]), rt.constant(3.0)
    >>> y = (c * x * x).sum()
    >>> y.backward()
    >>> x.grad
    EagerTensor([ 6., 12.])
    """

    def __init__(
        self,
        executor: str | Executor = "numpy",
        ad_context: AdContext | None = None,
        capacity: int = config.cache_entries,
        packages: Sequence[Package] = (),
        check_gauge: bool = False,
    ) -> None:
        if not isinstance(executor, str | Executor):
            raise ExecutorError(
                f"eager: executor must be an executor or its name, got {executor!r}"
            )
        if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 0:
            raise ConfigError(f"eager: capacity must be a number of entries, got {capacity!r}")
        if not isinstance(ad_context, AdContext | None):
            raise ADError(f"eager: ad_context must be an AdContext, got {ad_context!r}")
        chosen = executor_named(executor) if isinstance(executor, str) else executor
        is_native = isinstance(chosen, GraphExecutor)
        self._executor = chosen if is_native else with_packages(chosen, added_packages(packages))
        self._cache: BoundedCache[Any, Any] = BoundedCache(Capacity(capacity))
        shapes = (AdContext(packages=packages) if ad_context is None else ad_context).shapes
        self._planner = EagerPlanner(self._executor, added_packages(packages), shapes, self._cache)
        self._leaves: weakref.WeakSet[LeafOrigin] = weakref.WeakSet()
        self._lock = threading.RLock()
        self._check_gauge = check_gauge

    @property
    def executor(self) -> Executor:
        """The executor that computes."""
        return self._executor

    # --- tensors ----------------------------------------------------------------------------------

    def variable(self, value: Any, dtype: object = None) -> EagerTensor:
        """A tensor to differentiate by, which stores its gradient.

        Raises:
            DTypeError: the value is neither floating-point nor complex.
            DeviceError: the value is on a device where the runtime does not compute.
        """
        plain = self.constant(value, dtype)
        check_active(plain.meta, "variable")
        leaf = LeafOrigin()
        with self._lock:
            self._leaves.add(leaf)
        return EagerTensor.attach(plain._buffer, plain.executor, plain._kind.active, leaf, self)

    def constant(self, value: Any, dtype: object = None) -> EagerTensor:
        """An untracked tensor: ops on it are not recorded.

        Raises:
            ContextMismatch: the value is a tensor of another runtime.
            DeviceError: the value is on a device where the runtime does not compute.
        """
        if isinstance(value, EagerTensor):
            self._check_own(value, "constant")
        if not isinstance(value, Tensor) and owner_of(value) is None:
            if dtype is None and dtype_rules().narrows:
                value = narrowed(value)
            return self.restored(self._executor.put(host_array(value, dtype)), None, None)
        tensor = Tensor(value, dtype)
        owner = self._planner.owner
        if tensor.executor is None and owner is not None:
            return self.restored(owner.put(tensor._buffer), None, None)
        if tensor.executor is not owner and (owner is None or not owner.owns(tensor._buffer)):
            goal = "host" if owner is None else owner.name
            raise DeviceError(
                f"eager: {tensor.meta} is on {tensor.placement}, but the runtime computes on "
                f"{self._executor.name}; move it with to_device({goal!r})"
            )
        return self.restored(tensor._buffer, None, None)

    def restored(self, buffer: Any, kind: EagerType | None, origin: Origin | None) -> EagerTensor:
        """A tensor around a buffer that a record saved; used by derivatives."""
        if kind is None:
            kind = eager_type(buffer.dtype, tuple(buffer.shape))
        kind = kind.fixed if origin is None else kind.active
        return EagerTensor.attach(buffer, self._planner.owner, kind, origin, self)

    def no_grad(self) -> AbstractContextManager[None]:
        """A context in which nothing is recorded, in this thread or task. Contexts nest.

        >>> rt = EagerRuntime()
        >>> x = rt.variable(2.0)
        >>> with rt.no_grad():
        ...     y = x * x
        >>> y.tracked
        False
        """
        return pausing(self)

    # --- computing --------------------------------------------------------------------------------

    def apply(
        self, function: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Apply an array function; NotImplemented if the type of an operand is not supported.

        Raises:
            ContextMismatch: an operand belongs to another runtime.
        """
        paused = is_paused(self)
        rules = rules_here.get() or RULES_OF_PROCESS[0]  # as `dtype_rules`, without a call
        parts: list[Any] = [function]
        if rules is not DEFAULT_RULES:
            parts.append(rules)
            operands = by_dtype_rules(operands)
        tensors: list[EagerTensor] = []
        for operand in operands:
            if type(operand) is not EagerTensor or operand._runtime is not self:
                operand = self._attached(operand, function.__name__)
                if operand is NotImplemented:
                    return NotImplemented
            if type(operand) is EagerTensor:
                parts.append(operand._kind.fixed if paused else operand._kind)
                tensors.append(operand)
            else:
                parts.append(number_key(operand))
        key = with_options(parts, options) if options else tuple(parts)
        plan = self._cache.peek(key)
        if plan is None:
            plan = self._plan_of_function(key, function, operands, options)
        else:
            self._cache.hits += 1
        if plan is not _UNPLANNED:
            results = plan.run(tensors, self)
            return results[0] if plan.single else tuple(results)
        remaining = iter([tensor.detach() for tensor in tensors] if paused else tensors)
        values = [operand if is_number(operand) else next(remaining) for operand in operands]
        return emit_function(EagerEmitter(self), function, *values, **options)

    def _plan_of_function(
        self,
        key: tuple[Any, ...] | None,
        function: Callable[..., Any],
        operands: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """The plan of an array function; not cached for functions that each call makes anew."""
        if key is None or not is_worth_caching(function):
            return _UNPLANNED
        kinds = [part for part in key if isinstance(part, EagerType)]

        def make() -> EagerPlan | None:
            of_kinds = iter(kinds)
            types = [each if is_number(each) else next(of_kinds).meta for each in operands]
            made = program_of_function(function, types, options)
            return None if made is None else self._planner.plan(made[0], kinds, made[1])

        return self._planned(key, make)

    def _planned(self, key: Any, make: Callable[[], EagerPlan | None]) -> Any:
        """The plan of `key` from the cache. One that does not last is made by each call."""
        plan = self._cache.peek(key)
        if plan is not None:
            self._cache.hits += 1
            return plan
        self._cache.get(key)  # counts a miss
        plan = make()
        if plan is not None and not plan.lasting:
            return plan
        return self._cache.put(key, _UNPLANNED if plan is None else plan)

    def invoke(self, op: StdTensorOp, *operands: EagerTensor) -> tuple[EagerTensor, ...]:
        """The outputs of one op.

        >>> from tenferro.ops import MUL
        >>> rt = EagerRuntime()
        >>> x = rt.variable(3.0)
        >>> rt.invoke(MUL, x, x)
        (EagerTensor(9.),)
        """
        for operand in operands:
            self._check_own(operand, op.name)
        kinds = self._kinds(operands)

        def make() -> EagerPlan | None:
            program = program_of_op(op, [kind.meta for kind in kinds])
            return self._planner.plan(program, kinds)

        return tuple(self._planned((op, *kinds), make).run(list(operands), self))

    def run_local(self, local: LocalProgram, operands: Sequence[EagerTensor]) -> list[EagerTensor]:
        """The outputs of a derivative on values of this runtime; used by derivatives.

        Raises:
            GaugeError: the derivative does not exist, and the runtime checks that.
        """
        kinds = self._kinds(operands)

        def make() -> EagerPlan | None:
            metas = [kind.meta for kind in kinds]
            program = compile_std_to_exec(local.program, metas, keep_rules=True)
            return self._planner.plan(program, kinds)

        plan: Any = self._planned((local, *kinds), make) if local.lasting else make() or _UNPLANNED
        if plan is _UNPLANNED:
            results = in_turn(local.program, operands, lambda op, args: self.invoke(op, *args))
        else:
            results = plan.run(list(operands), self)
        self.check_local(local, operands, results)
        return results

    def check_local(self, local: LocalProgram, operands: Values, results: Values) -> None:
        """Check that no result of a derivative is NaN for a reason that its family knows.

        Raises:
            GaugeError: one is, and the runtime checks that; the text is that of the family.
        """
        if not self._check_gauge:
            return
        families = [op for op in local.program.columns.ops if isinstance(op, Extension)]
        texts = [family.op.undefined for family in families if family.op.undefined is not None]
        if texts and any(map(_has_nan, results)) and not any(map(_has_nan, operands)):
            raise GaugeError(texts[0])

    def _kinds(self, operands: Sequence[EagerTensor]) -> list[EagerType]:
        if is_paused(self):
            return [operand._kind.fixed for operand in operands]
        return [operand._kind for operand in operands]

    def _attached(self, operand: Any, name: str) -> Any:
        """Another operand as a tensor of this runtime; a number is returned unchanged.

        NotImplemented if the runtime does not support its type.
        """
        if is_number(operand):
            return operand
        if isinstance(operand, EagerTensor):
            self._check_own(operand, name)
        if isinstance(operand, list | tuple):
            whole = manipulation.from_entries(operand)
            return self.constant(operand) if whole is operand else whole
        arrays = isinstance(operand, Tensor | np.ndarray | np.generic)
        return self.constant(operand) if arrays or owner_of(operand) is not None else NotImplemented

    def _check_own(self, operand: EagerTensor, name: str) -> None:
        if operand._runtime is not self:
            raise ContextMismatch(
                f"{name}: {operand.meta} belongs to another EagerRuntime; make both with one "
                "runtime, or pass its elements with numpy()"
            )

    # --- derivatives ------------------------------------------------------------------------------

    def backward(self, y: EagerTensor, seed: Any = None) -> None:
        """Add the cotangents of all variables on which `y` depends to their gradients.

        See `EagerTensor.backward`.
        """
        cotangents = self._of_leaves(y, seed)
        with self._lock:
            for leaf, ct in cotangents.items():
                grad = leaf.grad
                leaf.grad = ct if grad is None else RecordApplier(self).add(grad, ct)

    def clear_grads(self) -> None:
        """Remove the gradients of all variables."""
        with self._lock:
            for leaf in tuple(self._leaves):
                leaf.grad = None

    def _pulled(
        self, name: str, ys: Values, wrt: Values, cts: Sequence[EagerTensor | None]
    ) -> Optional:
        origins = self._independent(name, wrt)
        seeds = [
            (y._origin, ct)
            for y, ct in zip(ys, cts, strict=True)
            if y._origin is not None and ct is not None
        ]
        pulled = pull_records(seeds, origins, RecordApplier(self))
        return [pulled.get(origin) for origin in origins]

    def _pushed(
        self, name: str, ys: Values, wrt: Values, tangents: Sequence[EagerTensor | None]
    ) -> Optional:
        origins = self._independent(name, wrt)
        seeds = {
            origin: tangent
            for origin, tangent in zip(origins, tangents, strict=True)
            if tangent is not None
        }
        return push_records([y._origin for y in ys], seeds, RecordApplier(self))

    def _pushed_many(
        self,
        name: str,
        ys: Values,
        wrt: Values,
        tangents: Sequence[EagerTensor | None],
        size: int,
    ) -> Optional:
        origins = self._independent(name, wrt)
        seeds = {
            origin: (tangent, True)
            for origin, tangent in zip(origins, tangents, strict=True)
            if tangent is not None
        }
        at = EagerEmitter(self)
        pushed = push_records([y._origin for y in ys], seeds, BatchApplier(self, at, size))
        return [
            None if entry is None else entry[0] if entry[1] else repeated(at, entry[0], size)
            for entry in pushed
        ]

    def _of_leaves(self, y: EagerTensor, seed: Any) -> dict[LeafOrigin, EagerTensor]:
        """Cotangents of all leaves, computed without recording."""
        self._metas("backward", [y])
        if y._origin is None:
            raise ADError(
                f"backward: {y.meta} is not tracked: it does not depend on a variable, or was "
                "computed within no_grad"
            )
        if seed is None:
            check_scalar(y.meta)
        (ct,) = [self._unit(y)] if seed is None else self._seeds("backward", "seed", [seed], [y])
        assert ct is not None, "backward_with refuses None"
        with pausing(self):
            pulled = pull_records([(y._origin, ct)], None, RecordApplier(self))
        return cast("dict[LeafOrigin, EagerTensor]", pulled)

    def _independent(self, name: str, wrt: Values) -> list[Origin]:
        """The origins of the values to differentiate by."""
        origins: list[Origin] = []
        for value, meta in zip(wrt, self._metas(name, wrt), strict=True):
            check_active(meta, f"{name} by {meta}")
            if value._origin is None:
                raise ADError(
                    f"{name}: {value.meta} is not tracked, so computations on it are not recorded; "
                    "make it with runtime.variable"
                )
            if value._origin in origins:
                raise ADError(f"{name}: {value.meta} is passed twice; pass each value once")
            origins.append(value._origin)
        return origins

    def _metas(self, name: str, values: Values) -> list[TensorMeta]:
        listed(name, "eager tensors", values)
        for value in values:
            if not isinstance(value, EagerTensor):
                raise ADError(f"{name}: takes eager tensors, got {class_of(value)}")
            self._check_own(value, name)
        return [value.meta for value in values]

    def _value(self, name: str, array: Any) -> EagerTensor:
        if not isinstance(array, EagerTensor):
            return self.constant(array)
        self._check_own(array, name)
        return array

    def _unit(self, y: EagerTensor) -> EagerTensor:
        return self.constant(np.ones((), y.dtype))

    def _zeros_like(self, value: EagerTensor) -> EagerTensor:
        return self.constant(np.zeros(value.shape, value.dtype))

    # --- extensions and caches --------------------------------------------------------------------

    def register_extension(self, register: Register) -> None:
        """Let a package register the runtimes of its families. Registering again has no effect.

        Raises:
            ExecutorError: the executor is not a native one, and runs extension ops in its own way.
            MalformedFamilyIdError: the family id of a runtime is malformed.
        """
        boundary = self._planner.boundary
        if boundary is None:
            raise ExecutorError(
                f"register_extension: {self._executor.name} runs extension ops in its own way; "
                "register with the executor"
            )
        register(boundary.registry)

    @property
    def extension_caches(self) -> ExtensionCaches | None:
        """The caches of the runtimes of extension families; None if there are no runtimes."""
        return None if self._planner.boundary is None else self._planner.boundary.caches

    def __repr__(self) -> str:
        return f"EagerRuntime({self._executor.name!r})"


# An emitter that computes each op immediately, for functions that cannot be planned as a whole.


class EagerEmitter(Emitter[EagerTensor]):
    """Computes each op as it is emitted, and records it like any other op."""

    ctx = ValueContext(attrgetter("meta"))

    def __init__(self, runtime: EagerRuntime) -> None:
        self._runtime = runtime

    def emit(self, op: PrimitiveOp, *operands: EagerTensor) -> EagerTensor:
        """The output of a single-output op."""
        return only_output(op, self.emit_all(op, *operands))

    def emit_all(self, op: Any, *operands: EagerTensor) -> tuple[EagerTensor, ...]:
        """All outputs of the op."""
        with outside():
            return self._runtime.invoke(op, *operands)


# Derivatives of records.

Entries = tuple[EagerTensor, bool]
"""A value for all directions, and whether it is batched."""


class RecordApplier:
    """Evaluates derivatives of records on tensors of a runtime."""

    def __init__(self, runtime: EagerRuntime) -> None:
        self._runtime = runtime

    def push(self, record: Record, tangents: Slots[EagerTensor]) -> Slots[EagerTensor]:
        """Tangents of the record's outputs."""
        moving = tuple([tangent is not None for tangent in tangents])
        return self._run(record, record.derivative.push(moving), tangents)

    def pull(self, record: Record, cts: Slots[EagerTensor], wanted: Mask) -> Slots[EagerTensor]:
        """Cotangents of the operands that `wanted` selects."""
        nonzero = tuple([ct is not None for ct in cts])
        return self._run(record, record.derivative.pull(wanted, nonzero), cts)

    def add(self, a: EagerTensor, b: EagerTensor) -> EagerTensor:
        """The sum, computed by the addition of the op set."""
        emitter = EagerEmitter(self._runtime)
        return emitter.emit(emitter.ctx.adder, a, b)

    def _run(
        self, record: Record, local: LocalProgram, seeds: Slots[EagerTensor]
    ) -> Slots[EagerTensor]:
        operands = [_saved(self._runtime, record, number) for number in local.saved]
        operands += [seed for seed in seeds if seed is not None]
        outputs = self._runtime.run_local(local, operands)
        return tuple([None if place is None else outputs[place] for place in local.results])


class BatchApplier:
    """Pushes batches of tangents forward: values with whether they are batched."""

    def __init__(self, runtime: EagerRuntime, emitter: EagerEmitter, size: int) -> None:
        self._runtime = runtime
        self._emitter = emitter
        self._size = size

    def push(self, record: Record, tangents: Slots[Entries]) -> Slots[Entries]:
        """Tangents of the record's outputs for all directions."""
        local = record.derivative.push(tuple([tangent is not None for tangent in tangents]))
        operands = [(_saved(self._runtime, record, number), False) for number in local.saved]
        operands += [tangent for tangent in tangents if tangent is not None]
        outputs = in_turn(local.program, operands, self._apply)
        first = [[value for value, _ in values] for values in (operands, outputs)]
        self._runtime.check_local(local, *first)
        return tuple([None if place is None else outputs[place] for place in local.results])

    def _apply(self, op: Any, operands: Sequence[Entries]) -> Sequence[Entries]:
        """The outputs of one op, by its batch rule if an operand is batched."""
        values = tuple([value for value, _ in operands])
        mask = tuple([is_batched for _, is_batched in operands])
        if True in mask:
            site = BatchSite(self._emitter, values, mask, self._size)
            return op.batch_rule(site)  # type: ignore[no-any-return]  # an op of any set
        return [(value, False) for value in self._emitter.emit_all(op, *values)]


def in_turn(
    program: CompiledProgram[Any],
    operands: Sequence[T],
    apply: Callable[[Any, list[T]], Sequence[T]],
) -> list[T]:
    """The outputs of a program, one op after another."""
    slots: list[Any] = [*operands, *[None] * program.n_slots]
    for step in program.instructions:
        outputs = apply(step.op, [slots[slot] for slot in step.inputs])
        for slot, value in zip(step.outputs, outputs, strict=True):
            slots[slot] = value
    return [slots[slot] for slot in program.output_slots]


def _saved(runtime: EagerRuntime, record: Record, number: int) -> EagerTensor:
    """A value that a record saved, with its origin."""
    derivative = cast(OpDerivative, record.derivative)
    read, count = derivative.reads[number], len(record.sources)
    if read < count:
        origin = record.sources[read]
    else:
        origin = record.output(read - count) if derivative.reaches[read - count] else None
    return runtime.restored(record.saved[number], derivative.kinds[number], origin)


def _has_nan(value: EagerTensor) -> bool:
    return bool(np.isnan(value.numpy()).any())
