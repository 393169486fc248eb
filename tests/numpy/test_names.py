from __future__ import annotations

import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DTypeError, MissingNameError
from tenferro.ops import ALL_OPS, Constant
from tests.numpy.calls import CALLS, Call
from tests.numpy.composite_calls import COMPOSITE
from tests.typing.test_annotations import TRANSFORMS

FUNCTIONS = [name for name in tn.numpy.__all__ if inspect.isfunction(getattr(tn.numpy, name))]


def test_every_public_name_loads() -> None:
    for name in tn.__all__:
        assert hasattr(tn, name)
    assert dir(tn) == sorted(tn.__all__)
    text = "module 'tenferro' has no attribute 'nothing'"
    with pytest.raises(AttributeError, match=text) as missed:
        tn.nothing  # noqa: B018
    again = pickle.loads(pickle.dumps(missed.value))
    assert type(again) is MissingNameError
    assert str(again) == str(missed.value)


def test_the_front_door_names_all_array_functions_and_transforms() -> None:
    assert set(tn.numpy.__all__) <= set(tn.__all__)
    assert set(TRANSFORMS) <= set(tn.__all__)


def test_importing_tenferro_imports_neither_jax_nor_numpy() -> None:
    code = "import sys, tenferro; print([m for m in ('jax', 'numpy') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_numpys_names_are_aliases() -> None:
    aliases = {"absolute": "abs", "concatenate": "concat", "power": "pow", "mod": "remainder"}
    for alias, name in {**aliases, "transpose": "permute_dims"}.items():
        assert getattr(tn, alias) is getattr(tn, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_documented_by_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(getattr(tn.numpy, name)) or "")


def test_the_docs_list_every_function() -> None:
    page = Path(__file__).parents[2] / "docs" / "functions.md"
    listed = set(re.findall(r"`(\w+)`", page.read_text("utf-8")))
    unlisted = [name for name in tn.numpy.__all__ if name not in listed]
    constants = (type(tn.bool), float, type(None))
    assert [name for name in unlisted if not isinstance(getattr(tn, name), constants)] == []


ARGUMENTS: dict[str, Any] = {
    "astype": ("float32",),
    "convert": ("complex128",),
    "broadcast_to": ((2, 2, 2),),
    "full_like": (1.0,),
    "moveaxis": (0, 1),
    "pad": (1,),
    "polygamma": (2.0,),
    "reshape": ((4,),),
    "take": ([0, -1],),
    "take_along_axis": ([[0], [1]],),
}
BINARY = {
    *("add", "complex", "divide", "dot", "equal", "floor_divide", "greater", "greater_equal"),
    *("less", "less_equal", "logical_and", "logical_or", "matmul", "maximum", "minimum"),
    *("multiply", "not_equal", "pow", "remainder", "subtract", "tensordot"),
    *("betaln", "nextafter", "xlog1py", "xlogy"),
}
SPECIAL = {
    "asarray",
    "concat",
    "from_dlpack",
    "full",
    "ones",
    "outer",
    "stack",
    "top_k",
    "zeros",
}
PLACES = {
    *("block_until_ready", "default_backend", "device_count", "device_get", "device_put"),
    *("devices", "local_device_count", "local_devices", "with_sharding_constraint"),
}
INSPECTING = {"__array_namespace_info__", "can_cast", "finfo", "iinfo", "isdtype", "result_type"}
ALIASES = {
    "true_divide",
    "absolute",
    "array",
    "cast",
    "concatenate",
    "conjugate",
    "mod",
    "power",
    "transpose",
}


CALLED = {call.name for call in CALLS}
"""Functions that `test_functions` calls, so that they need no arguments here."""
ELSEWHERE = {"argmax", "argmin", "dynamic_truncate", "einsum", "pad_to_match", "shape", "shape_of"}
ELSEWHERE |= {"segment_max", "segment_min", "segment_prod", "segment_sum"}


@pytest.mark.exhaustive(but=14)
@pytest.mark.parametrize(
    "name",
    sorted(
        set(FUNCTIONS) - CALLED - COMPOSITE - INSPECTING - PLACES - ELSEWHERE - SPECIAL - ALIASES
    ),
)
def test_a_function_takes_arrays_of_every_kind(name: str) -> None:
    jax = pytest.importorskip("jax")
    function = getattr(tn, name)
    x = np.array([[1.0, 2.0], [0.5, 3.0]])
    more = ARGUMENTS.get(name, (x + 1,) if name in BINARY else ())
    expected = np.asarray(function(tn.Tensor(x), *more))
    with jax.enable_x64(True):
        on_device = jax.numpy.asarray(x)
    for given in (x, x.tolist(), on_device):
        result = function(given, *more)
        assert all(isinstance(each, tn.Tensor) for each in tn.tree.leaves(result))
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-14)
    traced = tn.jit(lambda x: function(x, *more), executor="numpy")(x)
    np.testing.assert_allclose(np.asarray(traced), expected, rtol=1e-14)


def test_lax_has_every_op_one_to_one() -> None:
    names = {op.name for op in ALL_OPS if op is not Constant}
    found = set(tn.lax.__all__)
    short = {"sine": "sin", "tangent": "tan", "multiply": "mul", "exponential": "exp"}
    short |= {f"cumulative_{name}": f"cum{name}" for name in ("max", "min")}
    short |= {"cumulative_log_sum_exp": "cumlogsumexp", "top_places": "top_k"}
    short |= {"count_leading_zeros": "clz", "bitcast_convert": "bitcast_convert_type"}
    assert {short.get(name, name) for name in names} - found <= {
        *("subtract", "negate", "divide", "remainder", "cosine", "logarithm", "power"),
        *("log_plus_one", "exponential_minus_one"),
        *(
            "sech_squared",
            "inverse_power",
            "cotangent_where",
            "reduce_norm",
        ),  # what functions and derivatives emit
        *("and", "or", "xor", "not"),  # words of Python: bitwise_and, …
        "after",  # what traces with effects emit
        "checkpoint_name",  # tn.checkpoint_name
        "sharding_constraint",  # tn.with_sharding_constraint
    }


def test_lax_neither_promotes_nor_broadcasts_arrays() -> None:
    x = tn.Tensor([1.0, 2.0])
    assert tn.lax.add(x, x).tolist() == [2.0, 4.0]
    assert tn.lax.reduce_sum(x, axes=(0,)).item() == 3.0
    assert tn.lax.compare(x, x, direction="LT").tolist() == [False, False]
    assert tn.lax.convert(x, dtype="int64").tolist() == [1, 2]
    with pytest.raises(tn.TenferroError, match=r"add: operands have types f64\[2\] and i64\[2\]"):
        tn.lax.add(x, tn.Tensor([1, 2]))
    with pytest.raises(tn.TenferroError, match=r"add: operands have types f64\[2\] and f64\[3\]"):
        tn.lax.add(x, tn.Tensor([1.0, 2.0, 3.0]))


def test_a_program_for_jax_numpy_runs_with_tenferro_in_its_place() -> None:
    jnp = pytest.importorskip("jax.numpy")

    def program(np: Any, x: Any) -> Any:
        y = np.concatenate([np.transpose(x), np.ones((2, 2))], axis=0)
        z = np.where(np.greater(y, 1.0), np.power(y, 2), np.absolute(y))
        return np.mean(np.clip(np.dot(z, np.array([1.0, -2.0])), -5.0, 5.0)) + np.sum(
            np.diagonal(y)
        )

    x = np.array([[0.5, -1.5], [2.0, 1.25]])
    expected = float(program(jnp, x.astype("float32")))
    assert float(program(tn, tn.Tensor(x))) == pytest.approx(expected, rel=1e-6)


def test_a_new_array_of_no_number_is_refused_in_a_trace_too() -> None:
    with pytest.raises(DTypeError, match="full: takes arrays and numbers, got object"):
        tn.jit(lambda x: x + tn.full((2,), object()))(1.0)


MADE_OF_OTHERS = {
    *("allclose", "angle", "array_equal", "arange", "array_split", "diagflat", "dsplit", "empty"),
    *("empty_like", "eye", "fliplr", "flipud", "hsplit", "identity", "linspace", "logspace"),
    *("meshgrid", "split", "tri", "unstack", "vsplit"),
}


@pytest.mark.parametrize(
    "call", {call.name: call for call in CALLS if call.name not in MADE_OF_OTHERS}.values(),
    ids=lambda call: call.name,
)  # fmt: skip
def test_a_refusal_names_the_function_that_was_called(call: Call) -> None:
    function = getattr(tn, call.name)
    with pytest.raises(DTypeError, match=rf"^{function.__name__}: takes arrays and numbers, got"):
        call.on(function, [object() for _ in call.operands])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tn.max(tn.Tensor([1j])), "max: takes integer"),
        (lambda: tn.negative(tn.Tensor([True])), "negative: takes integer"),
        (lambda: tn.less(tn.Tensor([1j]), 0), "less: LT orders its operands"),
        (lambda: tn.clip(tn.Tensor([1j]), 0, 1), "clip: takes integer"),
        (lambda: tn.fmod(tn.Tensor([1j]), 2), "fmod: takes integer"),
        (lambda: tn.cbrt(tn.Tensor([1j])), "cbrt: takes floating-point operands"),
        (lambda: tn.hypot(tn.Tensor([1j]), 1.0), "hypot: takes floating-point operands"),
        (lambda: tn.trunc(tn.Tensor([1j])), "trunc: takes floating-point operands"),
        (lambda: tn.relu(tn.Tensor([1j])), "relu: LE orders its operands"),
        (lambda: tn.signbit(tn.Tensor([1j])), "signbit: takes floating-point operands"),
        (
            lambda: tn.cumulative_sum([[1.0]]),
            "cumulative_sum: f64[1,1] does not have exactly one axis",
        ),
        (lambda: tn.split([1, 2, 3], 2), "split: axis 0 of i64[3] cannot be cut into 2 equal"),
        (lambda: tn.repeat([1, 2], [1, 2, 3]), "repeat: got 3 counts for axis 0 of i64[2]"),
        (lambda: tn.repeat([1, 2], -1), "repeat: counts must not be negative"),
        (lambda: tn.tile([1, 2], -1), "tile: repetitions must not be negative"),
        (lambda: tn.roll([1, 2], (1, 2), (0, 0, 0)), "roll: got 2 shifts for 3 axes"),
        (
            lambda: tn.cross([1.0], [2.0]),
            "cross: the vectors must have 3 components, or 2, got f64",
        ),
        (lambda: tn.vecdot(1.0, [2.0]), "vecdot: operands must have at least one axis"),
        (lambda: tn.diag(1.0), "diag: takes a vector or a matrix, got f64[]"),
        (lambda: tn.meshgrid([[1.0]]), "meshgrid: takes vectors, got f64[1,1]"),
        (lambda: tn.meshgrid([1.0], indexing="ji"), "meshgrid: indexing must be 'xy' or 'ij'"),
        (lambda: tn.arange(0, 1, 0), "arange: the step must not be 0"),
        (lambda: tn.arange(0, tn.inf), "arange: the range from 0 to inf in steps of 1 is infinite"),
        (lambda: tn.arange(1j), "arange: takes real numbers, got complex"),
        (lambda: tn.diff([1.0], n=-1), "diff: n must not be negative, got -1"),
        (lambda: tn.average([[1.0]], weights=[1.0]), "average: weights f64[1] must have the shape"),
        (lambda: tn.hstack([]), "hstack: needs at least one array"),
        (lambda: tn.finfo("int32"), "finfo: i32 is not a floating-point dtype"),
        (lambda: tn.iinfo("float32"), "iinfo: f32 is not an integer dtype"),
        (lambda: tn.ones((10**6, 10**6)), "ones: f64[1000000,1000000] takes"),
        (lambda: tn.can_cast(1, "int32"), "can_cast: takes an array or a dtype, got 1"),
    ],
)
def test_what_a_function_refuses_it_refuses_in_its_name(call: Any, text: str) -> None:
    with pytest.raises(tn.TenferroError, match="^" + re.escape(text)):
        call()
