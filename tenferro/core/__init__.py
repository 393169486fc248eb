"""Graphs of values for any op set: identity, fragments, rules, differentiate, transpose, batch."""

from tenferro.core.autodiff import *
from tenferro.core.batching import *
from tenferro.core.cache import *
from tenferro.core.emitters import *
from tenferro.core.fragment import *
from tenferro.core.graph import *
from tenferro.core.keys import *
from tenferro.core.primitive import *
from tenferro.core.program import *
from tenferro.core.tape import *
from tenferro.core.user_frames import *
