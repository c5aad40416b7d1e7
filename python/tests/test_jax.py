"""sptrsm.jax: derivatives against finite differences and dense solves, jit, vmap against a loop, values that change, errors."""
import numpy
import pytest
import scipy.sparse

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import sptrsm  # noqa: E402
import sptrsm.jax  # noqa: E402
from gradient_cases import DTYPES, FACTORS, KINDS, N, TRANS, block, dense, factors, triangle  # noqa: E402

OPERATIONS = [("float64", "N")] + [("complex128", trans) for trans in TRANS]  # real numbers add no case of their own to T and H


@pytest.fixture(autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def case(dtype, kind):
    return triangle(dtype, kind) if kind in KINDS else factors(dtype, kind)


def by_both(F, trans):
    """A function of B and of the values of all parts."""
    return lambda B, *values: sptrsm.jax.solve(F.solver, B, trans, values)


def arguments(F, dtype, nrhs):
    return (jnp.array(block(dtype, nrhs)), *map(jnp.array, F.data))


@pytest.mark.parametrize("dtype, trans", OPERATIONS)
@pytest.mark.parametrize("kind", KINDS + FACTORS)
def test_derivatives(dtype, kind, trans):
    F = case(dtype, kind)
    check_grads(jax.jit(by_both(F, trans)), arguments(F, dtype, 2), order=1, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_second_derivatives(dtype):
    F = triangle(dtype, "lower")
    check_grads(jax.jit(by_both(F, "N")), arguments(F, dtype, 1), order=2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("with_values", [False, True])
@pytest.mark.parametrize("dtype, trans", OPERATIONS)
@pytest.mark.parametrize("kind", KINDS + FACTORS)
def test_solution_and_gradient_of_b_are_those_of_a_dense_solve(dtype, kind, trans, with_values):
    F, B = case(dtype, kind), jnp.array(block(dtype, nrhs=4))
    values = tuple(map(jnp.array, F.data)) if with_values else None
    X, pull = jax.vjp(lambda B: sptrsm.jax.solve(F.solver, B, trans, values), B)
    reference, pull_reference = jax.vjp(lambda B: jnp.linalg.solve(jnp.array(dense(F, trans)), B), B)
    cotangent = jnp.array(block(dtype, nrhs=4, seed=9))
    numpy.testing.assert_allclose(X, reference, rtol=1e-9, atol=1e-12)
    numpy.testing.assert_allclose(pull(cotangent)[0], pull_reference(cotangent)[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(N,), (N, 1), (N, 0)])
def test_results_have_the_shape_of_b(shape):
    T, B = triangle("float64", "lower"), numpy.ones(shape)
    X = jax.jit(lambda B: sptrsm.jax.solve(T.solver, B))(B)
    numpy.testing.assert_allclose(X, numpy.linalg.solve(T.matrix, B), rtol=1e-9)


def test_stored_entries_that_a_unit_diagonal_hides_have_no_gradient():
    T, B = triangle("float64", "unit"), jnp.array(block("float64", nrhs=2))
    grad = jax.grad(lambda values: sptrsm.jax.solve(T.solver, B, values=values).sum())(jnp.array(T.data[0]))
    on_diagonal = T.rows == T.cols
    assert on_diagonal.any() and (grad[on_diagonal] == 0).all() and (grad[~on_diagonal] != 0).any()


def test_one_part_of_a_factor_set_may_be_learned():
    F, B = factors("float64"), jnp.array(block("float64", nrhs=2))
    check_grads(lambda U: sptrsm.jax.solve(F.solver, B, values=(None, U)), (jnp.array(F.data[1]),), order=1, rtol=1e-5, atol=1e-5)


# ---- values that change ----


def test_a_derivative_uses_the_values_of_its_solve():
    T, B = triangle("float64", "lower"), jnp.array(block("float64", nrhs=2))

    def loss(values):
        return (sptrsm.jax.solve(T.solver, B, values=values) ** 2).sum()

    values = 2 * jnp.array(T.data[0])
    expected = jax.grad(loss)(values)
    _, pull = jax.vjp(loss, values)
    T.solver.update_values(3 * T.data[0])
    numpy.testing.assert_array_equal(pull(1.0)[0], expected)


def test_a_compiled_function_follows_new_values():
    T, B = triangle("float64", "lower"), jnp.array(block("float64", nrhs=2))
    solve = jax.jit(lambda B: sptrsm.jax.solve(T.solver, B))
    first = solve(B)
    T.solver.update_values(2 * T.data[0])
    numpy.testing.assert_allclose(2 * solve(B), first, rtol=1e-12)


def test_training_finds_the_values_that_made_the_data():
    T = triangle("float64", "lower")
    B = block("float64", nrhs=30)
    X, diagonal = jnp.array(T.solver.solve(B)), jnp.array(T.rows == T.cols)
    values = jnp.array(T.data[0]) * jnp.where(diagonal, 1.1, 0.9)

    @jax.jit
    def gauss_newton(values):
        def residual(values):
            return (sptrsm.jax.solve(T.solver, B, values=values) - X).ravel()

        return values - jnp.linalg.lstsq(jax.jacfwd(residual)(values), residual(values))[0]

    for _ in range(8):
        values = gauss_newton(values)
    numpy.testing.assert_allclose(values, T.data[0], rtol=1e-8)


# ---- vmap ----


@pytest.mark.parametrize("dims", [(0, None), (1, None), (2, None), (None, 0), (None, 1), (1, 0)])
@pytest.mark.parametrize("trans", TRANS)
def test_vmap_is_a_loop(trans, dims):
    T = triangle("complex128", "upper")
    blocks = jnp.stack([block("complex128", nrhs=2, seed=k) for k in range(3)])
    values = jnp.stack([T.data[0] * (k + 1) for k in range(3)])
    B = blocks[0] if dims[0] is None else jnp.moveaxis(blocks, 0, dims[0])
    v = values[0] if dims[1] is None else jnp.moveaxis(values, 0, dims[1])
    found = jax.vmap(by_both(T, trans), in_axes=dims)(B, v)
    for k in range(3):
        one = by_both(T, trans)(blocks[k * (dims[0] is not None)], values[k * (dims[1] is not None)])
        numpy.testing.assert_allclose(found[k], one, rtol=1e-12)


def test_vmap_in_vmap_is_a_loop_in_a_loop():
    T = triangle("float64", "lower")
    blocks = jnp.stack([block("float64", nrhs=2, seed=k) for k in range(3)])
    values = jnp.stack([T.data[0] * (k + 1) for k in range(4)])
    found = jax.vmap(jax.vmap(by_both(T, "N"), (None, 0)), (0, None))(blocks, values)
    assert found.shape == (3, 4, N, 2)
    for k in range(3):
        for m in range(4):
            numpy.testing.assert_allclose(found[k, m], by_both(T, "N")(blocks[k], values[m]), rtol=1e-12)


@pytest.mark.parametrize("n,nrhs", ((0, 2), (0, 0), (3, 0)))
def test_vmap_over_nothing(n, nrhs):
    T = sptrsm.triangular(scipy.sparse.eye_array(n, format="csr"))
    assert jax.vmap(lambda B: sptrsm.jax.solve(T, B))(jnp.zeros((4, n, nrhs))).shape == (4, n, nrhs)


def test_vmap_over_right_hand_sides_is_one_solve(monkeypatch):
    T = triangle("float64", "lower")
    widths = []
    solve = type(T.solver).solve
    monkeypatch.setattr(type(T.solver), "solve", lambda self, B, *rest: widths.append(B.shape[1]) or solve(self, B, *rest))
    B = jnp.array(block("float64", nrhs=7).T)
    X = jax.block_until_ready(jax.jit(jax.vmap(lambda b: sptrsm.jax.solve(T.solver, b)))(B))
    assert widths == [7]
    numpy.testing.assert_allclose(X.T, numpy.linalg.solve(T.matrix, B.T), rtol=1e-9)


def test_gradients_of_a_batch_are_those_of_a_loop():
    F = factors("float64")
    B, *values = arguments(F, "float64", 4)
    of_both = jax.grad(lambda b, *values: jnp.sin(sptrsm.jax.solve(F.solver, b, values=values)).sum(), argnums=(0, 1, 2))
    found = jax.jit(jax.vmap(of_both, in_axes=(1, None, None)))(B, *values)
    for k in range(4):
        for part, one in zip(found, of_both(B[:, k], *values)):
            numpy.testing.assert_allclose(part[k], one, rtol=1e-9, atol=1e-12)


def test_large_arrays_do_not_block_the_callback():
    n, nrhs = 20000, 100  # 16 MB: more than JAX hands to a callback without a copy of its own
    T = sptrsm.triangular(2 * scipy.sparse.eye_array(n, format="csr"))
    solve = jax.jit(lambda B: sptrsm.jax.solve(T, sptrsm.jax.solve(T, B + 1)) + 1)
    numpy.testing.assert_array_equal(solve(jnp.full((n, nrhs), 7.0)), numpy.full((n, nrhs), 3.0))


# ---- errors ----


@pytest.mark.parametrize("B, error, words", [
    (lambda B: B.astype("float32"), TypeError, r"B has dtype float32 and the solver float64; pass B\.astype"),
    (lambda B: B.tolist(), TypeError, "B is list, not an array"),
    (lambda B: B[:-1], ValueError, "B has 11 rows, the system has 12"),
    (lambda B: B[None], ValueError, "B has 3 dimensions"),
])
def test_bad_right_hand_sides(B, error, words):
    with pytest.raises(error, match=words):
        sptrsm.jax.solve(triangle("float64", "lower").solver, B(jnp.array(block("float64", nrhs=2))))


def test_double_precision_that_is_switched_off():
    T, B = triangle("float64", "lower"), block("float64", nrhs=2)
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(TypeError, match="jax_enable_x64"):
        sptrsm.jax.solve(T.solver, B)


@pytest.mark.parametrize("values, error, words", [
    (lambda v: v[:-1], ValueError, r"values has shape \(.*\); the pattern has"),
    (lambda v: v.astype("float32"), TypeError, "values has dtype float32 and the solver float64"),
    (lambda v: (v, v), ValueError, "values has 2 parts, and the solver 1"),
])
def test_bad_values(values, error, words):
    T = triangle("float64", "lower")
    with pytest.raises(error, match=words):
        sptrsm.jax.solve(T.solver, block("float64", nrhs=2), values=values(jnp.array(T.data[0])))


def test_bad_solver_and_operation():
    B = block("float64", nrhs=2)
    with pytest.raises(TypeError, match="F is csr_array"):
        sptrsm.jax.solve(scipy.sparse.eye_array(N).tocsr(), B)
    with pytest.raises(ValueError, match="trans"):
        sptrsm.jax.solve(triangle("float64", "lower").solver, B, "X")


def test_values_that_make_the_matrix_singular():
    T = triangle("float64", "lower")
    with pytest.raises(Exception, match="diagonal"):
        sptrsm.jax.solve(T.solver, block("float64", nrhs=2), values=jnp.zeros(len(T.data[0]))).block_until_ready()
