import numpy as np
import pytest

from tenferro.errors import GraphError
from tenferro.ir import Category, ExecOp, payload
from tenferro.ops import ADD, ALL_OPS, Constant, DotGeneral, Pad, Reshape, Slice, Transpose, scalar
from tenferro.shape import SymDim, TensorMeta, dim


@payload
class Scale(ExecOp, name="scale"):
    """An op outside the vocabulary."""

    factor: float
    power: int = 1

    def infer(self, x: TensorMeta) -> TensorMeta:
        return x

    def numpy(self, x):  # type: ignore[no-untyped-def]
        return x * self.factor**self.power


def test_ops_are_equal_when_name_and_payload_are() -> None:
    assert Scale(2.0) == Scale(2.0, 1)
    assert hash(Scale(2.0)) == hash(Scale(2.0, 1))
    assert len({Scale(2.0), Scale(-2.0), Scale(2.0, 2), ADD}) == 4
    assert Scale(0.0) != Scale(-0.0)
    assert Scale(float("nan")) == Scale(float("nan"))
    assert Scale(2.0) != "scale"


def test_ops_of_one_payload_and_different_names_differ() -> None:
    assert len({Transpose((0, 1)), Reshape((0, 1))}) == 2


def test_an_op_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Scale(2.0).factor = 3.0  # type: ignore[misc]


def test_the_text_of_an_op_names_its_payload() -> None:
    assert str(ADD) == "add"
    assert str(Scale(0.5, 2)) == repr(Scale(0.5, 2)) == "scale[factor=0.5, power=2]"
    assert str(Reshape((dim("2*n"),))) == "reshape[shape=(2*n,)]"
    assert str(Transpose(())) == "transpose[perm=()]"
    assert str(Constant(np.eye(2))) == ("constant[value=[[1.0, 0.0], [0.0, 1.0]], dtype=f64]")


def test_a_wrong_number_of_operands_is_refused() -> None:
    meta = TensorMeta.of("f64", ())
    with pytest.raises(GraphError, match="add: takes 2 operands, got 1"):
        ADD.infer_all([meta])
    with pytest.raises(GraphError, match="scale: takes 1 operand, got 2"):
        Scale(1.0).infer_all([meta, meta])


def test_symbols_of_a_payload_are_bound() -> None:
    op = Slice((0, dim("n")), (dim("m"), dim("n + m")), (1, 1))
    n, m = SymDim("n"), SymDim("m")
    assert op.symbols() == {n, m}
    assert op.bind({n: 2, m: 3}) == Slice((0, 2), (3, 5), (1, 1))
    assert op.bind({n: 2}).symbols() == {m}


def test_an_op_without_symbols_is_bound_to_itself() -> None:
    op = Pad((1,), (2,), (0,))
    assert op.symbols() == set()
    assert op.bind({SymDim("n"): 1}) is op


def test_an_op_that_defines_neither_rule_says_so() -> None:
    class Nothing(ExecOp, name="nothing"):
        pass

    nothing = object.__new__(Nothing)
    with pytest.raises(AssertionError, match="nothing: has neither infer nor infer_all"):
        nothing.infer()
    with pytest.raises(AssertionError, match="nothing: has neither numpy nor evaluate"):
        nothing.numpy()


def test_categories_say_how_an_op_is_dispatched() -> None:
    assert ADD.category is Category.SESSION
    assert Constant.category is Category.HOST
    assert DotGeneral.category is Category.BOUNDARY


def test_names_are_unique() -> None:
    assert len({op.name for op in ALL_OPS}) == len(ALL_OPS)


def test_a_scalar_constant_is_made_once_for_each_value_and_dtype() -> None:
    assert scalar(1, np.dtype("float64")) is scalar(1.0, np.dtype("float64"))
    assert scalar(1, np.dtype("float64")) != scalar(1, np.dtype("float32"))
    assert scalar(0.0, np.dtype("float64")) != scalar(-0.0, np.dtype("float64"))
