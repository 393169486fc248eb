"""NumPy's functions on tensors: every name, keywords, methods of ufuncs, and what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.special

import tenferro as tn
from tests.numpy.calls import CALLS, Call
from tests.numpy.composite_calls import CALLS as COMPOSITE
from tests.numpy.test_functions import assert_results, call_id, listed, numpys
from tests.tolerances import assert_close, rounding

SPACES = {"": np, "linalg.": np.linalg, "fft.": np.fft}
NUMPYS_OWN = {
    *("array2string", "array_repr", "array_str", "busday_count", "busday_offset"),
    *("common_type", "copyto", "datetime_as_string", "fill_diagonal", "is_busday", "isnat"),
    *("may_share_memory", "min_scalar_type", "place", "put", "put_along_axis", "putmask"),
    *("real_if_close", "save", "savetxt", "savez", "savez_compressed", "shares_memory"),
}
"""What shows, writes or describes arrays, writes to them, or that tenferro lacks."""
FOR_NUMPY = {"copy", "atleast_1d", "atleast_2d", "atleast_3d"} | {
    f"{name}_like" for name in ("empty", "full", "ones", "zeros")
}
"""What gives arrays of NumPy, which programs write to, while nothing is traced."""

OWN_CALLS = [call for call in (*CALLS, *COMPOSITE) if call.numpy is None and call.operands]
UFUNCS = sorted(
    {each for each in vars(np).values() if isinstance(each, np.ufunc) and each.signature is None},
    key=lambda ufunc: ufunc.__name__,
)
BINARY = [ufunc for ufunc in UFUNCS if (ufunc.nin, ufunc.nout) == (2, 1) and ufunc is not np.ldexp]
X = np.array([[1.5, 2.0, 0.25], [3.0, 0.5, 4.0]])
Y = np.array([[2.0, 0.5, 1.0], [1.0, 3.0, 2.0]])
I = np.array([[6, 5, 3], [1, 12, 7]])  # noqa: E741  # integers
MASK = np.array([[True, False, True], [False, True, True]])


def values(result: Any) -> list[Any]:
    """The arrays of a result."""
    return listed(result)


def quiet(function: Any, *args: Any, **options: Any) -> Any:
    """What NumPy's function gives, without its warnings."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


def samples(ufunc: np.ufunc) -> list[np.ndarray[Any, Any]]:
    """Operands that a ufunc takes."""
    for operands in ([X, Y], [I, I % 4], [MASK, ~MASK]):
        try:
            quiet(ufunc, *operands[: ufunc.nin])
        except TypeError:
            continue
        return operands[: ufunc.nin]
    return []


@pytest.mark.parametrize("call", OWN_CALLS, ids=call_id)
def test_numpys_function_of_tensors_is_tenferros(call: Call) -> None:
    operands = [tn.asarray(operand) for operand in call.operands]
    found = quiet(call.on, call.numpys(), operands)
    if isinstance(found, bool):  # such as allclose
        assert found == numpys(call)[0]
        return
    arrays: Any = np.ndarray if call.name in FOR_NUMPY else tn.Tensor
    assert all(isinstance(each, arrays | int | tuple | str) for each in values(found))
    assert_results([tn.asarray(each) for each in values(found)], numpys(call))


def test_each_name_of_numpy_is_tenferros_or_stays_numpys() -> None:
    lacking = []
    for prefix, space in SPACES.items():
        for name in dir(space):
            function = getattr(space, name)
            dispatches = isinstance(function, np.ufunc) or hasattr(function, "_implementation")
            home = getattr(tn, prefix.rstrip("."), tn)
            if dispatches and not name.startswith("_") and not hasattr(home, name):
                lacking.append(prefix + name)
    assert set(lacking) <= NUMPYS_OWN


@pytest.mark.parametrize("ufunc", [u for u in UFUNCS if samples(u)], ids=lambda u: u.__name__)
def test_keywords_of_ufuncs_are_numpys(ufunc: np.ufunc) -> None:
    operands = samples(ufunc)
    tensors = [tn.asarray(each) for each in operands]
    plain = values(quiet(ufunc, *operands))
    zeros = tuple(np.zeros(each.shape, each.dtype) for each in plain)
    expected = values(quiet(ufunc, *operands, out=zeros, where=MASK))
    found = tuple(np.zeros(each.shape, each.dtype) for each in plain)
    written = ufunc(*tensors, out=found, where=tn.asarray(MASK))
    assert all(one is other for one, other in zip(values(written), found, strict=True))
    assert_results(found, expected)
    assert_results(values(ufunc(*tensors, where=MASK)), expected)  # 0 elsewhere
    for dtype in ("float32", "complex128", "int64"):
        try:
            expected = values(quiet(ufunc, *operands, dtype=dtype, casting="unsafe"))
        except TypeError:
            with pytest.raises(TypeError):
                ufunc(*tensors, dtype=dtype, casting="unsafe")
            continue
        if plain[0].dtype.kind == "f" and dtype == "float32":  # the rest is not defined by NumPy
            assert_results(values(ufunc(*tensors, dtype=dtype, casting="unsafe")), expected)


@pytest.mark.parametrize("ufunc", [u for u in BINARY if samples(u)], ids=lambda u: u.__name__)
@pytest.mark.parametrize("traced", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_methods_of_ufuncs_are_numpys(ufunc: np.ufunc, traced: bool) -> None:
    x, y = samples(ufunc)

    def left_fold(x: Any, axis: int, *, keepdims: bool) -> Any:
        if isinstance(x, np.ndarray) and ufunc.identity is None:  # NumPy's reduce may skip elements
            whole = ufunc.accumulate(x, axis=axis)
            return whole[-1] if axis == 0 else whole[:, -1:]
        return ufunc.reduce(x, axis=axis, keepdims=keepdims)

    def every(x: Any, y: Any) -> list[Any]:
        folds: list[Any] = [
            lambda: left_fold(x, 0, keepdims=False),
            lambda: left_fold(x, 1, keepdims=True),
            lambda: ufunc.accumulate(x, axis=1),
            lambda: ufunc.reduceat(x, [0, 2, 1], axis=1),
        ]
        return [fold() for fold in folds if allowed(fold)] + [ufunc.outer(x, y)]

    def allowed(fold: Any) -> bool:
        try:
            quiet(fold)
        except (TypeError, ValueError):
            return False
        return True

    expected = quiet(every, x, y)
    called: Any = tn.jit(every, executor="numpy") if traced else every
    found = called(tn.asarray(x), tn.asarray(y))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, tn.Tensor)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert_close(np.asarray(one), other, rounding(other.dtype), ufunc.__name__)


def test_numpys_functions_are_traced_and_differentiated() -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.sin(x) ** 2 + np.linalg.norm(x, axis=0)) + np.add.reduce(Y + x, axis=None)

    expected = np.sin(2 * X) + 2 * X / np.linalg.norm(X, axis=0) + 1
    assert_close(tn.jit(tn.grad(loss))(X).numpy(), expected, rounding(np.dtype(float)))
    assert_close(tn.grad(loss)(X).numpy(), expected, rounding(np.dtype(float)))
    assert tn.jit(lambda x: np.zeros_like(x) + np.pi)(X).shape == (2, 3)


def test_an_array_of_numpy_may_be_on_the_left_and_be_written_to() -> None:
    a = X.copy()
    assert isinstance(a * tn.asarray(Y), tn.Tensor)
    assert isinstance(np.float64(2) * tn.asarray(Y), tn.Tensor)
    a += tn.asarray(Y)
    np.testing.assert_array_equal(a, X + Y)
    np.add.at(a, (0, 0), tn.asarray(1.0))
    assert a[0, 0] == X[0, 0] + Y[0, 0] + 1
    assert np.sum(tn.asarray(X), axis=0, out=np.zeros(3)).tolist() == X.sum(0).tolist()
    np.copyto(a, tn.asarray(Y))
    assert a.tolist() == Y.tolist()


def test_functions_of_scipy_special_are_tenferros() -> None:
    assert isinstance(scipy.special.gammaln(tn.asarray(X)), tn.Tensor)
    assert_close(
        tn.jit(scipy.special.expit)(X).numpy(), scipy.special.expit(X), rounding(np.dtype(float))
    )


def test_creation_like_a_tensor_makes_tensors() -> None:
    like: Any = tn.asarray(X)
    assert isinstance(np.zeros(3, like=like), tn.Tensor)
    assert isinstance(np.asarray([1.0], like=like), tn.Tensor)


def test_arrays_to_write_to_are_numpys_until_something_is_traced() -> None:
    x: Any = tn.asarray(X)
    shares = np.divide(X, x, out=np.zeros_like(x), where=x > 1)
    assert shares.tolist() == (X > 1).astype(float).tolist()
    for name in sorted(FOR_NUMPY):
        args = (3.0,) if name == "full_like" else ()
        function = getattr(np, name)
        assert type(function(x, *args)) is np.ndarray
        traced = tn.jit(lambda x, function=function, args=args: function(x, *args))(X)
        assert name == "empty_like" or traced.tolist() == function(X, *args).tolist()


def test_numpys_own_functions_read_the_elements() -> None:
    x = tn.asarray(X)
    assert np.array2string(x) == np.array2string(X)
    assert isinstance(np.emath.sqrt(x), np.ndarray)
    assert isinstance(np.add(np.ma.masked_array(X, MASK), x), np.ma.MaskedArray)
    assert np.allclose(x, X) is True


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (
            lambda x: np.copyto(x, 1.0),
            tn.errors.DTypeError,
            r"numpy.copyto: f64\[2,3\] cannot be written to; make a changed copy with x.at",
        ),
        (
            lambda x: np.add(x, x, out=x),
            tn.errors.DTypeError,
            r"numpy.add: f64\[2,3\] cannot be written to; leave out= away",
        ),
        (
            lambda x: np.add.at(x, 0, 1.0),
            tn.errors.DTypeError,
            r"numpy.add.at: f64\[2,3\] cannot be written to; make a changed copy with x.at",
        ),
        (lambda x: np.sum(x, axes=0), TypeError, "unexpected keyword argument 'axes'"),
        (lambda x: np.add(x, x, dtype="int32"), TypeError, "Cannot cast"),
        (
            tn.jit(lambda x: np.emath.sqrt(x)),
            tn.errors.TracingError,
            "numpy.sqrt: tenferro has no such function; a NumPy array of a traced value",
        ),
        (
            tn.jit(lambda x: np.add(x, x, out=X.copy())),
            tn.errors.TracingError,
            "numpy.add: out= needs the elements; a NumPy array of a traced value",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(wrong: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        wrong(tn.asarray(X))
