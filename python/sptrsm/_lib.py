"""The C library through ctypes: where it is found, its structs and its functions.

Structs and enumerations are those of include/sptrsm.h and its companions; tests/test_lib.py compares their layout with a C compiler's.
Functions that return a status go through `call`, which raises the exception of _errors.py.
"""
from __future__ import annotations

import ctypes
import ctypes.util
import os
from ctypes import POINTER, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path

from . import _nvidia

HOST, CUDA = 0, 1
CSR, CSC = 0, 1
LOWER, UPPER = 0, 1
NONUNIT, UNIT = 0, 1
ROW_MAJOR, COL_MAJOR = 0, 1
COPY, BORROW = 0, 1
GATHER, SCATTER = 0, 1
MULTIPLY, DIVIDE = 0, 1
U_GIVEN, U_IS_LT, U_IS_LH = 0, 1, 2
GENERAL, SYMMETRIC, HERMITIAN, SKEW = 0, 1, 2, 3
WORKING, MIXED = 0, 1
ALL_ROWS = -1
DTYPES = ("float32", "float64", "complex64", "complex128")  # in the order of sptrsm_dtype
OPERATIONS = {"N": 0, "T": 1, "H": 2}

VERSION = "0.1"  # the interface declared below: major and minor number of the library


class Sparse(ctypes.Structure):
    _fields_ = [("format", c_int), ("dtype", c_int), ("uplo", c_int), ("diag", c_int), ("place", c_int), ("n", c_int32),
                ("ptr", c_void_p), ("idx", c_void_p), ("val", c_void_p)]


class Square(ctypes.Structure):
    _fields_ = [("format", c_int), ("dtype", c_int), ("symmetry", c_int), ("place", c_int), ("n", c_int32),
                ("ptr", c_void_p), ("idx", c_void_p), ("val", c_void_p)]


class Block(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("ld", c_int64), ("n", c_int32), ("nrhs", c_int64), ("dtype", c_int), ("layout", c_int),
                ("place", c_int)]


class Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("method", c_char_p), ("op", c_int), ("nrhs_hint", c_int64), ("select", c_int), ("p", c_int32),
                ("q", c_int32), ("panel", c_int32), ("deterministic", c_int32), ("memory_limit", c_size_t), ("stencil", c_char * 16),
                ("grid", c_int64 * 3), ("precision", c_int)]


class Info(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("method", c_char_p), ("reason", c_char * 160), ("parameters", c_char * 160), ("place", c_int),
                ("op", c_int), ("levels", c_int32), ("panel", c_int32), ("deterministic", c_int32), ("inverts", c_int32), ("nnz", c_int64),
                ("analysis_seconds", c_double), ("view_seconds", c_double), ("plan_bytes", c_size_t), ("flops_per_rhs", c_double)]


class Factors(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("L", POINTER(Sparse)), ("U", POINTER(Sparse)), ("u_kind", c_int), ("D", c_void_p), ("D_sub", c_void_p),
                ("D_hermitian", c_int32), ("perm_row", c_void_p), ("perm_col", c_void_p), ("row_convention", c_int),
                ("col_convention", c_int), ("scale_row", c_void_p), ("scale_col", c_void_p), ("row_op", c_int), ("col_op", c_int),
                ("copy", c_int)]


class RefineOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("max_steps", c_int32), ("solve", c_int32), ("tolerance", c_double)]


class RefineResult(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("berr", c_void_p), ("ferr", c_void_p), ("steps", c_void_p), ("max_berr", c_double), ("worst", c_int64),
                ("unconverged", c_int64)]


class ReachRequest(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("system", c_int), ("op", c_int), ("nonzero", c_void_p), ("wanted", c_void_p),
                ("nonzero_count", c_int64), ("wanted_count", c_int64), ("passed", c_void_p), ("context", c_void_p)]


class ReachPart(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("n", c_int32), ("m", c_int32), ("factors", POINTER(Factors)), ("b_rows", POINTER(c_int32)),
                ("x_rows", POINTER(c_int32)), ("entries", c_int64), ("all_entries", c_int64)]


class BatchValues(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("first", c_int64), ("count", c_int64), ("L", c_void_p), ("U", c_void_p), ("D", c_void_p),
                ("D_sub", c_void_p), ("scale_row", c_void_p), ("scale_col", c_void_p), ("L_stride", c_int64), ("U_stride", c_int64),
                ("D_stride", c_int64), ("D_sub_stride", c_int64), ("scale_row_stride", c_int64), ("scale_col_stride", c_int64)]


class ItemStatus(ctypes.Structure):
    _fields_ = [("status", c_int32), ("row", c_int32)]


class BatchBlock(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("data", c_void_p), ("data_of", c_void_p), ("stride", c_int64), ("ld", c_int64), ("nrhs", c_int64),
                ("ld_of", c_void_p), ("nrhs_of", c_void_p), ("dtype", c_int), ("layout", c_int), ("place", c_int)]


class BatchRun(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("mask", c_void_p), ("mask_place", c_int), ("status", c_void_p), ("status_place", c_int),
                ("berr", c_void_p)]


class BatchFacts(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("count", c_int64), ("patterns", c_int64), ("singular", c_int64), ("n_most", c_int32),
                ("panel", c_int32), ("method", c_char * 32), ("reason", c_char * 160), ("deterministic", c_int32), ("capturable", c_int32),
                ("batch_bytes", c_size_t), ("workspace_bytes", c_size_t), ("analysis_seconds", c_double)]


class SchurColumns(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("dense", POINTER(Block)), ("count", c_int64), ("ptr", c_void_p), ("idx", c_void_p), ("val", c_void_p)]


class SchurRequest(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("B", POINTER(SchurColumns)), ("C", POINTER(SchurColumns)), ("op", c_int), ("uplo", c_int),
                ("whole", c_int32)]


class SchurFacts(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("rows", c_int64), ("columns", c_int64), ("groups", c_int64), ("reached", c_double),
                ("workspace_bytes", c_size_t), ("analysis_seconds", c_double)]


HANDLE, OUT, TEXT = c_void_p, POINTER(c_void_p), c_char_p

# name: (type of the result, types of the arguments); c_int is a status unless the comment says otherwise.
FUNCTIONS = {
    "sptrsm_version": (TEXT, []),
    "sptrsm_status_name": (TEXT, [c_int]),
    "sptrsm_last_error": (TEXT, []),
    "sptrsm_device_count": (c_int, []),  # a count
    "sptrsm_context_create": (c_int, [OUT, c_int, c_int, c_void_p]),
    "sptrsm_context_destroy": (None, [HANDLE]),
    "sptrsm_context_set_threads": (c_int, [HANDLE, c_int]),
    "sptrsm_context_set_memory_limit": (c_int, [HANDLE, c_size_t]),
    "sptrsm_context_set_stream": (c_int, [HANDLE, c_void_p]),
    "sptrsm_context_sync": (c_int, [HANDLE]),
    "sptrsm_context_describe": (TEXT, [HANDLE]),
    "sptrsm_matrix_create": (c_int, [OUT, HANDLE, POINTER(Sparse), c_int]),
    "sptrsm_matrix_destroy": (None, [HANDLE]),
    "sptrsm_matrix_set_values": (c_int, [HANDLE, c_void_p]),
    "sptrsm_options_init_sized": (None, [POINTER(Options), c_size_t]),
    "sptrsm_plan_create": (c_int, [OUT, HANDLE, POINTER(Options)]),
    "sptrsm_plan_destroy": (None, [HANDLE]),
    "sptrsm_plan_info": (c_int, [POINTER(Info), HANDLE]),
    "sptrsm_workspace_create": (c_int, [OUT, HANDLE, c_int32]),
    "sptrsm_workspace_destroy": (None, [HANDLE]),
    "sptrsm_workspace_sync": (c_int, [HANDLE]),
    "sptrsm_solve": (c_int, [HANDLE, HANDLE, c_void_p, POINTER(Block), POINTER(Block)]),
    "sptrsm_factors_init_sized": (None, [POINTER(Factors), c_size_t]),
    "sptrsm_system_from_name": (c_int, [POINTER(c_int), TEXT]),
    "sptrsm_direct_create": (c_int, [OUT, HANDLE, POINTER(Factors), POINTER(Options)]),
    "sptrsm_direct_destroy": (None, [HANDLE]),
    "sptrsm_direct_set_values": (c_int, [HANDLE, c_void_p, c_void_p, c_void_p, c_void_p]),
    "sptrsm_direct_solve": (c_int, [HANDLE, c_int, c_int, c_void_p, POINTER(Block), POINTER(Block)]),
    "sptrsm_direct_info": (c_int, [POINTER(Info), POINTER(Info), HANDLE]),
    "sptrsm_direct_set_original": (c_int, [HANDLE, POINTER(Square)]),
    "sptrsm_refine_options_init_sized": (None, [POINTER(RefineOptions), c_size_t]),
    "sptrsm_direct_refine": (c_int, [HANDLE, c_int, c_int, c_void_p, POINTER(Block), POINTER(Block), POINTER(RefineOptions),
                                     POINTER(RefineResult)]),
    "sptrsm_reach_request_init_sized": (None, [POINTER(ReachRequest), c_size_t]),
    "sptrsm_reach_create": (c_int, [OUT, POINTER(Factors), POINTER(ReachRequest)]),
    "sptrsm_reach_destroy": (None, [HANDLE]),
    "sptrsm_reach_part_of": (c_int, [POINTER(ReachPart), HANDLE]),
    "sptrsm_batch_values_init_sized": (None, [POINTER(BatchValues), c_size_t]),
    "sptrsm_batch_block_init_sized": (None, [POINTER(BatchBlock), c_size_t]),
    "sptrsm_batch_run_init_sized": (None, [POINTER(BatchRun), c_size_t]),
    "sptrsm_batch_create_uniform": (c_int, [OUT, HANDLE, POINTER(Factors), POINTER(BatchValues), POINTER(Options)]),
    "sptrsm_batch_create_mixed": (c_int, [OUT, HANDLE, POINTER(POINTER(Factors)), c_int64, POINTER(Options)]),
    "sptrsm_batch_destroy": (None, [HANDLE]),
    "sptrsm_batch_set_values": (c_int, [HANDLE, POINTER(BatchValues)]),
    "sptrsm_batch_item": (c_int, [POINTER(ItemStatus), HANDLE, c_int64]),
    "sptrsm_batch_set_original": (c_int, [HANDLE, c_int64, POINTER(Square)]),
    "sptrsm_batch_solve": (c_int, [HANDLE, c_int, c_int, c_void_p, POINTER(BatchBlock), POINTER(BatchBlock), POINTER(BatchRun)]),
    "sptrsm_batch_info": (c_int, [POINTER(BatchFacts), HANDLE]),
    "sptrsm_schur_columns_init_sized": (None, [POINTER(SchurColumns), c_size_t]),
    "sptrsm_schur_request_init_sized": (None, [POINTER(SchurRequest), c_size_t]),
    "sptrsm_schur_create": (c_int, [OUT, HANDLE, POINTER(SchurRequest)]),
    "sptrsm_schur_destroy": (None, [HANDLE]),
    "sptrsm_schur_set_values": (c_int, [HANDLE, c_void_p, c_void_p]),
    "sptrsm_schur_set_blocks": (c_int, [HANDLE, POINTER(Block), POINTER(Block)]),
    "sptrsm_schur_solve": (c_int, [HANDLE, POINTER(Block)]),
    "sptrsm_schur_solve_many": (c_int, [OUT, c_int64, POINTER(Block)]),
    "sptrsm_schur_info": (c_int, [POINTER(SchurFacts), HANDLE]),
}


def _candidates() -> list[str]:
    """Names to try, best first. A name that SPTRSM_LIBRARY gives is the only one, and so is the wheel's own library where there is one."""
    given = os.environ.get("SPTRSM_LIBRARY")
    if given:
        return [given]
    bundled = Path(__file__).parent / "lib" / "libsptrsm.so"
    if bundled.exists():
        return [str(bundled)]
    found = ctypes.util.find_library("sptrsm")
    return ["libsptrsm.so." + VERSION] + ([found] if found else [])


def _load() -> tuple[ctypes.CDLL, str]:
    tried = []
    for name in _candidates():
        try:
            return _nvidia.load(name), name
        except OSError as error:
            tried.append(f"{name}: {error}")
    raise ImportError("libsptrsm.so could not be loaded; install the wheel, or set SPTRSM_LIBRARY to its path. Tried " + "; ".join(tried))


def _declare(library: ctypes.CDLL, name: str, types: tuple) -> None:
    function = getattr(library, name)
    function.restype, function.argtypes = types


def _prepare(library: ctypes.CDLL, path: str) -> str:
    """Declares all functions and returns the library's version, which must be the one declared here."""
    try:
        _declare(library, "sptrsm_version", FUNCTIONS["sptrsm_version"])
        version = library.sptrsm_version().decode()
        if version.split(".")[:2] != VERSION.split("."):
            raise ImportError(f"{path} is libsptrsm {version}; this package needs {VERSION}")
        for name, types in FUNCTIONS.items():
            _declare(library, name, types)
    except AttributeError as error:
        raise ImportError(f"{path} is not the libsptrsm {VERSION} that this package needs: {error}") from error
    return version


lib, path = _load()
version = _prepare(lib, path)


def sized(kind: type, init=None):
    """A struct whose member `size` is set, with the library's defaults where it has an init function."""
    struct = kind()
    if init:
        init(struct, ctypes.sizeof(struct))
    else:
        struct.size = ctypes.sizeof(struct)
    return struct
