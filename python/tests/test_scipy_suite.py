"""SciPy's own tests of splu, spilu, factorized and spsolve_triangular, from the installed SciPy, run against this package.

A process of its own puts the package's functions in the place of SciPy's before pytest imports SciPy's tests; the incomplete factors
of spilu are SciPy's, solved here.
"""
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

TESTS = "scipy.sparse.linalg._dsolve.tests.test_linsolve"
CLASSES = "TestSplu or TestSpsolveTriangular or TestFactorized"

# Tests of SciPy that must fail here, each with the reason; docs/python.md has the list for users.
DIFFERENCES = {
    "TestSplu.test_spilu_drop_rule": "asserts that the result is an instance of SciPy's SuperLU; here it is sptrsm.Factors",
    "TestSplu.test_lu_refcount": "counts the reference to lu that SciPy's perm_r and perm_c hold; here they are arrays of their own",
    "TestFactorized.test_call_with_incorrectly_sized_matrix_without_umfpack": "expects the words of SciPy's ValueError",
    "TestFactorized.test_call_with_cast_to_complex_without_umfpack": "expects the words of SciPy's TypeError",
}

PROGRAM = """
import sys, pytest, sptrsm
import scipy.sparse.linalg._dsolve as dsolve
spilu = dsolve.spilu
for module in (dsolve, sys.modules["scipy.sparse.linalg._dsolve.linsolve"]):
    module.splu = sptrsm.splu
    module.spilu = lambda *args, **options: sptrsm.from_splu(spilu(*args, **options))
    module.spsolve_triangular = sptrsm.spsolve_triangular
sys.exit(pytest.main(sys.argv[1:]))
"""


def outcomes(report: Path) -> dict:
    """The tests of a JUnit report by outcome: "passed", "skipped" or "failed" -> {test: text of the failure}."""
    found = {"passed": {}, "skipped": {}, "failed": {}}
    for case in ElementTree.parse(report).iter("testcase"):
        name = case.get("classname").rsplit(".", 1)[-1] + "." + case.get("name")
        problem = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
        outcome = "passed" if problem is None else "skipped" if problem.tag == "skipped" else "failed"
        found[outcome][name] = "" if problem is None else problem.get("message", "")
    return found


def test_scipys_own_tests_pass_except_the_named_ones(tmp_path):
    pytest.importorskip("scipy")
    try:
        found = importlib.util.find_spec(TESTS)
    except ModuleNotFoundError:
        found = None
    if not found:
        pytest.skip("the installed SciPy comes without its tests")
    report = tmp_path / "report.xml"
    command = [sys.executable, "-c", PROGRAM, found.origin, "-q", "-k", CLASSES, "-p", "no:cacheprovider", "--rootdir", str(tmp_path),
               f"--junitxml={report}"]
    path = os.pathsep.join(entry for entry in sys.path if entry)
    ran = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr  # 1: tests failed, as the named ones do
    result = outcomes(report)
    assert result["failed"].keys() == DIFFERENCES.keys(), result["failed"]
    assert sum(name.startswith("TestSpsolveTriangular") for name in result["passed"]) > 0
    assert sum(name.startswith("TestSplu") for name in result["passed"]) > 0
