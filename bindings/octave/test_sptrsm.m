% test_sptrsm -- the class sptrsm and sptrsm_solve against the backslash; any failure is an error.
function test_sptrsm()
  A = convection(20);
  n = size(A, 1);
  B = reshape(sin(1:7*n), n, 7);
  [L, U, p, q] = lu(A, 'vector');

  F = sptrsm(L, U, p, q);
  close_to(A * F.solve(B), B);
  close_to(A' * F.solve(B, 'C'), B);
  close_to(A * F.solve(B + 2i * fliplr(B)), B + 2i * fliplr(B)); % complex B, real factors
  close_to(A * F.solve(B(:, 1)), B(:, 1));
  assert(isequal(size(F.solve(zeros(n, 0))), [n 0]));
  assert(F.n == n);
  G = sptrsm(L, U); % two at a time, without permutations
  close_to(L * (U * G.solve(B)), B);
  close_to(A * F.solve(B), B);
  close_to(A * sptrsm_solve(L, U, p, q, B), B);

  C = A + 1i * spdiags((1:n)' / n, 0, n, n);
  [L, U, p, q] = lu(C, 'vector');
  H = sptrsm(L, U, p, q);
  close_to(C * H.solve(B), B); % real B, complex factors
  close_to(C' * H.solve(1i * B, 'C'), 1i * B);
  close_to(C.' * H.solve(1i * B, 'T'), 1i * B);

  S = A + A' + 1i * (A - A') + 10 * speye(n);
  [R, e, q] = chol(S, 'vector');
  assert(e == 0);
  K = sptrsm(R', [], q, q);
  close_to(S * K.solve(B), B);

  refuse('order 400', @() F.solve(B(2:end, :)));
  refuse('full', @() F.solve(sparse(B)));
  refuse('op must be', @() F.solve(B, 'X'));
  refuse('p(2) = 0', @() sptrsm(R', [], [1 0 3:n], q));
  refuse('p(1) = 1.5 is not a whole number', @() sptrsm(R', [], [1.5 2:n], q));
  refuse('L and U are needed', @() sptrsm(R'));
  refuse('sparse', @() sptrsm(full(R'), [], q, q));
  refuse('diagonal', @() sptrsm(R' * 0 + spdiags(ones(n, 1), -1, n, n), [], q, q));
  F.delete();
  refuse('deleted', @() F.solve(B));
  F.delete(); % again: nothing
  clear sptrsm_mex
  refuse('cleared', @() G.solve(B));
  lastwarn('');
  H.delete(); % its set is gone already: nothing
  clear K     % nor does the end of a variable warn
  assert(isempty(lastwarn()), lastwarn());
  K = arrayfun(@(k) sptrsm(R', [], q, q), 1:20, 'UniformOutput', false);
  refuse('cleared', @() G.solve(B)); % not solved with a set that was made since
  cellfun(@(k) k.delete(), K);
  disp('all passed');
end

function A = convection(side)
  e = ones(side, 1);
  D = spdiags([-1.3 * e, 4.1 * e / 2, -0.7 * e], -1:1, side, side);
  A = kron(D, speye(side)) + kron(speye(side), D);
end

function close_to(X, Y)
  assert(norm(X - Y, 'fro') <= 1e-12 * norm(Y, 'fro'));
end

function refuse(message, call)
  try
    call();
  catch problem
    assert(~isempty(strfind(problem.message, message)), [problem.message ' does not say ' message]);
    return
  end
  error('no error that says "%s"', message);
end
