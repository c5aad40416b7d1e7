#!/usr/bin/env python3
"""Solve phase of a sparse direct solver: SciPy's splu(A).solve(B) against sptrsm_direct on the same factors, in the same run.

    scripts/compare_scipy.py --library build/src/libsptrsm.so FACTORS.h5 ...

Each FACTORS.h5 holds /A as SciPy's csc_matrix group and, where the ordering is to be recovered, /perm_c. SciPy factors A with the
ordering that gives this perm_c; L, U and both permutations are then handed to libsptrsm through ctypes. Times are the best of
--repeats alternating runs of a whole solve phase: permutations, both triangles and layout included, analysis and factorisation not.
Needs numpy, scipy and h5py. Exit code 1 where a speed-up is below --at-least.
"""
import argparse
import ctypes
import sys
import time

import h5py
import numpy as np
import scipy
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

CSC, F64, HOST = 1, 1, 0
LOWER, UPPER, NONUNIT, UNIT = 0, 1, 0, 1
GATHER, SCATTER = 0, 1
ROW_MAJOR, COL_MAJOR = 0, 1
SYS_A, OP_N = 0, 0


class Sparse(ctypes.Structure):
    _fields_ = [("format", ctypes.c_int), ("dtype", ctypes.c_int), ("uplo", ctypes.c_int), ("diag", ctypes.c_int), ("place", ctypes.c_int),
                ("n", ctypes.c_int32), ("ptr", ctypes.c_void_p), ("idx", ctypes.c_void_p), ("val", ctypes.c_void_p)]


class Block(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("ld", ctypes.c_int64), ("n", ctypes.c_int32), ("nrhs", ctypes.c_int64),
                ("dtype", ctypes.c_int), ("layout", ctypes.c_int), ("place", ctypes.c_int)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("method", ctypes.c_char_p), ("op", ctypes.c_int), ("nrhs_hint", ctypes.c_int64),
                ("select", ctypes.c_int), ("p", ctypes.c_int32), ("q", ctypes.c_int32), ("panel", ctypes.c_int32),
                ("deterministic", ctypes.c_int32), ("memory_limit", ctypes.c_size_t),
                ("stencil", ctypes.c_char * 16), ("grid", ctypes.c_int64 * 3), ("precision", ctypes.c_int)]


class Factors(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("L", ctypes.c_void_p), ("U", ctypes.c_void_p), ("u_kind", ctypes.c_int),
                ("D", ctypes.c_void_p), ("D_sub", ctypes.c_void_p), ("D_hermitian", ctypes.c_int32),
                ("perm_row", ctypes.c_void_p), ("perm_col", ctypes.c_void_p),
                ("row_convention", ctypes.c_int), ("col_convention", ctypes.c_int),
                ("scale_row", ctypes.c_void_p), ("scale_col", ctypes.c_void_p), ("row_op", ctypes.c_int), ("col_op", ctypes.c_int)]


class Direct:
    """sptrsm_direct for the factors of a SciPy SuperLU object."""

    def __init__(self, library, lu, threads, panel):
        self.library = library
        self.context, self.direct = ctypes.c_void_p(), ctypes.c_void_p()
        self.keep = []
        lower, upper = self.triangle(lu.L, LOWER, UNIT), self.triangle(lu.U, UPPER, NONUNIT)
        self.perms = [np.ascontiguousarray(p, dtype=np.int32) for p in (lu.perm_r, lu.perm_c)]
        factors, options = Factors(), Options()
        library.sptrsm_factors_init_sized(ctypes.byref(factors), ctypes.c_size_t(ctypes.sizeof(factors)))
        library.sptrsm_options_init_sized(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
        options.panel = panel
        factors.L, factors.U = ctypes.addressof(lower), ctypes.addressof(upper)
        factors.perm_row, factors.perm_col = (p.ctypes.data for p in self.perms)
        factors.row_convention, factors.col_convention = SCATTER, GATHER
        self.check(library.sptrsm_context_create(ctypes.byref(self.context), HOST, 0, None))
        self.check(library.sptrsm_context_set_threads(self.context, threads))
        self.check(library.sptrsm_direct_create(ctypes.byref(self.direct), self.context, ctypes.byref(factors), ctypes.byref(options)))

    def triangle(self, matrix, uplo, diag):
        matrix = matrix.tocsc()
        matrix.sort_indices()
        arrays = (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float64))
        self.keep.append(arrays)
        return Sparse(CSC, F64, uplo, diag, HOST, matrix.shape[0], *(a.ctypes.data for a in arrays))

    def solve(self, B, X):
        blocks = []
        for array in (B, X):
            rows = array.flags.c_contiguous
            n, nrhs = array.shape
            blocks.append(Block(array.ctypes.data, nrhs if rows else n, n, nrhs, F64, ROW_MAJOR if rows else COL_MAJOR, HOST))
        self.check(self.library.sptrsm_direct_solve(self.direct, SYS_A, OP_N, None, ctypes.byref(blocks[0]), ctypes.byref(blocks[1])))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.sptrsm_last_error().decode())

    def close(self):
        self.library.sptrsm_direct_destroy(self.direct)
        self.library.sptrsm_context_destroy(self.context)


def factorise(file):
    """SciPy's factors of /A with the column order that the file says its factors have."""
    group = file["A"]
    A = sparse.csc_matrix((group["data"][:], group["indices"][:], group["indptr"][:]), shape=tuple(group.attrs["shape"]))
    orders = ["MMD_AT_PLUS_A", "COLAMD", "MMD_ATA", "NATURAL"] if "perm_c" in file else ["COLAMD"]
    for order in orders:
        lu = linalg.splu(A, permc_spec=order)
        if "perm_c" not in file or np.array_equal(lu.perm_c, file["perm_c"][:]):
            return A, lu, order
    raise RuntimeError("no ordering of this SciPy gives the file's perm_c")


def best_of(repeats, *runs):
    best = [float("inf")] * len(runs)
    for _ in range(repeats):
        for r, run in enumerate(runs):
            start = time.perf_counter()
            run()
            best[r] = min(best[r], time.perf_counter() - start)
    return best


def compare(path, library, arguments):
    """Prints a line per layout; returns the lowest speed-up."""
    with h5py.File(path, "r") as file:
        A, lu, order = factorise(file)
    n, nnz, lowest = A.shape[0], lu.L.nnz + lu.U.nnz, float("inf")
    flops = (2.0 * (nnz - 2 * n) + n) * arguments.nrhs
    direct = Direct(library, lu, arguments.threads, arguments.panel)
    for layout in "CF":
        B = np.asarray(np.random.default_rng(1).standard_normal((n, arguments.nrhs)), order=layout)
        X = np.empty_like(B)
        scipy_time, own_time = best_of(arguments.repeats, lambda: lu.solve(B), lambda: direct.solve(B, X))
        norms = abs(A).max() * np.abs(X).max(axis=0) + np.abs(B).max(axis=0)
        residual = max((np.abs(A @ Y - B).max(axis=0) / norms).max() for Y in (X, lu.solve(B)))
        lowest = min(lowest, scipy_time / own_time)
        name = path.rsplit("/", 1)[-1].removesuffix(".h5")
        print(f"{name:22s} {order:13s} {n:7d} {nnz:8d} {layout:6s} {scipy_time * 1e3:9.2f} {flops / scipy_time * 1e-9:8.2f} "
              f"{own_time * 1e3:9.2f} {flops / own_time * 1e-9:8.2f} {scipy_time / own_time:7.1f}x {residual:9.1e}", flush=True)
    direct.close()
    return lowest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("factors", nargs="+", metavar="FACTORS.h5")
    parser.add_argument("--library", default="build/src/libsptrsm.so")
    parser.add_argument("--nrhs", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2, help="of libsptrsm; SciPy's solve uses one")
    parser.add_argument("--panel", type=int, default=0, help="right-hand sides worked on at once, 0: chosen by libsptrsm")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--at-least", type=float, default=0, metavar="X", help="fail below this speed-up")
    arguments = parser.parse_args()
    library = ctypes.CDLL(arguments.library)
    library.sptrsm_last_error.restype = ctypes.c_char_p
    library.sptrsm_version.restype = ctypes.c_char_p
    print(f"SciPy {scipy.__version__} against libsptrsm {library.sptrsm_version().decode()}, f64, {arguments.nrhs} right-hand sides, "
          f"{arguments.threads} threads, best of {arguments.repeats}")
    print(f"{'factors':22s} {'ordering':13s} {'n':>7s} {'nnz L+U':>8s} {'B':6s} {'SciPy ms':>9s} {'GFLOP/s':>8s} "
          f"{'sptrsm ms':>9s} {'GFLOP/s':>8s} {'faster':>8s} {'residual':>9s}")
    lowest = min(compare(path, library, arguments) for path in arguments.factors)
    if not lowest >= arguments.at_least:
        print(f"lowest speed-up {lowest:.1f} is below {arguments.at_least:g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
