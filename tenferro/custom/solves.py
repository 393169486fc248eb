"""custom_linear_solve: the solution of a linear system, by a solver that is not differentiated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tenferro.autodiff import pull_back, push_forward
from tenferro.chainrules import JvpSite, KeyEmitter, RuleContext, Slots, TransposeSite, V
from tenferro.computegraph import resolve_keys
from tenferro.control import (
    Custom,
    Rule,
    Ruled,
    emitted,
    graph_of,
    inner_emitter,
    linear_in,
    program_of,
)
from tenferro.custom.held import Held, traced_like, transposed, vector_of
from tenferro.errors import ADRuleError
from tenferro.exec_ir import ExecProgram, Sizes, encode, restricted
from tenferro.loops import operands_of, require_function, run, tracing_bodies
from tenferro.ops import NEG, SUB, full, zeros_like
from tenferro.shape import fresh_input, type_of
from tenferro.traced import unflatten
from tenferro.typing import PyTree

LinearMap = Callable[[PyTree], PyTree]
Solver = Callable[[LinearMap, PyTree], PyTree]


@dataclass(frozen=True)
class SolveRule(Rule):
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

    def linearize(self, op: Ruled, at: JvpSite[V]) -> Slots[V]:
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

    def transpose_rule(self, op: Ruled, at: TransposeSite[V]) -> Slots[V]:
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
        found = at.emitter.emit_all(other.op, *consts, *cts)
        wanted = at.active[op.consts :]
        return (
            *[None] * op.consts,
            *(ct if on else None for ct, on in zip(found, wanted, strict=True)),
        )


def custom_linear_solve(
    matvec: LinearMap,
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
    with tracing_bodies(name) as bodies:
        product, _ = traced_like(bodies, "matvec", matvec, like)
        held = Held("matvec", like, product.inputs, product.outputs)
        solution, tree = traced_like(bodies, "solve", solve, like, has_aux, held)
        traced = [product, solution]
        if transpose_solve is not None and not symmetric:
            vecmat = transposed(name, product, like)
            traced += traced_like(
                bodies, "transpose_solve", transpose_solve, like, has_aux, vecmat
            )[:1]
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
    found = push_forward(resolve_keys(), outputs, inputs[:consts], seeds, ctx=ctx)
    known = dict(zip(inputs, [*at.primal[:consts], *point], strict=True))
    known.update(
        (seed, tangent)
        for seed, tangent in zip(seeds, moving, strict=True)
        if seed is not None and tangent is not None
    )
    return emitted(at.emitter, found, known, since=0)


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
