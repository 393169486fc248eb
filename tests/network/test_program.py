"""What a planned network is emitted as."""

import numpy as np

import tenferro as tn

GENERATOR = np.random.default_rng(0)
A, B, C = (GENERATOR.normal(size=shape) for shape in ((2, 3), (3, 4), (4, 5)))


def test_a_traced_network_is_contractions_along_the_path() -> None:
    program = tn.make_program(
        lambda a, b, c: tn.einsum("ij,jk,kl->il", a, b, c, optimize=[(1, 2), (0, 1)]), A, B, C
    )
    kinds = [step.op.name for step in program.exec_program.instructions]
    assert kinds == ["dot_general", "dot_general"]
    first = program.exec_program.instructions[0]
    assert set(first.input_slots) == set(program.exec_program.input_slots[1:])


def test_what_does_not_depend_on_a_slice_is_contracted_once() -> None:
    specs = [tn.TensorSpec((8, 8))] * 4
    order = [(2, 3), (1, 2), (0, 1)]
    plan = tn.einsum_plan("ab,bc,cd,de->ae", *specs, optimize=order, slices="b")
    dots = [step.op.name for step in plan.program.exec_program.instructions]
    assert dots == ["dot_general", "extension"]
    assert plan.flops == tn.einsum_plan("ab,bc,cd,de->ae", *specs, optimize=order).flops
    assert plan.slice_count == 8
    assert "8 slices over b; 1 times the flops without" in str(plan)
