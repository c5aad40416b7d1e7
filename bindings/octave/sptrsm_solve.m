function X = sptrsm_solve(L, U, p, q, B)
% sptrsm_solve  X = sptrsm_solve(L, U, p, q, B) solves A X = B, where [L, U, p, q] = lu(A, 'vector').
% It analyses the factors at each call; the class sptrsm does so once.
  F = sptrsm(L, U, p, q);
  X = F.solve(B);
  F.delete();
end
