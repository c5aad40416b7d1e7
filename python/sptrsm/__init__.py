"""Sparse triangular systems with many right-hand sides, and the solve phase of sparse direct solvers, on CPUs and NVIDIA GPUs.

>>> import numpy, scipy.sparse, sptrsm
>>> A = scipy.sparse.csc_array([[4.0, 1.0], [2.0, 3.0]])
>>> F = sptrsm.splu(A)
>>> F.solve(numpy.array([5.0, 5.0]))
array([1., 1.])
"""
from ._batch import Batch, ItemStatus, batch
from ._context import device_count, set_threads
from ._errors import (ArgumentError, DeviceError, FormatError, OutOfMemoryError, SingularError, SptrsmError, StructureError,
                      UnsupportedError)
from ._factors import Factors, Refined
from ._files import from_file, save
from ._info import BatchInfo, FactorsInfo, Info, SchurInfo
from ._lib import version as __version__
from ._schur import Schur, schur, schur_many
from ._show import plot_levels, spy
from ._sources import from_cholesky, from_factors, from_splu, splu
from ._triangular import Triangular, spsolve_triangular, triangular

load = from_file

__all__ = [
    "ArgumentError", "Batch", "BatchInfo", "DeviceError", "Factors", "FactorsInfo", "FormatError", "Info", "ItemStatus",
    "OutOfMemoryError", "Refined", "Schur", "SchurInfo", "SingularError", "SptrsmError", "StructureError", "Triangular",
    "UnsupportedError", "__version__", "batch", "device_count", "from_cholesky", "from_factors", "from_file", "from_splu", "load",
    "plot_levels", "save", "schur", "schur_many", "set_threads", "splu", "spsolve_triangular", "spy", "triangular",
]
