"""The three families: einsum, its tangent at the winners, and the transpose of that.

Each has two operands, and their subscripts as numbered labels in the payload. If several products
are best, the first one wins, in the order that `plan` describes. A NaN product never wins. If there
is no product, or all products are NaN or the tropical zero, the result is the tropical zero and
constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.extension import ExtensionOp, InvalidConfigError, OutputMeta, family_id, inline
from tenferro_ext_tropical import forms
from tenferro_ext_tropical.kernels import NUMPY
from tenferro_ext_tropical.plan import Plan, make_plan
from tenferro_ext_tropical.semiring import SEMIRINGS, Semiring
from tenferro_ext_tropical.standard import STANDARD
from tenferro_ext_tropical.subscripts import (
    Labels,
    Shape,
    SubscriptsError,
    check_dtypes,
    name_of,
    sizes_of,
)

Array = np.ndarray[Any, np.dtype[Any]]
DISTRIBUTION = "tenferro-ext-tropical"


@dataclass(frozen=True)
class Contraction(ExtensionOp):
    """The common part of the families: the payload, and the plan of a contraction.

    Attributes:
        kind: `"maxplus"` or `"minplus"`.
        lhs: the labels of the first operand.
        rhs: the labels of the second.
        output: the labels of the result; each occurs in an operand, and once.

    Labels are numbered from 0 in order of appearance, so equal contractions are equal ops.

    Raises:
        InvalidConfigError: the payload is not of this form.
    """

    kind: str
    lhs: Labels
    rhs: Labels
    output: Labels

    def __post_init__(self) -> None:
        labels = list(dict.fromkeys((*self.lhs, *self.rhs)))
        if self.kind not in SEMIRINGS:
            self._refuse(f"kind {self.kind!r} is none of {', '.join(SEMIRINGS)}")
        if labels != list(range(len(labels))) or any(isinstance(each, bool) for each in labels):
            self._refuse(f"labels {self.lhs} and {self.rhs} are not numbered by appearance")
        if len(set(self.output)) < len(self.output) or not set(self.output) <= set(labels):
            self._refuse(f"output labels {self.output} are not distinct labels of the operands")

    @property
    def semiring(self) -> Semiring:
        """The semiring."""
        return SEMIRINGS[self.kind]

    @property
    def subscripts(self) -> str:
        """The subscripts as text.

        >>> TropicalEinsum("maxplus", (0, 1), (1, 2), (0, 2)).subscripts
        'ab,bc->ac'
        """
        lhs, rhs, output = (
            "".join(map(name_of, labels)) for labels in (self.lhs, self.rhs, self.output)
        )
        return f"{lhs},{rhs}->{output}"

    def plan(self, shapes: Sequence[Shape]) -> Plan:
        """How operands of these shapes are contracted.

        Raises:
            ShapeError: axes with one label have different sizes.
        """
        return make_plan(self.lhs, self.rhs, self.output, [tuple(shape) for shape in shapes[:2]])

    def result_shape(self, dtypes: Sequence[Any], shapes: Sequence[Shape]) -> Shape:
        """The shape of the result.

        Raises:
            DTypeError, ShapeError: the operands do not fit each other.
            SubscriptsError: their ranks are not those of the subscripts.
        """
        check_dtypes(dtypes)
        for position, (labels, shape) in enumerate(
            zip((self.lhs, self.rhs), shapes[:2], strict=True)
        ):
            if len(labels) != len(shape):
                raise SubscriptsError(
                    f"einsum: {self.subscripts!r} has {len(labels)} labels for operand {position}, "
                    f"which has rank {len(shape)}"
                )
        sizes = sizes_of([self.lhs, self.rhs], shapes[:2])
        return tuple([sizes[label] for label in self.output])

    def computed(self, form: forms.Form, plan: Plan, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs, by the array library of `form`."""
        raise NotImplementedError

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """The outputs, in tiles, without an array of all products."""
        self.infer_output_meta([x.dtype for x in inputs], [x.shape for x in inputs])
        return self.computed(NUMPY, self.plan([x.shape for x in inputs]), inputs)

    def lower_to_standard_ops(
        self,
        builder: Any,
        inputs: Sequence[Any],
        input_dtypes: Sequence[Any],
        input_shapes: Sequence[Shape],
    ) -> Sequence[Any] | None:
        """The outputs by array functions; None if a size is not a number."""
        if not all(isinstance(size, int) for shape in input_shapes for size in shape):
            return None
        plan = self.plan(input_shapes)

        def function(*values: Any) -> tuple[Any, ...]:
            return self.computed(STANDARD, plan, values)

        outputs: Sequence[Any] = inline(builder, function, *inputs)
        return outputs

    def _refuse(self, problem: str) -> None:
        raise InvalidConfigError(self.family_id, f"family_id={self.family_id}: {problem}")


@family_id(namespace=DISTRIBUTION, name="einsum", version=1)
@dataclass(frozen=True)
class TropicalEinsum(Contraction):
    """Tropical einsum of two operands.

    >>> op = TropicalEinsum("minplus", (0, 1), (1, 2), (0, 2))
    >>> op.family_id
    'tenferro-ext-tropical.einsum.v1'
    >>> op.eager_execute([np.array([[1.0, 5.0]]), np.array([[3.0], [0.0]])])
    (array([[4.]]),)
    """

    input_count = 2
    output_count = 1

    def infer_output_meta(
        self, input_dtypes: Sequence[Any], input_shapes: Sequence[Shape]
    ) -> Sequence[OutputMeta]:
        """The operands' dtype, and the sizes of the output labels."""
        return [(input_dtypes[0], self.result_shape(input_dtypes, input_shapes))]

    def computed(self, form: forms.Form, plan: Plan, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The result."""
        return (forms.value(form, self.semiring, plan, *inputs),)


@dataclass(frozen=True)
class Derivative(Contraction):
    """The common part of tangent and cotangents.

    Attributes:
        operands: the operands they are for: `(0,)`, `(1,)` or `(0, 1)`.
    """

    operands: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.operands not in ((0,), (1,), (0, 1)):
            self._refuse(f"operands {self.operands!r} is none of (0,), (1,), (0, 1)")


@family_id(namespace=DISTRIBUTION, name="einsum_jvp", version=1)
@dataclass(frozen=True)
class TropicalEinsumJvp(Derivative):
    """The sum of the operands' tangents at the winner of each element of the result.

    Takes both operands and the tangents of those that `operands` names, so this field determines
    the number of inputs. The op is linear in the tangents.

    >>> op = TropicalEinsumJvp("maxplus", (0,), (0,), (), (1,))
    >>> op.eager_execute([np.array([1.0, 5.0]), np.array([3.0, 0.0]), np.array([7.0, 8.0])])
    (array(8.),)
    """

    output_count = 1

    @property
    def input_count(self) -> int:
        """Two operands and the tangents."""
        return 2 + len(self.operands)

    def spread(self, tangents: Sequence[Any]) -> list[Any]:
        """One entry for each operand, None where it has no tangent."""
        given = dict(zip(self.operands, tangents, strict=True))
        return [given.get(0), given.get(1)]

    def infer_output_meta(
        self, input_dtypes: Sequence[Any], input_shapes: Sequence[Shape]
    ) -> Sequence[OutputMeta]:
        """The type of the result."""
        for shape, operand in zip(input_shapes[2:], self.operands, strict=True):
            _check_like(shape, input_shapes[operand], f"the tangent of operand {operand}")
        return [(input_dtypes[0], self.result_shape(input_dtypes, input_shapes))]

    def computed(self, form: forms.Form, plan: Plan, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The tangent of the result."""
        lhs, rhs, *tangents = inputs
        return (forms.tangent(form, self.semiring, plan, lhs, rhs, self.spread(tangents)),)


@family_id(namespace=DISTRIBUTION, name="einsum_vjp", version=1)
@dataclass(frozen=True)
class TropicalEinsumVjp(Derivative):
    """Cotangents of the operands: each element of the result's, added at its winner.

    Takes both operands and the cotangent of the result, and has one output for each operand that
    `operands` names. It is terminal: the family has no derivative rules.

    >>> op = TropicalEinsumVjp("maxplus", (0,), (0,), (), (0,))
    >>> op.eager_execute([np.array([1.0, 5.0]), np.array([3.0, 0.0]), np.array(2.0)])
    (array([0., 2.]),)
    """

    input_count = 3

    @property
    def output_count(self) -> int:
        """One for each operand that is asked for."""
        return len(self.operands)

    def infer_output_meta(
        self, input_dtypes: Sequence[Any], input_shapes: Sequence[Shape]
    ) -> Sequence[OutputMeta]:
        """The types of the operands."""
        _check_like(input_shapes[2], self.result_shape(input_dtypes, input_shapes), "the cotangent")
        return [(input_dtypes[i], tuple(input_shapes[i])) for i in self.operands]

    def computed(self, form: forms.Form, plan: Plan, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents."""
        lhs, rhs, ct = inputs
        return forms.cotangents(form, self.semiring, plan, lhs, rhs, ct, self.operands)

    def prune_outputs(self, live: tuple[bool, ...]) -> TropicalEinsumVjp | None:
        """The same for fewer operands."""
        operands = tuple([i for i, wanted in zip(self.operands, live, strict=True) if wanted])
        return TropicalEinsumVjp(self.kind, self.lhs, self.rhs, self.output, operands)


def _check_like(shape: Shape, expected: Shape, what: str) -> None:
    """Raise SubscriptsError or ShapeError if a shape certainly differs from the expected one."""
    if len(shape) != len(expected):
        raise SubscriptsError(f"einsum: {what} has rank {len(shape)}, not {len(expected)}")
    sizes_of([range(len(shape))] * 2, [shape, expected])
