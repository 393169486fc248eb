"""Files of programs and fragments, without pickle.

What writes raises FileError for what a file cannot hold. What reads raises FileError for what is
not of the format, and ExtensionError for an op that its package cannot make, or whose types it
infers otherwise.
"""

from tenferro.serialization.cache_folder import *
from tenferro.serialization.container import *
from tenferro.serialization.missing_extension import *
from tenferro.serialization.ops import *
from tenferro.serialization.save_load import *
from tenferro.serialization.values import *
