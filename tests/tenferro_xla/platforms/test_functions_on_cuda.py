"""Public functions and their gradients are lowered for CUDA, or refused by the name of an op."""

from __future__ import annotations

from collections import Counter

import jax
import pytest

from tenferro.compiler import resolve_sizes
from tenferro.errors import BackendFailureError, UnsupportedDynamicShapeError
from tenferro.ir import ExecProgram
from tenferro_xla.checks.parity import cases_of, public_functions
from tenferro_xla.compiled import prepare
from tenferro_xla.devices import own_settings
from tenferro_xla.lowering import ExtensionLowerings, jax_function
from tenferro_xla.placement import OneDevice
from tenferro_xla.platforms import CUDA_PLATFORM
from tenferro_xla.target import target_for

TARGET = target_for(OneDevice(jax.devices("cpu")[0]), CUDA_PLATFORM, ExtensionLowerings())
FUNCTIONS = list(public_functions())
EVERY = 60


def outcome(program: ExecProgram) -> str:
    """What becomes of a program on CUDA; raises what is not an error of tenferro."""
    try:
        ready = prepare(resolve_sizes(program, TARGET.optimized_for), TARGET)
        with own_settings("highest"):
            specs = [jax.ShapeDtypeStruct(m.static_shape or (), m.dtype) for m in ready.input_metas]
            traced = jax.jit(jax_function(ready, TARGET.lowering)).trace(*specs)
            traced.lower(lowering_platforms=("cuda",))
    except UnsupportedDynamicShapeError:
        return "cut into segments"
    except BackendFailureError as error:
        if "XLA has it on the CPU only, not on cuda" not in str(error):
            raise
        return "refused"
    return "lowered"


@pytest.mark.parametrize(
    "part",
    [0, *[pytest.param(part, marks=pytest.mark.large) for part in range(1, EVERY)]],
)
def test_public_functions_are_lowered_for_cuda_or_refused_by_name(part: int) -> None:
    found: Counter[str] = Counter()
    for name, function in FUNCTIONS[part::EVERY]:
        for case in cases_of(name, function):
            try:
                found[outcome(case.program)] += 1
            except Exception as error:
                error.add_note(f"of {case.name}")
                raise
    assert found["lowered"] > found["refused"]
