"""sptrsm._nvidia: cuSPARSE comes from NVIDIA's wheel where the dynamic loader has none, and only then; cuBLAS where it is needed."""
import ctypes

import pytest
from sptrsm import _nvidia

MISSING = "libcusparse.so.12: cannot open shared object file: No such file or directory"


@pytest.fixture
def loader(monkeypatch):
    """A dynamic loader that refuses libsptrsm.so until cuSPARSE was loaded by its path; returns the paths it was asked for."""
    asked = []

    def load(path):
        asked.append(path)
        if path == "libsptrsm.so" and not any(name.endswith("libcusparse.so.12") for name in asked):
            raise OSError(MISSING)
        return "a library"

    monkeypatch.setattr(ctypes, "CDLL", load)
    return asked


def test_cusparse_of_the_wheel_is_loaded_first(loader, monkeypatch, tmp_path):
    cusparse = tmp_path / "nvidia" / "cu13" / "lib" / "libcusparse.so.12"
    cusparse.parent.mkdir(parents=True)
    cusparse.touch()
    monkeypatch.setattr("sys.path", ["/nonexistent", str(tmp_path)])
    assert _nvidia.load("libsptrsm.so") == "a library"
    assert loader == ["libsptrsm.so", str(cusparse), "libsptrsm.so"]


def test_without_the_wheel_the_error_says_how_to_install_it(loader, monkeypatch):
    monkeypatch.setattr("sys.path", ["/nonexistent"])
    with pytest.raises(OSError, match="libcusparse.*pip install 'nvidia-cusparse"):
        _nvidia.load("libsptrsm.so")


def test_other_errors_stay_as_they_are():
    with pytest.raises(OSError, match="^/nonexistent/libsptrsm.so: "):
        _nvidia.load("/nonexistent/libsptrsm.so")


def test_cublas_of_the_wheel(loader, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert not _nvidia.preload(_nvidia.CUBLAS) and loader == []
    cublas = tmp_path / "nvidia" / "cu13" / "lib" / "libcublas.so.13"
    cublas.parent.mkdir(parents=True)
    cublas.touch()
    assert _nvidia.preload(_nvidia.CUBLAS) and loader == [str(cublas)]
