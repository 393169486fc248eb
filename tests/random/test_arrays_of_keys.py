"""Arrays of keys are moved as arrays of numbers are: as in JAX, un-jitted, compiled and mapped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DTypeError

ODD = np.array([True, False] * 3)
CALLS: list[Callable[[Any, Any], Any]] = [
    lambda ns, k: k.reshape(2, 3),
    lambda ns, k: k.reshape((-1, 2)).T,
    lambda ns, k: k.reshape(2, 3).ravel()[::-1],
    lambda ns, k: k[None].squeeze().reshape(3, 2).swapaxes(0, 1),
    lambda ns, k: ns.numpy.stack([k, k], axis=1),
    lambda ns, k: ns.numpy.concatenate([k, k[:2]]),
    lambda ns, k: ns.numpy.append(k, k),
    lambda ns, k: ns.numpy.hstack([k, k]),
    lambda ns, k: ns.numpy.tile(k, (2, 1)),
    lambda ns, k: ns.numpy.repeat(k, 2),
    lambda ns, k: ns.numpy.broadcast_to(k, (2, 6)),
    lambda ns, k: ns.numpy.expand_dims(k, (0, 1)),
    lambda ns, k: ns.numpy.moveaxis(k.reshape(2, 3), 0, 1),
    lambda ns, k: ns.numpy.where(ODD, k, k[::-1]),
    lambda ns, k: ns.numpy.full_like(k, k[0]),
    lambda ns, k: ns.numpy.take(k, np.array([0, 2]), axis=0),
    lambda ns, k: ns.numpy.roll(k, 1),
    lambda ns, k: ns.numpy.asarray(k),
    lambda ns, k: ns.numpy.array([k[0], k[1]]),
    lambda ns, k: ns.lax.concatenate([k, k], 0),
    lambda ns, k: ns.lax.select(ODD, k, k[::-1]),
    lambda ns, k: k[np.array([2, 1])],
    lambda ns, k: k.at[1].set(k[0]),
    lambda ns, k: k.reshape(2, 3).at[1, 0].set(k[0]),
    lambda ns, k: k.at[2].get(),
    lambda ns, k: ns.lax.fori_loop(0, 2, lambda i, k: ns.numpy.roll(k, 1), k),
    lambda ns, k: ns.lax.scan(lambda c, x: (c, x), 0.0, k)[1],
]


@pytest.mark.exhaustive(but=7)
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_keys_are_moved_as_in_jax(number: int) -> None:
    call = CALLS[number]
    expected = jax.random.key_data(call(jax, jax.random.split(jax.random.key(0), 6)))
    keys = tn.random.split(tn.random.key(0), 6)
    for found in (call(tn, keys), tn.jit(lambda k: call(tn, k))(keys)):
        np.testing.assert_array_equal(tn.random.key_data(found), expected)


def test_keys_are_moved_within_a_vmap() -> None:
    keys = tn.random.split(tn.random.key(0), 6).reshape(2, 3)
    found = tn.vmap(lambda k: tn.stack([k, k[::-1]]))(keys)
    assert found.shape == (2, 2, 3)
    assert tn.all(found[:, 1] == keys[:, ::-1])


def test_keys_say_what_they_are() -> None:
    keys = tn.random.split(tn.random.key(0), 6).reshape(2, 3)
    theirs = jax.random.split(jax.random.key(0), 6).reshape(2, 3)
    for name in ("shape", "ndim", "size", "itemsize", "nbytes"):
        assert getattr(keys, name) == getattr(theirs, name), name
    assert str(keys.dtype) == str(theirs.dtype)
    assert keys.devices() == {keys.device}
    assert not keys.is_deleted()
    keys.copy_to_host_async()
    keys.delete()  # those on the host stay
    assert keys.block_until_ready().to_device("host").copy().shape == (2, 3)
    assert tn.random.key_impl(keys) == "threefry2x32"
    assert tn.random.key(0, impl=tn.random.key_impl(keys)).shape == ()
    assert tn.all(tn.random.clone(keys) == keys)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda k: tn.sin(k), "sin: keys are no numbers; tn.random.key_data"),
        (lambda k: tn.sum(k), "sum: keys are no numbers"),
        (lambda k: tn.stack([k, tn.ones(6)]), "stack: keys go with keys only, got a Tensor"),
        (lambda k: tn.where(ODD, k, 0), "where: keys go with keys only, got an int"),
        (lambda k: k.at[0].set(0), r"at\[...\].set takes keys, got an int"),
    ],
)
def test_keys_are_no_numbers(call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(DTypeError, match=text):
        call(tn.random.split(tn.random.key(0), 6))


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize(
    ("shape", "loc", "scale"), [((3,), 0.5, 2.0), ((), np.ones(2), 2.0), ((2,), np.ones(2), 1.5)]
)
def test_maxwell_numbers_of_both_signs_are_those_of_jax(shape: Any, loc: Any, scale: Any) -> None:
    with jax.enable_x64(True):
        expected = jax.random.double_sided_maxwell(jax.random.key(3), loc, scale, shape)
    found = tn.random.double_sided_maxwell(tn.random.key(3), loc, scale, shape)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_keys_are_cut_and_compared() -> None:
    keys = tn.random.split(tn.random.key(0), 6)
    lax = tn.lax
    assert [part.shape for part in tn.split(keys, 3)] == [(2,)] * 3
    assert (tn.unstack(keys)[4] == keys[4]).item()
    assert (keys != keys[2]).tolist() == [True, True, False, True, True, True]
    assert (tn.full((2,), keys[1]) == keys[1]).tolist() == [True, True]
    cut = tn.jit(lambda k, i: lax.dynamic_slice_in_dim(k, i, 2))(keys, 3)
    assert (cut == keys[3:5]).tolist() == [True, True]
    changed = lax.dynamic_update_slice_in_dim(keys, cut, 0, 0)
    assert (changed == keys).tolist() == [False, False, True, True, True, True]
    with pytest.raises(DTypeError, match="dynamic_update_slice: keys go with keys only"):
        lax.dynamic_update_slice_in_dim(keys, np.ones(1), 0, 0)
