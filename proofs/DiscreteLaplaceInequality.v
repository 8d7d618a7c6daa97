(** The inequality K(s) <= rho s(1+s) of discrete Laplace noise, for a real shift w >= 0.

    With A = sinh((1+s) t) and B = sinh(s t): K = log((A e^(sw) + B e^(-(1+s)w))/(A + B)) and rho = w + (e^-w - 1)
    t/sinh t, both 0 at w = 0. (s(1+s) rho - K)' = e^-w (U(w) - s(1+s) t/sinh t), where U' is a perfect square times
    something positive, so U(w) >= U(0); and U(0) >= s(1+s) t/sinh t says that x coth x, as a function of x^2, lies
    below its tangent at x = t/2. (Laplace noise is the limit A = 1 + s, B = s.) *)
Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis.
Local Open Scope R_scope.

(* sinh^2 cosh + x sinh >= 2 x^2 cosh *)
Lemma discrete_laplace_key x : 0 <= x -> 2 * x * x * cosh x <= sinh x * sinh x * cosh x + x * sinh x.
Proof.
  intros H.
  assert (k1 : forall u, 0 <= u -> 0 <= 3 * sinh u + 3 * sinh u * sinh u * sinh u - 3 * u * cosh u - 2 * u * u
    * sinh u).
  { intros u Hu.
    from_derive (fun u => 3 * sinh u + 3 * sinh u * sinh u * sinh u - 3 * u * cosh u - 2 * u * u * sinh u)
      (fun u => 9 * sinh u * sinh u * cosh u - 7 * u * sinh u - 2 * u * u * cosh u) u; try lra.
    - rewrite sinh_0. ring.
    - intros v _. auto_derive; [easy|]. ring.
    - intros v Hv. assert (h := sinh_ge v ltac:(lra)). assert (c := cosh_ge_1 v).
      assert (a1 : v * sinh v <= sinh v * sinh v) by nra.
      assert (a2 : v * v <= sinh v * sinh v) by nra.
      assert (a3 : 0 <= sinh v * sinh v) by nra.
      assert (b1 : sinh v * sinh v <= sinh v * sinh v * cosh v) by nra.
      assert (b2 : v * v * cosh v <= sinh v * sinh v * cosh v) by (apply Rmult_le_compat_r; lra).
      lra. }
  from_derive (fun u => sinh u * sinh u * cosh u + u * sinh u - 2 * u * u * cosh u)
    (fun u => 3 * sinh u + 3 * sinh u * sinh u * sinh u - 3 * u * cosh u - 2 * u * u * sinh u) x; try lra.
  - rewrite sinh_0. ring.
  - intros u _. auto_derive; [easy|]. assert (h := cosh_sqr u).
    replace (cosh u * cosh u) with (1 + sinh u * sinh u) by lra. 
    match goal with |- ?l = ?r => assert (l - r = 2 * sinh u * (cosh u * cosh u - 1 - sinh u * sinh u)) by ring end.
    rewrite h in *. nra.
  - intros u Hu. apply k1. lra.
Qed.

Definition coth_slope (x : R) := (sinh x * cosh x - x) / (x * (sinh x * sinh x)).  (* (x coth x)'/x *)

Lemma coth_slope_decreasing x0 x : 0 < x0 <= x -> coth_slope x <= coth_slope x0.
Proof.
  intros H. assert (h : - coth_slope x0 <= - coth_slope x); [|lra].
  apply (le_of_derive (fun u => - coth_slope u)
    (fun u => (sinh u * sinh u * cosh u + u * sinh u - 2 * u * u * cosh u) / (u * u * (sinh u * sinh u * sinh u))));
      [lra| |].
  - intros u Hu. unfold coth_slope. assert (p := sinh_pos u ltac:(lra)). auto_derive.
    + apply Rgt_not_eq. apply Rmult_lt_0_compat; nra.
    + assert (h := cosh_sqr u).
      replace (sinh u * sinh u * cosh u + u * sinh u - 2 * u * u * cosh u)
        with (sinh u * sinh u * cosh u + u * sinh u * (cosh u * cosh u - sinh u * sinh u) - 2 * u * u * cosh u)
          by (rewrite h; ring).
      field. lra.
  - intros u Hu. assert (p := sinh_pos u ltac:(lra)). assert (k := discrete_laplace_key u ltac:(lra)).
    apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat.
    apply Rmult_lt_0_compat; [nra|]. apply Rmult_lt_0_compat; nra.
Qed.

(* x coth x is concave in x^2: it lies below its tangent *)
Lemma xcoth_tangent x0 x : 0 < x0 <= x ->
  x * cosh x / sinh x <= x0 * cosh x0 / sinh x0 + coth_slope x0 / 2 * (x * x - x0 * x0).
Proof.
  intros H. assert (dec : forall u, x0 <= u -> coth_slope u <= coth_slope x0)
    by (intros u Hu; apply coth_slope_decreasing; lra).
  set (k := coth_slope x0) in *.
  assert (h : (fun u => k / 2 * (u * u) - u * cosh u / sinh u) x0
    <= (fun u => k / 2 * (u * u) - u * cosh u / sinh u) x).
  { apply (le_of_derive (fun u => k / 2 * (u * u) - u * cosh u / sinh u) (fun u => u * (k - coth_slope u))); [lra| |].
    - intros u Hu. assert (p := sinh_pos u ltac:(lra)). auto_derive; [lra|]. unfold coth_slope.
      assert (h := cosh_sqr u).
      replace (sinh u * cosh u - u) with (sinh u * cosh u - u * (cosh u * cosh u - sinh u * sinh u))
        by (rewrite h; ring).
      field. lra.
    - intros u Hu. apply Rmult_le_pos; [lra|]. specialize (dec u). lra. }
  cbv beta in h. lra.
Qed.

(* U(0) >= t / sinh t *)
Lemma discrete_laplace_start t s : 0 < t -> 0 < s ->
  s * (1 + s) * t * (sinh ((1 + s) * t) + sinh (s * t))
  <= (s * s * sinh ((1 + s) * t) + (1 + s) * (1 + s) * sinh (s * t)) * sinh t.
Proof.
  intros Ht Hs.
  set (x0 := t / 2). set (x := t * (s + / 2)).
  assert (X0 : 0 < x0) by (unfold x0; lra).
  assert (X : x0 <= x) by (unfold x0, x; nra).
  replace ((1 + s) * t) with (x + x0) by (unfold x, x0; field).
  replace (s * t) with (x - x0) by (unfold x, x0; field).
  replace t with (x0 + x0) at 2 by (unfold x0; field).
  rewrite !sinh_plus, sinh_minus.
  assert (T := xcoth_tangent x0 x ltac:(lra)).
  assert (p0 := sinh_pos x0 X0). assert (p := sinh_pos x ltac:(lra)). assert (c0 := cosh_pos x0).
  unfold coth_slope in T.
  set (S := sinh x) in *. set (C := cosh x) in *. set (S0 := sinh x0) in *. set (C0 := cosh x0) in *.
  assert (E : x * C / S * (2 * S0 * S0) <= (x0 * C0 / S0 + (S0 * C0 - x0) / (x0 * (S0 * S0)) / 2 * (x * x - x0 * x0))
    * (2 * S0 * S0)).
  { apply Rmult_le_compat_r; [nra|exact T]. }
  replace ((x0 * C0 / S0 + (S0 * C0 - x0) / (x0 * (S0 * S0)) / 2 * (x * x - x0 * x0)) * (2 * S0 * S0))
    with (t * C0 * S0 + 2 * (S0 * C0 - x0) * t * (s * (1 + s))) in E by (unfold x, x0 in *; field; lra).
  apply Rmult_le_compat_r with (r := S * C0 / t * 2) in E.
  2:{ apply Rmult_le_pos; [|lra]. apply Rmult_le_pos; [nra|]. left. now apply Rinv_0_lt_compat. }
  replace (x * C / S * (2 * S0 * S0) * (S * C0 / t * 2)) with (2 * C0 * S0 * (2 * (s + / 2) * C * S0)) in E
    by (unfold x; field; lra).
  replace ((t * C0 * S0 + 2 * (S0 * C0 - x0) * t * (s * (1 + s))) * (S * C0 / t * 2))
    with ((C0 * S0 + 2 * (S0 * C0 - x0) * (s * (1 + s))) * (S * C0 * 2)) in E by (field; lra).
  replace x0 with (t / 2) in E by reflexivity.
  nra.
Qed.

Definition discrete_laplace_cumulant (t w s : R) : R :=
  ln ((sinh ((1 + s) * t) * exp (s * w) + sinh (s * t) * exp (- ((1 + s) * w))) / (sinh ((1 + s) * t) + sinh (s * t))).
Definition discrete_laplace_rho (t w : R) : R := w + (exp (- w) - 1) * t / sinh t.

Lemma discrete_laplace_cumulant_le t w s : 0 < t -> 0 <= w -> 0 < s ->
  discrete_laplace_cumulant t w s <= discrete_laplace_rho t w * (s * (1 + s)).
Proof.
  intros Ht Hw Hs. unfold discrete_laplace_cumulant, discrete_laplace_rho.
  assert (start := discrete_laplace_start t s Ht Hs).
  assert (A0 : 0 < sinh ((1 + s) * t)) by (apply sinh_pos; nra).
  assert (B0 : 0 < sinh (s * t)) by (apply sinh_pos; nra).
  assert (t0 : 0 < sinh t) by (now apply sinh_pos).
  set (A := sinh ((1 + s) * t)) in *. set (B := sinh (s * t)) in *. set (T := sinh t) in *.
  assert (pos : forall u, 0 < A * exp (s * u) + B * exp (- ((1 + s) * u))).
  { intros u. assert (h := exp_pos (s * u)). assert (h' := exp_pos (- ((1 + s) * u))). nra. }
  pose (U := fun u => exp u * (s * s * A * exp (s * u) + (1 + s) * (1 + s) * B * exp (- ((1 + s) * u)))
               / (A * exp (s * u) + B * exp (- ((1 + s) * u)))).
  assert (Um : forall u, 0 <= u -> s * (1 + s) * t / T <= U u).
  { intros u Hu. apply Rle_trans with (U 0).
    - unfold U. rewrite !Rmult_0_r, Ropp_0, exp_0.
      replace (1 * (s * s * A * 1 + (1 + s) * (1 + s) * B * 1) / (A * 1 + B * 1))
        with ((s * s * A + (1 + s) * (1 + s) * B) / (A + B)) by (field; lra).
      apply Rle_div_l; [lra|].
      replace ((s * s * A + (1 + s) * (1 + s) * B) / (A + B) * T)
        with ((s * s * A + (1 + s) * (1 + s) * B) * T / (A + B)) by (field; lra).
      apply (proj1 (Rle_div_r (s * (1 + s) * t) ((s * s * A + (1 + s) * (1 + s) * B) * T) (A + B) ltac:(lra))).
      exact start.
    - apply (le_of_derive U (fun v => exp v * ((s * A * exp (s * v) - (1 + s) * B * exp (- ((1 + s) * v)))
                                     * (s * A * exp (s * v) - (1 + s) * B * exp (- ((1 + s) * v))))
               / ((A * exp (s * v) + B * exp (- ((1 + s) * v))) * (A * exp (s * v) + B * exp (- ((1 + s) * v))))));
                 [lra| |].
      + intros v _. unfold U. specialize (pos v). auto_derive; [lra|]. field. lra.
      + intros v _. specialize (pos v). apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; nra].
        apply Rmult_le_pos; [left; apply exp_pos|]. apply Rle_0_sqr. }
  from_derive (fun u => (u + (exp (- u) - 1) * t / T) * (s * (1 + s))
    - ln ((A * exp (s * u) + B * exp (- ((1 + s) * u))) / (A + B)))
    (fun u => exp (- u) * (U u - s * (1 + s) * t / T)) w; try lra.
  - rewrite !Rmult_0_r, Ropp_0, exp_0. replace ((A * 1 + B * 1) / (A + B)) with 1 by (field; lra). rewrite ln_1. field.
    lra.
  - intros u Hu. specialize (pos u). unfold U. auto_derive.
    + apply Rmult_lt_0_compat; [lra|]. apply Rinv_0_lt_compat. lra.
    + rewrite (exp_Ropp u). assert (p := exp_pos u). field. lra.
  - intros u Hu. apply Rmult_le_pos; [left; apply exp_pos|]. specialize (Um u). lra.
Qed.
