"""For given sizes and one target: specialize, decompose, rematerialize, round up, cut."""

from tenferro.compiler.device.bucketing import *
from tenferro.compiler.device.dot_decomposer import *
from tenferro.compiler.device.rematerialize import *
from tenferro.compiler.device.scan_unrolling import *
from tenferro.compiler.device.segments import *
from tenferro.compiler.device.specialize import *
