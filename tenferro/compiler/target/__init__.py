"""Passes that need sizes and a device: they run in the executor.

`bind_sizes`, `expand` and `settle` make a program of constant sizes out of ordinary ops;
`stop_gradients` leaves out what only derivatives ask for; `costs` says what products and moves
take on a device; `contraction_layout`, with the package `layout`, and `dot_decomposer` bring
contractions into the form that the device is fast at; `shared_lanes` shares sums among devices;
`memory` predicts what a program needs, `duration` how long it takes; `pinned` says which axes are
divided among devices.
"""

from tenferro.compiler.target.bind_sizes import BindSizes
from tenferro.compiler.target.checkpoints import CheckpointInlining
from tenferro.compiler.target.contraction_layout import ContractionLayout
from tenferro.compiler.target.costs import CPU, NEUTRAL, DeviceCosts
from tenferro.compiler.target.dot_decomposer import DotDecomposer
from tenferro.compiler.target.duration import kernels, numpy_seconds
from tenferro.compiler.target.expand import (
    GIVE_THE_EXECUTOR_A_LOWERING,
    ExpandFamilies,
    PlanFamilies,
)
from tenferro.compiler.target.pinned import Pinned
from tenferro.compiler.target.settle import Settle
from tenferro.compiler.target.shared_lanes import SharedLanes
from tenferro.compiler.target.stop_gradients import StopGradientRemoval

__all__ = [
    "CPU",
    "GIVE_THE_EXECUTOR_A_LOWERING",
    "NEUTRAL",
    "BindSizes",
    "CheckpointInlining",
    "ContractionLayout",
    "DeviceCosts",
    "DotDecomposer",
    "ExpandFamilies",
    "Pinned",
    "PlanFamilies",
    "Settle",
    "SharedLanes",
    "StopGradientRemoval",
    "kernels",
    "numpy_seconds",
]
