"""sptrsm.torch: derivatives against finite differences and dense solves, vmap against a loop, values that change, errors."""
from functools import partial

import numpy
import pytest
import scipy.sparse

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import sptrsm  # noqa: E402
import sptrsm.torch  # noqa: E402
from gradient_cases import DTYPES, FACTORS, KINDS, TRANS, block, dense, factors, triangle  # noqa: E402

gradcheck, gradgradcheck = torch.autograd.gradcheck, partial(torch.autograd.gradgradcheck, fast_mode=True)


def leaf(array):
    """A tensor of its own that gradients are asked for."""
    return torch.tensor(array, requires_grad=True)


def both(check, F, B, trans, *values):
    """Runs a check of derivatives by B and by the values."""
    def run(B, *values):
        return sptrsm.torch.solve(F, B, trans, values if len(values) > 1 else values[0])
    return check(run, (leaf(B), *map(leaf, values)))


def case(dtype, kind):
    return triangle(dtype, kind) if kind in KINDS else factors(dtype, kind)


@pytest.mark.parametrize("trans", TRANS)
@pytest.mark.parametrize("kind", KINDS + FACTORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_derivatives(dtype, kind, trans):
    F = case(dtype, kind)
    assert both(gradcheck, F.solver, block(dtype, nrhs=2), trans, *F.data)
    assert both(gradgradcheck, F.solver, block(dtype, nrhs=1), trans, *F.data)


@pytest.mark.parametrize("trans", TRANS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("with_values", [False, True])
@pytest.mark.parametrize("kind", KINDS + FACTORS)
def test_solution_and_gradient_of_b_are_those_of_a_dense_solve(kind, with_values, dtype, trans):
    F, B = case(dtype, kind), block(dtype, nrhs=4)
    ours, theirs = leaf(B), leaf(B)
    X = sptrsm.torch.solve(F.solver, ours, trans, [torch.from_numpy(part) for part in F.data] if with_values else None)
    reference = torch.linalg.solve(torch.from_numpy(dense(F, trans)), theirs)
    weights = torch.from_numpy(block(dtype, nrhs=4, seed=9))
    (X * weights).sum().abs().backward()
    (reference * weights).sum().abs().backward()
    torch.testing.assert_close(X, reference)
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_one_part_of_a_factor_set_may_be_learned():
    F, B = factors("float64"), block("float64", nrhs=2)
    U = leaf(F.data[1])
    assert gradcheck(lambda U: sptrsm.torch.solve(F.solver, torch.from_numpy(B), values=(None, U)), (U,))


def test_stored_entries_that_a_unit_diagonal_hides_have_no_gradient():
    T = triangle("float64", "unit")
    values = leaf(T.data[0])
    sptrsm.torch.solve(T.solver, torch.from_numpy(block("float64", nrhs=2)), values=values).sum().backward()
    on_diagonal = torch.from_numpy(T.rows == T.cols)
    assert on_diagonal.any() and (values.grad[on_diagonal] == 0).all() and (values.grad[~on_diagonal] != 0).any()


@pytest.mark.parametrize("make", [lambda B: B, lambda B: B.T.contiguous().T, lambda B: B[:, 0].contiguous(), lambda B: B[:, :0]])
def test_results_have_the_shape_and_layout_of_b(make):
    T, B = triangle("float64", "lower"), make(torch.from_numpy(block("float64", nrhs=3)))
    X = sptrsm.torch.solve(T.solver, B, values=torch.from_numpy(T.data[0]))
    assert X.shape == B.shape and (B.numel() == 0 or X.stride() == B.stride())
    torch.testing.assert_close(X, torch.from_numpy(numpy.linalg.solve(dense(T, "N"), B.numpy())))


def test_lazily_conjugated_tensors_are_read_as_what_they_stand_for():
    T, B = triangle("complex128", "lower"), torch.from_numpy(block("complex128", nrhs=2))
    X = sptrsm.torch.solve(T.solver, B.conj())
    torch.testing.assert_close(X, torch.from_numpy(numpy.linalg.solve(dense(T, "N"), B.numpy().conj())))


# ---- values that change ----


def gradient_of(T, values, B, between=lambda: None):
    values, B = leaf(values), leaf(B)
    X = sptrsm.torch.solve(T.solver, B, values=values)
    between()
    X.square().sum().backward()
    return values.grad, B.grad


def test_a_graph_with_values_survives_new_values():
    T, B = triangle("float64", "lower"), block("float64", nrhs=2)
    expected = gradient_of(T, 2 * T.data[0], B)
    found = gradient_of(T, 2 * T.data[0], B, between=lambda: T.solver.update_values(3 * T.data[0]))
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_a_graph_of_a_factor_set_survives_new_values():
    F, B = factors("float64"), torch.from_numpy(block("float64", nrhs=2))
    first = [leaf(part) for part in F.data]
    X = sptrsm.torch.solve(F.solver, B, values=first)
    expected = torch.autograd.grad(X.sum(), first, retain_graph=True)
    sptrsm.torch.solve(F.solver, B, values=[torch.from_numpy(2 * part) for part in F.data])
    torch.testing.assert_close(torch.autograd.grad(X.sum(), first), expected, rtol=0, atol=0)


def test_a_graph_without_values_refuses_new_values():
    T, B = triangle("float64", "lower"), leaf(block("float64", nrhs=2))
    X = sptrsm.torch.solve(T.solver, B)
    T.solver.update_values(2 * T.data[0])
    with pytest.raises(RuntimeError, match="pass the values"):
        X.sum().backward()


def test_a_graph_survives_a_new_matrix_for_refinement():
    F, B = sptrsm.splu(scipy.sparse.csc_array(factors("float64").matrix)), leaf(block("float64", nrhs=2))
    X = sptrsm.torch.solve(F, B)
    expected = torch.autograd.grad(X.sum(), B, retain_graph=True)
    F.update_values(A=2 * F.A.data)
    torch.testing.assert_close(torch.autograd.grad(X.sum(), B), expected, rtol=0, atol=0)


def test_values_changed_in_place_are_refused_by_torch():
    T = triangle("float64", "lower")
    values = leaf(T.data[0])
    X = sptrsm.torch.solve(T.solver, torch.from_numpy(block("float64", nrhs=2)), values=values)
    with torch.no_grad():
        values.mul_(2)
    with pytest.raises(RuntimeError, match="inplace"):
        X.sum().backward()


def test_training_finds_the_values_that_made_the_data():
    T = triangle("float64", "lower")
    B = torch.from_numpy(block("float64", nrhs=30))
    X = torch.from_numpy(T.solver.solve(B.numpy()))
    values = leaf(T.data[0] * 1.2)
    optimizer = torch.optim.LBFGS([values], max_iter=300, tolerance_grad=1e-14, tolerance_change=0, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        error = (sptrsm.torch.solve(T.solver, B, values=values) - X).square().mean()
        error.backward()
        return error

    start = loss().item()
    optimizer.step(loss)
    assert loss().item() < 1e-12 * start
    torch.testing.assert_close(values.detach(), torch.from_numpy(T.data[0]), rtol=1e-4, atol=1e-4)


# ---- torch.func ----


@pytest.mark.parametrize("dims", [(0, None), (1, None), (2, None), (None, 0), (None, 1), (1, 0)])
@pytest.mark.parametrize("trans", TRANS)
def test_vmap_is_a_loop(trans, dims):
    T = triangle("complex128", "upper")
    blocks = torch.from_numpy(numpy.stack([block("complex128", nrhs=2, seed=k) for k in range(3)]))
    values = torch.from_numpy(numpy.stack([T.data[0] * (k + 1) for k in range(3)]))
    B = blocks[0] if dims[0] is None else blocks.movedim(0, dims[0])
    v = values[0] if dims[1] is None else values.movedim(0, dims[1])
    found = torch.func.vmap(lambda B, v: sptrsm.torch.solve(T.solver, B, trans, v), in_dims=dims)(B, v)
    loop = [sptrsm.torch.solve(T.solver, blocks[k * (dims[0] is not None)], trans, values[k * (dims[1] is not None)]) for k in range(3)]
    torch.testing.assert_close(found, torch.stack(loop))


@pytest.mark.parametrize("n,nrhs", ((0, 2), (0, 0), (3, 0)))
def test_vmap_over_nothing(n, nrhs):
    T = sptrsm.triangular(scipy.sparse.eye_array(n, format="csr"))
    B = torch.zeros((4, n, nrhs), dtype=torch.float64)
    assert torch.func.vmap(lambda B: sptrsm.torch.solve(T, B))(B).shape == (4, n, nrhs)


def test_vmap_over_right_hand_sides_is_one_solve(monkeypatch):
    T = triangle("float64", "lower")
    widths = []
    solve = type(T.solver).solve
    monkeypatch.setattr(type(T.solver), "solve", lambda self, B, *rest: widths.append(B.shape[1]) or solve(self, B, *rest))
    B = torch.from_numpy(block("float64", nrhs=7)).T
    X = torch.func.vmap(lambda b: sptrsm.torch.solve(T.solver, b))(B)
    assert widths == [7]
    torch.testing.assert_close(X.T, torch.from_numpy(numpy.linalg.solve(dense(T, "N"), B.T.numpy())))


def test_gradients_of_a_batch_are_those_of_a_loop():
    T = triangle("float64", "lower")
    B, v = torch.from_numpy(block("float64", nrhs=4)), torch.from_numpy(T.data[0])

    def loss(b, v):
        return sptrsm.torch.solve(T.solver, b, values=v).sin().sum()

    of_both = torch.func.grad(loss, argnums=(0, 1))
    found = torch.func.vmap(of_both, in_dims=(1, None))(B, v)
    loop = [of_both(B[:, k], v) for k in range(4)]
    torch.testing.assert_close(found, tuple(torch.stack(part) for part in zip(*loop)))


def test_jacobian_of_a_solution_is_the_inverse():
    F = factors("float64")
    J = torch.func.jacrev(lambda b: sptrsm.torch.solve(F.solver, b))(torch.from_numpy(block("float64", nrhs=1)[:, 0].copy()))
    torch.testing.assert_close(J, torch.from_numpy(numpy.linalg.inv(dense(F, "N"))))


# ---- errors ----


def test_the_plain_solve_points_to_the_differentiable_one():
    T = triangle("float64", "lower")
    with pytest.raises(TypeError, match=r"sptrsm\.torch\.solve"):
        T.solver.solve(leaf(block("float64", nrhs=1)))


@pytest.mark.parametrize("B, error, words", [
    (lambda B: B.to_sparse(), TypeError, "to_dense"),
    (lambda B: B.to(torch.float32), TypeError, "B has dtype torch.float32 and the solver float64"),
    (lambda B: B.numpy(), TypeError, "B is ndarray"),
    (lambda B: B.to("meta"), ValueError, "B is on meta and the solver on cpu"),
    (lambda B: B[:-1], ValueError, "B has 11 rows, the system has 12"),
    (lambda B: B[None], ValueError, "B has 3 dimensions"),
])
def test_bad_right_hand_sides(B, error, words):
    T = triangle("float64", "lower")
    with pytest.raises(error, match=words):
        sptrsm.torch.solve(T.solver, B(torch.from_numpy(block("float64", nrhs=2))))


@pytest.mark.parametrize("values, error, words", [
    (lambda v: v[:-1], ValueError, r"values has shape \(.*\); the pattern has"),
    (lambda v: v.to(torch.float32), TypeError, "values has dtype torch.float32 and the solver float64"),
    (lambda v: v.to("meta"), ValueError, "values is on meta and the solver on cpu"),
    (lambda v: v.numpy(), TypeError, "values is ndarray"),
    (lambda v: (v, v), ValueError, "values has 2 parts, and the solver 1"),
])
def test_bad_values(values, error, words):
    T = triangle("float64", "lower")
    with pytest.raises(error, match=words):
        sptrsm.torch.solve(T.solver, torch.from_numpy(block("float64", nrhs=2)), values=values(torch.from_numpy(T.data[0])))


def test_bad_solver_and_operation():
    B = torch.from_numpy(block("float64", nrhs=2))
    with pytest.raises(TypeError, match="F is csr_array"):
        sptrsm.torch.solve(scipy.sparse.eye_array(12).tocsr(), B)
    with pytest.raises(ValueError, match="trans"):
        sptrsm.torch.solve(triangle("float64", "lower").solver, B, "X")


def test_values_that_make_the_matrix_singular():
    T = triangle("float64", "lower")
    with pytest.raises(sptrsm.SingularError):
        sptrsm.torch.solve(T.solver, torch.from_numpy(block("float64", nrhs=2)), values=torch.zeros(len(T.data[0]), dtype=torch.float64))


def test_a_lazily_negated_tensor_is_refused():
    T = sptrsm.triangular(scipy.sparse.eye(4, format="csr"))
    negated = torch.ones(4, dtype=torch.complex128).conj().imag
    assert negated.is_neg()
    with pytest.raises(TypeError, match="resolve_neg"):
        T.solve(negated)


def test_a_graph_sees_that_out_was_written():
    T = sptrsm.triangular(2 * scipy.sparse.eye(4, format="csr"))
    x, w = torch.ones(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64, requires_grad=True)
    y = (w * x).sum()
    T.solve(x, out=x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
