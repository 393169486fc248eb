"""tenferro's own packages of extension families, which every context has.

Each is loaded by name when a context first meets a family of it. The id of a family starts with its
namespace, and all families of one package share theirs: `tenferro-linalg.svd.v1`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from tenferro.compiler import NATIVE, optimize_for
from tenferro.errors import ExtensionRegistryError, class_of
from tenferro.ir import (
    Category,
    ExecInstruction,
    ExecProgram,
    TensorMeta,
    make_meta,
    program_of_op,
    run,
)
from tenferro.ops import load_named
from tenferro.ops.extension import (
    Extension,
    ExtensionCache,
    ExtensionOp,
    ExtensionRegistry,
    ExtensionRuleSet,
    ExtensionRuntime,
    FamilyBatchRule,
    FamilyOp,
    LeadingBatchRule,
    Lowering,
    Package,
    distinct,
    register_runtimes,
    rules_of,
)

__all__ = [
    "StandardRuntime",
    "added_packages",
    "builtin_package",
    "builtin_packages",
    "builtin_rule",
    "builtin_runtimes",
    "family_package",
    "over_builtin",
]

BUILTIN_PACKAGES = {
    "tenferro-einsum": "tenferro.network.sliced_op:EINSUM",
    "tenferro-linalg": "tenferro.linalg.package:LINALG",
    "tenferro-fft": "tenferro.fft.op:FFT",
    "tenferro": "tenferro.transforms.effects:CALLBACK",
}
"""By the namespace of its families, the module and the name of each package."""


def _loaded(namespace: str) -> Package:
    package: Package = load_named(BUILTIN_PACKAGES[namespace])
    return package


def builtin_packages() -> tuple[Package, ...]:
    """All of tenferro's own packages."""
    return tuple([_loaded(namespace) for namespace in BUILTIN_PACKAGES])


def builtin_package(family: str) -> Package | None:
    """The one of tenferro's own packages that has a family."""
    namespace = family.partition(".")[0]
    package = _loaded(namespace) if namespace in BUILTIN_PACKAGES else None
    return package if package is not None and family in package.families else None


@cache
def _rules(namespace: str) -> ExtensionRuleSet:
    return rules_of([_loaded(namespace)])


class _Rules(dict[str, object | None]):
    """Rules by name, to which those of one of tenferro's packages are added when it is needed."""

    def __missing__(self, name: str) -> object | None:
        namespace = name.partition(".")[0]
        if namespace in BUILTIN_PACKAGES:
            for each, rule in _rules(namespace).named.items():
                self.setdefault(each, rule)
        return self.setdefault(name, None)


def over_builtin(own: ExtensionRuleSet) -> Callable[[str], object | None]:
    """Looks up rules by name in a set, then among those of tenferro's own families."""
    return _Rules(own.named).__getitem__


builtin_rule = over_builtin(ExtensionRuleSet())
"""Looks up rules of tenferro's own families by name."""


@cache
def _runtimes(namespace: str) -> ExtensionRegistry:
    registry = ExtensionRegistry()
    register_runtimes([_loaded(namespace)], registry)
    return registry


def builtin_runtimes(family: str) -> ExtensionRegistry | None:
    """The registry that has the runtime of a family, if it is one of tenferro's own."""
    namespace = family.partition(".")[0]
    registry = _runtimes(namespace) if namespace in BUILTIN_PACKAGES else None
    return registry if registry is not None and family in registry else None


def added_packages(packages: Iterable[Package]) -> tuple[Package, ...]:
    """The packages that a user adds to tenferro's own.

    Raises:
        ExtensionRegistryError: a value is not a package, or two packages have one family.
    """
    if not isinstance(packages, Iterable):
        raise ExtensionRegistryError(
            "",
            f"packages: takes a sequence of Package values, got {class_of(packages)}; "
            "write packages=(package,)",
        )
    added = tuple(packages)
    builtin = builtin_packages() if added else ()
    return distinct((*builtin, *added))[len(builtin) :]


# Packages of op classes that have all there is to know of their family.


class StandardRuntime:
    """Runs the ops by which those of one family are replaced.

    The program of these ops is optimized for the inputs' shapes, and cached in the executor by
    payload, shapes and dtypes.

    Args:
        family_id: the family.
        kernels: runtimes of the other families that may be among these ops.
    """

    def __init__(self, family_id: str, kernels: Sequence[ExtensionRuntime] = ()) -> None:
        self.family_id = family_id
        self._kernels = {kernel.family_id: kernel for kernel in kernels}
        self._target = replace(NATIVE, families=self._kernels)

    def program(self, op: ExtensionOp, metas: Sequence[TensorMeta]) -> ExecProgram:
        """The ops by which an op is replaced, on inputs of these types."""
        return optimize_for(program_of_op(Extension(op), metas), self._target)

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[Any], cache: ExtensionCache
    ) -> Sequence[Any]:
        """The outputs of the op."""
        metas = tuple([make_meta(buffer.dtype, tuple(buffer.shape)) for buffer in inputs])
        key = (op.payload_identity(), metas)
        program: ExecProgram = cache.get_or_make(key, lambda: self.program(op, metas))

        def handler(step: ExecInstruction, operands: list[Any]) -> Sequence[Any]:
            if isinstance(step.op, Extension):
                kernel = self._kernels[step.op.family_id]
                return kernel.execute(backend, step.op.op, operands, cache)
            if step.op.category is Category.BOUNDARY:
                return backend.execute_boundary(step.op, operands)  # type: ignore[no-any-return]
            with backend.with_backend_session() as session:
                return session.execute(step.op, operands)  # type: ignore[no-any-return]

        return run(program, list(inputs), handler)


def family_package(
    name: str, *ops: type[ExtensionOp], lowerings: Mapping[type[ExtensionOp], Lowering | str] = {}
) -> Package:
    """The package of op classes that have their rules themselves, and of their derivatives.

    Args:
        name: the distribution.
        ops: the op classes.
        lowerings: for XLA; see `Package`.
    """
    families = [op for op in ops if issubclass(op, FamilyOp)]
    derivatives = [each for op in families for each in (op.jvp_op, op.vjp_op) if each is not None]
    ops = (*ops, *derivatives)
    kernels = [op.runtime() for op in families if op.expanded is ExtensionOp.expanded]
    return Package(
        name=name,
        ops=ops,
        lowerings=lowerings,
        rules=tuple([rule for op in ops if (rule := op.own_rule()) is not None]),
        runtimes=(
            *kernels,
            *[
                StandardRuntime(op.FAMILY_ID, kernels)
                for op in ops
                if op.expanded is not ExtensionOp.expanded
            ],
        ),
        batch_rules=tuple(
            [
                FamilyBatchRule(op) if issubclass(op, FamilyOp) else LeadingBatchRule(op)
                for op in ops
            ]
        ),
    )
