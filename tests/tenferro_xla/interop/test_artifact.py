"""Artifacts: exported with symbolic sizes, saved, and run where tenferro has no part in it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.export
import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import parse
from tenferro.errors import BindingError, ExecutorError
from tenferro.ops.control_flow import Scan
from tenferro.ops.functions import OpFunction, apply
from tenferro.shape import Guard, dim
from tenferro_xla import Exported, XlaExecutor, export, load_exported, to_jax

SIZES = (1, 2, 7)


def loss(w: Any, x: Any) -> Any:
    h = tn.tanh(x @ w)
    return tn.sum(h * h) / x.shape[0]


def gradient_program() -> tn.GraphProgram:
    return tn.make_program(
        tn.value_and_grad(loss, argnums=(0, 1)), tn.TensorSpec((3, 4)), tn.TensorSpec(("n", 3))
    )


def inputs(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    return {"w": rng.normal(size=(3, 4)), "x": rng.normal(size=(n, 3))}


def assert_runs_as_the_program(artifact: Exported, program: tn.GraphProgram) -> None:
    xla = XlaExecutor("cpu")
    for n in SIZES:
        expected = xla.run(program, inputs(n))
        for found, reference in zip(artifact.run(inputs(n), "cpu"), expected, strict=True):
            assert found.dtype == reference.dtype
            np.testing.assert_allclose(found.numpy(), reference.numpy(), rtol=1e-13)


def test_an_artifact_runs_at_all_sizes_and_keeps_64_bits() -> None:
    program = gradient_program()
    artifact = export(program)
    assert_runs_as_the_program(artifact, program)
    assert not jax.config.jax_enable_x64
    assert (artifact.stats().misses, artifact.stats().entries) == (len(SIZES), len(SIZES))
    artifact.run(inputs(2))
    assert artifact.stats().misses == len(SIZES)


def test_an_artifact_is_for_no_device_in_particular() -> None:
    artifact = export(gradient_program())
    assert artifact.platforms == ("cpu", "cuda", "tpu")
    assert "tensor<?x3xf64>" in artifact.stablehlo()
    assert str(artifact).startswith("Exported(w: f64[3,4], x: f64[n,3]) -> (f64[], f64[3,4], ")
    only = export(gradient_program(), platforms=("cuda",))
    with pytest.raises(ExecutorError, match=r"run: JAX says .*platform"):
        only.run(inputs(2), "cpu")


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("where", ["file", "bytes"])
def test_an_artifact_comes_back_as_it_was(where: str, tmp_path: Path) -> None:
    program = gradient_program()
    artifact = export(program)
    path = tmp_path / "gradient.stablehlo"
    artifact.save(path)
    again = load_exported(path if where == "file" else artifact.serialize())
    assert (
        again.inputs
        == artifact.inputs
        == (
            ("w", program.inputs[0].meta),
            ("x", program.inputs[1].meta),
        )
    )
    assert again.outputs == artifact.outputs
    assert_runs_as_the_program(again, program)


ELSEWHERE = """
import sys
import numpy as np
{imports}
data = np.load(sys.argv[2])
{run}
for found, name in zip(results, ("value", "dw", "dx"), strict=True):
    assert found.dtype == np.float64
    np.testing.assert_allclose(np.asarray(found), data[name], rtol=1e-13)
"""

WITH_TENFERRO = (
    "from tenferro_xla import load_exported",
    'results = load_exported(sys.argv[1]).run({"w": data["w"], "x": data["x"]}, "cpu")',
)
WITH_JAX_ALONE = (
    "import jax, jax.export",
    """
jax.config.update("jax_enable_x64", True)
with open(sys.argv[1], "rb") as file:
    exported = jax.export.deserialize(bytearray(file.read()))
results = jax.jit(exported.call)({"w": data["w"], "x": data["x"]})
assert "tenferro" not in sys.modules
""",
)


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("how", [WITH_TENFERRO, WITH_JAX_ALONE], ids=["tenferro", "jax alone"])
def test_another_process_runs_the_file(how: tuple[str, str], tmp_path: Path) -> None:
    artifact = export(gradient_program())
    artifact.save(tmp_path / "gradient.stablehlo")
    given = inputs(5)
    expected = dict(zip(("value", "dw", "dx"), artifact.run(given, "cpu"), strict=True))
    np.savez(tmp_path / "data.npz", **given, **{k: v.numpy() for k, v in expected.items()})
    script = ELSEWHERE.format(imports=how[0], run=how[1])
    files = [str(tmp_path / name) for name in ("gradient.stablehlo", "data.npz")]
    done = subprocess.run(
        [sys.executable, "-c", script, *files],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr


def test_a_static_program_and_dtypes_of_all_kinds() -> None:
    def f(x: Any, i: Any, z: Any, flag: Any) -> Any:
        return tn.where(flag, x, -x), i + 1, tn.conj(z) * z, tn.sum(x)

    arrays = {
        "x": np.arange(3, dtype=np.float32),
        "i": np.arange(3),
        "z": np.arange(3) * 1j,
        "flag": np.array([True, False, True]),
    }
    artifact = load_exported(export(tn.make_program(f, *arrays.values())).serialize())
    results = artifact.run(arrays)
    assert [r.dtype for r in results] == [np.float32, np.int64, np.complex128, np.float32]
    assert results[0].tolist() == [0.0, -1.0, 2.0]
    assert results[2].tolist() == [0j, 1 + 0j, 4 + 0j]


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: tn.reshape(x, (-1,)),
        lambda x: tn.concat([x, x])[1:],
        lambda x: tn.pad(x, ((0, 1), (0, 0)))[1:],
        lambda x: tn.flip(x, axis=0),
        lambda x: tn.triu(x @ x.T, k=1),
        lambda x: tn.mean(x, axis=0) + x.shape[0] // 2,
        lambda x: tn.max(x, axis=0) * x.shape[0] + tn.prod(x, axis=0),
        lambda x: tn.jvp(lambda y: tn.sum(tn.sin(y), axis=0), (x,), (x,))[1],
    ],
)
def test_sizes_of_all_kinds_survive(function: Any) -> None:
    program = tn.make_program(function, tn.TensorSpec(("n", 3)))
    artifact = load_exported(export(program).serialize())
    for n in SIZES:
        x = {program.inputs[0].name: inputs(n)["x"]}
        (found,), (expected,) = artifact.run(x), tn.GraphExecutor(tn.NumpyBackend()).run(program, x)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


def test_guards_go_with_the_artifact() -> None:
    x = tn.TracedTensor.input(("n",), "float64", name="x")
    y = tn.TracedTensor.input(("m",), "float64", name="y")
    guard = Guard(dim("n"), dim("m"), "test")
    program = tn.GraphCompiler().compile_keys([x.key, y.key], [x.key, y.key], (guard,))
    artifact = load_exported(export(program).serialize())
    assert len(artifact.run({"x": np.ones(2), "y": np.ones(2)})) == 2
    with pytest.raises((BindingError, ExecutorError)):
        artifact.run({"x": np.ones(2), "y": np.ones(3)})


def test_a_size_that_must_be_even_is_a_guard_of_the_artifact() -> None:
    artifact = export(tn.make_program(lambda x: tn.reshape(x, (2, -1)), tn.TensorSpec(("n",))))
    assert artifact.run({"x": np.arange(6.0)})[0].shape == (2, 3)
    with pytest.raises(ExecutorError, match="'n' = 5"):
        artifact.run({"x": np.arange(5.0)})


def test_bindings_are_checked_before_jax_sees_them() -> None:
    artifact = load_exported(export(gradient_program()).serialize())
    with pytest.raises(BindingError, match=r"input 'w': f64\[3,4\] is not bound"):
        artifact.run({"x": np.ones((2, 3))})
    with pytest.raises(BindingError, match="axis 1 of input 'x' is declared 3"):
        artifact.run({**inputs(2), "x": np.ones((2, 4))})
    with pytest.raises(BindingError, match="n is 0; an artifact takes sizes from 1 on"):
        artifact.run({**inputs(2), "x": np.ones((0, 3))})


def test_what_is_no_artifact_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.stablehlo"
    data = export(gradient_program()).serialize()
    for wrong in (b"", b"abcd" * 10, data[: len(data) // 2]):
        path.write_bytes(wrong)
        with pytest.raises(ExecutorError, match=re.escape(f"load_exported: {path} cannot be read")):
            load_exported(path)
        with pytest.raises(ExecutorError, match="load_exported: the bytes cannot be read"):
            load_exported(wrong)
    other = jax.export.export(jax.jit(lambda x: x))(np.ones(3, np.float32))
    with pytest.raises(ExecutorError, match="not one dict of arrays by name"):
        load_exported(bytes(other.serialize()))


def test_a_captured_array_is_no_part_of_an_artifact() -> None:
    big = np.arange(1000.0)
    program = tn.make_program(lambda x: x + big, tn.TensorSpec((1000,)))
    with pytest.raises(BindingError, match=r"export: the program has captured f64\[1000\]"):
        export(program)


def test_sizes_that_data_decide_are_refused_by_name() -> None:
    program = tn.make_program(lambda x: tn.dynamic_truncate(x, tn.sum(x)), tn.TensorSpec(("n",)))
    with pytest.raises(ExecutorError, match=r"export: dynamic_truncate makes f64\[<=n\]"):
        export(program)


def test_what_cannot_be_exported_is_refused_by_name() -> None:
    program = tn.make_program(
        tn.grad(lambda x: tn.sum(tn.cumulative_prod(x))), tn.TensorSpec(("n",))
    )
    with pytest.raises(
        ExecutorError,
        match=r"export: linear_recurrence along an axis of named size n: the number of its steps",
    ):
        export(program)
    with pytest.raises(ExecutorError, match="there is no platform 'abacus'; there are: cpu, "):
        export(gradient_program(), platforms=("abacus",))


LOOP = parse("""
exec_program(%0: f64[m], %1: f64[m]) {
  %2: f64[m] = sine %1
  %3: f64[m] = add %0, %2
  %4: f64[] = constant[value=2.0, dtype=f64]
  %5: f64[m] = broadcast_in_dim[shape=(m,), dims=()] %4
  %6: f64[m] = multiply %3, %5
  return %6
}""")


def looping(x: Any, rounds: Any) -> Any:
    """`LOOP` for each row of x, from the first one on."""
    op = Scan(LOOP, 0, 1, rounds)
    return apply(OpFunction(op), x[0], x)


def test_a_loop_over_a_named_length_is_refused_with_its_place_and_advice() -> None:
    program = tn.make_program(lambda x: looping(x, x.shape[0]), tn.TensorSpec(("n", "m")))
    message = (
        r"export: scan at test_artifact.py:\d+: the number of rounds is n, and an artifact has "
        "loops of constant length only; give n a constant size"
    )
    with pytest.raises(ExecutorError, match=message):
        export(program)


def test_a_loop_of_constant_length_may_have_named_sizes_inside() -> None:
    program = tn.make_program(lambda x: looping(x, x.shape[0]), tn.TensorSpec((3, "m")))
    artifact = export(program)
    for m in SIZES:
        x = np.random.default_rng(m).normal(size=(3, m))
        (expected,) = XlaExecutor("cpu").run(program, {"x": x})
        np.testing.assert_allclose(artifact.run({"x": x}, "cpu")[0], expected, rtol=1e-13)


def test_without_flatbuffers_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    artifact = export(gradient_program())
    data = artifact.serialize()
    for name in [name for name in sys.modules if name.startswith("jax._src.export.serialization")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "flatbuffers", None)
    with pytest.raises(ExecutorError, match=re.escape("install tenferro[export]")):
        artifact.serialize()
    with pytest.raises(ExecutorError, match=re.escape("install tenferro[export]")):
        load_exported(data)


def test_what_is_no_program_and_what_is_no_file_are_refused(tmp_path: Path) -> None:
    wrong: Any = abs
    with pytest.raises(BindingError, match="export: takes a program, got an object of type"):
        export(wrong)
    with pytest.raises(BindingError, match="to_jax: takes a program, got an object of type"):
        to_jax(wrong)
    with pytest.raises(ExecutorError, match=r"load_exported: .* cannot be read: No such"):
        load_exported(tmp_path / "nothing.stablehlo")


def matrices(function: Any) -> tn.GraphProgram:
    return tn.make_program(function, tn.TensorSpec((4, 4), "float64"))


def test_what_jax_lacks_on_a_platform_is_named_by_its_op() -> None:
    absent = "tenferro-linalg.matrix_function.v1: XLA has it on the CPU only, not on"
    root = matrices(tn.scipy.linalg.sqrtm)
    with pytest.raises(ExecutorError, match=f"^export: extension: {absent} cuda$"):
        export(root, platforms=("cuda",))
    with pytest.raises(ExecutorError, match=f"{absent} cuda; .* tpu; pass platforms=.'cpu',.$"):
        export(root)
    assert export(root, platforms=("cpu",)).platforms == ("cpu",)


def test_what_jax_says_of_custom_calls_ends_with_a_sentence() -> None:
    text = "no compatibility guarantees. See https://docs.jax.dev/[^ ]*"
    values = matrices(tn.linalg.eigvals)
    with pytest.raises(ExecutorError, match=f"{text}$"):
        export(values, platforms=("cuda",))
    with pytest.raises(ExecutorError, match=f"for cuda: .*{text}; pass platforms=.'cpu',.$"):
        export(values, platforms=("cpu", "cuda"))


def test_an_artifact_for_one_platform_is_lowered_as_for_a_device_of_it() -> None:
    tiny = tn.make_program(tn.linalg.eigvalsh, tn.TensorSpec((100, 4, 4), "float32"))
    wide = {
        platforms: "100xf64" in export(tiny, platforms=platforms).stablehlo()
        for platforms in (("cpu",), ("cuda",), ("cpu", "cuda"))
    }
    assert wide == {("cpu",): True, ("cuda",): False, ("cpu", "cuda"): True}
