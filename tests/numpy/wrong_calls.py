"""Wrong calls of every kind, made of few forms: what was called, and the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tenferro as tn
from tenferro.core import (
    FragmentBuilder,
    compile_graph,
    differentiate,
    evaluate,
    materialize_merge,
    resolve,
    to_dot,
    transpose,
)
from tenferro.ops import EXP, MUL
from tenferro.shape import TensorInput, TensorMeta

M = tn.array([[1.0, 2.0], [3.0, 4.0]])
V = tn.array([1.0, 2.0, 3.0])
Z = tn.array([1j, 2.0])
OBJECT: Any = object()
TEXT: Any = "a"
THING: Any = {"a": 1}
Wrong = Callable[[], Any]

UNARY = [
    "abs", "acos", "asin", "atan", "cbrt", "ceil", "conj", "cos", "cosh", "erf", "exp", "expm1",
    "floor", "imag", "isfinite", "log", "log1p", "negative", "real", "reciprocal", "relu",
    "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh",
    "trunc",
]  # fmt: skip
BINARY = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "pow", "maximum",
    "minimum", "atan2", "hypot", "equal", "less", "logaddexp", "matmul", "dot", "outer", "kron",
]  # fmt: skip
ALONG = [
    "sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "cumsum", "cumprod",
    "argmax", "argmin", "sort", "argsort", "flip",
]  # fmt: skip
ORDERED = [
    "maximum", "minimum", "less", "greater", "less_equal", "greater_equal", "floor_divide",
    "remainder",
]  # fmt: skip
LISTS = ["concat", "stack", "hstack", "vstack", "dstack", "column_stack"]
TRANSFORMS = [
    "grad", "value_and_grad", "jvp", "vjp", "jacfwd", "jacrev", "hessian", "linearize", "vmap",
    "jit", "make_program",
]  # fmt: skip
LAX = [
    "exp", "log", "sin", "add", "sub", "mul", "div", "max", "min", "eq", "lt", "clamp", "pad",
    "cumsum", "sort", "transpose", "rev",
]  # fmt: skip
CREATORS: dict[str, Callable[[Any], Any]] = {
    "zeros": tn.zeros, "ones": tn.ones, "empty": tn.empty, "eye": tn.eye, "tri": tn.tri,
    "identity": tn.identity, "arange": tn.arange,
    "full": lambda size: tn.full(size, 1.0), "linspace": lambda size: tn.linspace(0, 1, size),
}  # fmt: skip


def calls() -> Iterator[tuple[str, Wrong]]:
    """The name of each wrong call, and the call."""
    for name in UNARY:
        f = getattr(tn, name)
        yield f"{name}(object)", lambda f=f: f(OBJECT)
        yield f"{name}(text)", lambda f=f: f(TEXT)
    for name in BINARY:
        f = getattr(tn, name)
        yield f"{name}(object)", lambda f=f: f(V, OBJECT)
        if name not in ("outer", "kron"):
            yield f"{name}(shapes)", lambda f=f: f(tn.ones((2, 3)), tn.ones((4, 5)))
    for name in ALONG:
        f = getattr(tn, name)
        yield f"{name}(axis=5)", lambda f=f: f(M, axis=5)
        yield f"{name}(axis=1.5)", lambda f=f: f(M, axis=1.5)
        yield f"{name}(axis=text)", lambda f=f: f(M, axis="a")
    for name in ORDERED:
        f = getattr(tn, name)
        yield f"{name}(complex)", lambda f=f: f(Z, Z)
    yield from _functions()
    yield from _values()
    yield from _others()
    yield from _fragments()


def _functions() -> Iterator[tuple[str, Wrong]]:
    for name in LISTS:
        f = getattr(tn, name)
        yield f"{name}(number)", lambda f=f: f(5)
        yield f"{name}(nothing)", lambda f=f: f([])
    for name in TRANSFORMS:
        f = getattr(tn, name)
        more = {"jvp": (((1.0,), (1.0,))), "vjp": (1.0,), "linearize": (1.0,)}.get(name, ())
        yield f"{name}(number)", lambda f=f, more=more: f(3, *more)
        yield f"{name}(array)", lambda f=f, more=more: f(V, *more)
    for name in LAX:
        f = getattr(tn.lax, name)
        operands = {"clamp": (V, OBJECT, V), "pad": (OBJECT, 0.0, [(0, 0, 0)])}
        operands |= dict.fromkeys(
            ("add", "sub", "mul", "div", "max", "min", "eq", "lt"), (V, OBJECT)
        )
        operands |= dict.fromkeys(("transpose", "rev"), (OBJECT, (0,)))
        given = operands.get(name, (OBJECT,))
        yield f"lax.{name}(object)", lambda f=f, given=given: f(*given)


def _values() -> Iterator[tuple[str, Wrong]]:
    for name, make in CREATORS.items():
        yield f"{name}(too large)", lambda make=make: make(10**13)
        less = 1j if name == "arange" else -1
        yield f"{name}(negative)", lambda make=make, less=less: make(less)
        yield f"{name}(text)", lambda make=make: make("a")
        yield f"{name}(object)", lambda make=make: make(OBJECT)
    for name, values in {"int": int, "float": float, "bool": bool, "complex": complex}.items():
        yield f"{name}(several)", lambda f=values: f(M)
        yield (
            f"{name}(traced)",
            lambda f=values: tn.jit(lambda x: f(x) and x, executor="numpy")(1.0),
        )
    for index in (5, -9, 1.5, "a", (0, 0, 0), np.array([7]), [[9]], ..., None)[:7]:
        yield f"x[{index!r}]", lambda index=index: V[index]
    for dtype in ("float31", "object", "S3", 3, [], "datetime64"):
        yield f"dtype {dtype!r}", lambda dtype=dtype: tn.zeros(2, dtype=dtype)


def _others() -> Iterator[tuple[str, Wrong]]:
    program = tn.make_program(lambda x: x * 2, tn.TensorSpec((2, 2)))
    plan = tn.einsum_plan("ij,jk->ik", M, M)
    f = tn.jit(lambda n, x: x, static_argnums=0, executor="numpy")
    yield "permute_dims", lambda: tn.permute_dims(M, 1)  # type: ignore[arg-type]
    yield "input(3)", lambda: tn.TracedTensor.input(3, "float64")  # type: ignore[arg-type]
    yield "concatenate(M, N)", lambda: tn.concatenate(M, M)  # type: ignore[arg-type]
    yield "einsum(list)", lambda: tn.einsum("ij,jk->ik", [M, M])
    yield "einsum(order)", lambda: tn.einsum(M, "ij->")
    yield "einsum(limit)", lambda: tn.einsum("ij,jk->ik", M, M, memory_limit="lots")
    yield "einsum(rank)", lambda: tn.einsum("ijk->", M)
    yield "einsum(sizes)", lambda: tn.einsum("ij,jk->ik", M, V[:, None])
    yield "einsum(output)", lambda: tn.einsum("ij->k", M)
    yield "einsum(text)", lambda: tn.einsum("i>j", M)
    yield "reshape(text)", lambda: M.reshape("ab")
    yield "reshape(sizes)", lambda: M.reshape((3, 3))
    yield "reshape(traced)", lambda: tn.jit(lambda x, n: x.reshape((n,)), executor="numpy")(M, 4)
    yield "static list", lambda: f([1], M)
    yield "program(2)", lambda: program(M, M)
    yield "program(shape)", lambda: program(V)
    yield "program(text)", lambda: program("a")
    yield "GraphExecutor(class)", lambda: tn.GraphExecutor(tn.NumpyBackend)  # type: ignore[arg-type]
    yield "GraphExecutor(text)", lambda: tn.GraphExecutor("numpy")  # type: ignore[arg-type]
    yield "plan.save", lambda: plan.save("/nonexistent/x")
    yield "plan.load", lambda: type(plan).load("/nonexistent/x")
    yield "save(nowhere)", lambda: tn.save(program, "/nonexistent/x")
    yield "save(nothing)", lambda: tn.save(program, "")
    yield "load(nowhere)", lambda: tn.load("/nonexistent/x")
    yield "loads(text)", lambda: tn.loads(b"nothing")
    yield "capacity", lambda: tn.EagerRuntime(capacity=-1)
    yield "ad_context", lambda: tn.EagerRuntime(ad_context=3)  # type: ignore[arg-type]
    yield "executor", lambda: tn.jit(tn.sin, executor="abacus")(1.0)
    yield "executor 3", lambda: tn.jit(tn.sin, executor=3)  # type: ignore[call-overload]
    yield "argnums", lambda: tn.grad(tn.sin, argnums=4)(1.0)
    yield "a vector", lambda: tn.grad(lambda x: x)(V)
    yield "jacrev(large)", lambda: tn.jacrev(lambda a: a * a)(tn.ones(2**21))
    yield "scan", lambda: tn.scan(3, 0, None)  # type: ignore[arg-type]
    yield "cond", lambda: tn.cond(np.ones(2), tn.sin, tn.cos, 1.0)
    yield "switch", lambda: tn.switch(0, [], 1.0)
    yield "while_loop", lambda: tn.while_loop(3, 3, 1.0)  # type: ignore[arg-type]
    yield "tree.map", lambda: tn.tree.map(3, [1])  # type: ignore[arg-type]


def _fragments() -> Iterator[tuple[str, Wrong]]:
    builder: Any = FragmentBuilder()
    x = builder.input(TensorInput("x", TensorMeta.of("float64", ())))
    made = builder.add(EXP, [x])
    (y,) = made
    fragment: Any = builder.build(outputs=[y])
    ctx: Any = tn.AdContext().shapes
    view: Any = resolve([fragment])
    graph: Any = materialize_merge(view, [y])
    linear: Any = differentiate(view, outputs=[y], wrt=[x], ctx=ctx)
    yield "to_dot(fragment)", lambda: to_dot(fragment)
    yield "build([tuple])", lambda: builder.build(outputs=[made])
    yield "build(value)", lambda: builder.build(outputs=y)
    yield "add(value)", lambda: builder.add(EXP, x)
    yield "add(arity)", lambda: builder.add(MUL, [x])
    yield "add([tuple])", lambda: builder.add(MUL, [made, x])
    yield "differentiate(fragment)", lambda: differentiate(fragment, [y], [x], ctx=ctx)
    yield "outputs=y", lambda: differentiate(view, outputs=y, wrt=[x], ctx=ctx)
    yield "wrt=x", lambda: differentiate(view, outputs=[y], wrt=x, ctx=ctx)
    yield "resolve(fragment)", lambda: resolve(fragment)
    yield "transpose(fragment)", lambda: transpose(linear.fragment, ctx=ctx)
    yield "evaluate(graph)", lambda: evaluate(graph, [1.0])
    yield "evaluate(program, dict)", lambda: evaluate(compile_graph(graph), {"x": 1.0})
