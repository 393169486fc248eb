"""Public functions and their gradients are lowered for CUDA, or refused by the name of an op."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import jax
import pytest

from tenferro.compiler import resolve_sizes
from tenferro.errors import BackendFailureError, UnsupportedDynamicShapeError
from tenferro.ir import ExecProgram
from tenferro_xla.checks.parity import Case, cases_of, subjects
from tenferro_xla.compiled import prepare
from tenferro_xla.devices import own_settings
from tenferro_xla.lowering import ExtensionLowerings, jax_function
from tenferro_xla.placement import OneDevice
from tenferro_xla.platforms import CUDA_PLATFORM
from tenferro_xla.target import target_for

TARGET = target_for(OneDevice(jax.devices("cpu")[0]), CUDA_PLATFORM, ExtensionLowerings())
FUNCTIONS = dict(subjects())
EVERY = 60
KINDS = (  # one of each kind of op, by which lowerings differ; usual runs have the first case
    *("sin", "floor_divide", "isnan", "astype", "where", "concat", "take_along_axis", "roll"),
    *("sum", "amax", "any", "argmin", "cumsum", "cumulative_prod", "median", "sort", "top_k"),
    *("einsum", "lax.dot_general", "convolve", "lax.conv", "lax.reduce_window", "lax.reduce"),
    *("lax.gather", "lax.scatter", "lax.scatter_add", "lax.scatter_max", "lax.pad", "indexing"),
    *("lax.dynamic_slice", "lax.dynamic_update_slice", "unique", "searchsorted", "polyfit"),
    *("scan", "while_loop", "associative_scan", "cond", "switch", "checkpoint"),
    *("slices of a network", "jacobian of a loop", "fft.fft", "fft.irfft", "random.normal"),
    *("random.gamma", "random.bits", "linalg.cholesky", "linalg.solve", "linalg.qr"),
    *("linalg.eigh", "linalg.eig", "linalg.svd", "linalg.slogdet", "linalg.expm", "linalg.schur"),
    *("softmax", "nn.gelu", "scipy.special.gammainc", "scipy.special.betainc"),
    *("logsumexp", "scipy.stats.norm.logpdf", "bits"),
)


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


def outcomes(cases: Iterable[Case]) -> Counter[str]:
    """How many programs there are of each outcome."""
    found: Counter[str] = Counter()
    for case in cases:
        try:
            found[outcome(case.program)] += 1
        except Exception as error:
            error.add_note(f"of {case.name}")
            raise
    return found


@pytest.mark.exhaustive
def test_a_function_of_each_kind_is_lowered_for_cuda_or_refused_by_name() -> None:
    found = outcomes(next(cases_of(name, FUNCTIONS[name])) for name in KINDS)
    assert found["lowered"] > 20 * found["refused"]


@pytest.mark.parametrize(
    "part",
    [
        0,
        *[pytest.param(part, marks=pytest.mark.large) for part in range(1, EVERY)],
    ],
)
def test_public_functions_are_lowered_for_cuda_or_refused_by_name(part: int) -> None:
    names = list(FUNCTIONS)[part::EVERY]
    found = outcomes(case for name in names for case in cases_of(name, FUNCTIONS[name]))
    assert found["lowered"] > found["refused"]
