"""What one call of a compiled tiny program costs, beside the same call of `jax.jit`.

Arguments are on the device, or NumPy arrays where a row says so. tenferro computes in 64 bits; JAX
is shown in its default 32 bits and, as "x64", within `jax.enable_x64(True)`, which the loop is in
but does not enter. A function of "two types" has been called with arrays of both. `host` rows are
the NumPy executor and NumPy itself. `ready` waits for the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support.harness import (
    Samples,
    arguments,
    environment,
    interleaved,
    repeated,
    table,
    verdict,
)

import tenferro as tn

Contenders = dict[str, Callable[[], float]]


def affine(x: Any) -> Any:
    return x * 2 + 1


def ten_leaves(tree: Any) -> Any:
    return {name: (pair[0] * 2 + 1, pair[1] * 2 + 1) for name, pair in tree.items()}


def layer(np_like: Any) -> Callable[[Any], Any]:
    return lambda x: np_like.tanh(x @ x) + x


def in_x64(measure: Callable[[], float]) -> Callable[[], float]:
    def scoped() -> float:
        with jax.enable_x64(True):
            return measure()

    return scoped


def jax_array(host: Any) -> Any:
    with jax.enable_x64(host.dtype == np.float64):
        return jax.device_put(host)


def on_vectors(calls: int) -> Contenders:
    host = np.arange(8.0)
    compiled, peer = tn.jit(affine), jax.jit(affine)
    on_numpy = tn.jit(affine, executor="numpy")
    tensor, host_single = compiled(tn.Tensor(host)), host.astype(np.float32)
    of_two = tn.jit(affine)
    single = of_two(of_two(tn.Tensor(host_single)))
    of_two(tensor)
    raw, raw_single = tensor.data, jax_array(host_single)
    on_host = tn.Tensor(host)
    np.testing.assert_allclose(compiled(tensor).numpy(), affine(tensor.numpy()))
    return {
        "jax.jit": repeated(lambda: peer(raw_single), calls),
        "jax.jit x64": in_x64(repeated(lambda: peer(raw), calls)),
        "tn.jit(Tensor)": repeated(lambda: compiled(tensor), calls),
        "tn.jit(Tensor), two types": repeated(lambda: of_two(single), calls),
        "tn.jit(jax.Array)": repeated(lambda: compiled(raw), calls),
        "jax.jit, from NumPy": repeated(lambda: peer(host_single), calls),
        "jax.jit x64, from NumPy": in_x64(repeated(lambda: peer(host), calls)),
        "tn.jit(ndarray), from NumPy": repeated(lambda: compiled(host), calls),
        "host: tn.jit, numpy": repeated(lambda: on_numpy(on_host), calls),
        "host: NumPy": repeated(lambda: affine(host), calls),
    }


def on_trees(calls: int) -> Contenders:
    host = np.arange(8.0)
    compiled, peer = tn.jit(ten_leaves), jax.jit(ten_leaves)
    tensors = compiled({name: (tn.Tensor(host), tn.Tensor(host)) for name in "abcde"})
    arrays = {name: (jax_array(host), jax_array(host)) for name in "abcde"}
    singles = {name: (jax_array(host.astype(np.float32)),) * 2 for name in "abcde"}
    return {
        "jax.jit": repeated(lambda: peer(singles), calls),
        "jax.jit x64": in_x64(repeated(lambda: peer(arrays), calls)),
        "tn.jit(Tensors)": repeated(lambda: compiled(tensors), calls),
        "tn.jit(jax.Arrays)": repeated(lambda: compiled(arrays), calls),
    }


def on_matrices(calls: int) -> Contenders:
    host = np.random.default_rng(0).normal(size=(8, 8)) / 8
    compiled, peer = tn.jit(layer(tn)), jax.jit(layer(jnp))
    on_numpy = tn.jit(layer(tn), executor="numpy")
    tensor = compiled(tn.Tensor(host))
    raw, raw_single = tensor.data, jax_array(host.astype(np.float32))
    on_host = tn.Tensor(host)
    on_numpy_only = layer(np)
    np.testing.assert_allclose(compiled(tensor).numpy(), on_numpy_only(tensor.numpy()))
    return {
        "jax.jit": repeated(lambda: peer(raw_single), calls),
        "jax.jit x64": in_x64(repeated(lambda: peer(raw), calls)),
        "tn.jit(Tensor)": repeated(lambda: compiled(tensor), calls),
        "jax.jit, ready": repeated(lambda: peer(raw_single).block_until_ready(), calls),
        "jax.jit x64, ready": in_x64(repeated(lambda: peer(raw).block_until_ready(), calls)),
        "tn.jit(Tensor), ready": repeated(lambda: compiled(tensor).data.block_until_ready(), calls),
        "host: tn.jit, numpy": repeated(lambda: on_numpy(on_host), calls),
        "host: NumPy": repeated(lambda: on_numpy_only(host), calls),
    }


def show(title: str, contenders: Contenders, rounds: int) -> dict[str, Samples]:
    found = interleaved(contenders, rounds)
    rows: list[list[object]] = []
    for name, samples in found.items():
        ready = next((way for way in (", ready", ", from NumPy") if name.endswith(way)), "")
        peers = [found[f"jax.jit{ready}"], found[f"jax.jit x64{ready}"]]
        rows.append([name, samples.text(), *(f"{samples.over(peer):.2f}" for peer in peers)])
    table(title, ["call", "µs [quartiles]", "/ jax", "/ jax x64"], rows)
    return found


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--calls", type=int, default=2000, help="in a row")
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args()
    environment()
    vectors = show("x*2+1 on an 8-vector", on_vectors(chosen.calls), chosen.rounds)
    trees = show("the same on a tree of 10 leaves", on_trees(chosen.calls // 4), chosen.rounds)
    show("tanh(x@x)+x, 8×8", on_matrices(chosen.calls), chosen.rounds)
    ratio = vectors["tn.jit(Tensor)"].over(vectors["jax.jit"])
    verdict("call on an 8-vector, over jax.jit", ratio, 2.0, 1.2)
    from_numpy = vectors["tn.jit(ndarray), from NumPy"].over(vectors["jax.jit, from NumPy"])
    verdict("the same from a NumPy array", from_numpy, 3.5, 1.5)
    tree = trees["tn.jit(Tensors)"].over(trees["jax.jit"])
    verdict("the same on a tree of 10 leaves", tree, 2.0, 1.3)


if __name__ == "__main__":
    main()
