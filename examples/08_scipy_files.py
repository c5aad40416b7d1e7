#!/usr/bin/env python3
"""Factorise with SciPy, solve for 1,000 right-hand sides with sptrsm-solve, through files.

    08_scipy_files.py [SPTRSM_SOLVE]      default: sptrsm-solve on PATH; on a GPU if it finds one

SciPy's splu gives Pr A Pc = L U. Its L and U are not sorted, and unless the format is stored they are taken for CSR.
"""
import os
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
    import scipy.sparse as sparse
    from scipy.sparse.linalg import splu
except ImportError as missing:
    print(f"example skipped: {missing}")
    sys.exit(77)

program = sys.argv[1] if len(sys.argv) > 1 else "sptrsm-solve"
side, nrhs = 40, 1000
line = sparse.diags([-1.0, 2.5, -1.5], [-1, 0, 1], shape=(side, side))
A = (sparse.kron(line, sparse.identity(side)) + sparse.kron(sparse.identity(side), line)).tocsc()
X_true = np.random.default_rng(1).integers(-9, 10, (A.shape[0], nrhs)).astype(float)

with tempfile.TemporaryDirectory() as folder:
    system, solution = os.path.join(folder, "system.h5"), os.path.join(folder, "x.h5")
    lu = splu(A)
    with h5py.File(system, "w") as file:
        for name, matrix in (("L", lu.L.sorted_indices()), ("U", lu.U.sorted_indices())):
            group = file.create_group(name)
            group["data"], group["indices"], group["indptr"] = matrix.data, matrix.indices, matrix.indptr
            group.attrs["format"] = "csc"
        file["perm_r"], file["perm_c"] = lu.perm_r, lu.perm_c
        file["B"] = A @ X_true
    subprocess.run([program, "--quiet", system, system, "-o", solution], check=True)
    with h5py.File(solution, "r") as file:
        X = file["X"][:]

error = np.abs(X - X_true).max()
print(f"n = {A.shape[0]}, {lu.L.nnz + lu.U.nnz} entries in L and U, {nrhs} right-hand sides, largest error {error:.1e}")
sys.exit(not error <= 1e-10)
