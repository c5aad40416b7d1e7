"""Factor sets in HDF5 files, written here and as docs/formats.md says that others write them."""
import os

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


def put(file, name, values):
    """Replaces a dataset or group."""
    if name in file:
        del file[name]
    file[name] = values


@pytest.mark.parametrize("change,message", [
    (lambda f: f.pop("L"), "no group L"), (lambda f: f["L"].pop("indptr"), "L: has no indptr"), (lambda f: f["U"].pop("format"), "neither"),
    (lambda f: f.create_dataset("P", data=[1]), "/P: matrices"), (lambda f: f.create_dataset("p", data=[1]), "/perm_r: stands beside p"),
    (lambda f: f.create_dataset("Rs", data=[1.0] * 30), "/Rs: attribute op"),
    (lambda f: f.move("perm_r", "perm_row"), "perm_row: attribute convention"),
    (lambda f: put(f, "perm_r", numpy.full(30, 0.5)), r"/perm_r: \[0\] is 0.5, not an integer"),
    (lambda f: put(f, "perm_r", numpy.full(30, numpy.nan)), r"/perm_r: \[0\] is nan, not an integer"),
    (lambda f: put(f, "perm_r", numpy.full(30, 3)), "not a permutation"),
    (lambda f: put(f, "perm_r", numpy.arange(30) + 5), r"perm_r\[25\]"),
    (lambda f: put(f, "perm_r", [b"a"] * 30), "/perm_r: has type"), (lambda f: put(f, "L/indptr", numpy.ones(31)), "L/indptr: has type"),
    (lambda f: put(f, "L/indptr", []), "L/indptr: has type"), (lambda f: put(f, "L/indptr", numpy.empty(0, int)), "L/indptr: is empty"),
    (lambda f: put(f, "L/data", numpy.ones((5, 5))), r"L/data: has shape \(5, 5\)"),
    (lambda f: put(f, "L/data", [1.0]), "L/data: has 1 elements, and indptr ends at"),
    (lambda f: put(f, "L/indices", f["L/indices"][:][::-1]), "L: "), (lambda f: f["L"].attrs.update(shape="wide"), "/L: can't be read"),
    (lambda f: f["L"].attrs.update(sptrsm="{"), "/L: can't be read: JSON"),
    (lambda f: f["L"].attrs.update(sptrsm="[]"), "/L: .*JSON object"),
    (lambda f: put(f, "L/format", 3), "'3', which is neither"), (lambda f: f["U"].pop("data") and f["U"].create_group("data"), "no array"),
    (lambda f: put(f, "D", h5py.Empty("f8")), "/D: is no array"), (lambda f: put(f, "D", numpy.ones(29)), "D has shape"),
    (lambda f: put(f, "D_sub", numpy.zeros(30)), "D_sub and no D"),
    (lambda f: (put(f, "D", numpy.ones(30)), put(f, "D_sub", numpy.zeros(3))), r"D_sub has shape \(3,\)"),
    (lambda f: put(f, "L", 3), "/L: is a dataset"), (lambda f: put(f, "A", 3.0), "/A: is a dataset"),
    (lambda f: put(f, "L", numpy.dtype("f8")), "/L: is neither"), (lambda f: put(f, "perm_r", numpy.dtype("f8")), "/perm_r: is neither"),
    (lambda f: f["perm_r"].attrs.update(convention=[b"gather", b"scatter"]), "/perm_r: attribute convention has 2 elements"),
    (lambda f: f["perm_r"].attrs.update(convention=numpy.bytes_(b"\xff")), "/perm_r: attribute convention: can't be read"),
    (lambda f: f["L"].attrs.update(shape=[29, 29]), r"/L: has shape \(29, 29\); the 31 offsets"),
    (lambda f: f["L"].attrs.update(sptrsm='{"diag": "none"}'), "/L: diag is 'none'; use"),
    (lambda f: put(f, "U/data", f["U/data"][:].astype(numpy.longdouble)), "/U/data: .*not supported"),
    (lambda f: f.__setitem__("D", h5py.SoftLink("/nowhere")), "/D: can't be read|KeyError"),
    (lambda f: put(f, "L/sptrsm", numpy.zeros(2**18)), "/L/sptrsm: is neither an attribute nor a small dataset"),
    (lambda f: f["L"].pop("data") and f["L"].create_dataset("data", (2**50,), "f8", chunks=(1024,)),
    "L/data: has 1125899906842624 elements"),
    (lambda f: f.create_dataset("D", (2**50,), "f8", chunks=(1024,)), "more than this machine's memory")])
def test_bad_files(tmp_path, change, message):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        write_scipy(file, scipy.sparse.linalg.splu(general(30)))
        change(file)
    with pytest.raises((sptrsm.FormatError, sptrsm.OutOfMemoryError), match=message) as caught:
        sptrsm.from_file(tmp_path / "f.h5")
    assert str(caught.value).startswith(f"{tmp_path}/f.h5:")


def lead_out(file, other, how):
    """Makes L/data, or all of L, lie in the file `other`."""
    values = file["L/data"][:]
    with h5py.File(other, "w") as another:
        file.copy("L", another)
    if how == "link":
        put(file, "L", h5py.ExternalLink(str(other), "/L"))
    elif how == "link behind a soft link":
        file["away"] = h5py.ExternalLink(str(other), "/")
        put(file, "L", h5py.SoftLink("/away/L"))
    elif how == "virtual dataset":
        layout = h5py.VirtualLayout(values.shape, values.dtype)
        layout[:] = h5py.VirtualSource(other, "L/data", values.shape)
        del file["L/data"]
        file.create_virtual_dataset("L/data", layout)
    else:
        del file["L/data"]
        values.tofile(other)
        file.create_dataset("L/data", values.shape, values.dtype, external=[(str(other), 0, values.nbytes)])


@pytest.mark.parametrize("how,message", [
    ("link", ":/L: is a link to the file .*other"), ("link behind a soft link", ":/away: is a link to the file .*other"),
    ("virtual dataset", ":/L/data: its numbers lie in another file"), ("external storage", ":/L/data: its numbers lie in another file")])
def test_other_files_are_not_read(tmp_path, how, message):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        write_scipy(file, scipy.sparse.linalg.splu(general(30)))
        lead_out(file, tmp_path / "other", how)
        assert file["L/data"].size > 0  # h5py itself reads it
    with pytest.raises(sptrsm.FormatError, match=message + ".*--allow-external") as caught:
        sptrsm.from_file(tmp_path / "f.h5")
    assert str(caught.value).startswith(f"{tmp_path}/f.h5:")


def test_a_group_in_another_file(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["away"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/")
    with pytest.raises(sptrsm.FormatError, match="f.h5:/away: is a link to the file .*other.h5"):
        sptrsm.from_file(f"{tmp_path}/f.h5:/away")


def test_links_within_the_file(tmp_path):
    lu, b = scipy.sparse.linalg.splu(general(30)), random(30, "float64")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        write_scipy(file.create_group("run3"), lu)
        file["latest"] = h5py.SoftLink("run3")
        file.move("run3/L", "kept")
        file["run3/L"] = h5py.SoftLink("/kept")
        file["round"] = h5py.SoftLink("/round")
    assert close(sptrsm.from_file(f"{tmp_path}/f.h5:/latest").solve(b), lu.solve(b), "float64")
    with pytest.raises(sptrsm.FormatError, match="f.h5"):
        sptrsm.from_file(f"{tmp_path}/f.h5:/round")


def test_a_wrong_option_is_no_wrong_file(tmp_path):
    sptrsm.save(sptrsm.splu(general(30)), tmp_path / "f.h5")
    for options, error, message in (({"metod": 1}, TypeError, "use 'method'"), ({"method": "nonsense"}, sptrsm.ArgumentError, "nonsense"),
                                    ({"device": "nowhere"}, ValueError, "nowhere"), ({"dtype": "int8"}, TypeError, "int8")):
        with pytest.raises(error, match=message) as caught:
            sptrsm.from_file(tmp_path / "f.h5", **options)
        assert not isinstance(caught.value, sptrsm.FormatError)
    assert sptrsm.from_file(tmp_path / "f.h5", dtype="complex128").dtype == numpy.complex128


@pytest.mark.parametrize("part", range(20))
def test_a_file_that_was_cut_off(tmp_path, part):
    path = tmp_path / "f.h5"
    sptrsm.save(sptrsm.splu(general(30)), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:len(whole) * part // 20])
    with pytest.raises(sptrsm.FormatError, match="f.h5"):
        sptrsm.from_file(path)


def test_the_last_entry_of_d_sub_may_be_left_out(tmp_path):
    F = sptrsm.from_factors(triangle(6, form="csc"), D=numpy.arange(1.0, 7), D_sub=[0, 9.0, 0, 0, 0, 0], unit_L=True)
    sptrsm.save(F, tmp_path / "f.h5")
    with h5py.File(tmp_path / "f.h5", "a") as file:
        put(file, "D_sub", file["D_sub"][:5])
    assert (sptrsm.from_file(tmp_path / "f.h5").solve(numpy.ones(6)) == F.solve(numpy.ones(6))).all()


def test_a_triangle_is_not_saved(tmp_path):
    with pytest.raises(TypeError, match="Triangular.*save_npz"):
        sptrsm.save(sptrsm.triangular(triangle(5)), tmp_path / "f.h5")
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="f.h5: there is no folder .*nowhere$"):
        sptrsm.save(sptrsm.splu(general(5)), tmp_path / "nowhere" / "f.h5")


@pytest.mark.parametrize("mask", (0o022, 0o077))
def test_a_file_has_the_usual_permissions(tmp_path, mask):
    before = os.umask(mask)
    try:
        sptrsm.save(sptrsm.splu(general(5)), tmp_path / "f.h5")
    finally:
        os.umask(before)
    assert (tmp_path / "f.h5").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_failing_write_leaves_nothing_behind(tmp_path, monkeypatch):
    path, F = tmp_path / "f.h5", sptrsm.splu(general(5))
    sptrsm.save(F, path)
    before = path.read_bytes()
    monkeypatch.setattr(sptrsm._files, "_write_matrix", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sptrsm.save(F, path, overwrite=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["f.h5"] and path.read_bytes() == before


def test_no_file(tmp_path):
    with pytest.raises(sptrsm.FormatError, match="nothing.h5"):
        sptrsm.from_file(tmp_path / "nothing.h5")
    (tmp_path / "text.h5").write_text("not HDF5")
    with pytest.raises(sptrsm.FormatError, match="text.h5"):
        sptrsm.from_file(tmp_path / "text.h5")


def test_an_attribute_that_claims_to_be_huge(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w", libver="latest") as file:
        write_scipy(file, scipy.sparse.linalg.splu(general(30)))
        file["L"].attrs["sptrsm"] = numpy.zeros(2**18)
    with pytest.raises(sptrsm.FormatError, match=r"/L: attribute sptrsm says that it has \(262144,\) elements of 8 bytes"):
        sptrsm.from_file(tmp_path / "f.h5")


def test_a_path_of_bytes(tmp_path):
    name = os.fsencode(tmp_path / "f.h5")
    F = sptrsm.splu(general(30))
    sptrsm.save(F, name)
    assert (sptrsm.from_file(name).solve(numpy.ones(30)) == F.solve(numpy.ones(30))).all()
