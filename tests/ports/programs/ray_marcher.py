"""Spheres over a plane: distances, normals by grad, shadows, all pixels by vmap."""

import jax
import jax.numpy as jnp
from jax import lax

SPHERES = jnp.array([[0.0, 0.5, 0.0, 0.8], [1.1, 0.2, 0.6, 0.5], [-1.2, 0.3, 0.4, 0.6]])
LIGHT = jnp.array([0.57735, 0.57735, -0.57735])


def distance(point):
    spheres = jnp.linalg.norm(point - SPHERES[:, :3], axis=-1) - SPHERES[:, 3]
    return jnp.minimum(jnp.min(spheres), point[1] + 0.5)


def march(origin, direction, steps=40):
    def body(_, travelled):
        return travelled + distance(origin + travelled * direction)

    return lax.fori_loop(0, steps, body, 0.0)


def shade(origin, direction):
    travelled = march(origin, direction)
    point = origin + travelled * direction
    normal = jax.grad(distance)(point)
    lit = march(point + 0.01 * normal, LIGHT, 20) > 5.0
    diffuse = jnp.maximum(0.0, normal @ LIGHT)
    sky = 0.5 + 0.5 * direction[1]
    return jnp.where(travelled > 20.0, sky, jnp.where(lit, 0.1 + 0.9 * diffuse, 0.1))


@jax.jit
def render(origin):
    x, y = jnp.meshgrid(jnp.linspace(-1.0, 1.0, 96), jnp.linspace(0.75, -0.75, 72))
    directions = jnp.stack([x, y, jnp.full_like(x, 1.5)], axis=-1)
    directions = directions / jnp.linalg.norm(directions, axis=-1, keepdims=True)
    return jax.vmap(jax.vmap(shade, (None, 0)), (None, 0))(origin, directions)


def program():
    return render, (jnp.array([0.0, 0.6, -4.0]),)
