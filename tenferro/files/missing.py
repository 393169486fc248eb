"""MissingExtension: the placeholder of an extension op whose family is not registered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

from tenferro.chainrules import Emitter, JvpSite, Slots, TransposeSite, V
from tenferro.errors import UnsupportedExtensionError
from tenferro.exec_ir import Array, Category, encode, payload
from tenferro.ops import StdTensorOp
from tenferro.shape import TensorMeta


@payload
class MissingExtension(StdTensorOp, name="missing_extension"):
    """A placeholder for an extension op that was read without the code of its family.

    It has the family id, payload and output types of the file, and can be written again. Types for
    other inputs, derivatives and results need the family and raise an error. It never equals the op
    that it stands for.
    """

    family_id: str
    values: tuple[Any, ...]
    input_count: int
    types: tuple[str, ...]

    category: ClassVar[Category] = Category.BOUNDARY

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_inputs", self.input_count)
        object.__setattr__(self, "n_outputs", len(self.types))
        object.__setattr__(self, "family", self.family_id)

    def family_payload(self) -> tuple[object, ...]:
        """The payload of the op in the file."""
        return self.values

    @property
    def written_bytes(self) -> bytes:
        """The missing op as it is encoded."""
        return b"extension" + encode(self.family_id) + encode(self.values)

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """Always raises: this needs the family."""
        self._refuse()

    def evaluate(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Refused."""
        self._refuse()

    def expanded(self, at: Emitter[V], operands: Sequence[V]) -> tuple[V, ...] | None:
        """Refused."""
        self._refuse()

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Refused."""
        self._refuse()

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Refused."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise UnsupportedExtensionError(
            self.family_id,
            f"{self.family_id}: not registered; this op is the placeholder that "
            "skip_missing_extensions left; load the file again with the package of its family, "
            "packages=(...)",
        )
