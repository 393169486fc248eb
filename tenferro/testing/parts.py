"""What is checked of a family beside its op: given part by part, or as packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tenferro.errors import ConfigError
from tenferro.families import further
from tenferro.family import (
    ExtensionOp,
    ExtensionRuleSet,
    Package,
    Register,
    lowering_of,
    register_runtimes,
    rules_of,
)
from tenferro.files import PayloadCodecs, codecs_of


@dataclass(frozen=True)
class Parts:
    """The parts of a family; None for one that it does not have, or that is not to be checked.

    Attributes:
        rules: derivative rules and batch rules.
        register_runtime: registers the runtimes on a native executor.
        register_xla: registers lowerings on an XLA executor.
        codecs: make ops from the payloads in files.
    """

    rules: ExtensionRuleSet | None
    register_runtime: Register | None
    register_xla: Callable[[Any], object] | None
    codecs: PayloadCodecs | None

    def filled(self, op: ExtensionOp, packages: Sequence[Package]) -> Parts:
        """The parts, and those of the packages where they are None.

        Raises:
            ExtensionRegistryError: a package is given twice, or is not one.
            ConfigError: no package has the family of the op.
        """
        own = further(packages)
        if not own:
            return self
        if not any(op.family_id in package.families for package in own):
            names = ", ".join(repr(package.name) for package in own)
            raise ConfigError(
                f"check_extension: {op.family_id}: not a family of {names}; add the op class to "
                "the ops of a package"
            )
        with_rules = any(package.rules or package.batch_rules for package in own)
        rules = rules_of(own) if with_rules else None
        runtimes = any(package.runtimes for package in own)
        lowerings = any(package.lowerings for package in own)
        return Parts(
            rules if self.rules is None else self.rules,
            self.register_runtime
            or ((lambda registry: register_runtimes(own, registry)) if runtimes else None),
            self.register_xla
            or ((lambda registry: _register_lowerings(own, registry)) if lowerings else None),
            codecs_of(own) if self.codecs is None else self.codecs,
        )


def _register_lowerings(packages: Sequence[Package], registry: Any) -> None:
    for package in packages:
        for op, lowering in package.lowerings.items():
            registry.register(op.FAMILY_ID, lowering_of(lowering))
