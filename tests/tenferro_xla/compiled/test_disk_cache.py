"""Executables on disk."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
import tenferro_xla
from tenferro.errors import CacheWarning
from tenferro_xla import XlaExecutor
from tenferro_xla.compiled import disk_cache as module
from tenferro_xla.platforms.cpu import SMALL_HEAPS


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    tn.cache(tmp_path / "kept")
    yield tmp_path / "kept" / "executables"
    tn.cache(None)


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def f(x: tn.Tensor, y: tn.Tensor) -> tuple[tn.Tensor, tn.Tensor]:
    return tn.tanh(x @ y), tn.linalg.det(x)


def run(executor: XlaExecutor) -> tuple[list[bytes], list[bool]]:
    """The bits of the results, and for each compilation whether it was read from disk."""
    x = np.random.default_rng(0).normal(size=(5, 5))
    results = tn.jit(f, executor=executor)(x, x + 1)
    events = executor.explain().events
    return [each.numpy().tobytes() for each in results], [event.from_disk for event in events]


def test_an_executable_is_read_by_another_executor_and_gives_the_same_bits(folder: Path) -> None:
    first, made = run(XlaExecutor("cpu"))
    again, read = run(XlaExecutor("cpu"))
    assert (made, read, first == again) == ([False], [True], True)
    assert len(entries(folder)) == 1
    other = XlaExecutor("cpu", precision="default")
    assert run(other)[1] == [False]
    assert "read from disk" in str(read_report())


def read_report() -> object:
    executor = XlaExecutor("cpu")
    run(executor)
    return executor.explain()


def test_an_executable_that_is_damaged_or_of_another_program_is_made_again(folder: Path) -> None:
    first, _ = run(XlaExecutor("cpu"))
    (entry,) = entries(folder)
    data = entry.read_bytes()
    for damaged in (data[:-40], data[:99] + b"?" + data[100:], tn.dumps(tn.make_program(f, *XY))):
        entry.write_bytes(damaged)
        with pytest.warns(CacheWarning, match="is not used"):
            again, read = run(XlaExecutor("cpu"))
        assert (again == first, read) == (True, [False])
    entry.write_bytes(data)
    entry.chmod(0o666)
    with pytest.warns(CacheWarning, match="others may write there"):
        assert run(XlaExecutor("cpu"))[1] == [False]


def test_a_program_that_xla_cannot_write_runs(folder: Path) -> None:
    # with temporary values in several blocks, as programs of many matrices get them
    executor = XlaExecutor("cpu", compiler_options={SMALL_HEAPS.name: 1 << 16})

    def chain(x: tn.Tensor) -> tn.Tensor:
        products = [x @ x]
        for _ in range(6):
            products.append(products[-1] @ x)
        return tn.linalg.multi_dot(products)

    assert tn.jit(chain, executor=executor)(np.eye(64) * 2).numpy()[0, 0] == 2.0**35
    assert entries(folder) == []


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize(
    "part", ["serialize", "deserialize_and_load", "_version", "_depends", "_calls_lapack"]
)
def test_whatever_fails_in_the_cache_does_not_fail_the_call(
    folder: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = run(XlaExecutor("cpu"))
    if part != "deserialize_and_load":
        entries(folder)[0].unlink()

    def fails(*_: object, **__: object) -> None:
        raise KeyError("of the test")

    monkeypatch.setattr(module, part, fails)
    with pytest.warns(CacheWarning, match="of the test"):
        again, read = run(XlaExecutor("cpu"))
    assert (again == first, read) == (True, [False])


XY = (np.ones((2, 2)), np.ones((2, 2)))


def test_another_version_does_not_read_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(XlaExecutor("cpu"))
    monkeypatch.setattr(module, "_version", lambda: "another")
    assert run(XlaExecutor("cpu"))[1] == [False]
    assert {path.parent.name for path in entries(folder)} > {"another"}


def test_what_depends_on_code_of_others_is_not_kept(folder: Path) -> None:
    def calls_back(x: tn.Tensor) -> object:
        return tn.pure_callback(np.sin, tn.ShapeDtypeStruct((2,), "float64"), x)

    tn.jit(calls_back, executor=XlaExecutor("cpu"))(np.ones(2))
    assert entries(folder) == []


def test_what_jax_compiles_itself_is_not_affected(folder: Path) -> None:
    before = jax.config.jax_compilation_cache_dir
    run(XlaExecutor("cpu"))
    kept = len(entries(folder))
    jax.jit(lambda x: x * 3 + 1)(np.ones(3))
    assert (jax.config.jax_compilation_cache_dir, len(entries(folder))) == (before, kept)


def test_the_code_of_both_packages_names_the_entries() -> None:
    assert [source / "__init__.py" for source in module.SOURCES] == [
        Path(package.__file__) for package in (tenferro_xla, tn)
    ]


def test_only_documented_names_of_jax_are_used() -> None:
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    names = {
        f"{node.module}.{name.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("jax")
        for name in node.names
    }
    documented = "jax.experimental.serialize_executable"
    assert names == {f"{documented}.serialize", f"{documented}.deserialize_and_load"}


def test_a_second_process_reads_what_the_first_has_made(tmp_path: Path) -> None:
    # LAPACK too: JAX looks for it when it lowers, and a program that is read is not lowered
    program = (
        "import numpy as np, tenferro as tn\n"
        "f = tn.jit(lambda x: tn.sum(tn.tanh(x @ x) + tn.linalg.svd(x, compute_uv=False)))\n"
        "print(f(np.ones((3, 3))).item(), tn.executor_named('xla').explain().events[0].from_disk)"
    )
    root = Path(tenferro_xla.__file__).parents[1]
    environ = {**os.environ, "TENFERRO_CACHE_DIR": str(tmp_path / "k"), "PYTHONPATH": str(root)}
    texts = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=environ,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout.split()
        for _ in range(2)
    ]
    assert texts[0][0] == texts[1][0]
    assert [text[1] for text in texts] == ["False", "True"]


def test_on_a_gpu_the_key_has_the_versions_of_the_plugin_and_of_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu: Any = SimpleNamespace(
        platform="gpu", client=SimpleNamespace(platform_version="PJRT C API\ncuda 12090")
    )
    monkeypatch.setattr(module, "DRIVER", tmp_path / "version")
    before = module.plugin_versions(gpu)
    assert before[-2:] == ("PJRT C API\ncuda 12090", "")
    (tmp_path / "version").write_text("NVRM version: 580.82.07")
    assert module.plugin_versions(gpu)[-1] == "NVRM version: 580.82.07"
    assert module.plugin_versions(jax.devices("cpu")[0]) == ()


def test_lapack_is_found_again_for_a_gpu_whose_executable_calls_it_on_the_host() -> None:
    text = 'custom-call(%x), custom_call_target="cuhybrid_eig_real"'
    executable: Any = SimpleNamespace(as_text=lambda: text)
    assert module._calls_lapack(executable) == ["cuda"]
    module._find_lapack("cuda")
