"""Sparse triangular systems with many right-hand sides, and the solve phase of sparse direct solvers, on CPUs and NVIDIA GPUs.

>>> import numpy, scipy.sparse, sptrsm
>>> A = scipy.sparse.csc_array([[4.0, 1.0], [2.0, 3.0]])
>>> F = sptrsm.splu(A)
>>> F.solve(numpy.array([5.0, 5.0]))
array([1., 1.])
"""
from ._context import device_count, set_threads
from ._errors import (ArgumentError, DeviceError, FormatError, OutOfMemoryError, SingularError, SptrsmError, StructureError,
                      UnsupportedError)
from ._factors import Factors, Refined
from ._files import from_file, save
from ._info import FactorsInfo, Info
from ._lib import version as __version__
from ._show import plot_levels, spy
from ._sources import from_cholesky, from_factors, from_splu, splu
from ._triangular import Triangular, spsolve_triangular, triangular

load = from_file

__all__ = [
    "ArgumentError", "DeviceError", "Factors", "FactorsInfo", "FormatError", "Info", "OutOfMemoryError", "Refined", "SingularError",
    "SptrsmError", "StructureError", "Triangular", "UnsupportedError", "__version__", "device_count", "from_cholesky", "from_factors",
    "from_file", "from_splu", "load", "plot_levels", "save", "set_threads", "splu", "spsolve_triangular", "spy", "triangular",
]
