"""EinsumPlan: order, costs and program, on one device or on several that share its slices."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any, cast

from tenferro.compiler import (
    COMPILED,
    CPU,
    DeviceCosts,
    MemoryNeed,
    Runs,
    Target,
    contraction_passes,
    in_words,
    optimize_for,
    predict_memory,
)
from tenferro.compiler.device import SharedLanes
from tenferro.core import Emitter, V
from tenferro.errors import FileError, PathError, counted
from tenferro.ir import (
    BOOL,
    INT64,
    AnyTensor,
    DType,
    ExecProgram,
    TensorMeta,
    as_dtype,
    fresh_input,
    is_complex,
    make_meta,
)
from tenferro.network.contraction import Labeled, contract_step, emit_network, entered, finished
from tenferro.network.contraction_tree import (
    ContractionTree,
    LinearPath,
    Pairs,
    Step,
    steps_of,
    tree_seconds,
)
from tenferro.network.display import draw
from tenferro.network.sliced_op import SlicedNetwork
from tenferro.network.slicing import SlicedTree, cut_loop, depends
from tenferro.network.subscripts import Labels, Sizes, Subscripts, is_lettered, labels_text
from tenferro.ops.control_flow import LaneSum, lane_bounds, lane_count
from tenferro.ops.extension import Extension
from tenferro.ops.functions import Expression, convert, outside, result_dtype
from tenferro.runtime import GraphProgram, RunEmitter, page_of
from tenferro.transforms import TracedTensor, program_of_graph, record

__all__ = ["EinsumPlan", "SharedPlan"]


# Emit a planned network, as one contraction or as a loop over slices; compile it to a program.


def emit_contraction(
    operands: Sequence[Any],
    subscripts: Subscripts,
    sizes: Sizes,
    pairs: Pairs,
    sliced: Labels = (),
) -> AnyTensor:
    """The result of a network of expressions in their common dtype."""
    at, dtype = operands[0].emitter, result_dtype(operands)
    wide = INT64 if dtype == BOOL else dtype
    numbers = [cast(Any, convert(value, wide)).value for value in operands]
    if sliced:
        result = emit_sliced(at, subscripts, sizes, pairs, numbers, sliced)
    else:
        result = emit_network(at, subscripts, sizes, pairs, numbers)
    whole: Any = Expression(at, result)
    return convert(whole, dtype)


def emit_sliced(
    at: Emitter[V],
    subscripts: Subscripts,
    sizes: Sizes,
    pairs: Pairs,
    operands: Sequence[V],
    sliced: Labels,
) -> V:
    """The result of a network as a loop; values equal in all iterations are computed before it."""
    values: dict[int, Labeled[V]] = dict(enumerate(entered(at, subscripts, sizes, operands)))
    labels = [values[number].labels for number in range(len(operands))]
    sliced = tuple(label for label in sliced if sizes[label] not in (0, 1))
    dependent = depends(labels, pairs, sliced)
    if not dependent[-1]:
        return emit_network(at, subscripts, sizes, pairs, operands)
    for number, step in enumerate(steps_of(subscripts, pairs), len(operands)):
        if not dependent[number]:
            values[number] = contract_step(at, values[step.left], values[step.right], step, sizes)
    numbers, inside = cut_loop(subscripts, pairs, dependent)
    leaves = [values[number] for number in numbers]
    known = {label for leaf in leaves for label in leaf.labels}
    output = tuple(label for label in dict.fromkeys(subscripts.output) if label in known)
    inner = Subscripts(tuple(leaf.labels for leaf in leaves), output)
    named = inner.canonical()
    names = dict(zip(_flat(inner), _flat(named), strict=True))
    op = SlicedNetwork(
        named.inputs,
        named.output,
        inside,
        tuple(names[label] for label in sliced if label in known),
    )
    result = at.emit(Extension(op), *[leaf.value for leaf in leaves])
    return finished(at, Labeled(result, output), subscripts, sizes).value


def network_program(
    subscripts: Subscripts,
    sizes: Sizes,
    pairs: Pairs,
    sliced: Labels,
    metas: Sequence[TensorMeta],
) -> GraphProgram:
    """The optimized program of a network of operands of these types."""
    keys = [fresh_input(meta, f"operand{position}") for position, meta in enumerate(metas)]

    def contract(*values: Any) -> AnyTensor:
        return emit_contraction(values, subscripts, sizes, pairs, sliced)

    result = record(contract, tuple([TracedTensor(key) for key in keys]), {})
    return program_of_graph([result.key], keys)


def _flat(subscripts: Subscripts) -> list[int]:
    return [label for term in (*subscripts.inputs, subscripts.output) for label in term]


# EinsumPlan: a contraction order, its costs and its program.

_FORMAT = "tenferro-einsum-plan"


@dataclass(frozen=True)
class EinsumPlan:
    """A contraction order for operands of given shapes and dtype, with its predicted costs.

    It prints as a table with one line for each step. It can be passed as `optimize=`.

    Attributes:
        shapes: shapes of the operands.
        dtype: common dtype of the operands.
        tree: the contractions.
        costs: the cost model that predicts run times, and by which the order was chosen.
        runs: how the device runs programs, by which memory is predicted.
        slices: labels that the contraction loops over in order to save memory.
    """

    shapes: tuple[tuple[int, ...], ...]
    dtype: DType
    tree: ContractionTree
    costs: DeviceCosts = CPU
    slices: Labels = ()
    runs: Runs = COMPILED

    @property
    def subscripts(self) -> Subscripts:
        """The network."""
        return self.tree.subscripts

    @property
    def path(self) -> LinearPath:
        """Pairs of positions in the shrinking list of operands."""
        return self.tree.path

    @cached_property
    def sliced(self) -> SlicedTree:
        """The tree as a loop over the slices."""
        return SlicedTree(self.tree, self.slices)

    @property
    def slice_count(self) -> int:
        """Number of iterations of the loop; 1 without slices."""
        return self.sliced.count

    @property
    def flops(self) -> int:
        """Real multiplications and additions of all slices; a complex one counts as four."""
        return self.sliced.flops * (4 if is_complex(self.dtype) else 1)

    @cached_property
    def program(self) -> GraphProgram:
        """The contraction as a program; its inputs are the operands."""
        metas = [make_meta(self.dtype, shape) for shape in self.shapes]
        return network_program(
            self.subscripts, self.tree.sizes, self.tree.pairs, self.slices, metas
        )

    def contract(self, *operands: Any) -> Any:
        """The array function of the plan.

        Concrete operands run the compiled program; traced ones record the contractions.
        """
        at = operands[0].emitter
        if isinstance(at, RunEmitter):
            numbers = [cast(Any, convert(operand, self.dtype)).value for operand in operands]
            with outside():
                return Expression(at, self.program.run_on(at.executor, numbers, {})[0])
        tree = self.tree
        return emit_contraction(operands, tree.subscripts, tree.sizes, tree.pairs, self.slices)

    @cached_property
    def memory(self) -> MemoryNeed:
        """Predicted bytes of a run on the device; nothing is compiled for it."""
        target = Target("plan", contraction_passes(self.costs))
        return predict_memory(optimize_for(self.program.exec_program, target), self.runs)

    def on(self, devices: int) -> SharedPlan:
        """The plan on several devices that share its slices; print it.

        Raises:
            PathError: it is not a number of devices.

        >>> import tenferro as tn
        >>> shapes = [(16, 64), (64, 64), (64, 16)]
        >>> specs = [tn.TensorSpec(shape) for shape in shapes]
        >>> plan = tn.einsum_plan("ij,jk,ki->", *specs, slices="j")
        >>> print(plan.on(4))  # doctest: +NORMALIZE_WHITESPACE
        64 slices in 16 lanes on 4 devices: balance 1.00, 4 lanes each, 50.0 kB a device,
        reduction 32 bytes
        """
        if not isinstance(devices, int) or isinstance(devices, bool) or devices < 1:
            raise PathError(f"einsum plan: on takes a number of devices, got {devices!r}")
        program = self.program.exec_program
        return shared_plan(program, self.costs, self.runs, self.slice_count, devices)

    @property
    def peak_bytes(self) -> int:
        """Predicted peak bytes of intermediates and the result, without the operands."""
        return self.memory.peak

    @property
    def seconds(self) -> float:
        """Predicted run time by the cost model; useful to compare plans."""
        factor = 4 if is_complex(self.dtype) else 1
        return factor * tree_seconds(self.costs, self.tree, self.dtype.itemsize)

    def __str__(self) -> str:
        rows = [("step", "contraction", "flops", "B x M x N x K", "bytes")]
        rows += [self._row(number, step) for number, step in enumerate(self.tree.steps)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        head = [
            f"einsum {_shortened(str(self.subscripts))}, {self.dtype}",
            f"{self.flops:.3g} flops, peak {_bytes(self.peak_bytes)}, largest intermediate "
            f"{counted(self.sliced.largest, 'element')}",
        ]
        if self.slices:
            head.append(
                f"{counted(self.slice_count, 'slice')} over "
                f"{labels_text(self.slices, is_lettered(self.tree.sizes))}; "
                f"{self.flops / self._unsliced_flops:.3g} times the flops without"
            )
        return "\n".join([*head, *lines])

    def _repr_html_(self) -> str:
        return page_of(str(self))

    @property
    def _unsliced_flops(self) -> int:
        return max(self.tree.flops * (4 if is_complex(self.dtype) else 1), 1)

    def _row(self, number: int, step: Step) -> tuple[str, str, str, str, str]:
        lettered = is_lettered(self.tree.sizes)

        def text(labels: Labels) -> str:
            return labels_text(labels, lettered)

        count = len(self.shapes)
        names = [f"{'%' if value >= count else '#'}{value}" for value in (step.left, step.right)]
        contraction = (
            f"{names[0]}, {names[1]}: {text(step.left_labels)},{text(step.right_labels)}"
            f"->{text(step.labels)}"
        )
        tree, iterations = self.sliced.runs[number]
        factor = (4 if is_complex(self.dtype) else 1) * iterations
        shape = "x".join(str(size) for size in tree.gemm(step))
        size = tree.size(step.labels) * self.dtype.itemsize
        flops = f"{tree.step_flops(step) * factor:.3g}"
        return str(count + number), contraction, flops, shape, str(size)

    def to_json(self) -> str:
        """The plan as text that `from_json` reads."""
        record = {
            "format": _FORMAT,
            "version": 1,
            "inputs": [list(term) for term in self.subscripts.inputs],
            "output": list(self.subscripts.output),
            "shapes": [list(shape) for shape in self.shapes],
            "dtype": self.dtype.name,
            "path": [list(pair) for pair in self.path],
            "slices": list(self.slices),
        }
        return json.dumps(record)

    @classmethod
    def from_json(cls, text: str) -> EinsumPlan:
        """The plan that `to_json` wrote.

        Raises:
            PathError: the text is not a plan.
        """
        try:
            record: Any = json.loads(text)
            if record["format"] != _FORMAT or record["version"] != 1:
                raise PathError(f"einsum plan: unknown format or version in {text[:60]!r}")
            inputs = tuple(tuple(map(int, term)) for term in record["inputs"])
            subscripts = Subscripts(inputs, tuple(map(int, record["output"])))
            shapes = tuple(tuple(map(int, shape)) for shape in record["shapes"])
            path = [tuple(map(int, pair)) for pair in record["path"]]
            dtype = as_dtype(record["dtype"])
            slices = tuple(map(int, record.get("slices", ())))
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, PathError):
                raise
            raise PathError(f"einsum plan: not a plan: {error}") from None
        tree = ContractionTree.of(subscripts, shapes, path)
        if not set(slices) <= set(tree.sizes):
            raise PathError("einsum plan: not a plan: its slices are not labels of its operands")
        return cls(shapes, dtype, tree, slices=slices)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a file, as `to_json`.

        Raises:
            FileError: the file cannot be written.
        """
        try:
            FilePath(path).write_text(self.to_json(), encoding="utf-8")
        except OSError as error:
            raise FileError(f"einsum plan: {path} cannot be written: {error.strerror}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> EinsumPlan:
        """The plan that `save` wrote to a file.

        Raises:
            PathError: the file is not a plan.
            FileError: the file cannot be read.
        """
        try:
            text = FilePath(path).read_text(encoding="utf-8")
        except OSError as error:
            raise FileError(f"einsum plan: {path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise PathError(f"einsum plan: not a plan: {error}") from None
        return cls.from_json(text)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw the tree: operands at the bottom, results above them; needs the extra `viz`.

        Returns the matplotlib figure, and writes it to `path` unless that is None.

        Raises:
            MissingExtraError: matplotlib or networkx is not installed.
        """
        return draw(self.tree, self.slices, self.flops, path)

    def check_shapes(self, subscripts: Subscripts, shapes: Sequence[Sequence[Any]]) -> None:
        """Raise PathError if the plan is not for this network and these shapes."""
        same = self.subscripts.canonical() == subscripts.canonical()
        if not same or [tuple(shape) for shape in shapes] != list(self.shapes):
            raise PathError(
                f"einsum: the plan is for {_shortened(str(self.subscripts))} of shapes "
                f"{_shortened(str(list(self.shapes)))}, not for "
                f"{_shortened(str(subscripts))} of shapes {_shortened(str(list(shapes)))}"
            )


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:50]}...{text[-7:]}"


def _bytes(size: int) -> str:
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} TiB"


# A plan on several devices that share its slices.

POOR = 0.75
"""A balance below this is worth another number of slices."""
MOST_SLICES = 1 << 14


@dataclass(frozen=True)
class SharedPlan:
    """A plan whose slices several devices share; print it.

    Attributes:
        devices: the number of devices.
        slices: the number of slices.
        lanes: the runs of slices that are added up one by one; they are dealt to the devices.
        memory: what each device needs, as predicted.
        reduction: the bytes that each device gets from all others, and its own.
    """

    devices: int
    slices: int
    lanes: int
    memory: MemoryNeed
    reduction: int

    @property
    def balance(self) -> float:
        """The work of all devices, by that of as many like the busiest one; 1 is best."""
        return balance(self.slices, self.devices)

    def __str__(self) -> str:
        needed = in_words(self.memory.arguments + self.memory.peak)
        devices = counted(self.devices, "device")
        if self.slices == 1:
            text = f"not sliced: each of {devices} contracts all of it, {needed} a device"
        else:
            each = counted(-(-self.lanes // self.devices), "lane")
            text = (
                f"{counted(self.slices, 'slice')} in {counted(self.lanes, 'lane')} on {devices}: "
                f"balance {self.balance:.2f}, {each} each, {needed} a device, reduction "
                f"{in_words(self.reduction)}"
            )
        fewer = lane_count(self.slices)
        if fewer < min(self.lanes, self.slices):
            up_to = counted(fewer, "device")
            text += f"\nmore lanes than on up to {up_to}, so the last bits differ from those there"
        if self.balance < POOR:
            text += f"\n{self._advice()}"
        return text

    def _advice(self) -> str:
        """What would share the work better."""
        count = self.slices
        while count < MOST_SLICES and balance(count, self.devices) < POOR:
            count *= 2
        if balance(count, self.devices) < POOR:
            return f"no number of slices has a better balance on {counted(self.devices, 'device')}"
        return f"slices={count} would have balance {balance(count, self.devices):.2f}"


def shared_plan(
    program: ExecProgram, costs: DeviceCosts, runs: Runs, slices: int, devices: int
) -> SharedPlan:
    """The program of a plan with that many slices, on several devices that run programs so."""
    target = Target("plan", (SharedLanes(devices), *contraction_passes(costs)))
    shared = optimize_for(program, target)
    loops = [step.op for step in shared.steps_of(LaneSum)]
    return SharedPlan(
        devices,
        slices,
        lane_count(slices, devices),
        predict_memory(shared, runs),
        sum(loop.exchanged for loop in loops if isinstance(loop, LaneSum)),
    )


def balance(slices: int, devices: int) -> float:
    """The mean number of slices of a device, by the largest.

    >>> balance(64, 4), balance(64, 3), balance(1, 2)
    (1.0, 0.8888888888888888, 0.5)
    """
    lanes = lane_count(slices, devices)
    share = -(-lanes // devices)
    sizes = [stop - first for first, stop in (lane_bounds(j, lanes, slices) for j in range(lanes))]
    busiest = max(sum(sizes[start : start + share]) for start in range(0, lanes, share))
    return slices / (devices * busiest) if busiest else 1.0
