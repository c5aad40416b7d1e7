"""Without a framework its module says what is missing, and the rest of the package works."""
import importlib
import sys

import pytest

import sptrsm


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_a_missing_framework_is_named(monkeypatch, framework):
    monkeypatch.setitem(sys.modules, framework, None)
    monkeypatch.delitem(sys.modules, f"sptrsm.{framework}", raising=False)
    with pytest.raises(ImportError, match=f"pip install {framework}"):
        importlib.import_module(f"sptrsm.{framework}")
    assert sptrsm.__version__
