"""What XLA makes of programs on meshes: collectives, memory, and results of random programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenferro as tn
from tenferro.errors import MemoryLimitError, ShardingError
from tenferro.ir import ExecProgram, evaluate
from tenferro.runtime import Shardings
from tenferro_xla import XlaExecutor
from tests.random_contractions import contraction_programs

P = tn.sharding.PartitionSpec
LINE = tn.sharding.make_mesh((4,), ("d",))
SQUARE = tn.sharding.make_mesh((2, 2), ("d", "m"))
RANDOM = np.random.default_rng(0)


def a(*shape: int) -> Any:
    return RANDOM.normal(size=shape)


def c(*shape: int) -> Any:
    return a(*shape) + 1j * a(*shape)


def contracted(subscripts: str) -> Callable[..., Any]:
    return lambda xp, *args: xp.sum(xp.abs(xp.einsum(subscripts, *args)) ** 2)


def attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    weights = xp.exp(xp.einsum("bqhd,bkhd->bhqk", q, k))
    return xp.sum(xp.einsum("bhqk,bkhd->bqhd", weights, v) ** 2)


def layers(xp: Any, v: Any, w: Any, x: Any) -> Any:
    return xp.sum((xp.sin(x @ v) @ w) ** 2)


def normalized(xp: Any, x: Any, g: Any) -> Any:
    spread = xp.sqrt(xp.var(x, axis=1, keepdims=True) + 1e-3)
    return xp.sum(((x - xp.mean(x, axis=1, keepdims=True)) / spread * g) ** 3)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...], Any]] = {
    "data parallel": (layers, (a(6, 9), a(9, 5), a(8, 6)), (P(), P(), P("d")), LINE),
    "tensor parallel": (
        layers,
        (a(6, 8), a(8, 6), a(8, 6)),
        (P(None, "m"), P("m"), P("d")),
        SQUARE,
    ),
    "columns": (layers, (a(6, 8), a(8, 12), a(8, 6)), (P(None, "m"), P(), P("d")), SQUARE),
    "attention": (attention, (a(4, 6, 2, 3),) * 3, (P("d"),) * 3, LINE),
    "heads": (attention, (a(4, 6, 2, 3),) * 3, (P("d", None, "m"),) * 3, SQUARE),
    "middle axis": (contracted("abc,cd->abd"), (a(3, 8, 5), a(5, 6)), (P(None, "d"), P()), LINE),
    "second of two": (
        contracted("abc,bcd->ad"),
        (a(3, 5, 8), a(5, 8, 6)),
        (P(None, None, "d"), P(None, "d")),
        LINE,
    ),
    "first of two": (
        contracted("abc,bcd->ad"),
        (a(3, 8, 5), a(8, 5, 6)),
        (P(None, "d"), P("d")),
        LINE,
    ),
    "outer product": (contracted("ab,cd->abcd"), (a(3, 8), a(8, 4)), (P(None, "d"), P()), LINE),
    "both axes": (
        lambda xp, x, w: xp.sum(xp.sin(x) @ xp.cos(w)),
        (a(8, 8), a(8, 8)),
        (P("d", "m"), P("m", "d")),
        SQUARE,
    ),
    "transposed": (
        lambda xp, x, w: xp.sum(xp.tanh(x.T @ w)),
        (a(8, 6), a(8, 6)),
        (P("d"), P("d")),
        LINE,
    ),
    "chain": (
        contracted("api,iqj,jrb->apqrb"),
        (a(2, 4, 3), a(3, 4, 3), a(3, 4, 2)),
        (P(None, "d"), P(), P()),
        LINE,
    ),
    "chain, middle": (
        contracted("api,iqj,jrb->apqrb"),
        (a(2, 4, 3), a(3, 4, 3), a(3, 4, 2)),
        (P(), P(None, "d"), P()),
        LINE,
    ),
    "complex": (contracted("ij,jk->ik"), (c(8, 6), c(6, 7)), (P("d"), P()), LINE),
    "complex, contracted": (
        contracted("ij,jk->ik"),
        (c(6, 8), c(8, 7)),
        (P(None, "d"), P("d")),
        LINE,
    ),
    "complex chain": (
        lambda xp, x, y, z: xp.sum(xp.abs(xp.sin(x @ y) @ z)),
        (c(8, 20), c(20, 20), c(20, 30)),
        (P("d"), P(), P()),
        LINE,
    ),
    "batched": (contracted("bij,bjk->bik"), (a(8, 3, 4), a(8, 4, 5)), (P("d"),) * 2, LINE),
    "two batches": (
        contracted("abij,abjk->abik"),
        (a(3, 8, 3, 4), a(3, 8, 4, 5)),
        (P(None, "d"),) * 2,
        LINE,
    ),
    "normalized": (normalized, (a(8, 6), a(6)), (P("d"), P()), LINE),
    "differences": (
        lambda xp, x, w: xp.sum(xp.einsum("bxyc,cd->bxyd", x[:, 1:] + x[:, :-1], w) ** 2),
        (a(8, 5, 4, 3), a(3, 6)),
        (P("d"), P()),
        LINE,
    ),
}
COLLECTIVE = re.compile(
    r"= [^=]*? (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
)


@pytest.mark.parametrize(
    "gradient",
    [pytest.param(False, marks=pytest.mark.exhaustive, id="value"), pytest.param(True, id="grad")],
)
@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_there_are_no_more_collectives_than_in_jax(name: str, gradient: bool) -> None:
    function, args, specs, mesh = PROGRAMS[name]
    ours: Any = lambda *args: function(tn, *args)  # noqa: E731
    theirs: Any = lambda *args: function(jnp, *args)  # noqa: E731
    if gradient:
        places = tuple(range(len(args)))
        ours, theirs = tn.grad(ours, argnums=places), jax.grad(theirs, argnums=places)
    shardings = tuple(tn.sharding.NamedSharding(mesh, spec) for spec in specs)
    with jax.enable_x64(True):
        expected = jax.jit(theirs, in_shardings=shardings).lower(*args).compile()
        results = expected(*map(jax.device_put, args, shardings))
    compiled = tn.jit(ours, mesh=mesh, in_shardings=specs)
    found = COLLECTIVE.findall(compiled.lower(*args).compile().as_text())
    allowed = COLLECTIVE.findall(expected.as_text() or "")
    assert len(found) <= len(allowed), (found, allowed)
    assert found.count("all-gather") <= allowed.count("all-gather")
    outputs = compiled(*args)
    for one, other in zip(jax.tree.leaves(results), tn.tree.leaves(outputs), strict=True):
        scale = max(1.0, float(np.abs(np.asarray(one)).max()))
        np.testing.assert_allclose(np.conj(one), other.numpy(), rtol=0, atol=1e-12 * scale)


def test_a_device_holds_little_more_than_with_jax() -> None:
    args = (a(64, 128), a(128, 64), a(512, 64))
    specs = (P(None, "m"), P("m"), P("d"))
    shardings = tuple(tn.sharding.NamedSharding(SQUARE, spec) for spec in specs)
    ours = tn.jit(
        tn.grad(lambda *args: layers(tn, *args), argnums=(0, 1, 2)), mesh=SQUARE, in_shardings=specs
    )
    memory = ours.lower(*args).compile().memory()
    with jax.enable_x64(True):
        slopes = jax.grad(lambda *args: layers(jnp, *args), argnums=(0, 1, 2))
        compiled = jax.jit(slopes, in_shardings=shardings).lower(*args).compile()
    theirs = compiled.memory_analysis()
    assert memory.temporaries + memory.outputs <= 1.1 * (
        theirs.temp_size_in_bytes + theirs.output_size_in_bytes
    )


def test_predicted_memory_is_that_of_one_device() -> None:
    args = (a(64, 128), a(128, 64), a(512, 64))
    specs = (P(), P(), P(("d", "m")))
    f = tn.jit(tn.grad(lambda *args: layers(tn, *args)), mesh=SQUARE, in_shardings=specs)
    report, told = f.memory(*args), f.lower(*args).memory()
    assert report.arguments == told.arguments == 8 * (2 * 64 * 128 + 512 * 64 // 4)
    assert report.outputs == told.outputs
    assert 0.7 <= report.peak / (told.temporaries + told.outputs) <= 1.5
    assert str(report).startswith("on each of 4 devices, where what is not known to be divided")
    assert "f64[128,128]" in str(report)  # a quarter of f64[512,128]

    def limited(limit: int) -> Any:
        step = tn.grad(lambda *args: layers(tn, *args), memory_limit=limit)
        return tn.jit(step, mesh=SQUARE, in_shardings=specs).memory(*args)

    assert limited(report.peak).again == ()
    with pytest.raises(MemoryLimitError, match=r"needs 327\.7 kB, the limit is 200"):
        limited(200_000)


@given(st.data())
@settings(max_examples=4)
def test_random_programs_with_random_shardings(data: st.DataObject) -> None:
    program: ExecProgram = data.draw(contraction_programs())
    mesh = data.draw(st.sampled_from([LINE, SQUARE]))
    executor = XlaExecutor(mesh=mesh)

    def sharding(meta: Any) -> Any:
        names = list(data.draw(st.permutations(mesh.axis_names)))
        entries: list[Any] = [None] * meta.rank
        for axis, size in enumerate(meta.static_shape):
            if names and size and size % mesh.shape[names[-1]] == 0 and data.draw(st.booleans()):
                entries[axis] = names.pop()
        return tn.sharding.NamedSharding(mesh, P(*entries))

    inputs = tuple(sharding(meta) for meta in program.input_metas)
    outputs = tuple(sharding(meta) for meta in program.output_metas)
    arrays = [
        (a(*meta.static_shape) + (1j * a(*meta.static_shape) if meta.dtype.kind == "c" else 0))
        for meta in program.input_metas
    ]
    shardings = Shardings(inputs, data.draw(st.sampled_from([(), outputs])))
    found = executor.compile_exec(program, shardings=shardings).run_host(*arrays)
    for one, other in zip(found, evaluate(program, arrays), strict=True):
        scale = max(1.0, float(np.abs(other).max(initial=0)))
        np.testing.assert_allclose(executor.get(one), other, rtol=0, atol=1e-12 * scale)


def test_data_decide_sizes_on_a_mesh_of_one_process() -> None:
    f = tn.jit(lambda x: tn.dynamic_truncate(x, tn.sum(x * x)) * 2, mesh=LINE)
    assert f(np.array([1.0, 1.0, 0.0, 0.0])).tolist() == [2.0, 2.0]
    with pytest.raises(ShardingError, match="takes mesh or bucketing, not both"):
        XlaExecutor(mesh=LINE, bucketing={"n": "powers_of_two"})


@pytest.mark.exhaustive
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", [name for name in PROGRAMS if PROGRAMS[name][3] is LINE])
def test_results_do_not_depend_on_the_number_of_devices(name: str, count: int) -> None:
    function, args, specs, _ = PROGRAMS[name]
    slopes: Any = tn.value_and_grad(
        lambda *args: function(tn, *args), argnums=tuple(range(len(args)))
    )
    mesh = tn.sharding.make_mesh((count,), ("d",))
    found = tn.tree.leaves(tn.jit(slopes, mesh=mesh, in_shardings=specs)(*args))
    expected = tn.tree.leaves(tn.jit(slopes, executor="numpy")(*args))
    for one, other in zip(found, expected, strict=True):
        scale = max(1.0, float(np.abs(other.numpy()).max()))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * scale)
