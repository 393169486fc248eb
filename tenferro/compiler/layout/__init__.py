"""Orders of axes chosen for a whole program, so that contractions find them as they need them."""

from tenferro.compiler.layout.demands import Demands
from tenferro.compiler.layout.rewrite import Rewrite

__all__ = ["Demands", "Rewrite"]
