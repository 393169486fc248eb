"""Section 11: files."""

from __future__ import annotations

import numpy as np

from tenferro.errors import UnsupportedExtensionError
from tenferro.files import PayloadCodecs, dumps, loads
from tenferro.testing.functions import difference, register_references
from tenferro.testing.report import Clause, Findings, NotCheckedError
from tenferro.testing.subject import FamilySubject


def _saved(subject: FamilySubject) -> Findings:
    """A program with the op is written, read back, equal, and gives the same results."""
    if subject.codecs is None:
        raise NotCheckedError("no codecs are given")
    if not subject.codecs.knows(subject.op.family_id):
        yield f"the codecs do not know {subject.op.family_id}"
        return
    function = subject.applied(subject.metas)
    program = function.program()
    data = dumps(program)
    try:
        loads(data, codecs=PayloadCodecs())
    except UnsupportedExtensionError as error:
        if error.family_id != subject.op.family_id:
            yield f"without codecs the error names another family: {error}"
    else:
        yield "the file is read without the codec of the family"
    loaded = loads(data, codecs=subject.codecs)
    if loaded.digest != program.digest or dumps(loaded) != data:
        yield "the program that was read is not the one that was written"
    executor = subject.executor()
    executor.register_extension(lambda registry: register_references(registry, loaded))
    names = [declared.name for declared in loaded.inputs]
    results = executor.run(loaded, dict(zip(names, subject.arrays, strict=True)))
    for i, (one, other) in enumerate(zip(results, subject.expected, strict=True)):
        found = difference(np.asarray(one), other, 0.0 if other.dtype.kind in "iub" else 1e-6)
        if found:
            yield f"output {i} of the program that was read {found}"


FILES = (Clause(11, "files", "a program is read as it was written", _saved, ("reference",)),)
