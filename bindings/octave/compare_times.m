% compare_times -- solves with 64 right-hand sides by backslash and by sptrsm in turn, and prints the times of the fastest turns.
% Backslash has one thread, and its time is that of a core, so that other work on the machine does not count; that of sptrsm is on the
% clock on the wall. SIDE: points per side of a square grid.
function compare_times(side, turns)
  if nargin < 1, side = 60; end
  if nargin < 2, turns = 10; end
  e = ones(side, 1);
  D = spdiags([-1.3 * e, 4.1 * e / 2, -0.7 * e], -1:1, side, side);
  A = kron(D, speye(side)) + kron(speye(side), D);
  n = size(A, 1);
  B = A * reshape(sin(1:64*n), n, 64);

  [L, U, p, q] = lu(A, 'vector');
  F = sptrsm(L, U, p, q);
  backslash = Inf;
  ours = Inf;
  for turn = 1:turns
    start = cputime;
    X = zeros(n, 64);
    X(q, :) = U \ (L \ B(p, :));
    backslash = min(backslash, cputime - start);
    tic;
    Y = F.solve(B);
    ours = min(ours, toc);
  end
  difference = norm(X - Y, 'fro') / norm(X, 'fro');
  fprintf('n = %d, 64 right-hand sides: U\\(L\\B) %.2f ms, sptrsm %.2f ms, %.1f times as fast, difference %.1e\n', ...
         n, 1e3 * backslash, 1e3 * ours, backslash / ours, difference);
  assert(difference <= 1e-10);
  F.delete();
end
