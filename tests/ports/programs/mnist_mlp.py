"""A classifier of images: layers in the style of stax, cross entropy, momentum."""

import jax
import jax.numpy as jnp
from jax import random
from jax.nn.initializers import glorot_normal, normal


def dense(out_dim):
    def init(key, in_shape):
        first, second = random.split(key)
        weights = glorot_normal()(first, (in_shape[-1], out_dim))
        return (*in_shape[:-1], out_dim), (weights, normal()(second, (out_dim,)))

    def apply(params, inputs, **kwargs):
        weights, bias = params
        return jnp.dot(inputs, weights) + bias

    return init, apply


def elementwise(function, **options):
    return (lambda key, shape: (shape, ())), (lambda params, x, **kwargs: function(x, **options))


def serial(*layers):
    inits, applies = zip(*layers, strict=True)

    def init(key, shape):
        params = []
        for each in inits:
            key, layer_key = random.split(key)
            shape, param = each(layer_key, shape)
            params.append(param)
        return shape, params

    def apply(params, inputs, **kwargs):
        for each, param in zip(applies, params, strict=True):
            inputs = each(param, inputs, **kwargs)
        return inputs

    return init, apply


init, predict = serial(
    dense(256),
    elementwise(jax.nn.relu),
    dense(256),
    elementwise(jax.nn.relu),
    dense(10),
    elementwise(jax.nn.log_softmax, axis=-1),
)


def loss(params, batch):
    inputs, targets = batch
    return -jnp.mean(jnp.sum(predict(params, inputs) * targets, axis=1))


@jax.jit
def update(params, velocity, batch):
    grads = jax.grad(loss)(params, batch)
    velocity = jax.tree_util.tree_map(lambda v, g: 0.9 * v - 0.001 * g, velocity, grads)
    return jax.tree_util.tree_map(lambda p, v: p + v, params, velocity), velocity


def program():
    key = random.PRNGKey(0)
    _, params = init(key, (-1, 784))
    images = random.uniform(random.PRNGKey(1), (128, 784))
    labels = jax.nn.one_hot(random.randint(random.PRNGKey(2), (128,), 0, 10), 10)
    velocity = jax.tree_util.tree_map(jnp.zeros_like, params)
    return update, (params, velocity, (images, labels))
