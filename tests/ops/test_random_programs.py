"""Random programs over the whole vocabulary: `--programs N` says how many."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import tenferro as tn
from tenferro.compiler import OptimizerOptions
from tenferro.core import batch, input_key, resolve_keys
from tenferro.ir import ExecProgram
from tenferro.ops import meta_of
from tenferro.shape import TensorInput
from tenferro_xla import LoweringOptions, jax_function
from tests.graphs import CTX, Array, Function, inner, run
from tests.random_graphs import Program, programs
from tests.tolerances import assert_close, rounding

TOLERANCE = 1e4 * rounding("c128")  # what forty ops may make of their rounding


def check(count: int, property_: object) -> None:
    """Run a property on `count` random programs."""
    silent = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings(max_examples=count, suppress_health_check=silent)(
        given(programs())(property_)  # type: ignore[arg-type]
    )()


def test_the_transpose_is_the_adjoint(programs: int) -> None:
    check(programs, adjoint)


def adjoint(program: Program) -> None:
    f, arrays = program.function, program.arrays
    df = f.jvp(program.wrt)
    if df.outputs == (None,):
        return
    tangents = [direction(x, 1) for x in arrays]
    (image,) = df(*arrays, *tangents)
    assert image is not None
    assert df.metas() == f.metas()
    seed = direction(image, 2)
    back = f.vjp(program.wrt)
    cotangents = back(*arrays, seed)
    left = inner(seed, image)
    right = sum(inner(ct, t) for ct, t in zip(cotangents, tangents, strict=True))
    size = 1 + abs(left) + sum(np.abs(ct).sum() for ct in cotangents if ct is not None)
    assert abs(left - right) <= TOLERANCE * size
    for ct, key in zip(back.outputs, f.inputs, strict=True):
        assert ct is None or CTX.meta(ct) == CTX.meta(key)


def test_a_batch_of_values_and_gradients_is_the_stack_of_single_runs(programs: int) -> None:
    check(programs, batched)


def batched(program: Program) -> None:
    for f, arrays in ((program.function, program.arrays), gradient(program)):
        live = [key for key in f.outputs if key is not None]
        rows = [[close_by(x, i) for x in arrays] for i in range(3)]
        for mask in ([True] * len(arrays), [i % 2 == 0 for i in range(len(arrays))]):
            stacks = [
                np.stack(xs) if on else xs[0]
                for xs, on in zip(zip(*rows, strict=True), mask, strict=True)
            ]
            whole = {
                key: input_key(TensorInput(f"xs{i}", meta_of(stacks[i])))
                for i, key in enumerate(f.inputs)
                if mask[i]
            }
            results = batch(f.view, live, whole, 3, ctx=CTX)
            given_ = {whole.get(key, key): x for key, x in zip(f.inputs, stacks, strict=True)}
            values = run(resolve_keys(), [key for key, _ in results], given_)
            singles = [
                f(*[x if on else y for x, y, on in zip(row, rows[0], mask, strict=True)])
                for row in rows
            ]
            alone = zip(*[[x for x in single if x is not None] for single in singles], strict=True)
            for value, entries, (_, is_batched) in zip(values, alone, results, strict=True):
                assert_close(value, np.stack(entries) if is_batched else entries[0], TOLERANCE)


def close_by(array: Array, number: int) -> Array:
    """Another array for each number, too close for an op to come near a kink or a pole."""
    return np.asarray(array * (1 + 1e-5 * number), array.dtype)


def test_optimized_programs_compute_the_same(programs: int) -> None:
    check(programs, optimized)


def optimized(program: Program) -> None:
    f, arrays = program.function, program.arrays
    g, inputs = gradient(program)
    for each, given_ in ((f, arrays), (g, inputs)):
        expected = evaluate(compiled(each, OptimizerOptions.none()), given_)
        results = evaluate(compiled(each), given_)
        for ours, theirs in zip(results, expected, strict=True):
            assert_close(ours, theirs, TOLERANCE)
            assert ours.dtype == theirs.dtype


@pytest.mark.slow
def test_xla_computes_the_same_values_and_gradients(programs: int) -> None:
    check(programs // 3, on_xla)  # XLA compiles each of them


def on_xla(program: Program) -> None:
    f, arrays = program.function, program.arrays
    value = np.asarray(f(*arrays)[0])
    seed = direction(value, 2)
    run = jax_function(compiled(f), LoweringOptions())

    def value_and_pull_back(arrays: list[Array], seed: Array) -> tuple[object, object]:
        (out,), pull_back = jax.vjp(lambda *xs: run(*xs), *arrays)
        return out, pull_back((seed,))

    with jax.enable_x64(True):
        # Not level 0, which compiles some programs wrongly (infinities, jaxlib 0.10.2).
        quick = {"xla_backend_optimization_level": 1}
        lowered = jax.jit(value_and_pull_back).lower(arrays, np.conj(seed))
        out, theirs = lowered.compile(quick)(arrays, np.conj(seed))
    assert_close(out, value, TOLERANCE)
    g, inputs = gradient(program)
    for ours, ct in zip(g(*inputs) if g.outputs else [], theirs, strict=bool(g.outputs)):
        # JAX transposes without conjugation, so its cotangents are the conjugates of ours.
        assert_close(np.zeros_like(ct) if ours is None else ours, np.conj(ct), TOLERANCE)


def gradient(program: Program) -> tuple[Function, list[Array]]:
    """The gradient for a random cotangent; no outputs where no tangent arrives."""
    f, arrays = program.function, program.arrays
    if f.jvp(program.wrt).outputs == (None,):
        return Function(f.view, f.inputs, ()), arrays
    seed = direction(np.asarray(f(*arrays)[0]), 2)
    return f.vjp(program.wrt), [*arrays, seed]


def compiled(f: Function, options: OptimizerOptions | None = None) -> ExecProgram:
    """The function as an execution program, optimized unless `options` say otherwise."""
    live = [key for key in f.outputs if key is not None]
    compiler = tn.GraphCompiler(capacity=0, options=options)
    return compiler.compile_keys(live, f.inputs).exec_program


def evaluate(program: ExecProgram, arrays: list[Array]) -> list[Array]:
    """The outputs of an execution program, one instruction after the other."""
    values = dict(zip(program.input_slots, arrays, strict=True))
    with np.errstate(all="ignore"):
        for step in program.instructions:
            results = step.op.evaluate([values[slot] for slot in step.input_slots])
            values.update(zip(step.output_slots, results, strict=True))
    return [values[slot] for slot in program.output_slots]


def direction(like: Array, seed: int) -> Array:
    """A random array of the type of `like`."""
    rng = np.random.default_rng(seed)
    numbers = rng.uniform(-1, 1, like.shape)
    if like.dtype.kind == "c":
        numbers = numbers + 1j * rng.uniform(-1, 1, like.shape)
    return np.asarray(numbers, like.dtype)
