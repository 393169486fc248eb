"""Extension ops on XLA: a registered lowering, else standard ops, else an error.

The families' runtimes and `eager_execute` are never used here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from tenferro.compiler import expand_extensions, optimize
from tenferro.contract import Extension, parse_family_id
from tenferro.errors import BackendFailureError, ExtensionError
from tenferro.exec_ir import ExecProgram
from tenferro.shape import make_meta

ExtensionLowering = Callable[..., Any]
"""Takes the op and its operands as JAX values, returns the output, or a tuple of outputs."""


class ExtensionLowerings:
    """The lowerings of extension families that one executor has; the first of a family stays."""

    def __init__(self) -> None:
        self._rules: dict[str, ExtensionLowering] = {}

    def register(self, family_id: str, lowering: ExtensionLowering) -> None:
        """Make a lowering known. Registering a family again changes nothing.

        Raises:
            MalformedFamilyIdError: the family id is not one.
        """
        parse_family_id(family_id)
        self._rules.setdefault(family_id, lowering)

    def __contains__(self, family_id: object) -> bool:
        return family_id in self._rules

    def __len__(self) -> int:
        return len(self._rules)

    def __call__(self, op: Extension, operands: Sequence[Any]) -> tuple[jax.Array, ...]:
        """The outputs of an op, emitted into the JAX trace that is under way.

        Raises:
            BackendFailureError: the lowering failed.
            InvalidConfigError: what it returns is not of the types that the op infers.
        """
        try:
            results = self._rules[op.family_id](op.op, *operands)
        except ExtensionError:
            raise
        except Exception as error:
            reason = f"{op.family_id}: its XLA lowering failed: {type(error).__name__}: {error}"
            raise BackendFailureError(op.family_id, reason) from error
        metas = [make_meta(value.dtype, tuple(value.shape)) for value in operands]
        return op.checked_results(op.infer_all(metas), results)


def expanded(program: ExecProgram, lowerings: ExtensionLowerings) -> ExecProgram:
    """The program with standard ops for all families that have no lowering of their own.

    Raises:
        UnsupportedExtensionError: a family has neither for the types at hand.
    """
    result = expand_extensions(program, keep=lowerings)
    return program if result is program else optimize(result)
