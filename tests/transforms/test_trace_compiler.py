from __future__ import annotations

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import BindingError, TracingError
from tenferro.shape import dim

NUMPY = tn.GraphExecutor(tn.NumpyBackend())
x = tn.TracedTensor.input(("n", 3), "float64", name="x")
y = tn.TracedTensor.input(("n",), "float64", name="y")


def test_each_structure_is_compiled_once() -> None:
    compiler = tn.GraphCompiler()
    first = compiler.compile([x * 2])
    assert compiler.compile([x * 2]) is first
    assert compiler.compile([x * 3]) is not first
    assert compiler.compile([x * 2], inputs=[y, x]) is not first
    stats = compiler.stats()
    assert (stats.entries, stats.misses, stats.hits) == (3, 3, 1)
    compiler.clear()
    assert compiler.stats().entries == 0


def test_the_cache_is_bounded() -> None:
    compiler = tn.GraphCompiler(capacity=2)
    for factor in range(2, 7):
        compiler.compile([x * factor])
    assert compiler.stats().entries == 2
    assert compiler.capacity.entries == 2


def test_a_tensor_in_place_of_a_list_is_refused() -> None:
    text = r"compile: takes a list of traced tensors, got a single one; write \[x\]"
    with pytest.raises(TracingError, match=text):
        tn.GraphCompiler().compile(y)  # type: ignore[arg-type]
    with pytest.raises(TracingError, match=text):
        tn.GraphCompiler().compile([y], inputs=y)  # type: ignore[arg-type]


def test_inputs_may_be_declared_in_an_order_and_without_being_read() -> None:
    program = tn.GraphCompiler().compile([x * 2], inputs=[y, x])
    assert [declared.name for declared in program.inputs] == ["y", "x"]
    with pytest.raises(BindingError, match=r"compile: .*is computed, and cannot be an input"):
        tn.GraphCompiler().compile([x * 2], inputs=[x * 2])


def test_a_size_that_no_input_defines_is_refused() -> None:
    with pytest.raises(BindingError, match="needs the size m, which no input has"):
        tn.GraphCompiler().compile([tn.zeros((dim("m"),))])
    declared = tn.TracedTensor.input(("m",), name="z")
    program = tn.GraphCompiler().compile([tn.zeros(declared.shape)], inputs=[declared])
    assert NUMPY.run(program, {declared: np.ones(4)})[0].shape == (4,)


def test_a_program_is_specialised_by_the_specs_of_its_inputs() -> None:
    compiler = tn.GraphCompiler()
    outputs = [tn.sum(x, axis=1) / x.shape[0] + y]
    program = compiler.compile(outputs, input_specs={x: tn.TensorSpec((4, 3))})
    assert "n" not in {str(leaf) for leaf in program.exec_program.symbols()}
    assert [str(declared.meta) for declared in program.inputs] == ["f64[4,3]", "f64[4]"]
    result = NUMPY.run(program, {x: np.ones((4, 3)), y: np.ones(4)})[0]
    assert result.tolist() == [1.75] * 4
    with pytest.raises(BindingError, match="axis 0 of input 'x' is declared 4, but the value has"):
        NUMPY.run(program, {x: np.ones((5, 3)), y: np.ones(5)})
    with pytest.raises(
        BindingError, match="axis 1 of input 'x' is declared 3, but the value has s"
    ):
        compiler.compile(outputs, input_specs={x: tn.TensorSpec((4, 2))})
    with pytest.raises(BindingError, match="no spec gives the size of n"):
        compiler.compile(outputs, input_specs={})


def test_one_value_may_be_several_outputs() -> None:
    z = x * 2
    program = tn.GraphCompiler().compile([z, z, x])
    results = NUMPY.run(program, {x: np.ones((1, 3))})
    assert [r.tolist() for r in results] == [[[2.0] * 3], [[2.0] * 3], [[1.0] * 3]]


def test_a_program_without_outputs_runs() -> None:
    assert NUMPY.run(tn.GraphCompiler().compile([], inputs=[y]), {y: np.ones(1)}) == []
