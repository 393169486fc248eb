"""apply_eager: an extension op on the tensors of an eager runtime."""

from dataclasses import dataclass

import numpy as np
import pytest

import tenferro as tn
from tenferro import extension
from tenferro.errors import TracingError, UnregisteredExtensionError


@extension.family_id(namespace="tests", name="doubled", version=1)
@dataclass(frozen=True)
class Doubled(extension.ExtensionOp):
    """Twice the input."""

    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes, input_shapes):  # type: ignore[no-untyped-def]
        return [(input_dtypes[0], input_shapes[0])]

    def eager_execute(self, inputs):  # type: ignore[no-untyped-def]
        return [inputs[0] * 2]


class DoubledRuntime:
    """Runs it by its reference meaning."""

    family_id = Doubled.FAMILY_ID

    def execute(self, backend, op, inputs, cache):  # type: ignore[no-untyped-def]
        return op.eager_execute(inputs)


def test_the_runtime_of_the_tensors_runs_the_op() -> None:
    runtime = tn.EagerRuntime()
    runtime.register_extension(lambda registry: registry.register(DoubledRuntime()))
    result = extension.apply_eager(Doubled(), runtime.constant(np.ones(2)))
    assert isinstance(result, tn.EagerTensor)
    np.testing.assert_array_equal(result, [2.0, 2.0])


def test_a_family_without_a_runtime_is_refused() -> None:
    with pytest.raises(UnregisteredExtensionError, match=r"tests\.doubled\.v1"):
        extension.apply_eager(Doubled(), tn.EagerRuntime().constant(np.ones(2)))


@pytest.mark.parametrize("value", [np.ones(2), tn.TracedTensor.input((2,))])
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(TracingError, match="takes tensors of an EagerRuntime"):
        extension.apply_eager(Doubled(), value)
