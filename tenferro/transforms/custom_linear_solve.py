"""custom_linear_solve, custom_root: solvers that are not differentiated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tenferro.config import flag
from tenferro.core import (
    GlobalValKey,
    JvpSite,
    KeyEmitter,
    ResolvedView,
    RuleContext,
    Slots,
    TransposeSite,
    V,
    differentiate,
    pull_back,
    push_forward,
    resolve_keys,
    user_site,
)
from tenferro.errors import ADError, ADRuleError, class_of
from tenferro.ir import (
    ExecProgram,
    PyTree,
    Sizes,
    TensorMeta,
    encode,
    fresh_input,
    restricted,
    type_of,
)
from tenferro.ops import NEG, SUB, full, shape_context, zeros_like
from tenferro.ops.control_flow import (
    Custom,
    CustomRule,
    emitted,
    graph_of,
    inner_emitter,
    linear_in,
    program_of,
)
from tenferro.ops.functions import convert, emit_function
from tenferro.runtime import builtin_rule, innermost, meta_of_value, open_traces
from tenferro.transforms.higher_order import (
    Bodies,
    Call,
    Leaves,
    leaves_of,
    operands_of,
    promoted,
    require_function,
    run,
    weak_leaf,
)
from tenferro.transforms.trace import Trace
from tenferro.transforms.traced_tensor import TracedTensor, TraceEmitter, as_key
from tenferro.transforms.trees import TreeDef, flatten, shown, unflatten

__all__ = ["custom_linear_solve", "custom_root"]


# Traced functions that other functions call: a residual, a linear map and its transpose.

Keys = Sequence[GlobalValKey]


class GraphFunction:
    """A function of a tree that returns a tree of the same structure and types, written as a graph.

    Attributes:
        inputs: the values of the graph that stand for the argument.
        outputs: the values of the result; None is a zero.
        called: whether the function has been called.
    """

    def __init__(
        self,
        name: str,
        like: Leaves,
        inputs: Keys,
        outputs: Sequence[GlobalValKey | None],
        known: dict[GlobalValKey, GlobalValKey] | None = None,
        since: int | None = None,
    ) -> None:
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
        self.called = False
        self._like = like
        self._known = known or {}
        self._since = inputs[0].serial if since is None else since

    def __call__(self, tree: Any) -> Any:
        self.called = True
        leaves, treedef = flatten(tree)
        if treedef != self._like.tree:
            raise ADError(f"{self.name}: takes {self._like}, got another structure: {treedef}")
        pairs = zip(leaves, self._like.metas, strict=True)
        operands = [self._as_key(leaf, meta) for leaf, meta in pairs]
        at = TraceEmitter(user_site(2))
        known = self._known | dict(zip(self.inputs, operands, strict=True))
        outputs = emitted(at, self.outputs, known, self._since)
        scope = innermost(open_traces())
        results = [
            TracedTensor(full(at, 0, meta) if key is None else key, None, scope)
            for key, meta in zip(outputs, self._like.metas, strict=True)
        ]
        return unflatten(treedef, results)

    def _as_key(self, leaf: Any, goal: TensorMeta) -> GlobalValKey:
        meta = meta_of_value(leaf)
        meta = meta and TensorMeta(meta.dtype, meta.extents)
        if meta is not None and promoted(meta, weak_leaf(leaf), goal):
            return emit_function(TraceEmitter(), convert, as_key(leaf), dtype=goal.dtype)
        if meta != goal:
            got = f"{class_of(leaf)}" if meta is None else str(meta)
            raise ADError(f"{self.name}: takes {goal}, got {got}")
        return as_key(leaf)


def vector_of(caller: str, name: str, tree: Any) -> Leaves:
    """The leaves of an argument, of which there must be one."""
    like = leaves_of(tree, f"{caller}: {name}")
    if not like.values:
        raise ADError(f"{caller}: {name} has no arrays")
    return like


def traced_like(
    bodies: Bodies, name: str, function: Any, like: Leaves, has_aux: bool = False, *first: Any
) -> tuple[Trace, TreeDef]:
    """A function traced on a tree; it must return a tree of the same structure and types.

    `first` are arguments that come first. With `has_aux` it returns a pair of that and of another
    tree.

    Returns:
        The body, and the structure of all that it returns.
    """

    def arguments(values: list[TracedTensor]) -> Call:
        return (*first, unflatten(like.tree, values)), {}

    weak = [None] * len(like.metas)
    body = bodies.trace(name, function, like.metas, weak, arguments, like.values)
    tree, metas = body.tree, body.metas
    if has_aux:
        parts = tree.children()
        if tree.type is not tuple or len(parts) != 2:
            raise ADError(
                f"{bodies.caller}: {name} must return a pair (value, aux) with has_aux=True, "
                f"got {body}"
            )
        tree, metas = parts[0], metas[: parts[0].num_leaves]
    for place, (meta, goal) in enumerate(zip(metas, like.metas, strict=False)):
        if promoted(meta, body.weak[place], goal):
            body.convert(place, goal.dtype)
    if tree != like.tree or body.metas[: len(metas)] != like.metas:
        raise ADError(
            f"{bodies.caller}: {name} returns {shown(tree, body.metas[: len(metas)])} for {like}; "
            "it must return the same structure and types"
        )
    return body, body.tree


def transposed(caller: str, body: Trace, like: Leaves) -> GraphFunction:
    """The transpose of a linear function that has been traced."""
    _, backward = linearized("matvec", body, like, body.inputs)
    view: ResolvedView[Any] = resolve_keys()
    present = [key for key in backward.outputs if key is not None]
    ops, _ = view.topo_order(present, since=body.inputs[0].serial)
    read = {key for op in ops for key in op.inputs}.union(present)
    if not read.isdisjoint(body.inputs):
        raise ADRuleError(
            f"{caller}: matvec is not linear: its derivative depends on where it is taken"
        )
    return backward


def linearized(
    name: str, body: Trace, like: Leaves, point: Keys
) -> tuple[GraphFunction, GraphFunction]:
    """The derivative of a traced function at a point, and its transpose."""
    ctx = shape_context(builtin_rule)
    linear = differentiate(resolve_keys(), body.outputs, body.inputs, ctx=ctx)
    seeds = [fresh_input(type_of(key), f"ct{place}") for place, key in enumerate(body.outputs)]
    pulled = pull_back(linear, seeds, ctx=ctx)
    known = dict(zip(body.inputs, point, strict=True))
    since = body.inputs[0].serial
    forward = GraphFunction(name, like, linear.input_keys, linear.output_keys, known, since)
    return forward, GraphFunction(f"the transpose of {name}", like, seeds, pulled, known, since)


# custom_linear_solve: the solution of a linear system, by a solver that is not differentiated.

MatVec = Callable[[PyTree], PyTree]
Solver = Callable[[MatVec, PyTree], PyTree]


@dataclass(frozen=True)
class SolveRule(CustomRule):
    """The rule of a solver of A x = b. The solver is not differentiated.

    All programs take what the functions close over, and then a vector, which may have several
    leaves. The results of solvers that come after those of a vector are auxiliary.

    Attributes:
        name: what users call.
        matvec: A x for x.
        solve: x for b.
        transposed: the solution of the transposed system; None if there is none.
        size: number of leaves of a vector.
        by_body: whether `solve` itself is transposed in place of `transposed`.
    """

    name: str
    matvec: ExecProgram
    solve: ExecProgram
    transposed: ExecProgram | None
    size: int
    by_body: bool = False

    @property
    def token(self) -> bytes:
        """The programs."""
        return encode((self.matvec, self.solve, self.transposed, self.size, self.by_body))

    def bind(self, sizes: Sizes) -> SolveRule:
        """The rule for sizes in place of symbols."""
        other = self.transposed and self.transposed.bind(sizes)
        matvec, solve = self.matvec.bind(sizes), self.solve.bind(sizes)
        return replace(self, matvec=matvec, solve=solve, transposed=other)

    def __str__(self) -> str:
        return self.name

    @property
    def op(self) -> Custom:
        """The solution of the system, without auxiliary results."""
        body, count = self.solve, self.size
        if len(body.output_slots) != count:
            body = restricted(body, range(len(body.input_slots)), range(count))
        return Custom(body, replace(self, solve=body), len(body.input_slots) - count)

    def linearize(self, op: Custom, at: JvpSite[V]) -> Slots[V]:
        """The solution of A dx = db - dA x."""
        moved = pushed(self.matvec, at, op.consts, at.out[: self.size])
        sides = [
            _difference(at, tangent, product)
            for tangent, product in zip(at.tangent[op.consts :], moved, strict=True)
        ]
        none = (None,) * len(at.out)
        if all(side is None for side in sides):
            return none
        tangents = solved(self.op, at, at.primal[: op.consts], sides, at.primal[op.consts :])
        return (*tangents, *none[self.size :])

    def transpose_rule(self, op: Custom, at: TransposeSite[V]) -> Slots[V]:
        """The solution of the transposed system."""
        if self.by_body:
            return super().transpose_rule(op, at)
        if self.transposed is None:
            raise ADRuleError(
                f"{self.name}: reverse mode needs a solver of the transposed system; pass "
                "transpose_solve=, or symmetric=True"
            )
        consts = at.inputs[: op.consts]
        other = replace(
            self,
            matvec=_transposed(self.matvec, self.size, inner_emitter(at.emitter).ctx),
            solve=self.transposed,
            transposed=self.solve,
        )
        cts = [
            full(at.emitter, 0, at.ctx.meta(like)) if ct is None else ct
            for ct, like in zip(at.ct[: self.size], at.inputs[op.consts :], strict=True)
        ]
        solution = at.emitter.emit_all(other.op, *consts, *cts)
        wanted = at.active[op.consts :]
        return (
            *[None] * op.consts,
            *(ct if on else None for ct, on in zip(solution, wanted, strict=True)),
        )


def custom_linear_solve(
    matvec: MatVec,
    b: PyTree,
    solve: Solver,
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> PyTree:
    """The solution x of `matvec(x) = b` by `solve(matvec, b)`; its derivative is another solution.

    The solver is not differentiated. The derivative by values that `matvec` closes over is that of
    the solution, -A⁻¹ dA x. Values that only the solvers close over have no derivative.

    Args:
        matvec: a linear function of a tree of arrays like `b`, which returns a tree like `b`.
        b: the right side.
        solve: takes a linear function and a right side, and returns the solution.
        transpose_solve: solves the transposed system; it takes the transpose of `matvec` and a
            right side. Reverse mode needs it. The transpose of a complex function is its adjoint.
        symmetric: whether `matvec` is its own transpose; then `solve` is used for it.
        has_aux: whether solvers return pairs (x, aux); then the result is a pair too. `aux` has no
            derivative.

    Raises:
        ADError: a function returns a tree of another structure or types.
        ADRuleError: `matvec` is not linear; or, in reverse mode, there is no `transpose_solve`.
        ControlFlowError: an argument is not a function.

    >>> import tenferro as tn
    >>> def divide(f, b):
    ...     return b / f(1.0)
    >>> def solution(a, b):
    ...     return tn.custom_linear_solve(lambda x: a * x, b, divide, symmetric=True)
    >>> solution(4.0, 2.0), tn.grad(solution)(4.0, 2.0)
    (Tensor(0.5), Tensor(-0.125))
    """
    name = "custom_linear_solve"
    require_function(name, "matvec", matvec)
    require_function(name, "solve", solve)
    if transpose_solve is not None:
        require_function(name, "transpose_solve", transpose_solve)
    like = vector_of(name, "b", b)
    symmetric = flag(f"{name}: symmetric", symmetric)
    bodies = Bodies(name)
    product, _ = traced_like(bodies, "matvec", matvec, like)
    callee = GraphFunction("matvec", like, product.inputs, product.outputs)
    solution, tree = traced_like(bodies, "solve", solve, like, has_aux, callee)
    traced = [product, solution]
    if transpose_solve is not None and not symmetric:
        vecmat = transposed(name, product, like)
        traced += traced_like(bodies, "transpose_solve", transpose_solve, like, has_aux, vecmat)[:1]
    closed = bodies.closed_over(*traced)
    programs = [program_of([*closed, *body.inputs], body.outputs) for body in traced]
    backwards = programs[1] if symmetric else programs[2] if len(programs) > 2 else None
    rule = SolveRule(name, programs[0], programs[1], backwards, len(like.values))
    op = Custom(programs[1], rule, len(closed))
    return unflatten(tree, run(op, [*operands_of(closed), *like.typed()], bodies))


def pushed(program: ExecProgram, at: JvpSite[V], consts: int, point: Sequence[V]) -> Slots[V]:
    """The tangents of the results of a program at a point, from those of the consts."""
    inputs, outputs = graph_of(program)
    moving = at.tangent[:consts]
    seeds = [
        None if tangent is None else fresh_input(type_of(key), "tangent")
        for key, tangent in zip(inputs, moving, strict=False)
    ]
    ctx = inner_emitter(at.emitter).ctx
    pushed_keys = push_forward(resolve_keys(), outputs, inputs[:consts], seeds, ctx=ctx)
    known = dict(zip(inputs, [*at.primal[:consts], *point], strict=True))
    known.update(
        (seed, tangent)
        for seed, tangent in zip(seeds, moving, strict=True)
        if seed is not None and tangent is not None
    )
    return emitted(at.emitter, pushed_keys, known, since=0)


def solved(
    op: Custom,
    at: JvpSite[V],
    consts: Sequence[V],
    sides: Sequence[V | None],
    like: Sequence[V],
) -> tuple[V, ...]:
    """The solution of a system for right sides, of which None is a zero."""
    filled = [
        zeros_like(at.emitter, other) if side is None else side
        for side, other in zip(sides, like, strict=True)
    ]
    return at.emitter.emit_all(op, *consts, *filled)


def _difference(at: JvpSite[V], a: V | None, b: V | None) -> V | None:
    if b is None:
        return a
    return at.emit(NEG, b) if a is None else at.emit(SUB, a, b)


def _transposed(program: ExecProgram, size: int, ctx: RuleContext) -> ExecProgram:
    """The transpose of a program that is linear in its last inputs."""
    inputs, outputs = graph_of(program)
    start = len(inputs) - size
    linear = linear_in(inputs, outputs, range(start, len(inputs)), ctx)
    seeds = [fresh_input(type_of(key), "ct") for key in outputs]
    pulled = pull_back(linear, seeds, ctx=ctx)
    at = KeyEmitter(ctx)
    filled = [
        zeros_like(at, like) if key is None else key
        for key, like in zip(pulled, inputs[start:], strict=True)
    ]
    return program_of([*inputs[:start], *seeds], filled)


# custom_root: a root of a function, by a solver that is not differentiated.


@dataclass(frozen=True)
class RootRule(CustomRule):
    """The rule of a root of f: the tangent of the root solves f'(x) dx = -df.

    Attributes:
        residual: f of what it closes over and of x.
        tangent: the rule of the system, whose consts are what f closes over, and x.
    """

    residual: ExecProgram
    tangent: SolveRule

    @property
    def token(self) -> bytes:
        """The programs."""
        return encode(self.residual) + self.tangent.token

    def bind(self, sizes: Sizes) -> RootRule:
        """The rule for sizes in place of symbols."""
        return RootRule(self.residual.bind(sizes), self.tangent.bind(sizes))

    def __str__(self) -> str:
        return "custom_root"

    def linearize(self, op: Custom, at: JvpSite[V]) -> Slots[V]:
        """The solution of the linear system at the root."""
        size = self.tangent.size
        root, none = at.out[:size], (None,) * len(at.out)
        moved = pushed(self.residual, at, op.consts, root)
        if all(tangent is None for tangent in moved):
            return none
        system = self.tangent.op
        solution = solved(system, at, [*at.primal[: op.consts], *root], moved, root)
        return (*[at.emit(NEG, tangent) for tangent in solution], *none[size:])


def custom_root(
    f: MatVec,
    initial_guess: PyTree,
    solve: Solver,
    tangent_solve: Solver,
    has_aux: bool = False,
) -> PyTree:
    """A root of `f` by `solve(f, initial_guess)`, whose derivative is by the implicit function.

    The solver is not differentiated. The derivative by values that `f` closes over is that of the
    root, -f'(x)⁻¹ df. There is none by the initial guess, nor by values that only the solvers close
    over.

    Args:
        f: takes a tree of arrays and returns one of the same structure and types.
        initial_guess: where the solver starts.
        solve: takes `f` and the initial guess, and returns a root.
        tangent_solve: solves linear systems: `tangent_solve(g, y)` returns x with `g(x) = y`. It is
            given the derivative of `f` at the root, and in reverse mode its transpose. One that
            does not call `g` is transposed itself.
        has_aux: whether `solve` returns a pair (root, aux); then the result is a pair too. `aux`
            has no derivative.

    Raises:
        ADError: a function returns a tree of another structure or types.
        ControlFlowError: an argument is not a function.

    >>> import tenferro as tn
    >>> def newton(f, x):
    ...     return tn.fori_loop(0, 20, lambda _, x: x - f(x) / tn.grad(f)(x), x)
    >>> def sqrt(a):
    ...     return tn.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> sqrt(4.0), tn.grad(sqrt)(4.0)
    (Tensor(2.), Tensor(0.25))
    """
    name = "custom_root"
    for label, function in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        require_function(name, label, function)
    like = vector_of(name, "initial_guess", initial_guess)
    bodies = Bodies(name)
    residual, _ = traced_like(bodies, "f", f, like)
    callee = GraphFunction("f", like, residual.inputs, residual.outputs)
    root, tree = traced_like(bodies, "solve", solve, like, has_aux, callee)
    point = [fresh_input(meta, f"root{place}") for place, meta in enumerate(like.metas)]
    forward, backward = linearized("g", residual, like, point)
    product, _ = traced_like(bodies, "g", forward, like)
    forward.called = False
    one, _ = traced_like(bodies, "tangent_solve", tangent_solve, like, False, forward)
    ignores = not forward.called
    systems = [product, one]
    if not ignores:
        systems += traced_like(bodies, "tangent_solve", tangent_solve, like, False, backward)[:1]
    closed = [key for key in bodies.closed_over(residual, root, *systems) if key not in point]
    inputs_of = [[*closed, *body.inputs] for body in (residual, root)]
    programs = [
        program_of(inputs, body.outputs)
        for inputs, body in zip(inputs_of, (residual, root), strict=True)
    ]
    parts = [program_of([*closed, *point, *body.inputs], body.outputs) for body in systems]
    backwards = None if ignores else parts[2]
    tangent = SolveRule(name, parts[0], parts[1], backwards, len(like.values), ignores)
    op = Custom(programs[1], RootRule(programs[0], tangent), len(closed))
    return unflatten(tree, run(op, [*operands_of(closed), *like.typed()], bodies))
