"""FarmExecutor, and the op and pass that send loops to it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.compiler import (
    DEFAULT_OPTIONS,
    SIMPLIFICATION,
    OptimizerOptions,
    Pass,
    optimize,
    run_passes,
)
from tenferro.compiler.canonical import LoopFusion
from tenferro.compiler.device import (
    BindSizes,
    CheckpointInlining,
    ExpandFamilies,
    ResolveDynamicOps,
    StopGradientRemoval,
)
from tenferro.config import config, count, flag
from tenferro.errors import ConfigError, ExtensionRegistryError
from tenferro.farm.coordinator import FarmSettings, complete
from tenferro.farm.job import Job
from tenferro.farm.report import FarmReport, JobReport, Report
from tenferro.farm.worker import WORKER, Engine, Engines
from tenferro.ir import (
    INT64,
    Dim,
    DType,
    ExecInstruction,
    ExecProgram,
    Leaf,
    NumpyArray,
    Rewriter,
    TensorMeta,
    evaluate,
    program_of_op,
)
from tenferro.network.sliced_op import SlicedNetwork
from tenferro.ops import scalar
from tenferro.ops.control_flow import LaneSum
from tenferro.ops.extension import (
    Extension,
    ExtensionCache,
    ExtensionOp,
    OutputMeta,
    Package,
    family_id,
)
from tenferro.runtime import (
    GraphExecutor,
    NumpyBackend,
    StandardRuntime,
    installed_executors,
    planning_for,
)

__all__ = ["FarmExecutor"]


# The loops of sliced networks as ops that a farm runs, and the passes that make them.


@family_id(namespace="tenferro-farm", name="loop", version=1)
@dataclass(frozen=True)
class FarmLoop(ExtensionOp):
    """The sums over all iterations of a loop whose iterations do not depend on each other.

    It takes the operands of the loop and the number of iterations, an i64[].

    Attributes:
        part: the sums of some iterations: a program of the operands, the first one and the stop.
    """

    part: ExecProgram

    def payload(self) -> tuple[object, ...]:
        """The digest of the program."""
        return (self.part.digest,)

    @property
    def input_count(self) -> int:
        """The operands, and the number of iterations."""
        return len(self.part.input_slots) - 1

    @property
    def output_count(self) -> int:
        """The sums."""
        return len(self.part.output_slots)

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The types that the program returns."""
        return [(meta.dtype, meta.static_shape or ()) for meta in self.part.output_metas]

    def eager_execute(self, inputs: Sequence[NumpyArray]) -> Sequence[NumpyArray]:
        """All iterations one after another."""
        *operands, total = inputs
        return evaluate(self.part, [*operands, np.zeros_like(total), total])


@dataclass(frozen=True)
class FarmedLoops(Pass):
    """Replaces each `LaneSum` by a `FarmLoop`."""

    name = "farmed_loops"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such ops."""
        if not program.has_op(LaneSum):
            return program
        at = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
            if not isinstance(step.op, LaneSum):
                return None
            loop, total = FarmLoop(optimize(step.op.part)), at.emit(scalar(step.op.total, INT64))
            return at.emit_all(Extension(loop), *operands, total)

        return at.run(rule)


@dataclass(frozen=True)
class _AllButSliced(Container[str]):
    """Families without that of sliced networks, whose loops a farm takes."""

    families: Container[str]

    def __contains__(self, family: object) -> bool:
        return family != SlicedNetwork.FAMILY_ID and family in self.families


def with_farm_loops(
    program: ExecProgram,
    families: Container[str] = (),
    sizes: Mapping[Leaf, Dim] | None = None,
    options: OptimizerOptions = DEFAULT_OPTIONS,
) -> ExecProgram:
    """A program for given sizes in which each loop of sliced networks is a `FarmLoop`.

    Loops that share work become one before, such as those of value and gradient. What is the same
    in all iterations stays in the loop: it is computed by those who compute parts.

    Args:
        program: a program.
        families: those that stay as they are; sliced networks stay only where data decide sizes.
        sizes: symbols and their sizes.
        options: those of the program.
    """
    passes = (BindSizes.of(sizes), ExpandFamilies(_AllButSliced(families)), ResolveDynamicOps())
    ready = run_passes(program, [*passes, StopGradientRemoval(), CheckpointInlining()])
    if not any(part.has_op(LaneSum) for part in ready.walk()):
        return program
    return run_passes(
        ready, [*options.chosen([*SIMPLIFICATION, LoopFusion((LaneSum,))]), FarmedLoops()]
    )


# FarmExecutor: an executor whose sliced networks are computed by many workers, part by part.


class FarmExecutor(GraphExecutor):
    """Runs programs like the NumPy executor, and their sliced networks on a farm.

    Each loop of a sliced network is a *job*, cut into *parts*: runs of neighbouring slices. Workers
    compute parts and write them to the store; the parts are added in a fixed order. So the bits of
    a result do not depend on the number of workers, the order in which they finish, or on what was
    killed meanwhile. Run the same program again to go on after an interruption.

    Args:
        engine: a `concurrent.futures.Executor`, such as that of loky, dask or mpi4py; or a function
            that makes one, so that a pool that a dead worker broke can be replaced.
        store: a folder that coordinator and workers see. Who may write to it may change results.
        parts: how many parts a job has; by default so many that one takes about ten seconds, from
            16 to 4096. Another number is another job.
        worker: the name of the executor that computes parts, such as "xla" or "numpy".
        restarts: how often a pool is replaced before a part has been made.
        attempts: how often a part is begun before it has failed.
        progress: a function of parts done, parts in all, and seconds; True shows a bar.
        keep: whether parts stay in the store when the result is there.
        same_maker: whether parts are made again that another kind of machine, or another version of
            a library, has made. Their last bits may differ.
        packages: families that programs may hold, in addition to tenferro's own.

    Raises:
        ConfigError: an argument is not of these kinds.
        ExtensionRegistryError: a package is given twice, or is not one.

    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np, tenferro as tn
    >>> a, b = np.ones((4, 64)), np.ones((64, 3))
    >>> plan = tn.einsum_plan("ij,jk->ik", a, b, slices="j")
    >>> pool, store = ThreadPoolExecutor(2), tempfile.mkdtemp()
    >>> with FarmExecutor(pool, store, worker="numpy") as farm:
    ...     f = tn.jit(lambda a, b: tn.einsum("ij,jk->ik", a, b, optimize=plan), executor=farm)
    ...     f(a, b).tolist()[0]
    [64.0, 64.0, 64.0]
    >>> print(farm.report())
    job ...: 16 parts, 0 found, ... s of work
    """

    def __init__(
        self,
        engine: Engine,
        store: str | os.PathLike[str],
        *,
        parts: int | None = None,
        worker: str = "xla",
        restarts: int = 3,
        attempts: int = 3,
        progress: Report | bool | None = None,
        keep: bool = True,
        same_maker: bool = False,
        packages: Sequence[Package] = (),
    ) -> None:
        super().__init__(NumpyBackend(), packages=packages)
        for family in (SlicedNetwork.FAMILY_ID, FarmLoop.FAMILY_ID):
            if any(family in package.families for package in packages):
                raise ExtensionRegistryError(family, "the farm runs this family")
        if parts is not None:
            count("FarmExecutor: parts", parts, 1)
        count("FarmExecutor: restarts", restarts, 0)
        count("FarmExecutor: attempts", attempts, 1)
        flag("FarmExecutor: keep", keep)
        flag("FarmExecutor: same_maker", same_maker)
        _check_worker(worker)
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise ConfigError(
                f"FarmExecutor: progress must be a function, True or None, got {progress!r}"
            )
        self._engines = Engines(engine)
        shown = _folder(store)
        folder = os.path.abspath(shown)
        rules = FarmSettings(shown, folder, attempts, restarts, same_maker, keep, progress)
        self._farm = FarmRuntime(self._engines, rules, parts, worker)
        self.register_extension(lambda registry: registry.register(self._farm))
        self.register_extension(lambda registry: registry.register(SlicedRuntime(self._farm)))

    @property
    def name(self) -> str:
        """`"farm"`."""
        return "farm"

    def report(self) -> FarmReport:
        """What happened to the last jobs; print it."""
        return FarmReport(tuple(self._farm.reports))

    @staticmethod
    def watch_parent() -> None:
        """The initializer for a pool of processes whose workers end when the coordinator is killed.

        Without it a worker that has begun a part ends, but one that never had any would wait for
        work forever, as it does in every pool of `concurrent.futures`.

        >>> from concurrent.futures import ProcessPoolExecutor
        >>> engine = lambda: ProcessPoolExecutor(2, initializer=FarmExecutor.watch_parent)
        """
        WORKER.parent.watch()

    def _optimized(
        self,
        program: ExecProgram,
        sizes: Mapping[Leaf, int] | None,
        options: OptimizerOptions,
    ) -> ExecProgram:
        with planning_for(self):
            program = with_farm_loops(program, self._boundary, sizes, options)
        return super()._optimized(program, sizes, options)

    def close(self) -> None:
        """End the workers of a pool that the farm made; they finish what they have begun.

        The farm may be used again, with a new pool.
        """
        self._engines.close()

    def __enter__(self) -> FarmExecutor:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"FarmExecutor({self._farm.rules.store!r}, worker={self._farm.worker!r})"


class FarmRuntime:
    """Runs loops as jobs of a farm."""

    family_id = FarmLoop.FAMILY_ID

    def __init__(
        self, engines: Engines, rules: FarmSettings, parts: int | None, worker: str
    ) -> None:
        self.rules, self.worker = rules, worker
        self.reports: deque[JobReport] = deque(maxlen=config.cache_entries)
        self._engines = engines
        self._parts = parts

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[NumpyArray], cache: ExtensionCache
    ) -> Sequence[NumpyArray]:
        """The sums of a loop."""
        assert isinstance(op, FarmLoop)
        WORKER.parent.is_not_needed()
        job = Job.of(op.part, inputs, self._parts, self.worker)
        report = JobReport(job.digest, job.parts)
        self.reports.append(report)
        return complete(job, self._engines, self.rules, report)


class SlicedRuntime(StandardRuntime):
    """Runs sliced networks that no pass has made a loop of: those whose sizes data decide."""

    def __init__(self, farm: FarmRuntime) -> None:
        super().__init__(SlicedNetwork.FAMILY_ID, (farm,))

    def program(self, op: ExtensionOp, metas: Sequence[TensorMeta]) -> ExecProgram:
        """The program of a network, whose loop the farm runs."""
        return with_farm_loops(program_of_op(Extension(op), metas))


def _folder(store: object) -> str:
    if not isinstance(store, str | os.PathLike):
        raise ConfigError(f"FarmExecutor: store must be the path of a folder, got {store!r}")
    path = os.fspath(store)
    if not path or "\0" in path:
        raise ConfigError(f"FarmExecutor: store must be the path of a folder, got {store!r}")
    return path


def _check_worker(worker: object) -> None:
    known = installed_executors()
    if worker not in known:
        raise ConfigError(
            f"FarmExecutor: worker must be the name of an executor, got {worker!r}; installed: "
            f"{', '.join(known)}"
        )
