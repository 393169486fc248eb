"""EagerRuntime: computes immediately, and records the ops that depend on its variables."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tenferro.config import config
from tenferro.core import BoundedCache, CacheOwner, Capacity, LeafOrigin, LocalProgram, Origin
from tenferro.errors import ADError, ConfigError, ContextMismatch, DeviceError, ExecutorError
from tenferro.ops import StdTensorOp
from tenferro.ops.extension import ExtensionCaches, Package, Register
from tenferro.ops.functions import emit_function, is_number
from tenferro.runtime import (
    Executor,
    GraphExecutor,
    Tensor,
    executor_named,
    further,
    host_array,
    lasts,
    number_key,
    owner_of,
    with_options,
    with_packages,
)
from tenferro.transforms.ad_context import AdContext, check_active
from tenferro.transforms.eager_plan import (
    EagerPlan,
    EagerPlanner,
    Kernels,
    program_of_function,
    program_of_op,
)
from tenferro.transforms.eager_tensor import (
    EagerTensor,
    OperandKind,
    is_paused,
    kind_of,
    pausing,
)
from tenferro.transforms.tape import (
    Differentiator,
    EagerEmitter,
    RecordApplier,
    check_defined,
    in_turn,
)

__all__ = ["EagerRuntime"]

_UNPLANNED = object()
"""The cache entry of functions that are computed op by op."""


class EagerRuntime(CacheOwner, Differentiator):
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
        self._executor = chosen if is_native else with_packages(chosen, further(packages))
        self._cache: BoundedCache[Any, Any] = BoundedCache(Capacity(capacity))
        self._kernels = Kernels(self._executor, further(packages))
        shapes = (AdContext(packages=packages) if ad_context is None else ad_context).shapes
        self._planner = EagerPlanner(self._kernels, self._executor, shapes, self._cache)
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

    def restored(self, buffer: Any, kind: OperandKind | None, origin: Origin | None) -> EagerTensor:
        """A tensor around a buffer that a record saved; used by derivatives."""
        if kind is None:
            kind = kind_of(buffer.dtype, tuple(buffer.shape))
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
        parts: list[Any] = [function]
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
            plan = self._planned(key, function, operands, options)
        else:
            self._cache.hits += 1
        if plan is _UNPLANNED:
            return self._op_by_op(function, operands, tensors, options)
        results = plan.run(tensors, self)
        return results[0] if plan.single else tuple(results)

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
        key = (op, *kinds)
        plan = self._cache.peek(key)
        if plan is None:
            program = program_of_op(op, len(operands))
            plan = self._remember(key, lambda: self._planner.plan(program, kinds))
        else:
            self._cache.hits += 1
        return tuple(plan.run(list(operands), self))

    def run_local(self, local: LocalProgram, operands: Sequence[EagerTensor]) -> list[EagerTensor]:
        """The outputs of a derivative on values of this runtime; used by derivatives.

        Raises:
            GaugeError: the derivative does not exist, and the runtime checks that.
        """
        results = self._run_local(local, operands)
        self.check_local(local, operands, results)
        return results

    def check_local(
        self,
        local: LocalProgram,
        operands: Sequence[EagerTensor],
        results: Sequence[EagerTensor],
    ) -> None:
        """Raise GaugeError if a derivative does not exist, and the runtime checks that."""
        if self._check_gauge:
            check_defined(local, operands, results)

    def _run_local(self, local: LocalProgram, operands: Sequence[EagerTensor]) -> list[EagerTensor]:
        kinds = self._kinds(operands)
        if not local.lasting:
            once = self._planner.plan(local.program, kinds)
            if once is None:
                return in_turn(local.program, operands, lambda op, values: self.invoke(op, *values))
            return once.run(list(operands), self)
        key = (local, *kinds)
        plan = self._cache.peek(key)
        if plan is None:
            plan = self._remember(
                key, lambda: self._planner.plan(local.program, kinds) or _UNPLANNED
            )
        else:
            self._cache.hits += 1
        if plan is not _UNPLANNED:
            return plan.run(list(operands), self)  # type: ignore[no-any-return]
        return in_turn(local.program, operands, lambda op, values: self.invoke(op, *values))

    def _remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """The plan of `key` from the cache. One that does not last is made by each call."""
        plan = self._cache.get(key)
        if plan is not None:
            return plan
        plan = make()
        once = isinstance(plan, EagerPlan) and not plan.lasting
        return plan if once else self._cache.put(key, plan)

    def _planned(
        self,
        key: tuple[Any, ...] | None,
        function: Callable[..., Any],
        operands: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """The plan of an array function; not cached for functions that each call makes anew."""
        if key is None or not lasts(function):
            return _UNPLANNED
        kinds = [part for part in key if isinstance(part, OperandKind)]

        def make() -> Any:
            of_kinds = iter(kinds)
            arguments = [o if is_number(o) else next(of_kinds) for o in operands]
            traced = program_of_function(function, arguments, options)
            if traced is None:
                return _UNPLANNED
            program, single = traced
            return self._planner.plan(program, kinds, single) or _UNPLANNED

        return self._remember(key, make)

    def _op_by_op(
        self,
        function: Callable[..., Any],
        operands: tuple[Any, ...],
        tensors: Sequence[EagerTensor],
        options: dict[str, Any],
    ) -> Any:
        """Apply an array function op by op."""
        remaining = iter([t.detach() for t in tensors] if is_paused(self) else tensors)
        values = [operand if is_number(operand) else next(remaining) for operand in operands]
        return emit_function(EagerEmitter(self), function, *values, **options)

    def _kinds(self, operands: Sequence[EagerTensor]) -> list[OperandKind]:
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
        arrays = isinstance(operand, Tensor | np.ndarray | np.generic | list | tuple)
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

    # --- extensions and caches --------------------------------------------------------------------

    def register_extension(self, register: Register) -> None:
        """Let a package register the runtimes of its families. Registering again has no effect.

        Raises:
            ExecutorError: the executor is not a native one, and runs extension ops in its own way.
            MalformedFamilyIdError: the family id of a runtime is malformed.
        """
        boundary = self._kernels.boundary
        if boundary is None:
            raise ExecutorError(
                f"register_extension: {self._executor.name} runs extension ops in its own way; "
                "register with the executor"
            )
        register(boundary.registry)

    @property
    def extension_caches(self) -> ExtensionCaches | None:
        """The caches of the runtimes of extension families; None if there are no runtimes."""
        return None if self._kernels.boundary is None else self._kernels.boundary.caches

    def __repr__(self) -> str:
        return f"EagerRuntime({self._executor.name!r})"
