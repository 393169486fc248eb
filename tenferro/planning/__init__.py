"""Contraction orders: subscripts, trees, searches, slices, and how they are asked for."""

from tenferro.planning.contraction_tree import *
from tenferro.planning.planner import *
from tenferro.planning.search import *
from tenferro.planning.slicing import *
from tenferro.planning.subscripts import *
