from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import BindingError, ExtentError, GuardViolationError
from tenferro.runtime import GraphProgram, bind_inputs, bind_specs
from tenferro.shape import Guard, dim

NUMPY = tn.GraphExecutor(tn.NumpyBackend())
x = tn.TracedTensor.input(("n", 3), "float64", name="x")
y = tn.TracedTensor.input(("n",), "float64", name="y")
PROGRAM = tn.GraphCompiler().compile([tn.sum(x, axis=1) + y])
X, Y = np.ones((2, 3)), np.array([1.0, 2.0])


@pytest.mark.parametrize("bindings", [{x: X, y: Y}, {"x": X, "y": Y}, {"y": Y, x: X}])
def test_inputs_are_bound_by_tensor_or_by_name(bindings: Any) -> None:
    (result,) = NUMPY.run(PROGRAM, bindings)
    assert result.tolist() == [4.0, 5.0]


@pytest.mark.parametrize(
    ("bindings", "text"),
    [
        ({"x": X}, "run: input 'y': f64[n] is not bound"),
        (
            {"x": X, "y": Y, "z": Y},
            "run: 'z' is not an input of this program; its inputs are: x, y",
        ),
        ({"x": X, "y": Y, x: X}, "run: input 'x' is bound twice"),
        ({"x": X, "y": Y.astype("f4")}, "run: input 'y' is f64[n], but is bound to f32[2]"),
        ({"x": X, "y": X}, "run: input 'y' is f64[n], but is bound to f64[2,3]"),
        (
            {"x": np.ones((2, 4)), "y": Y},
            "run: axis 1 of input 'x' is declared 3, but the value has size 4",
        ),
        (
            {"x": X, "y": np.ones(5)},
            "run: axis 0 of input 'y' is declared n (n is 2), but the value has size 5",
        ),
        ({"x": X, "y": "text"}, "run: input 'y': dtype: <U4 is not supported"),
        ({"x": X, "y": None}, "run: input 'y': f64[n] is not bound"),
    ],
)
def test_bindings_that_do_not_fit_are_refused(bindings: Any, text: str) -> None:
    with pytest.raises(BindingError, match=re.escape(text)):
        NUMPY.run(PROGRAM, bindings)


def test_a_tensor_that_is_no_input_is_named() -> None:
    other = tn.TracedTensor.input((2,), "float64", name="other")
    with pytest.raises(BindingError, match=r"run: TracedTensor\(f64\[2\]\) is not an input"):
        NUMPY.run(PROGRAM, {x: X, y: Y, other: Y})


def test_python_numbers_and_lists_take_the_declared_dtype() -> None:
    a = tn.TracedTensor.input((), "float32", name="a")
    i = tn.TracedTensor.input((2,), "int8", name="i")
    program = tn.GraphCompiler().compile([a, i])
    results = NUMPY.run(program, {a: 2, i: [1, 2]})
    assert [(r.dtype, r.tolist()) for r in results] == [(np.float32, 2.0), (np.int8, [1, 2])]
    with pytest.raises(BindingError, match=r"run: input 'i': f64\[2\] does not fit i8\[2\]"):
        NUMPY.run(program, {a: 2, i: [1.5, 2]})
    with pytest.raises(BindingError, match=r"run: input 'i': \[300, 2\] does not fit i8\[2\]"):
        NUMPY.run(program, {a: 2, i: [300, 2]})
    with pytest.raises(BindingError, match=r"run: input 'a': c128\[\] does not fit f32\[\]"):
        NUMPY.run(program, {a: 2j, i: [1, 2]})


def test_a_derived_extent_is_checked_wherever_its_symbol_is_learned() -> None:
    double = tn.TracedTensor.input((dim("2*n"),), "float64", name="double")
    program = tn.GraphCompiler().compile([double * 2, y])
    assert NUMPY.run(program, {double: np.ones(4), y: Y})[0].shape == (4,)
    text = "axis 0 of input 'double' is declared 2*n (2*n is 4), but the value has size 5"
    with pytest.raises(BindingError, match=re.escape(text)):
        NUMPY.run(program, {double: np.ones(5), y: Y})


def test_a_symbol_that_no_extent_gives_alone_is_refused() -> None:
    double = tn.TracedTensor.input((dim("2*n"),), "float64", name="double")
    program = tn.GraphCompiler().compile([double * 2])
    with pytest.raises(BindingError, match="no input has the extent n alone, which would give its"):
        NUMPY.run(program, {double: np.ones(4)})


def test_inputs_of_one_name_are_numbered() -> None:
    one, two = (tn.TracedTensor.input((), "float64", name="x") for _ in range(2))
    program = tn.GraphCompiler().compile([one - two])
    assert [declared.name for declared in program.inputs] == ["x", "x_1"]
    assert NUMPY.run(program, {"x": 3.0, "x_1": 1.0})[0].item() == 2.0
    assert NUMPY.run(program, {two: 3.0, one: 1.0})[0].item() == -2.0


def test_a_program_with_two_inputs_of_one_name_is_refused() -> None:
    with pytest.raises(BindingError, match="program: two inputs are named 'x'"):
        GraphProgram(PROGRAM.exec_program, (PROGRAM.inputs[0], PROGRAM.inputs[0]))


def test_guards_are_checked_when_sizes_are_known() -> None:
    guard = Guard(dim("n"), 2, "broadcast")
    guarded = GraphProgram(PROGRAM.exec_program, PROGRAM.inputs, (guard,))
    bind_inputs(guarded, {"x": X, "y": Y})
    with pytest.raises(GuardViolationError, match="broadcast: assumed n == 2, but 4 != 2"):
        bind_inputs(guarded, {"x": np.ones((4, 3)), "y": np.ones(4)})


def test_specs_give_the_sizes_of_symbols() -> None:
    assert list(bind_specs(PROGRAM, {x: tn.TensorSpec((7, 3))}).values()) == [7]
    with pytest.raises(BindingError, match="lower: no spec gives the size of n"):
        bind_specs(PROGRAM, {})
    with pytest.raises(
        BindingError, match=r"lower: input 'x' is f64\[n,3\], its spec is f32\[7,3\]"
    ):
        bind_specs(PROGRAM, {x: tn.TensorSpec((7, 3), "float32")})
    with pytest.raises(BindingError, match="lower: 'q' is not an input of this program"):
        bind_specs(PROGRAM, {"q": X})


def test_the_text_names_the_inputs() -> None:
    assert str(PROGRAM).startswith(
        "# inputs: %0 = x, %1 = y\nexec_program(%0: f64[n,3], %1: f64[n])"
    )


def test_a_program_too_large_for_any_machine_is_refused_before_it_runs() -> None:
    program = tn.make_program(lambda: tn.zeros((2**33, 2**33)))
    with pytest.raises(ExtentError, match="more than the budget"):
        NUMPY.run(program, {})
    small = tn.GraphExecutor(tn.NumpyBackend(), max_bytes=40)
    with pytest.raises(ExtentError, match=r"takes 48 bytes, more than the budget of 40"):
        small.run(PROGRAM, {x: X, y: Y})


@pytest.mark.parametrize("wrong", [lambda x: x, "program", None])
def test_what_is_no_program_is_not_run(wrong: Any) -> None:
    text = "takes a program, got an object of type .*; make one with tn.make_program"
    with pytest.raises(BindingError, match=f"run: {text}"):
        NUMPY.run(wrong, {"x": X})
    with pytest.raises(BindingError, match=f"call: {text}"):
        tn.call(wrong, X)
