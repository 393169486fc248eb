"""What there is, whether the main ways work on the device, and how exact products are."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
from importlib.metadata import distributions
from typing import Any

import jax
import numpy as np

import tenferro as tn
from tenferro.cli import main
from tenferro_xla.checks.checking import Checking, Function, apart, epsilon
from tenferro_xla.devices import device_name, devices
from tenferro_xla.executor import XlaExecutor
from tenferro_xla.interop import export
from tenferro_xla.target import device_facts

__all__ = ["environment", "precision", "smoke"]


# `environment`: versions, driver, device, memory.

PACKAGES = ("tenferro", "jax", "numpy", "scipy", "optree", "opt_einsum", "nvidia", "rocm")
_QUERY = "name,driver_version,memory.total,memory.used,clocks.sm,power.draw"


def environment(check: Checking) -> None:
    """What results depend on."""
    installed = {each.metadata["Name"]: each.version for each in distributions()}
    chosen = {name: installed[name] for name in sorted(installed) if name.startswith(PACKAGES)}
    check.note("versions", python=sys.version.split()[0], **chosen)
    facts = device_facts(check.device)
    check.note("device", **facts)
    check.note("devices", all=[device_name(each) for each in devices()])
    check.note("memory", **(check.device.memory_stats() or {}))
    if shutil.which("nvidia-smi"):
        with check.attempt("nvidia-smi"):
            command = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            said = map(str.strip, done.stdout.split(","))
            check.note("nvidia-smi", **dict(zip(_QUERY.split(","), said, strict=False)))
    with check.attempt("doctor"):
        # In this process, which has the device, and with what JAX does by itself.
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), jax.enable_x64(False):
            main(["doctor", "--json"])
        found = json.loads(printed.getvalue())
        check.note(
            "doctor", "fine" if found["well"] else "wrong", cuda=found["cuda"], well=found["well"]
        )


# `smoke`: each way to run something, once.


def smoke(check: Checking) -> None:
    """Each way to run something, with a result that is known."""
    x = np.linspace(0.0, 1.0, 12).reshape(3, 4)
    gram = np.cos(x @ x.T)

    def verify(name: str, found: Any, expected: Any, **values: Any) -> None:
        far = apart(found, expected)
        check.note(name, "fine" if far <= 1e-12 else "wrong", apart=far, **values)

    with check.attempt("value and gradient"):
        loss = tn.value_and_grad(lambda x: tn.sum(tn.sin(x @ tn.matrix_transpose(x))))
        _, gradient = check.jit(loss)(x)
        verify("value and gradient", gradient, 2 * gram @ x, device=str(gradient.device))
    with check.attempt("second derivatives"):
        cubes: Function = lambda x: tn.sum(x**3)  # noqa: E731
        hessian = check.jit(tn.hessian(cubes))(x[0])
        verify("second derivatives", hessian, np.diag(6 * x[0]))
    with check.attempt("64 bits"):
        result = check.jit(lambda n: n + 1)(np.array([2**40]))
        verify("64 bits", result, np.array([2**40 + 1]), dtype=str(result.dtype))
    with check.attempt("default device"):
        default = str(tn.jit(lambda x: x * 2)(x).device)
        first = device_name(devices()[0])
        check.note("default device", "fine" if first in default else "wrong", device=default)
    with check.attempt("without jit"):
        tensor = check.put(x)
        found = tn.sum(tn.exp(tensor) @ tn.matrix_transpose(tensor))
        verify("without jit", found, np.sum(np.exp(x) @ x.T), device=str(found.device))
    with check.attempt("named sizes"):
        square = check.jit(lambda x: tn.sum(x * x), symbolic={"x": ("n",)})
        verify("named sizes", [np.asarray(square(np.ones(n))) for n in (0, 3, 5)], [0.0, 3.0, 5.0])
    with check.attempt("sizes that data decide"):
        places = check.jit(lambda x: tn.nonzero(x > 0.5))(x)
        verify("sizes that data decide", places, np.nonzero(x > 0.5))
    with check.attempt("vmap of a loop"):
        root = tn.vmap(
            lambda a: tn.while_loop(
                lambda y: tn.abs(y * y - a) > 1e-13, lambda y: (y + a / y) / 2, a
            )
        )
        verify("vmap of a loop", check.jit(root)(x[2] + 1), np.sqrt(x[2] + 1))
    with check.attempt("export"):
        program = tn.make_program(lambda x: tn.sum(x * 2), tn.TensorSpec(("n",)))
        (found,) = export(program).run({"x": np.arange(4.0)}, device=check.name)
        verify("export", found, 12.0)
    with check.attempt("callback"):
        twice = check.jit(
            lambda x: tn.pure_callback(
                lambda v: np.asarray(v) * 2, tn.TensorSpec((3, 4), "float64"), x
            )
        )
        verify("callback", twice(x), 2 * x)
    with check.attempt("random numbers"):
        draw = check.jit(lambda: tn.random.normal(tn.random.key(0), (1000,)))()
        with tn.disable_jit():
            verify("random numbers", draw, tn.random.normal(tn.random.key(0), (1000,)))


# `precision`: 32-bit results against 64-bit ones. TF32 has three digits.


def precision(check: Checking) -> None:
    """32-bit products are computed in 32 bits, unless TF32 is asked for."""
    n = 64 if check.small else 256
    on_host = XlaExecutor("cpu")
    for name, function, array in check.cases(_products(n), name=lambda case: case[0]):
        with check.attempt(name):
            exact = tn.jit(function, executor=on_host)(array.astype(np.float64))
            usual = apart(tn.jit(function, executor=on_host)(array), exact)
            far = apart(check.jit(function)(array), exact)
            limit = min(max(30 * usual, 30 * epsilon("float32")), 300 * epsilon("float32"))
            check.note(name, "wrong" if far > limit else "fine", apart=far, on_the_cpu=usual)
    with check.attempt("precision='default'"):
        loose = XlaExecutor(check.name, precision="default")
        matrix = _matrix(n)
        exact = matrix.astype(np.float64) @ matrix.astype(np.float64)
        far = apart(tn.jit(lambda a: a @ a, executor=loose)(matrix), exact)
        found = "TF32 or less" if far > 300 * epsilon("float32") else "32 bits"
        check.note("precision='default'", apart=far, products_have=found)


def _matrix(n: int) -> Any:
    """A matrix of 32-bit numbers that is well conditioned."""
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, n)) / n**0.5 + 2 * np.eye(n)).astype(np.float32)


def _products(n: int) -> list[tuple[str, Function, Any]]:
    """Functions that contain products, most of which somebody wrote a lowering for."""
    a = _matrix(n)
    tall = np.random.default_rng(1).normal(size=(n, 8)).astype(np.float32)
    positive = a @ a.T + np.eye(n, dtype=np.float32)
    return [
        ("matmul", lambda a: a @ a, a),
        ("einsum", lambda a: tn.einsum("ab,bc,cd->ad", a, a, a), a),
        ("batch of products", lambda a: tn.stack([a, a]) @ tn.stack([a, a]), a),
        ("gradient of matmul", tn.grad(lambda a: tn.sum(tn.sin(a @ a))), a),
        (
            "convolution",
            lambda a: tn.lax.conv(a[None, None], a[None, None, :5, :5], (1, 1), "SAME"),
            a,
        ),
        ("convolve", lambda a: tn.convolve(a[0], a[1]), a),
        ("scan", lambda a: tn.scan(lambda c, _: (c @ a * 0.2, None), a, None, length=4)[0], a),
        ("pinv", tn.linalg.pinv, tall),
        ("gradient of pinv", tn.grad(lambda a: tn.sum(tn.sin(tn.linalg.pinv(a)))), tall),
        ("lstsq", lambda a: tn.linalg.lstsq(a, a[:, 0])[0], tall),
        ("gradient of slogdet", tn.grad(lambda a: tn.linalg.slogdet(a)[1]), a),
        ("expm", tn.linalg.expm, a / 4),
        ("inv", tn.linalg.inv, a),
        ("solve", lambda a: tn.linalg.solve(a, a[:, :3]), a),
        ("cholesky", tn.linalg.cholesky, positive),
        ("eigvalsh", tn.linalg.eigvalsh, positive),
        ("svdvals", tn.linalg.svdvals, a),
        ("matrix_power", lambda a: tn.linalg.matrix_power(a / 3, 5), a),
        ("multi_dot", lambda a: tn.linalg.multi_dot([a, a, a]), a),
        ("cov", tn.cov, a),
        ("fft", lambda a: tn.fft.fft(a), a),
        (
            "likelihood",
            lambda a: tn.linalg.slogdet(a)[1] + a[0] @ tn.linalg.solve(a, a[0]),
            positive,
        ),
    ]
