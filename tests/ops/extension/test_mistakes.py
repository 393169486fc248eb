"""What an author may get wrong without a word: each is refused where it can be known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla
from tenferro.errors import ContractViolationError, ExtensionRegistryError, InvalidConfigError
from tenferro.extension import Extension, ExtensionOp, KernelRuntime, Package, apply, family_id
from tenferro.serialization import PayloadCodecs
from tenferro.testing import check_extension

X, Y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
QUICK = frozenset({"processes", "xla"})


class Same(ExtensionOp):
    """Results of the type of the first input."""

    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[0], input_shapes[0])]


@family_id(namespace="mistakes", name="slots", version=1)
class Slots(Same):
    __slots__ = ("scale",)

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def eager_execute(self, inputs: Any) -> Any:
        return [inputs[0] * self.scale]


@family_id(namespace="mistakes", name="unfrozen", version=1)
@dataclass
class Unfrozen(Same):
    scale: float
    more: Any = None

    def eager_execute(self, inputs: Any) -> Any:
        return [inputs[0] * self.scale]


@family_id(namespace="mistakes", name="two_answers", version=1)
@dataclass(frozen=True)
class TwoAnswers(Same):
    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        (size,) = input_shapes[0]
        return [(input_dtypes[0], (size if isinstance(size, int) else 2 * size,))]

    def eager_execute(self, inputs: Any) -> Any:
        return [inputs[0].copy()]

    def lower_to_standard_ops(
        self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
    ) -> Any:
        return list(inputs)


@family_id(namespace="mistakes", name="difference", version=1)
@dataclass(frozen=True)
class Difference(Same):
    input_count = 2
    commutative = True

    def eager_execute(self, inputs: Any) -> Any:
        return [inputs[0] - inputs[1]]


@family_id(namespace="mistakes", name="reversed", version=1)
@dataclass(frozen=True)
class Reversed(Same):
    pointwise = True

    def eager_execute(self, inputs: Any) -> Any:
        return [np.cumsum(inputs[0])]


@family_id(namespace="mistakes", name="uncompared", version=1)
@dataclass(frozen=True)
class Uncompared(Same):
    power: int = 1
    scale: float = field(default=2.0, compare=False)
    unused: float = field(default=2.0, compare=False)

    def eager_execute(self, inputs: Any) -> Any:
        return [inputs[0] * self.scale]


def test_state_in_slots_is_no_payload() -> None:
    with pytest.raises(InvalidConfigError, match="Slots has attributes but no payload; make it a"):
        apply(Slots(2.0), X)


def test_an_op_that_is_changed_later_was_applied_as_it_was() -> None:
    op = Unfrozen(2.0)
    package = Package("mistakes", ops=(Unfrozen,), runtimes=(KernelRuntime(Unfrozen),))
    program = tn.make_program(lambda x: apply(op, x), tn.TensorSpec((2,)))
    carrier = Extension(op)
    op.scale = 3.0
    executor = tn.GraphExecutor(tn.NumpyBackend(), packages=(package,))
    assert executor.run(program, {"x": X})[0].tolist() == (2 * X).tolist()
    assert carrier != Extension(op)
    assert carrier.evaluate([X])[0].tolist() == (2 * X).tolist()
    with pytest.raises(ContractViolationError, match="scale can be assigned to"):
        check_extension(op, inputs=[X], skip=QUICK)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_two_answers_for_names_and_numbers_are_compared_when_sizes_are_known(executor: str) -> None:
    package = Package("mistakes", ops=(TwoAnswers,), runtimes=(KernelRuntime(TwoAnswers),))
    f = tn.jit(
        lambda x: apply(TwoAnswers(), x), executor=executor, symbolic={"x": ("n",)},
        packages=(package,),
    )  # fmt: skip
    text = r"says that output 0 is f64\[2\*n\], which is f64\[4\] for these sizes, but f64\[2\] whe"
    with pytest.raises(InvalidConfigError, match=text):
        f(X)
    with pytest.raises(ContractViolationError, match="§7 symbolic"):
        check_extension(TwoAnswers(), inputs=[X], skip=QUICK)


def test_what_a_class_says_of_itself_is_tried() -> None:
    with pytest.raises(ContractViolationError, match="declared commutative, but output 0 is 2 at"):
        check_extension(Difference(), inputs=[X, Y], skip=QUICK)
    with pytest.raises(ContractViolationError, match="declared pointwise, but output 0 is"):
        check_extension(Reversed(), inputs=[X], skip=QUICK)


def test_a_field_that_is_not_compared_changes_no_result() -> None:
    with pytest.raises(ContractViolationError) as refused:
        check_extension(Uncompared(), inputs=[X], skip=QUICK)
    assert "§5 complete: scale is declared field(compare=False), but changes results" in str(
        refused.value
    )
    assert "unused" not in str(refused.value)


def test_lowerings_and_codecs_are_functions() -> None:
    executor = tenferro_xla.XlaExecutor("cpu")
    with pytest.raises(ExtensionRegistryError, match="takes a function of an op and its operands"):
        executor.register_extension(lambda to: to.register(Difference.FAMILY_ID, 3))  # type: ignore[arg-type]
    with pytest.raises(ExtensionRegistryError, match="decode= takes a function of the payload"):
        PayloadCodecs().register(Difference, 3)  # type: ignore[arg-type]
