"""Every array function against NumPy and JAX: values, types, derivatives, symbolic extents."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import TenferroError
from tenferro.runtime import GraphExecutor, NumpyBackend
from tests.in_jax import in_jax
from tests.numpy.calls import CALLS, GROUPS, Call
from tests.tolerances import assert_close, rounding

Array = np.ndarray[Any, Any]


def call_id(call: object) -> str:
    assert isinstance(call, Call)
    kinds = "-".join(str(operand.dtype) + str(list(operand.shape)) for operand in call.operands)
    return f"{call.name}-{kinds}"


every_call = pytest.mark.parametrize("call", CALLS, ids=call_id)


every_group = pytest.mark.parametrize("group", GROUPS.values(), ids=list(GROUPS))


def listed(result: Any) -> list[Any]:
    """The results of a call: one, or a list or tuple of several."""
    return list(result) if isinstance(result, list | tuple) else [result]


def numpys(call: Call) -> list[Array]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [np.asarray(x) for x in listed(call.on(call.numpys(), call.operands))]


def assert_results(found: Sequence[Any], expected: Sequence[Array], what: str = "") -> None:
    assert len(found) == len(expected), what
    for one, other in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), what
        assert_close(np.asarray(one), other, rounding(other.dtype), what)


@every_call
def test_values_and_types_are_numpys(call: Call) -> None:
    assert_results(listed(call.on(getattr(tn, call.name), call.operands)), numpys(call))


@pytest.mark.exhaustive
@every_group
def test_compiled_programs_give_the_same(group: list[Call]) -> None:
    group = [call for call in group if call.operands]
    operands = [call.operands for call in group]

    def every(*operands: Any) -> Any:
        return [
            listed(call.on(getattr(tn, call.name), given))
            for call, given in zip(group, operands, strict=True)
        ]

    for executor in ("numpy", "xla"):
        results = tn.jit(every, executor=executor)(*operands)
        for call, found in zip(group, results, strict=True):
            assert_results(found, numpys(call), f"{call_id(call)} on {executor}")


SMOOTH = [name for name, group in GROUPS.items() if any(c.smooth and c.operands for c in group)]


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_those_of_jax(name: str) -> None:
    assert_gradients_are_jaxs(GROUPS[name])


def assert_gradients_are_jaxs(group: Sequence[Call]) -> None:
    """Gradients of weighted sums of the results, all in one compiled function."""
    group = [call for call in group if call.smooth and call.operands]
    operands = [call.operands for call in group]
    weights = [
        [np.linspace(0.5, 1.5, result.size).reshape(result.shape) for result in numpys(call)]
        for call in group
    ]

    def total(np: Any, functions: Any, operands: Any) -> Any:
        parts = []
        for call, function, given, each in zip(group, functions, operands, weights, strict=True):
            for result, weight in zip(listed(call.on(function, given)), each, strict=True):
                parts.append(np.sum(np.real(result * (1 + 0.5j)) * weight))
        return sum(parts[1:], parts[0])

    functions = [getattr(tn, call.name) for call in group]
    found = tn.jit(tn.grad(lambda xs: total(tn, functions, xs)), executor="numpy")(operands)
    theirs = jax.grad(lambda xs: total(jnp, [call.jaxs() for call in group], xs))
    expected = in_jax(theirs, operands)
    for call, ours, others in zip(group, found, expected, strict=True):
        for one, other in zip(ours, others, strict=True):
            assert one.dtype == other.dtype
            assert_close(np.asarray(one), np.conj(other), 10 * rounding(one.dtype), call_id(call))


SYMBOLIC = [call for call in CALLS if call.symbolic and call.operands]


@pytest.mark.parametrize("call", SYMBOLIC, ids=call_id)
def test_symbolic_extents_give_the_same(call: Call) -> None:
    specs = [
        tn.TensorSpec([f"n{k}" if k != 1 else k for k in x.shape], x.dtype) for x in call.operands
    ]
    program = tn.make_program(
        lambda *operands: tuple(listed(call.on(getattr(tn, call.name), list(operands)))), *specs
    )
    inputs = dict(zip([key.name for key in program.inputs], call.operands, strict=True))
    found = GraphExecutor(NumpyBackend()).run(program, inputs)
    assert_results(found, numpys(call))


@pytest.mark.exhaustive
@pytest.mark.parametrize("call", SYMBOLIC, ids=call_id)
def test_symbolic_extents_give_at_all_sizes_what_constants_give(call: Call) -> None:
    def function(*operands: Any) -> tuple[Any, ...]:
        return tuple(listed(call.on(getattr(tn, call.name), list(operands))))

    extents = sorted({k for x in call.operands for k in x.shape if k != 1})
    specs = [
        tn.TensorSpec([f"n{k}" if k != 1 else k for k in x.shape], x.dtype) for x in call.operands
    ]
    program = tn.make_program(function, *specs)
    for size, changed in itertools.product((0, 1, 2, 4), extents):
        operands = [
            np.resize(x, [size if k == changed else k for k in x.shape]) for x in call.operands
        ]
        try:
            want = function(*map(tn.asarray, operands))
        except TenferroError:
            with pytest.raises(TenferroError):
                program(*operands)
            continue
        for one, other in zip(program(*operands), want, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            assert_close(np.asarray(one), np.asarray(other), rounding(one.dtype), call_id(call))
