"""Passes that hold for every target."""

from tenferro.compiler.canonical.conjugates import *
from tenferro.compiler.canonical.dots import *
from tenferro.compiler.canonical.loop_fusion import *
from tenferro.compiler.canonical.loop_invariants import *
from tenferro.compiler.canonical.pads_to_concatenate import *
from tenferro.compiler.canonical.simplify import *
