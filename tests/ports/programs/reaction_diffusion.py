"""Spots of Gray and Scott: a convolution as Laplacian, steps by scan, a class with jit."""

from functools import partial

import jax
import jax.numpy as jnp
from jax.scipy.signal import convolve2d


class GrayScott:
    def __init__(self, feed=0.055, kill=0.062):
        self.feed, self.kill = feed, kill

    @partial(jax.jit, static_argnums=0)
    def step(self, u, v):
        stencil = jnp.array([[0.05, 0.2, 0.05], [0.2, -1.0, 0.2], [0.05, 0.2, 0.05]])

        def laplacian(a):
            return convolve2d(jnp.pad(a, 1, mode="wrap"), stencil, mode="valid")

        reaction = u * v**2
        du = 1.0 * laplacian(u) - reaction + self.feed * (1 - u)
        dv = 0.5 * laplacian(v) + reaction - (self.feed + self.kill) * v
        return u + du, v + dv

    @partial(jax.jit, static_argnames=("self", "steps"))
    def run(self, u, v, *, steps):
        def body(state, _):
            state = self.step(*state)
            return state, state[1].mean()

        return jax.lax.scan(body, (u, v), xs=None, length=steps)


def program():
    u = jnp.ones((128, 128)).at[54:74, 54:74].set(0.5)
    v = jnp.zeros((128, 128)).at[54:74, 54:74].set(0.25)
    model = GrayScott()
    return (lambda u, v: model.run(u, v, steps=10)), (u, v)
