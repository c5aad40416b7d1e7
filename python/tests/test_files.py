"""Factor sets in HDF5 files, written here and as docs/formats.md says that others write them."""
import numpy
import pytest
import scipy.sparse.linalg
from conftest import close, general, random, triangle

import sptrsm

h5py = pytest.importorskip("h5py")


def test_round_trip(tmp_path, dtype):
    A, path = general(30, dtype), tmp_path / "f.h5"
    F, B = sptrsm.splu(A), random((30, 2), dtype)
    sptrsm.save(F, path)
    G = sptrsm.load(path)
    assert (G.solve(B) == F.solve(B)).all() and G.refine(B, G.solve(B)).berr.max() < 1e-6
    with pytest.raises(FileExistsError, match="overwrite"):
        sptrsm.save(F, path)
    sptrsm.save(F, path, overwrite=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["f.h5"]


def test_all_parts(tmp_path):
    L, n = triangle(6, form="csc"), 6
    F = sptrsm.from_factors(L, D=numpy.arange(1.0, 7), D_sub=[0, 9.0, 0, 0, 0, 0], p=numpy.arange(n)[::-1], unit_L=True,
                            row_scale=numpy.arange(1.0, 7), col_scale=numpy.arange(2.0, 8), row_op="divide")
    sptrsm.save(F, tmp_path / "f.h5")
    G = sptrsm.load(str(tmp_path / "f.h5") + ":/")
    b = random(n, "float64")
    for trans in "NT":
        assert close(G.solve(b, trans), F.solve(b, trans), "float64")


def write_scipy(root, lu):
    """As in docs/formats.md."""
    for group, matrix in (("L", lu.L.sorted_indices()), ("U", lu.U.sorted_indices())):
        for name in ("data", "indices", "indptr"):
            root[f"{group}/{name}"] = getattr(matrix, name)
        root[f"{group}/format"] = "csc"
    root["perm_r"], root["perm_c"] = lu.perm_r, lu.perm_c


def test_a_file_from_scipy(tmp_path):
    lu, b = scipy.sparse.linalg.splu(general(30)), random(30, "float64")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        write_scipy(file.create_group("run3"), lu)
    assert close(sptrsm.from_file(f"{tmp_path}/f.h5:/run3").solve(b), lu.solve(b), "float64")


def test_permutations_of_matlab(tmp_path):
    lu, b = scipy.sparse.linalg.splu(general(30)), random(30, "float64")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        write_scipy(file, lu)
        del file["perm_r"], file["perm_c"]
        file["p"], file["q"] = numpy.argsort(lu.perm_r) + 1.0, numpy.argsort(lu.perm_c) + 1.0
    assert close(sptrsm.from_file(tmp_path / "f.h5").solve(b), lu.solve(b), "float64")


@pytest.mark.parametrize("change,message", [
    (lambda f: f.pop("L"), "no group L"), (lambda f: f["L"].pop("indptr"), "L: has no indptr"), (lambda f: f["U"].pop("format"), "neither"),
    (lambda f: f.create_dataset("P", data=[1]), "/P: matrices"), (lambda f: f.create_dataset("p", data=[1]), "perm_r and p"),
    (lambda f: f.create_dataset("Rs", data=[1.0] * 30), "/Rs: attribute op"),
    (lambda f: f.move("perm_r", "perm_row"), "perm_row: attribute convention")])
def test_bad_files(tmp_path, change, message):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        write_scipy(file, scipy.sparse.linalg.splu(general(30)))
        change(file)
    with pytest.raises(sptrsm.FormatError, match=message):
        sptrsm.from_file(tmp_path / "f.h5")


def test_no_file(tmp_path):
    with pytest.raises(sptrsm.FormatError, match="nothing.h5"):
        sptrsm.from_file(tmp_path / "nothing.h5")
    (tmp_path / "text.h5").write_text("not HDF5")
    with pytest.raises(sptrsm.FormatError, match="text.h5"):
        sptrsm.from_file(tmp_path / "text.h5")
