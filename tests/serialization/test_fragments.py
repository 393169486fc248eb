"""Fragments survive a file with all that they refer to."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest

from tenferro.core import (
    Fragment,
    FragmentBuilder,
    GlobalValKey,
    Input,
    Linear,
    LinearFragment,
    Tangent,
    differentiate,
    materialize_merge,
    resolve,
    transpose,
)
from tenferro.errors import FileError, UnsupportedExtensionError
from tenferro.ops import EXP, MUL, SIN, ReduceSum, StdTensorOp
from tenferro.ops.extension import Extension
from tenferro.runtime import Tensor
from tenferro.serialization import PayloadCodecs, dumps, loads
from tenferro.shape import TensorInput, TensorMeta, declare
from tenferro.transforms import CapturedArray
from tests.graphs import CTX, run
from tests.serialization.families import Scale
from tests.serialization.headers import changed, header_of, sealed_header, with_header

X, A = np.array([[0.3, -0.8]]), np.array([[1.7, 0.6]])


def primal(uid: int | None = None) -> Fragment[StdTensorOp]:
    """y = exp(a * x), and its sum."""
    meta = TensorMeta.of("f64", ("n", 2))
    builder: FragmentBuilder[StdTensorOp] = FragmentBuilder()
    x, a = (builder.input(TensorInput(name, meta, uid)) for name in "xa")
    (ax,) = builder.add(MUL, [a, x])
    (y,) = builder.add(EXP, [ax])
    (total,) = builder.add(ReduceSum((0, 1)), [y])
    return builder.build([total, y])


def linear(fragment: Fragment[StdTensorOp]) -> LinearFragment[StdTensorOp]:
    x, _ = fragment.input_keys
    return differentiate(resolve([fragment]), fragment.output_keys[:1], [x], ctx=CTX)


def all_samples() -> dict[str, Any]:
    """Fragments of every kind: plain, linear, transposed, and the derivative of a derivative."""
    first = linear(primal())
    reverse = transpose(first, ctx=CTX)
    view = resolve([first.fragment, reverse.fragment])
    x = primal().input_keys[0]
    second = differentiate(view, [key for key in reverse.output_keys if key], [x], ctx=CTX)
    return {
        "primal": primal(),
        "unique": primal(7),
        "linear": first,
        "transposed": reverse,
        "second": second,
    }


SAMPLES = all_samples()


def texts(value: Any) -> list[str]:
    """The text of a fragment and of all that it refers to, without the numbers of passes."""
    root = value.fragment if isinstance(value, LinearFragment) else value
    found, pending = [], [root]
    while pending:
        top = pending.pop()
        found.append("".join(each for each in str(top) if not each.isdigit()))
        pending.extend(top.parents)
    return found


@pytest.mark.parametrize("name", SAMPLES)
def test_a_loaded_fragment_is_the_saved_one(name: str) -> None:
    saved = SAMPLES[name]
    loaded = loads(dumps(saved))
    assert type(loaded) is type(saved)
    assert texts(loaded) == texts(saved)
    assert dumps(loaded) == dumps(saved)


def test_a_linear_fragment_keeps_its_tangents() -> None:
    loaded = loads(dumps(SAMPLES["linear"]))
    assert isinstance(loaded, LinearFragment)
    assert len(loaded.tangent_inputs) == len(loaded.tangent_outputs) == 1
    (key, local), of = loaded.tangent_inputs[0], loaded.fragment.parents[0].input_keys[0]
    assert isinstance(key, Tangent)
    assert key.of is of
    assert loaded.fragment.keys[local] is loaded.input_keys[0]
    modes = [node.mode for node in loaded.fragment.nodes]
    assert Linear((True, False)) in modes or Linear((False, True)) in modes


def test_symbolic_zeros_stay_symbolic_zeros() -> None:
    fragment = primal()
    x, a = fragment.input_keys
    saved = differentiate(resolve([fragment]), [a, fragment.output_keys[0]], [x], ctx=CTX)
    loaded = loads(dumps(saved))
    assert loaded.tangent_outputs[0] is None
    assert loaded.tangent_outputs == saved.tangent_outputs


def test_passes_of_two_loads_are_two_passes() -> None:
    data = dumps(SAMPLES["linear"])
    first, second = loads(data), loads(data)
    assert first.input_keys[0] is not second.input_keys[0]


def test_inputs_that_are_shared_by_name_stay_shared() -> None:
    assert loads(dumps(SAMPLES["primal"])).input_keys == SAMPLES["primal"].input_keys
    assert loads(dumps(SAMPLES["unique"])).input_keys != SAMPLES["unique"].input_keys


def test_a_loaded_fragment_is_differentiated_to_the_same_values() -> None:
    results = []
    for fragment in (SAMPLES["unique"], loads(dumps(SAMPLES["unique"]))):
        reverse = transpose(linear(fragment), ctx=CTX)
        x, a = fragment.input_keys
        (seed,) = reverse.input_keys
        (ct,) = reverse.output_keys
        assert ct is not None
        given: dict[GlobalValKey, Any] = {x: X, a: A, seed: np.ones(())}
        results += run(resolve([fragment, reverse.fragment]), [ct], given)
    np.testing.assert_array_equal(results[0], A * np.exp(A * X))
    np.testing.assert_array_equal(results[1], results[0])


def test_a_captured_array_is_kept() -> None:
    builder: FragmentBuilder[StdTensorOp] = FragmentBuilder()
    tensor = Tensor(np.arange(3.0))
    x = builder.input(CapturedArray(tensor, tensor.data))
    loaded = loads(dumps(builder.build(builder.add(SIN, [x]))))
    (key,) = loaded.input_keys
    assert isinstance(key, Input)
    assert isinstance(key.key, CapturedArray)
    assert key.key.tensor.tolist() == [0.0, 1.0, 2.0]


def test_a_captured_array_is_of_the_type_that_is_written() -> None:
    builder: FragmentBuilder[StdTensorOp] = FragmentBuilder()
    tensor = Tensor(np.arange(3.0))
    x = builder.input(CapturedArray(tensor, tensor.data))
    data = dumps(builder.build(builder.add(SIN, [x])))
    with pytest.raises(FileError, match=r"entry 0 is f64\[4\], but its default is f64\[3\]"):
        loads(changed(data, "entries/0/type", "f64[4]"))


def test_placeholders_of_other_types_are_other_nodes() -> None:
    builder: FragmentBuilder[StdTensorOp] = FragmentBuilder()
    x = builder.input(TensorInput("x", TensorMeta.of("f64", ("n",))))
    data = dumps(builder.build(builder.add(Extension(Scale(2.0)), [x])))
    header = header_of(data)
    header["entries"][1]["types"] = ["f32[n]"]
    other = with_header(data, sealed_header(header))
    first = loads(data, skip_missing_extensions=True)
    second = loads(other, skip_missing_extensions=True)
    assert [str(CTX.meta(each.output_keys[0])) for each in (first, second)] == ["f64[n]", "f32[n]"]


def test_a_deep_fragment_survives_a_file() -> None:
    builder: FragmentBuilder[StdTensorOp] = FragmentBuilder()
    value: GlobalValKey = builder.input(TensorInput("x", TensorMeta.of("f64", ()), 3))
    for _ in range(3000):
        (value,) = builder.add(SIN, [value])
    loaded = loads(dumps(builder.build([value])))
    assert len(loaded.nodes) == 3000


def test_an_extension_in_a_fragment() -> None:
    builder: FragmentBuilder[StdTensorOp] = FragmentBuilder()
    x = builder.input(TensorInput("x", TensorMeta.of("f64", ("n",)), 5))
    data = dumps(builder.build(builder.add(Extension(Scale(2.0)), [x])))
    loaded = loads(data, codecs=PayloadCodecs().register(Scale))
    assert loaded.nodes[0].primitive == Extension(Scale(2.0))
    with pytest.raises(UnsupportedExtensionError, match=r"scale\.v2: not registered"):
        loads(data)
    skipped = loads(data, skip_missing_extensions=True)
    assert dumps(skipped) == data
    with pytest.raises(UnsupportedExtensionError, match=r"scale\.v2: not registered"):
        differentiate(resolve([skipped]), skipped.output_keys, skipped.input_keys, ctx=CTX)


@pytest.mark.parametrize(
    ("key", "match"),
    [
        ("x", r"file: an input with the key 'x' cannot be saved; make it with TensorInput"),
        (3, r"file: an input with the key 3 cannot be saved; make it with TensorInput"),
    ],
)
def test_keys_that_only_this_process_knows_are_refused(key: Hashable, match: str) -> None:
    builder: FragmentBuilder[StdTensorOp] = FragmentBuilder()
    value = builder.input(key)
    declare(value, TensorMeta.of("f64", ()))
    with pytest.raises(FileError, match=match):
        dumps(builder.build(builder.add(SIN, [value])))


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        ("entries/0/input/kind", "code", "file: entry 0 is an input of an unknown kind"),
        ("entries/0/input/shared", 1, "file: whether entry 0 is shared must be true or false"),
        ("entries/0/type", "f64[m,2]", r"file: entry 2: multiply: .*f64\[n,2\]"),
        ("entries/2/in/0", 2, "file: an operand of entry 2 must be an integer from 0 to 1"),
        ("entries/2/types/0", "f64[]", r"entry 2: multiply: the file says f64\[\], but"),
        ("entries/5/input/of", 4, r"file: entry 5 is f64\[n,2\], the tangent of f64\[\]"),
        (
            "entries/6/mode",
            [True],
            "file: the mode of entry 6 must have one boolean for each operand",
        ),
        (
            "entries/6/mode",
            [False, False],
            "file: the mode of entry 6 must have one boolean for each operand",
        ),
        ("entries/6/op", "eval", "file: entry 6: there is no op 'eval'"),
        ("fragments", [], "file: it contains no fragment"),
        ("fragments/1/parents/0", 1, "file: a parent of fragment 1 must be an integer from 0"),
        ("fragments/0/entries/0", 99, "file: an entry of fragment 0 must be an integer from 0"),
        ("fragments/0/entries/1", 0, "file: fragment 0: fragment: input .* is declared twice"),
        ("fragments/0/outputs/0", 6, "file: fragment 0: fragment: .* is not a value of this"),
        ("tangents/inputs/0", 9, "file: a tangent input must be an integer from 0"),
        ("tangents/inputs/0", 1, "file: a tangent input is not an input of its fragment"),
        ("tangents/outputs/0", "x", "file: a tangent output must be an integer from 0"),
        ("tangents", None, "file: its content is not in canonical form"),
    ],
)
def test_a_header_that_is_not_sound_is_refused(path: str, value: Any, match: str) -> None:
    with pytest.raises(FileError, match=match):
        loads(changed(dumps(SAMPLES["linear"]), path, value))


def test_the_graph_of_a_loaded_fragment_materializes() -> None:
    loaded = loads(dumps(SAMPLES["second"])).fragment
    graph = materialize_merge(resolve([loaded]), loaded.output_keys)
    assert {str(op.primitive) for op in graph.ops} >= {"multiply", "exponential"}
