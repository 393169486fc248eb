"""A call of types seen before takes a shorter way, which must give what the first call gives."""

import array as arrays
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tenferro as tn
from tenferro.errors import BackendFailureError, BindingError, DTypeError, PytreeError
from tenferro.transforms import flatten
from tenferro.transforms.jit_cache import TreeSignature

X = np.arange(6.0).reshape(2, 3)

ARGUMENTS = {
    "numpy": (X, X[0]),
    "mixed": (X, tn.Tensor(X[0])),
    "strided": (X.T[::2].T, X[0, ::2]),
    "other byte order": (X.astype(">f8"), X[0].astype(">f8")),
    "numbers": (2.0, 3),
    "NumPy numbers": (np.float32(2.0), np.int8(3)),
    "large integer": (X, 2**62),
    "bool and complex": (True, 1 + 2j),
    "subclass": (np.ma.masked_array(X), X[0]),
}


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_arguments_of_all_kinds_in_trees_and_by_themselves(executor: str) -> None:
    alone = tn.jit(lambda x, y: x * y + 1, executor=executor)
    tree = tn.jit(lambda t: {"z": (t["x"] * t["y"][0] + 1,)}, executor=executor)
    for name, (x, y) in ARGUMENTS.items():
        expected = np.asarray(x) * np.asarray(y) + 1
        for _ in range(3):
            assert_array_equal(alone(x, y).numpy(), expected, err_msg=name)
            assert_array_equal(alone(x, y=y).numpy(), expected, err_msg=name)
            (z,) = tree({"x": x, "y": [y]})["z"]
            assert_array_equal(z.numpy(), expected, err_msg=name)


def test_a_first_call_with_a_subclass_of_arrays() -> None:
    of_subclass = np.ma.masked_array([1.0, 2.0])
    assert_array_equal(tn.jit(lambda x: x * 2)(of_subclass).numpy(), [2.0, 4.0])


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_integers_that_do_not_fit_into_int64_are_unsigned_as_in_numpy(executor: str) -> None:
    double = tn.jit(lambda n: n // 2, executor=executor)
    for n in (4, 2**63, 6, 2**64 - 1, 8):
        assert double(n).item() == n // 2
    with pytest.raises(DTypeError, match="the integer does not fit in 64 bits"):
        double(2**64)
    with pytest.raises(PytreeError, match="argument n is an integer that does not fit in 64 bits"):
        tn.jit(lambda n: n, executor=executor)(2**64)


@pytest.mark.parametrize("size", [4, 100_000])
def test_arguments_may_be_overwritten_after_the_call(size: int) -> None:
    double = tn.jit(lambda x: x * 2)
    x = np.ones(size)
    results = []
    for _ in range(3):
        results.append(double(x))
        x[:] += 1
    assert [result.numpy()[-1] for result in results] == [2.0, 4.0, 6.0]


def test_static_arguments_are_found_by_position_and_by_name() -> None:
    power = tn.jit(lambda x, n: x**n, static_argnames="n", executor="numpy")
    for n in (2, 2.0, True, 2):
        assert_array_equal(power(X, n).numpy(), X**n)
        assert_array_equal(power(X, n=n).numpy(), X**n)
        assert power(X, n).dtype == (X**n).dtype

    @tn.jit(static_argnames="n", executor="numpy")
    def total(*terms: Any, n: int) -> Any:
        return sum(terms) * n

    assert total(1.0, 2.0, 3.0, n=2).item() == 12.0


def test_the_numpy_executor_runs_whole_programs_as_instruction_by_instruction() -> None:
    def f(x: Any, w: Any) -> Any:
        y = tn.linalg.solve(w @ w.T + tn.eye(3), tn.sin(x).T)
        total, _ = tn.scan(lambda c, row: (c + row, None), tn.zeros(2), y)
        return total, x, x.T, tn.ones((2, 2)), tn.sum(y), tn.sort(y, axis=0)

    w = np.linspace(-1.0, 1.0, 9).reshape(3, 3)
    steps = tn.GraphExecutor(tn.NumpyBackend(), segmented=False)
    expected = tn.jit(f, executor=steps)(X, w)
    whole = tn.jit(f, executor="numpy")
    for _ in range(2):
        for result, value in zip(whole(X, w), expected, strict=True):
            assert_array_equal(result.numpy(), value.numpy())
            assert result.dtype == value.dtype
            assert not result.numpy().flags.writeable


def test_results_of_the_numpy_executor_share_no_memory() -> None:
    constant = tn.jit(lambda x: (x, tn.ones(3)), executor="numpy")
    x = X.copy()
    first, second = constant(x), constant(x)
    x[:] = 9
    assert_array_equal(first[0].numpy(), X)
    assert not np.shares_memory(first[1].numpy(), second[1].numpy())


@pytest.mark.parametrize("other", [X.astype(np.float32), X[:1], X.astype(">f8"), 3], ids=str)
def test_other_types_than_those_of_all_calls_before_have_a_program_of_their_own(other: Any) -> None:
    double = tn.jit(lambda x: x * 2)
    x = double(double(X))
    on_device = other if isinstance(other, int) else tn.jit(lambda x: x + 0)(other)
    for given in (on_device, other, X, x):
        result, expected = double(given), tn.asarray(given) * 2
        assert_array_equal(result.numpy(), expected.numpy())
        assert result.dtype == expected.dtype


class Lines(list[float]):
    """A list that is not a tree."""


class Convertible:
    """What NumPy makes an array of, and nothing more."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([1.0, 3.0])


def test_what_converts_to_an_array_is_compiled_for_its_shape_and_dtype() -> None:
    doubled = tn.jit(lambda x: x * 2, executor="numpy")
    for array in (np.array([1.0, 2.0]), np.array([5.0]), np.array([2**60 + 1, 1]), np.eye(2)):
        for data in (memoryview(array), Lines(array.tolist())):
            found = doubled(data)
            assert (found.dtype, found.tolist()) == (array.dtype, (array * 2).tolist())
    for data in (range(3), bytearray(b"ab"), Convertible(), arrays.array("f", [1.0])):
        expected = tn.asarray(data) * 2
        assert doubled(data).tolist() == expected.tolist()
        assert doubled.tier(data) == "numpy"
        named = tn.jit(lambda x: x * 2, executor="numpy", symbolic={"x": ("n",)})
        assert named(data).tolist() == expected.tolist()


def test_numbers_of_two_classes_of_one_name_have_a_program_each() -> None:
    whole, real = type("Number", (int,), {}), type("Number", (float,), {})
    doubled = tn.jit(lambda x: x * 2, executor="numpy")
    assert doubled(whole(3)).item() == 6
    assert doubled(real(1.5)).item() == 3.0


def test_masked_elements_are_refused_wherever_arrays_come_in() -> None:
    masked = np.ma.array([2.0, 4.0], mask=[True, False])
    takes: list[Any] = [
        *(tn.asarray, tn.exp, tn.jit(lambda x: x, executor="numpy"), tn.jit(lambda x: x)),
        *(lambda x: tn.ones(2) * x, tn.vmap(lambda x: x * 2)),
        *(lambda x: tn.cond(True, tn.sin, tn.cos, x), lambda x: tn.map(tn.sin, x)),
        *(tn.grad(lambda x: tn.sum(x * x)), lambda x: tn.asarray(x, copy=False)),
        lambda x: tn.EagerRuntime().variable(x),
    ]
    for take in takes:
        with pytest.raises(DTypeError, match=r"f64\[2\] has masked elements.*data.filled\("):
            take(masked)
        assert take(np.ma.array([2.0, 4.0])) is not None
    assert (masked * tn.ones(2)).mask.tolist() == [True, False]  # NumPy's own product


def test_other_numbers_of_arguments_than_in_all_calls_before() -> None:
    add = tn.jit(lambda *terms: sum(terms))
    assert [add(*[X] * n).numpy()[0, 1] for n in (2, 2, 3, 1, 2)] == [2, 2, 3, 1, 2]


def test_a_number_is_not_an_array_of_its_kind() -> None:
    single, half = tn.jit(lambda x: x * 1), np.float32(0.5)
    add = tn.jit(lambda x, y: x + y)
    for y in (2.0, 2.0, single(np.float64(2.0)), 2.0):
        assert add(half, y).dtype == (np.float32 if isinstance(y, float) else np.float64)


Pair = namedtuple("Pair", "x y")
Other = namedtuple("Other", "x y")


@tn.tree_util.register_dataclass
@dataclass
class Point:
    x: Any
    y: Any


class Rows(list[Any]):
    """Not a tree."""


TREES: list[Any] = [
    {"x": X, "y": {"z": X}},
    {"x": X, "y": OrderedDict(z=X)},
    OrderedDict(x=X, y={"z": X}),
    {"x": X, "y": defaultdict(list, z=X)},
    {"x": X, "y": {"w": X}},
    {"x": X, "y": (X,)},
    {"x": X, "y": None},
    {"x": {"z": X}, "y": X},
    (X, X),
    [X, X],
    Pair(X, X),
    Other(X, X),
    Point(X, X),
    Pair(X, {"z": X}),
    Pair(X, OrderedDict(z=X)),
    Other(X, {"z": X}),
    (X, Pair(X, {"z": X})),
    (X, Other(X, {"z": X})),
    (X, (X, {"z": X})),
    Point(X, {"z": X}),
    Point(X, OrderedDict(z=X)),
    deque([X, X]),
    deque([X, X], maxlen=2),
]


def test_the_structure_of_a_call_tells_others_apart() -> None:
    for first in TREES:
        treedef = flatten(((first,), {}))[1]
        for given in TREES:
            known = TreeSignature(treedef)
            leaves, other = flatten(((given,), {}))
            found = known.leaves((given,), {})
            if all(leaf is X for leaf in found):
                assert len(found) == len(leaves)
                assert other == treedef
            assert None in known.leaves((given,), {"x": X})
            assert None in known.leaves((given, given), {})
    for first in (TREES[0], TREES[8], TREES[10], TREES[12], TREES[13], TREES[16]):
        known = TreeSignature(flatten(((first,), {}))[1])
        assert all(leaf is X for leaf in known.leaves((first,), {}))


def test_trees_of_other_structures_than_in_all_calls_before() -> None:
    double = tn.jit(lambda *args, **named: tn.tree.map(lambda x: x * 2, (args, named)))
    for given in (TREES[0], TREES[0], *TREES[1:6]):
        (args, named), structure = double(given), tn.tree.structure(given)
        assert not named
        assert tn.tree.structure(args[0]) == structure
    assert double(x=TREES[0])[1].keys() == {"x"}


def test_a_donated_array_is_refused_in_every_call() -> None:
    double = tn.jit(lambda x: x * 2, donate_argnums=0)
    three = tn.jit(lambda x: x * 3)
    for _ in range(3):
        x = three(X)
        double(x)
        with pytest.raises(BindingError, match="was donated to an earlier call"):
            double(x)


def test_a_callback_that_fails_is_called_once() -> None:
    calls: list[int] = []

    def check(x: Any) -> Any:
        calls.append(len(calls))
        if len(calls) > 2:
            raise TypeError("enough")
        return x

    f = tn.jit(lambda x: tn.pure_callback(check, tn.TensorSpec((2,), "float64"), x))
    for _ in range(2):
        f(np.ones(2)).numpy()
    with pytest.raises(BackendFailureError, match="enough"):
        f(np.ones(2)).numpy()
    assert calls == [0, 1, 2]


def test_calls_of_types_seen_before_are_counted() -> None:
    double = tn.jit(lambda t: t["x"] * 2)
    for _ in range(4):
        double({"x": X})
    assert double.stats().hits == 3
    double.clear()
    assert_array_equal(double({"x": X}).numpy(), X * 2)


def test_tensors_of_another_executor_of_the_same_library_take_the_short_way() -> None:
    executor = type(tn.executor_named("xla"))("cpu")
    add = tn.jit(lambda x, y: x + y, executor=executor)
    tensor = tn.Tensor(executor.put(X))  # the default executor's
    assert tensor.executor is not executor
    for _ in range(3):
        assert_array_equal(add(tensor, tensor).numpy(), X + X)
    assert len(add._cache.latest.entries) == 1
    assert add.stats().hits == 2


def test_calls_with_static_arguments_are_repeated() -> None:
    def function(x: Any, n: Any = 2, y: Any = 0, *, f: Any = tn.sin, m: Any = None) -> Any:
        return f(x) * (n if m is None else m) + y

    calls: tuple[Any, ...] = (
        lambda g, x: g(x),
        lambda g, x: g(x, 3),
        lambda g, x: g(x, 3, x),
        lambda g, x: g(x, n=3),
        lambda g, x: g(x, n=3, y=x),
        lambda g, x: g(x, 3, y=2.0),
        lambda g, x: g(x, 1),
        lambda g, x: g(x, True),
        lambda g, x: g(x, 1.0),
        lambda g, x: g(x, 1.0, f=tn.cos),
        lambda g, x: g(x, f=tn.cos),
        lambda g, x: g(x, f=tn.cos, m=10**9),
        lambda g, x: g(x, m=10**9),
        lambda g, x: g([x][0], 3, [x][0], m=-0.0),
        lambda g, x: g(x, 3, x, m=0.0),
    )
    compiled = tn.jit(function, static_argnames=("n", "f", "m"))
    for x in (np.arange(3.0), np.arange(4, dtype=np.float32), np.arange(3.0)):
        for call in (*calls, *reversed(calls)):
            for _ in range(3):
                found = call(compiled, x)
                expected = call(function, tn.Tensor(x))
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
                np.testing.assert_allclose(found, expected, rtol=1e-6)


class Changing:
    """Is equal to one whose value is the same."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Changing) and self.value == other.value

    def __hash__(self) -> int:
        return self.value


def test_a_static_object_is_found_as_fast_as_a_number() -> None:
    class Model:
        def __init__(self, scale: float) -> None:
            self.scale = scale

    scaled = tn.jit(lambda x, by: x * by.scale, static_argnums=1)
    two, three, x = Model(2.0), Model(3.0), scaled(1.0, Model(1.0))
    assert [scaled(x, by).item() for by in (two, two, three, two, three, three)] == [
        2,
        2,
        3,
        2,
        3,
        3,
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(scaled), "_slow_path", None)
        assert scaled(x, three).item() == 3


def test_a_static_argument_that_changes_is_another_one() -> None:
    scaled = tn.jit(lambda x, by: x * by.value, static_argnums=1)
    by = Changing(2)
    assert [scaled(1.0, by).item() for _ in range(3)] == [2, 2, 2]
    by.value = 3
    assert [scaled(1.0, by).item() for _ in range(3)] == [3, 3, 3]
