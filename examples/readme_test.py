"""readme_test.py README SPTRSM-SOLVE -- runs the README's Python lines and its sptrsm-solve command, and checks the answer.

Exits 77 (skipped) where h5py or SciPy is missing."""
import os
import re
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
    import scipy.sparse
    import scipy.sparse.linalg
except ImportError as missing:
    print(f"example skipped: {missing}")
    sys.exit(77)

program = os.path.abspath(sys.argv[2])
readme = open(sys.argv[1], encoding="utf-8").read()
code = re.search(r"```python\n(import h5py.*?)```", readme, re.S).group(1)
command = re.search(r"^(sptrsm-solve system\.h5 .*)$", readme, re.M).group(1).split("#")[0].split()

random = numpy.random.default_rng(1)
n = 300
A = (scipy.sparse.random(n, n, 0.02, random_state=1) + scipy.sparse.diags(random.uniform(1, 2, n))).tocsc()
X_true = random.integers(1, 9, (n, 5)).astype(float)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    exec(code, {"A": A, "B": A @ X_true})
    subprocess.run([program] + command[1:], check=True)
    with h5py.File("x.h5") as f:
        error = abs(f["X"][:] - X_true).max()
print(f"largest error {error:.1e}")
assert error <= 1e-9, error
