"""Runtimes of extension families, and the registry of them in an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from tenferro.errors import (
    BackendFailureError,
    ExecutorError,
    ExtensionRegistryError,
    ExtensionRuntimeRegistryError,
    InvalidConfigError,
    UnregisteredExtensionError,
)
from tenferro.family.caches import ExtensionCache, ExtensionCaches
from tenferro.family.carrier import Extension, raise_named
from tenferro.family.family_id import parse_family_id, require_class
from tenferro.family.frozen import unaliased
from tenferro.family.op import ExtensionOp, ReverseOnlyOp
from tenferro.shape import make_meta

Buffer = Any
"""An array of the executor."""


class ExtensionRuntime(Protocol):
    """The implementation of one family on a native backend. Results are on the inputs' device."""

    @property
    def family_id(self) -> str:
        """The family."""

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[Buffer], cache: ExtensionCache
    ) -> Sequence[Buffer]:
        """The outputs of `op`.

        Args:
            backend: the `TensorBackend` of the executor.
            op: the op, with its payload.
            inputs: buffers of the backend, which must not be written to.
            cache: the cache of the family in the executor, for plans and other objects.
        """


class RaisedByUser(Exception):  # noqa: N818  # it is no error of its own
    """Brings what a function of the user's raised out of a runtime, to be raised as it is."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class ExtensionRegistry:
    """The runtimes of one executor, by family. The first registered runtime of a family is used.

    An op of any other family raises an error; there is no fallback to `eager_execute`. `owner` is
    the name in the error's text for the object to which the user adds runtimes.
    """

    def __init__(self, owner: str = "executor") -> None:
        self._owner = owner
        self._runtimes: dict[str, tuple[ExtensionRuntime, type[ExtensionOp] | None]] = {}

    def register(
        self, runtime: ExtensionRuntime, op_class: type[ExtensionOp] | None = None
    ) -> None:
        """Register a runtime. Registering a family again has no effect.

        Args:
            runtime: the runtime.
            op_class: the class of its ops, if it runs no ops of other classes of the family.

        Raises:
            MalformedFamilyIdError: the runtime's family id is malformed.
            ExtensionRuntimeRegistryError: it is not a runtime.
        """
        if isinstance(runtime, type) or not all(
            hasattr(runtime, name) for name in ("family_id", "execute")
        ):
            raise ExtensionRuntimeRegistryError(
                str(getattr(runtime, "family_id", "runtime")),
                f"takes a runtime with family_id and execute, got {runtime!r}",
                "register_runtime",
            )
        parse_family_id(runtime.family_id)
        self._runtimes.setdefault(runtime.family_id, (runtime, op_class))

    def copy_to(self, other: ExtensionRegistry) -> None:
        """Register the runtimes in another registry, unless it has runtimes of these families."""
        for runtime, op_class in self._runtimes.values():
            other.register(runtime, op_class)

    def require(self, op: Extension) -> ExtensionRuntime:
        """The runtime of an op's family.

        Raises:
            UnregisteredExtensionError: there is none.
            UnsupportedADRuleError: the op stands for tangents that only reverse mode takes.
            ExtensionRegistryError: it is that of another class of the family.
        """
        runtime, op_class = self._runtimes.get(op.family_id, (None, None))
        if runtime is None and isinstance(op.op, ReverseOnlyOp):
            op.op.refuse()
        if runtime is None:
            raise UnregisteredExtensionError(
                op.family_id,
                f"{op.family_id}: no runtime is registered; give the {self._owner} the package of "
                f"the family, packages=(...), or one with {self._owner}.register_extension(...); "
                "a derivative outside of jit takes it from its context, AdContext(packages=(...))",
            )
        require_class(op.op, op_class, "runtime")
        return runtime

    def execute(
        self, backend: Any, op: Extension, inputs: Sequence[Buffer], caches: ExtensionCaches
    ) -> tuple[Buffer, ...]:
        """The outputs of an op, by its family's runtime.

        Raises:
            UnregisteredExtensionError: the family has no runtime.
            BackendFailureError: the runtime failed.
            ExecutorError: what the runtime runs on cannot run the op.
            InvalidConfigError: the results are not of the inferred types.
            ShapeError, DTypeError: the op cannot take inputs of these sizes.
            Exception: a function of the user's raised it, which the runtime calls.
        """
        runtime = self.require(op)
        expected = op.infer_all([make_meta(buf.dtype, tuple(buf.shape)) for buf in inputs])
        try:
            protected = [_protected(buffer) for buffer in inputs]
            cache = caches.of(op.family_id, type(op.op))
            results = unaliased(runtime.execute(backend, op.op, protected, cache))
        except RaisedByUser as raised:
            raise raised.error from raised.error.__cause__
        except Exception as error:
            kinds = (BackendFailureError, InvalidConfigError, ExecutorError)
            raise_named(op.family_id, error, *kinds)
        return op.checked_results(expected, results)

    def __contains__(self, family_id: object) -> bool:
        return family_id in self._runtimes

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._runtimes))

    def __len__(self) -> int:
        return len(self._runtimes)


def _protected(buffer: Buffer) -> Buffer:
    """The buffer, as an array that a runtime cannot write to: it may be the user's own."""
    if not isinstance(buffer, np.ndarray) or not buffer.flags.writeable:
        return buffer
    view = buffer.view()
    view.flags.writeable = False
    return view


F = TypeVar("F", bound=Callable[..., object])


def require_function(register: F) -> F:
    """The argument of `register_extension`.

    Raises:
        ExtensionRegistryError: it is not a function.
    """
    given: object = register
    if not callable(given):
        kind = type(given).__name__
        raise ExtensionRegistryError(
            str(getattr(given, "family_id", "register_extension")),
            f"takes a function of the registry, got a {kind}; write "
            "register_extension(lambda registry: registry.register(...)), or give the executor a "
            "package, packages=(...)",
            "register_extension",
        )
    return register


Register = Callable[[ExtensionRegistry], object]
"""A function that registers the runtimes of a package; the argument of `register_extension`."""
