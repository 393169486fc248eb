"""A compiled function in another trace is called once for arguments of the same types."""

import gc
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.core import interned_count


def layers(lib: ModuleType, calls: list[str]) -> Any:
    """Ten calls of a compiled layer, of two types, with a static and a named argument."""

    def layer(x: Any, w: Any, power: int, bias: Any = None) -> Any:
        calls.append(f"{x.shape}, {power}")
        return {"y": lib.numpy.tanh(w * x) ** power + (0 if bias is None else bias), "w": w}

    inner = lib.jit(layer, static_argnums=2)

    def function(x: Any, w: Any) -> Any:
        for power in (1, 1, 2, 1, 2, 1, 1, 1):
            x = inner(x, w, power)["y"]
        return lib.numpy.sum(inner(x[:2], w[:2], 1, bias=x[1])["y"] + inner(x, x, 1)["y"][:2])

    return function


def test_it_is_called_as_often_as_in_jax_and_gives_the_same_graph() -> None:
    calls: list[str] = []
    expected: list[str] = []
    jax.eval_shape(jax.grad(layers(jax, expected)), np.ones(4), np.ones(4))
    ours, types = layers(tn, calls), (tn.TensorSpec((4,)), tn.TensorSpec((4,)))
    repeated = tn.make_program(tn.grad(ours), *types)
    assert calls == expected == ["(4,), 1", "(4,), 2", "(2,), 1"]
    tn.eval_shape(tn.hessian(ours), *types)
    tn.eval_shape(tn.vmap(ours), tn.TensorSpec((3, 4)), tn.TensorSpec((3, 4)))
    assert len(calls) == 3
    with tn.disable_jit():
        direct = tn.make_program(tn.grad(ours), *types)
    assert str(repeated) == str(direct)
    assert len(calls) > 9


def test_a_checkpointed_function_is_called_once_unless_it_reads_other_values() -> None:
    calls: list[float] = []

    def layer(x: Any, scale: float) -> Any:
        calls.append(scale)
        return tn.sin(scale * x)

    saved = tn.checkpoint(layer, static_argnums=1)

    def function(x: Any) -> Any:
        return tn.sum(saved(saved(saved(x, 1.0), 2.0), 1.0))

    direct = tn.grad(lambda x: tn.sum(tn.sin(tn.sin(2.0 * tn.sin(x)))))
    x = np.array([0.5, 1.0])
    np.testing.assert_allclose(tn.grad(function)(x), direct(x))
    np.testing.assert_allclose(tn.vmap(tn.grad(function))(x[None]), direct(x)[None])
    assert calls == [1.0, 2.0]

    def reads(x: Any, y: Any) -> Any:
        state = [x]
        saved = tn.checkpoint(lambda z: z * state[0])
        first = saved(y)
        state[0] = y
        return first + saved(y)

    assert tn.jit(reads, executor="numpy")(3.0, 5.0).item() == 40.0


def test_a_checkpointed_function_is_called_for_each_static_argument_and_mesh() -> None:
    x = np.arange(3, dtype="int32")
    scaled = tn.checkpoint(lambda x, by: x * by[0], static_argnums=1)
    for by in (1, 1.0, True, 0.0, -0.0):
        found, expected = scaled(x, (by,)), tn.multiply(x, by)
        assert found.dtype == expected.dtype
        assert np.signbit(found).tolist() == np.signbit(expected).tolist()

    met: list[Any] = []

    def noted(x: Any) -> Any:
        met.append(tn.sharding.get_abstract_mesh().axis_names)
        return x

    saved = tn.checkpoint(lambda x: tn.shard_map(noted, in_specs=tn.P("i"), out_specs=tn.P("i"))(x))
    for names in (("i",), ("i", "j")):
        with tn.set_mesh(tn.make_mesh((1,) * len(names), names)):
            tn.eval_shape(saved, tn.TensorSpec((4,)))
    assert met == [("i",), ("i", "j")]


def test_what_cannot_be_repeated_is_not_held() -> None:
    state: list[Any] = []
    inner = tn.jit(lambda z: z * state[0])

    def outer(x: Any) -> Any:
        state[:] = [tn.sin(x)]
        result = inner(x) + inner(x)
        state.clear()
        return result

    before = interned_count()
    tn.eval_shape(outer, tn.TensorSpec((2,)))
    gc.collect()
    assert interned_count() <= before


def test_values_of_the_enclosing_trace_are_read_anew() -> None:
    def outer(x: Any, y: Any) -> Any:
        state = [x]
        inner = tn.jit(lambda z: z * state[0])
        first = inner(y)
        state[0] = y
        within = tn.grad(lambda s: inner(s * y) * s)(2.0)  # reads y, which is an argument there
        state[0] = tn.exp(y)
        return first, within, inner(y)

    found = tn.jit(outer, executor="numpy")(3.0, 5.0)
    np.testing.assert_allclose(np.stack(found), [15.0, 100.0, 5 * np.exp(5)])

    constant = np.arange(3.0)

    def of_argument(x: Any) -> Any:
        inner = []

        def shifted(s: Any) -> Any:
            inner.append(tn.jit(lambda z: z * s[0]))
            return tn.sum(inner[0](x) + s)

        return tn.grad(shifted)(tn.asarray(constant) * 2), tn.grad(shifted)(tn.asarray(constant))

    with pytest.raises(tn.errors.TracingError, match="has ended"):
        tn.jit(of_argument)(3.0)


def test_numbers_sizes_weak_types_and_state() -> None:
    calls: list[Any] = []
    scale = [2.0]

    @tn.jit
    def inner(x: Any, count: Any) -> Any:
        calls.append(count)
        return scale[0] * x if isinstance(count, float) else sum([x] * count)

    def outer(x: Any) -> Any:
        first = inner(x, 3) + inner(x, 3) + inner(x, 2)
        zeros = inner(x, 0.0) + inner(x, -0.0)
        scale[0] = 100.0  # as in JAX, what was traced stays
        return first + zeros + inner(x, 0.0), inner(tn.jit(lambda y: y)(x[0]), 2)

    found = tn.jit(outer, executor="numpy")(np.ones(2, "float32"))
    assert found[0].tolist() == [14.0, 14.0]
    assert calls == [3, 2, 0.0, -0.0, 2]
    names = {"x": ("n",)}
    total = tn.jit(lambda x: inner(x, 2) + inner(x, 2), executor="numpy", symbolic=names)
    assert total(np.ones(3)).tolist() == [4.0] * 3
    sizes: list[Any] = [4]
    filled = tn.jit(lambda x: x * tn.ones(sizes[0]))
    saved = tn.checkpoint(lambda x: x * tn.ones(sizes[0]))

    def of_named_size(x: Any) -> Any:
        sizes[0] = x.shape[0]
        return filled(x[0]) + saved(x[0])

    assert tn.jit(of_named_size, executor="numpy", symbolic=names)(np.ones(3)).tolist() == [2.0] * 3
    assert tn.jit(of_named_size, executor="numpy")(np.ones(2)).tolist() == [2.0] * 2
    weak = tn.jit(lambda x, y: x * inner(y, 2), executor="numpy")
    assert weak(np.ones(1, "float32"), 1.0).dtype == np.float32


def test_effects_happen_in_each_call_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[Any] = []

    @tn.jit
    def inner(x: Any) -> Any:
        calls.append(x)
        tn.debug.print("x = {}", x, ordered=True)
        return x + 1

    @tn.jit
    def noted(i: Any) -> None:
        calls.append(i)
        tn.debug.print("i = {}", i, ordered=True)

    def looped(i: Any, x: Any) -> Any:
        noted(i)
        return inner(inner(x)) + inner(x)

    tn.jit(lambda x: tn.fori_loop(0, 2, looped, x))(1.0).item()
    tn.effects_barrier()
    expected = "i = 0|x = 1.0|x = 2.0|x = 1.0|i = 1|x = 5.0|x = 6.0|x = 5.0|"
    assert capsys.readouterr().out.replace("\n", "|") == expected
    assert len(calls) == 4


def test_what_another_trace_has_recorded_is_not_called_again_at_the_top() -> None:
    calls: list[Any] = []

    @tn.jit
    def inner(x: Any) -> Any:
        calls.append(x)
        return {"y": x * 2}

    tn.eval_shape(lambda x: inner(x)["y"] + 1, tn.TensorSpec((2,)))
    assert tn.jit(inner, executor="numpy")(np.ones(2))["y"].tolist() == [2.0, 2.0]
    assert inner(np.ones(2))["y"].tolist() == [2.0, 2.0]
    assert len(calls) == 1
    assert inner(np.ones(2, "float32"))["y"].dtype == np.float32
    assert len(calls) == 2


def test_custom_rules_random_numbers_and_named_axes() -> None:
    @tn.custom_jvp
    def ruled(x: Any) -> Any:
        return tn.sin(x)

    ruled.defjvp(lambda primals, tangents: (tn.sin(primals[0]), 10 * tangents[0]))
    inner = tn.jit(lambda x: ruled(x) * ruled(x))
    derivative = tn.jit(tn.grad(lambda x: inner(x) + inner(2 * x)), executor="numpy")
    expected = 20 * np.sin(1.0) + 40 * np.sin(2.0)
    np.testing.assert_allclose(derivative(1.0), expected)

    draw = tn.jit(lambda key: tn.random.normal(key, (2,)), executor="numpy")
    keys = tn.random.split(tn.random.key(0), 2)
    found = tn.jit(lambda keys: (draw(keys[0]), draw(keys[1])), executor="numpy")(keys)
    np.testing.assert_array_equal(found, [draw(keys[0]), draw(keys[1])])

    centred = tn.jit(lambda x: x - tn.lax.pmean(x, "i"))
    twice = tn.vmap(lambda x: centred(centred(x) + 1), axis_name="i")
    found = tn.jit(twice, executor="numpy")(np.array([1.0, 3.0]))
    assert found.tolist() == [-1.0, 1.0]
