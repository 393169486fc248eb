"""Derivatives of a network that is planned late: again one op, of any order.

The op holds the network and the transforms taken of it. Where sizes are known, it is lowered by
lowering the network and taking the transforms of that graph, so that gradients of all operands
share their environments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenferro.autodiff import differentiate, pull_back, push_forward
from tenferro.chainrules import Emitter, KeyEmitter, V
from tenferro.computegraph import GlobalValKey, ResolvedView, resolve_keys
from tenferro.errors import InvalidConfigError
from tenferro.exec_ir import Array
from tenferro.families.einsum.op import EinsumOp, emitted, pairs_at
from tenferro.families.reference import evaluate_standard
from tenferro.family import ExtensionOp, OutputMeta, family_id
from tenferro.ops import StdTensorOp, replay, shape_context, zeros_like
from tenferro.planning import PLANNER, Planner
from tenferro.shape import Dim, DType, TensorMeta, fresh_input, make_meta

Transform = tuple[str, tuple[bool, ...]]
"""`("jvp", active inputs)`, `("vjp", active inputs)` or `("select", live outputs)`."""


@family_id(namespace="tenferro-einsum", name="derivative", version=1)
@dataclass(frozen=True)
class NetworkDerivative(ExtensionOp):
    """Transforms of a network.

    `"jvp"` adds the tangents of the active inputs to the inputs and makes the outputs tangents.
    `"vjp"` adds the cotangents of the outputs and makes the outputs the cotangents of the active
    inputs, in which the op before it is linear. The number of operands follows from the payload.

    Attributes:
        inputs, output, plan: the network, as in `EinsumOp`.
        transforms: what is taken of it, in order.
    """

    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    plan: tuple[object, ...]
    transforms: tuple[Transform, ...]

    @property
    def network(self) -> EinsumOp:
        """What is differentiated."""
        return EinsumOp(self.inputs, self.output, self.plan)

    @property
    def input_count(self) -> int:
        """Operands, then what each transform adds."""
        return self._counts()[0]

    @property
    def output_count(self) -> int:
        """Tangents or cotangents, those that are live."""
        return self._counts()[1]

    def _counts(self) -> tuple[int, int]:
        inputs, outputs = len(self.inputs), 1
        for kind, mask in self.transforms:
            match kind:
                case "jvp":
                    inputs += sum(mask)
                case "vjp":
                    inputs, outputs = inputs + outputs, sum(mask)
                case "select":
                    outputs = sum(mask)
                case _:
                    raise InvalidConfigError(
                        self.family_id, f"family_id={self.family_id}: no transform {kind!r}"
                    )
        return inputs, outputs

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """Tangents have the type of the result, cotangents that of their input."""
        metas = [make_meta(d, tuple(s)) for d, s in zip(input_dtypes, input_shapes, strict=True)]
        return [(meta.dtype, meta.exact_shape()) for meta in self._output_metas(metas)]

    def _output_metas(self, metas: Sequence[TensorMeta]) -> list[TensorMeta]:
        count = len(self.inputs)
        dtypes, shapes = zip(*[(m.dtype, m.exact_shape()) for m in metas[:count]], strict=True)
        ((dtype, shape),) = self.network.infer_output_meta(dtypes, shapes)
        outputs = [make_meta(dtype, tuple(shape))]
        for kind, mask in self.transforms:
            if kind == "vjp":
                added = len(outputs)
                outputs = [m for m, on in zip(metas[:count], mask, strict=True) if on]
                count += added
            elif kind == "jvp":
                count += sum(mask)
            else:
                outputs = [m for m, on in zip(outputs, mask, strict=True) if on]
        return outputs

    def planned(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[int, ...]]
    ) -> NetworkDerivative:
        """The same of the network with the pairs of its plan for these sizes."""
        shapes = input_shapes[: len(self.inputs)]
        plan = pairs_at(self.network, input_dtypes[0], shapes)
        return self if plan is self.plan else replace(self, plan=plan)

    def lower_to_standard_ops(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """The transforms of the network's own contractions."""
        return self.emitted(builder, inputs, PLANNER)

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """The same on NumPy arrays."""
        return evaluate_standard(self, inputs)

    def prune_outputs(self, live: tuple[bool, ...]) -> NetworkDerivative:
        """Only the outputs that are read."""
        return replace(self, transforms=(*self.transforms, ("select", live)))

    def emitted(self, at: Emitter[V], inputs: Sequence[V], planner: Planner) -> Sequence[V] | None:
        """The transformed contractions in any emitter, or None where the plan needs sizes."""
        metas = [at.ctx.meta(value) for value in inputs]
        keys = [fresh_input(meta, f"x{i}") for i, meta in enumerate(metas)]
        outputs = _transformed(self, keys, planner)
        if outputs is None:
            return None

        results = replay(at, outputs, dict(zip(keys, inputs, strict=True)))
        return [value for value in results if value is not None]


def _transformed(
    op: NetworkDerivative, keys: Sequence[GlobalValKey], planner: Planner
) -> list[GlobalValKey] | None:
    """The outputs of the op as graph values of `keys`."""
    ctx = shape_context()
    emitter = KeyEmitter(ctx)
    count = len(op.inputs)
    shapes = [ctx.meta(key).exact_shape() for key in keys[:count]]
    found = emitted(op.network, emitter, keys[:count], shapes, planner)
    if found is None:
        return None
    outputs = list(found)
    view: ResolvedView[StdTensorOp] = resolve_keys()
    for kind, mask in op.transforms:
        active = [key for key, on in zip(keys[:count], mask, strict=False) if on]
        if kind == "jvp":
            tangents = keys[count : count + len(active)]
            count += len(active)
            results = push_forward(view, outputs, active, tangents, ctx=ctx)
            outputs = _filled(emitter, results, outputs)
        elif kind == "vjp":
            cts = keys[count : count + len(outputs)]
            count += len(outputs)
            linear = differentiate(view, outputs, active, ctx=ctx)
            outputs = _filled(emitter, pull_back(linear, cts, ctx=ctx), active)
        else:
            outputs = [key for key, on in zip(outputs, mask, strict=True) if on]
    return outputs


def _filled(
    emitter: KeyEmitter, keys: Sequence[GlobalValKey | None], like: Sequence[GlobalValKey]
) -> list[GlobalValKey]:
    return [
        zeros_like(emitter, other) if key is None else key
        for key, other in zip(keys, like, strict=True)
    ]
