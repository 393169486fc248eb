"""Extension ops: planned for sizes that stay names, and replaced by standard ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

import tenferro as tn
from tenferro.compiler import ExpandFamilies, PlanFamilies, run_passes
from tenferro.errors import InvalidConfigError, UnsupportedExtensionError
from tenferro.extension import Extension, ExtensionOp, apply, family_id
from tenferro.ir import ExecProgram, verify
from tenferro.network.einsum_op import EinsumOp
from tenferro.shape import SymDim
from tests.ops.extension.cube import Cube, SameType

SPECS = (tn.TensorSpec(("n", "m")), tn.TensorSpec(("m", "k")), tn.TensorSpec(("k", 5)))


def chain() -> ExecProgram:
    program = tn.make_program(lambda *xs: tn.einsum("ij,jk,kl->il", *xs), *SPECS)
    return program.exec_program


def plan(program: ExecProgram, **sizes: int) -> ExecProgram:
    by_name = tuple((SymDim(name), size) for name, size in sizes.items())
    return run_passes(program, [PlanFamilies(by_name)])


def network(program: ExecProgram) -> EinsumOp:
    (carrier,) = program.ops_of(Extension)
    assert isinstance(carrier.op, EinsumOp)
    return carrier.op


def test_a_plan_is_chosen_for_the_sizes_and_the_program_keeps_its_names() -> None:
    program = chain()
    short_rows = plan(program, n=2, m=100, k=100)
    long_rows = plan(program, n=1000, m=100, k=100)
    for planned in (short_rows, long_rows):
        verify(planned)
        assert planned.input_metas == program.input_metas
        assert planned.output_metas == program.output_metas
    assert network(short_rows).plan == ("pairs", ((0, 1), (2, 3)))
    assert network(long_rows).plan == ("pairs", ((1, 2), (0, 3)))
    expanded = run_passes(long_rows, [ExpandFamilies()])
    assert not expanded.has_op(Extension)
    assert str(expanded.output_metas[0]) == "f64[n,5]"


def test_a_program_without_plans_to_choose_is_left_alone() -> None:
    program = chain()
    planned = plan(program, n=2, m=3, k=4)
    assert plan(planned, n=2, m=3, k=4) is planned
    assert plan(program, n=2, m=3) is program  # k has no size
    cube = tn.make_program(lambda x: apply(Cube(0.5), x), SPECS[0]).exec_program
    assert plan(cube, n=2, m=3) is cube
    sine = tn.make_program(tn.sin, SPECS[0]).exec_program
    assert plan(sine, n=2, m=3) is sine


@family_id(namespace="tests-expand", name="astray", version=1)
@dataclass(frozen=True)
class Astray(SameType):
    """Plans to be another op."""

    def planned(self, input_dtypes: Sequence[Any], input_shapes: Sequence[Any]) -> ExtensionOp:
        return Cube(0.5)

    def eager_execute(self, inputs: Sequence[Any]) -> Sequence[Any]:
        return inputs


def test_a_plan_that_is_an_op_of_another_family_is_refused() -> None:
    program = tn.make_program(lambda x: apply(Astray(), x), SPECS[0]).exec_program
    with pytest.raises(InvalidConfigError, match="planned gave an op of other inputs, outputs or"):
        plan(program, n=2, m=3)


def test_a_family_without_plan_is_not_expanded_for_names() -> None:
    with pytest.raises(UnsupportedExtensionError, match="give the inputs constant sizes"):
        run_passes(chain(), [ExpandFamilies()])
