"""Activation functions that are linear on one side, and smooth forms of them."""

from __future__ import annotations

import math

from tenferro.arrays import Operand, analytic, elementwise, logical
from tenferro.arrays.notation import Expression
from tenferro.chainrules import Emitter, V
