"""Runtimes of extension families, and the registry that an executor dispatches through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from tenferro.errors import BackendFailureError, InvalidConfigError, UnregisteredExtensionError
from tenferro.family.caches import ExtensionCache, ExtensionCaches
from tenferro.family.carrier import Extension, failure
from tenferro.family.family_id import parse_family_id
from tenferro.family.op import ExtensionOp
from tenferro.shape import make_meta

Buffer = Any
"""An array of the executor at hand."""


class ExtensionRuntime(Protocol):
    """How one family runs on a native backend. Results stay where the inputs are."""

    @property
    def family_id(self) -> str:
        """The family."""

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[Buffer], cache: ExtensionCache
    ) -> Sequence[Buffer]:
        """The outputs of `op`.

        Args:
            backend: the `TensorBackend` of the executor.
            op: the payload.
            inputs: buffers of the backend; not to be written to.
            cache: where the runtime may keep what the executor owns.
        """


class ExtensionRegistry:
    """The runtimes that one executor has, by family; the first of a family stays.

    An op of any other family is refused. There is no fallback to `eager_execute`. `owner` is what
    the text of the refusal calls the one that the user gives runtimes to.
    """

    def __init__(self, owner: str = "executor") -> None:
        self._owner = owner
        self._runtimes: dict[str, ExtensionRuntime] = {}

    def register(self, runtime: ExtensionRuntime) -> None:
        """Make a runtime known. Registering a family again changes nothing.

        Raises:
            MalformedFamilyIdError: the runtime's family id is not one.
        """
        parse_family_id(runtime.family_id)
        self._runtimes.setdefault(runtime.family_id, runtime)

    def copy_to(self, other: ExtensionRegistry) -> None:
        """Make the runtimes known to another registry, which keeps those that it has."""
        for runtime in self._runtimes.values():
            other.register(runtime)

    def require(self, op: Extension) -> ExtensionRuntime:
        """The runtime of an op's family.

        Raises:
            UnregisteredExtensionError: there is none.
        """
        runtime = self._runtimes.get(op.family_id)
        if runtime is None:
            raise UnregisteredExtensionError(
                op.family_id,
                f"{op.family_id}: no runtime is registered; give the {self._owner} the package of "
                f"the family, packages=(...), or one with {self._owner}.register_extension(...)",
            )
        return runtime

    def execute(
        self, backend: Any, op: Extension, inputs: Sequence[Buffer], caches: ExtensionCaches
    ) -> tuple[Buffer, ...]:
        """The outputs of an op, by its family's runtime.

        Raises:
            UnregisteredExtensionError: the family has no runtime.
            BackendFailureError: the runtime failed.
            InvalidConfigError: the results are not what the op infers.
            ShapeError, DTypeError: the op cannot take inputs of the sizes that these turned out to
                have.
        """
        runtime = self.require(op)
        expected = op.infer_all([make_meta(buf.dtype, tuple(buf.shape)) for buf in inputs])
        try:
            results = runtime.execute(backend, op.op, inputs, caches.of(op.family_id))
        except (BackendFailureError, InvalidConfigError):
            raise
        except Exception as error:
            raise failure(op.family_id, error) from error
        return op.checked_results(expected, results)

    def __contains__(self, family_id: object) -> bool:
        return family_id in self._runtimes

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._runtimes))

    def __len__(self) -> int:
        return len(self._runtimes)


Register = Callable[[ExtensionRegistry], object]
"""What `register_extension` takes: it registers the runtimes of a package."""
