"""Each op means on XLA what its `numpy` method says."""

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import pytest

from tenferro.errors import ExecutorError, TenferroError
from tenferro.ir import ExecBuilder, ExecInstruction, ExecOp, payload
from tenferro.ir import NumpyArray as Array
from tenferro.ops import (
    ALL_OPS,
    SIN,
    SQRT,
    BroadcastInDim,
    Compare,
    Concatenate,
    Conj,
    Constant,
    Convert,
    DotGeneral,
    EmbedDiag,
    ExtractDiag,
    GammaGrad,
    GatherDynamicSliceSizes,
    Pad,
    ReduceMax,
    ReduceMin,
    ReduceProd,
    ReduceSum,
    Reshape,
    Reverse,
    Select,
    Slice,
    StdTensorOp,
    Transpose,
    Tril,
    Triu,
    meta_of,
)
from tenferro.ops.control_flow import VOCABULARY
from tenferro.shape import TensorMeta
from tenferro_xla import LoweringOptions, XlaExecutor, jax_function, lower
from tenferro_xla.lowering import Lowerings

DTYPES = [np.dtype(name) for name in ("bool", "i4", "i8", "u1", "f4", "f8", "c8", "c16")]
REAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 7.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 3e9, 1e19]
FINITE = [0.0, 1.0, -1.0, 0.5, -2.5, 3.0]
EXECUTOR = XlaExecutor()


def on_xla(op: ExecOp, *arrays: Array) -> Array:
    return EXECUTOR.get(EXECUTOR.run_op(op, *map(EXECUTOR.put, arrays))[0])


def assert_parity(*applications: tuple[ExecOp, Sequence[Array]]) -> None:
    """Ops, each on arrays of its own, in one program: XLA takes long for each program."""
    builder = ExecBuilder()
    slots = [[builder.input(meta_of(array)) for array in arrays] for _, arrays in applications]
    outputs = [
        builder.add(op, inputs)[0] for (op, _), inputs in zip(applications, slots, strict=True)
    ]
    compiled = EXECUTOR.compile_exec(builder.build(outputs))
    buffers = [EXECUTOR.put(array) for _, arrays in applications for array in arrays]
    found = [EXECUTOR.get(buffer) for buffer in compiled(*buffers)]
    for (op, arrays), result in zip(applications, found, strict=True):
        with np.errstate(all="ignore"):
            (expected,) = op.evaluate(arrays)
        assert result.dtype == expected.dtype
        assert result.shape == expected.shape
        digits = np.finfo(expected.dtype).precision if expected.dtype.kind in "fc" else 15
        tolerance = 10.0 ** (2 - digits)
        text = f"{op} of {', '.join(str(meta_of(array)) for array in arrays)}"
        # XLA takes denormal numbers for zero.
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=1e-37, err_msg=text)


def takes(op: StdTensorOp, *arrays: Array) -> bool:
    try:
        op.infer_all([meta_of(array) for array in arrays])
    except TenferroError:
        return False
    return True


def interesting(dtype: np.dtype[Any]) -> Array:
    """Values of a dtype at and around its edges; complex numbers are finite."""
    match dtype.kind:
        case "b":
            return np.array([False, True])
        case "c":
            return np.array([complex(a, b) for a in FINITE for b in [*FINITE, -0.0]], dtype)
        case "f":
            return np.array(REAL, dtype)
        case _:
            info = np.iinfo(dtype)
            small = [v for v in (0, 1, 2, 3, 7, -1, -2, -7) if v >= info.min]
            return np.array([*small, info.max, info.max - 1, info.min], dtype)


ELEMENTWISE = [
    op_type()
    for op_type in ALL_OPS
    if not op_type.payload_fields()
    and op_type not in (Select, GammaGrad)  # the derivative of a sample that can be one
    and op_type.n_inputs is not None
] + [Compare(direction) for direction in ("EQ", "NE", "LT", "LE", "GT", "GE")]


def taken(op: StdTensorOp, dtype: np.dtype[Any]) -> bool:
    assert op.n_inputs is not None
    return takes(op, *[np.zeros(1, dtype)] * op.n_inputs)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("first", range(0, len(ELEMENTWISE), 15))
def test_elementwise_ops_are_numpy_s_at_edges_and_specials(first: int) -> None:
    applications = []
    for op in ELEMENTWISE[first : first + 15]:
        for dtype in [dtype for dtype in DTYPES if taken(op, dtype)]:
            operands = at_edges(op, dtype)
            empty = [operand[:0].reshape(0, 3) for operand in operands]
            applications += [(op, operands), (op, empty)]
    assert_parity(*applications)


def at_edges(op: StdTensorOp, dtype: np.dtype[Any]) -> list[Array]:
    assert op.n_inputs is not None
    operands = [grid.ravel() for grid in np.meshgrid(*[interesting(dtype)] * op.n_inputs)]
    if op.name == "power" and dtype.kind == "c":  # 0 to such a power is undefined
        keep = (operands[0] != 0) | (operands[1] == 0) | (operands[1].real > 0)
        return [operand[keep] for operand in operands]
    if op.name in ("divide", "rsqrt", "log") and dtype.kind == "c":
        return [operand[operands[-1] != 0] for operand in operands]
    return operands


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("dtype", [*DTYPES, np.dtype("f2")], ids=str)
def test_conversions_saturate_and_take_nan_to_zero(dtype: np.dtype[Any]) -> None:
    targets = [*DTYPES, np.dtype("f2"), np.dtype("i1"), np.dtype("u8")]
    with np.errstate(over="ignore"):
        assert_parity(*[(Convert(target), [interesting(dtype)]) for target in targets])


def test_the_square_root_keeps_to_its_side_of_the_branch_cut() -> None:
    z = np.array([complex(-2.0, 0.0), complex(-2.0, -0.0), complex(-0.0, -0.0), complex(2.0, -0.0)])
    for dtype in ("c8", "c16"):
        assert_parity((SQRT, [z.astype(dtype)]))


def test_the_square_root_of_an_infinity_is_no_nan() -> None:
    ends = [np.inf, -np.inf, 1.0]
    z = np.array([complex(re, im) for re in ends for im in [*ends, -0.0, 0.0]])
    for dtype in ("c8", "c16"):
        assert_parity((SQRT, [z.astype(dtype)]))


STRUCTURAL: list[tuple[StdTensorOp, list[tuple[int, ...]]]] = [
    (Transpose((2, 0, 1)), [(2, 3, 4)]),
    (Transpose(()), [()]),
    (Reshape((4, 6)), [(2, 3, 4)]),
    (Reshape((0, 7)), [(3, 0)]),
    (Reshape(()), [(1, 1)]),
    (Reverse((0, 2)), [(2, 3, 4)]),
    (BroadcastInDim((2, 3, 4), (0, 2)), [(2, 1)]),
    (BroadcastInDim((2, 0), ()), [()]),
    *((op(axes), [(2, 3, 4)]) for op in (ReduceSum, ReduceProd) for axes in ((), (1,), (0, 2))),
    *((op(axes), [(2, 3, 4)]) for op in (ReduceMax, ReduceMin) for axes in ((), (1,), (0, 1, 2))),
    *((op((1,)), [(2, 0)]) for op in (ReduceSum, ReduceProd)),
    *((op((1,)), [(0, 2)]) for op in (ReduceMax, ReduceMin)),
    (Slice((1, 0), (5, 3), (2, 1)), [(6, 3)]),
    (Slice((2,), (2,), (1,)), [(6,)]),
    (Pad((1, 0), (0, 2), (2, 0)), [(3, 2), ()]),
    (Pad((-1,), (-2,), (1,)), [(5,), ()]),
    (Pad((2,), (1,), (3,)), [(0,), ()]),
    (Concatenate(1), [(2, 1), (2, 3), (2, 0)]),
    (ExtractDiag(0, 2), [(3, 2, 3)]),
    (ExtractDiag(1, 2), [(2, 0, 0)]),
    (EmbedDiag(0, 2), [(3, 2)]),
    (EmbedDiag(0, 1), [(3, 2)]),
    (EmbedDiag(1, 2), [(2, 1)]),
    (EmbedDiag(1, 3), [(2, 0, 2)]),
    *((op(k), [(2, 3, 4)]) for op in (Tril, Triu) for k in (0, 1, -2, 10**12, -(10**12))),
    (Tril(), [(0, 3)]),
    (DotGeneral((1,), (0,)), [(2, 3), (3, 4)]),
    (DotGeneral((2, 0), (1, 2), (1,), (0,)), [(2, 3, 4), (3, 4, 2, 5)]),
    (DotGeneral((), ()), [(2,), (3,)]),
    # six batch axes and contracted axes last on the right: XLA itself aborts the process
    (
        DotGeneral((7,), (7,), (0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4, 5)),
        [(3, 3, 3, 3, 3, 3, 27, 9), (3, 3, 3, 3, 3, 3, 9, 9)],
    ),
    (
        DotGeneral((0,), (7,), (2, 1, 3, 4, 5, 6), (0, 1, 2, 3, 4, 5)),
        [(9, 2, 3, 1, 2, 1, 2), (3, 2, 1, 2, 1, 2, 4, 9)],
    ),
    (DotGeneral((1,), (0,)), [(2, 0), (0, 4)]),
    (DotGeneral((0,), (0,)), [(3,), (3,)]),
    (Select(), [(2, 3), (2, 3), (2, 3)]),
]


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_structural_ops_are_numpy_s(dtype: np.dtype[Any]) -> None:
    applications = [(op, operands_for(op, shapes, dtype)) for op, shapes in STRUCTURAL]
    assert_parity(*[(op, arrays) for op, arrays in applications if takes(op, *arrays)])


@pytest.mark.parametrize(("op", "shapes"), STRUCTURAL, ids=str)
def test_a_structural_op_takes_many_dtypes(op: StdTensorOp, shapes: list[tuple[int, ...]]) -> None:
    assert sum(takes(op, *operands_for(op, shapes, dtype)) for dtype in DTYPES) >= 5


def operands_for(
    op: StdTensorOp, shapes: list[tuple[int, ...]], dtype: np.dtype[Any]
) -> list[Array]:
    rng = np.random.default_rng(0)
    operands = [drawn(rng, shape, dtype) for shape in shapes]
    if isinstance(op, Select):
        operands[0] = rng.random(shapes[0]) < 0.5
    return operands


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    parts = rng.integers(0, 9, size=(2, *shape)) / (2 if dtype.kind in "fc" else 1)
    return (parts[0] + 1j * parts[1] if dtype.kind == "c" else parts[0]).astype(dtype)


@pytest.mark.parametrize("op", [ReduceMax((0,)), ReduceMin((0,))], ids=str)
def test_a_reduction_to_an_extremum_propagates_nan_and_infinities(op: StdTensorOp) -> None:
    columns = itertools.product([1.0, np.nan, np.inf, -np.inf], repeat=2)
    assert_parity((op, [np.array([*columns]).T]), (op, [np.full((3, 2), -np.inf)]))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_constant_keeps_every_bit(dtype: np.dtype[Any]) -> None:
    value = interesting(dtype)
    found = on_xla(Constant(value))
    assert found.dtype == dtype
    assert found.tobytes() == value.tobytes()


def test_ops_on_constants_alone_lower() -> None:
    operands = [operands_for(op, shapes, np.dtype("f8")) for op, shapes in STRUCTURAL]
    builder = ExecBuilder()
    outputs = []
    for (op, _), values in zip(STRUCTURAL, operands, strict=True):
        slots = [builder.add(Constant(value), [])[0] for value in values]
        outputs += [*builder.add(op, slots), slots[0]]
    found = [np.asarray(buffer) for buffer in EXECUTOR.compile_exec(builder.build(outputs))()]
    for (op, _), values, result, constant in zip(
        STRUCTURAL, operands, found[::2], found[1::2], strict=True
    ):
        np.testing.assert_allclose(result, op.evaluate(values)[0], rtol=1e-12, err_msg=str(op))
        np.testing.assert_array_equal(constant, values[0], err_msg=str(op))


def test_every_op_has_a_lowering_but_those_that_are_other_ops_by_then() -> None:
    without = {op for op in VOCABULARY.values() if not lower.covers(op)}
    late = {op for op in VOCABULARY.values() if op.follows_shapes is True}
    late -= {GatherDynamicSliceSizes}  # artifacts hold it, under a batch whose size has a name
    assert without == late | {op for op in VOCABULARY.values() if op.size_operand is not None}


@payload
class Unknown(StdTensorOp, name="unknown"):
    def infer(self, x: TensorMeta) -> TensorMeta:
        return x


def test_an_op_without_lowering_is_refused_by_name() -> None:
    with pytest.raises(ExecutorError, match="unknown: Unknown has no XLA lowering; write one with"):
        EXECUTOR.run_op(Unknown(), EXECUTOR.put(np.zeros(2)))


def test_a_subclass_does_not_inherit_the_lowering_of_its_op() -> None:
    @payload
    class Other(Transpose, name="other"):
        pass

    assert not lower.covers(Other)


def test_a_rule_returns_a_result_or_a_tuple_of_them() -> None:
    rules = Lowerings()

    @rules.register
    def _(op: Unknown, x: Array, *, options: LoweringOptions) -> tuple[Array, str]:
        return x, options.precision

    x = np.zeros(2)
    step = ExecInstruction(Unknown(), (0,), (1,), ())
    assert rules(LoweringOptions("high"), step, [x]) == (x, "high")
    rules.register(negated)
    assert rules(LoweringOptions(), ExecInstruction(Constant(1), (), (0,), ()), []) == (-1,)


def negated(op: Constant) -> int:
    return -int(op.value)


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ExecutorError, match="precision: expected one of default, high, highest"):
        LoweringOptions("low")  # type: ignore[arg-type]  # what a user might write


def test_the_precision_of_a_contraction_is_an_option() -> None:
    builder = ExecBuilder()
    slots = [builder.input(TensorMeta.of("f32", (2, 2))) for _ in range(2)]
    program = builder.build(builder.add(DotGeneral((1,), (0,)), slots))
    x = np.ones((2, 2), np.float32)
    for precision in ("default", "high", "highest"):
        options = LoweringOptions(precision)
        text = jax.jit(jax_function(program, options)).lower(x, x).as_text()
        assert precision.upper() in text or precision == "default"


def test_jax_traces_nothing_again_where_a_conjugate_is_lowered() -> None:
    builder = ExecBuilder()
    program = builder.build(builder.add(Conj(), [builder.input(TensorMeta.of("c64", (2,)))]))
    function = jax_function(program, LoweringOptions())
    jaxpr = jax.make_jaxpr(function)(np.ones(2, np.complex64)).jaxpr
    names = sorted(str(equation.primitive) for equation in jaxpr.eqns)
    assert names == ["complex", "imag", "neg", "real"]


def test_a_chain_of_20_000_ops_is_traced_without_recursion() -> None:
    builder = ExecBuilder()
    slot = builder.input(TensorMeta.of("f64", ()))
    for op in itertools.repeat(SIN, 20_000):
        (slot,) = builder.add(op, [slot])
    function = jax_function(builder.build([slot]), LoweringOptions())
    with jax.enable_x64(True):
        assert len(jax.make_jaxpr(function)(1.0).jaxpr.eqns) == 20_000


def test_a_mistake_in_a_lowering_surfaces_as_itself() -> None:
    lowering = Lowerings()

    @lowering.register
    def _(op: Unknown, x: Any) -> Any:
        return None + x

    with pytest.raises(TypeError, match="unsupported operand") as caught:
        lowering(LoweringOptions(), ExecInstruction(Unknown(), (0,), (1,), ()), [np.ones(2)])
    assert not isinstance(caught.value, TenferroError)
