(** The lemmas of the paper that its proofs use and ours mostly do without, and the limits of its curves at order 1. *)
Require Import Reals Lra Lia ZArith Arith.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant DiscreteLaplaceInequality DiscreteLaplace ThreePoint
  BoundedRange TwoPoint.
Local Open Scope R_scope.

(** Lemma 10, [lem:sinhx-divx-inc]. *)
Theorem sinh_ratio_increases (x y : R) : 0 < x <= y -> sinh x / x <= sinh y / y.
Proof.
  intros H. assert (h := sinh_ratio_increasing x y ltac:(lra)).
  apply Rmult_le_reg_r with (x * y); [nra|].
  replace (sinh x / x * (x * y)) with (y * sinh x) by (field; lra).
  replace (sinh y / y * (x * y)) with (x * sinh y) by (field; lra). easy.
Qed.

(** Lemma 11, [lem:log-sinh-over-x-convex-and-superadditive]: phi = log(sinh(x)/x) has a strictly increasing
    derivative ... *)
Theorem log_sinh_ratio_convex (x y : R) : 0 < x < y ->
  is_derive (fun u => ln (sinh u / u)) x (cosh x / sinh x - / x) /\ cosh x / sinh x - / x < cosh y / sinh y - / y.
Proof.
  intros H. split.
  - assert (s := sinh_pos x ltac:(lra)). auto_derive.
    + split; [lra|]. split; [|easy]. apply Rdiv_lt_0_compat; lra.
    + field. lra.
  - apply (lt_of_derive (fun u => cosh u / sinh u - / u) (fun u => / (u * u) - / (sinh u * sinh u))); [lra| |].
    + intros u Hu. assert (s := sinh_pos u ltac:(lra)). auto_derive; [lra|]. assert (c := cosh_sqr u).
      replace (/ (u * u) - / (sinh u * sinh u))
        with (/ (u * u) - (cosh u * cosh u - sinh u * sinh u) / (sinh u * sinh u))
        by (rewrite c; field; lra).
      field. lra.
    + intros u Hu. assert (s := sinh_gt u ltac:(lra)).
      assert (/ (sinh u * sinh u) < / (u * u)); [|lra]. apply Rinv_lt_contravar; [|nra].
      apply Rmult_lt_0_compat; nra.
Qed.

(** ... and is superadditive, because x coth x >= 1. *)
Theorem log_sinh_ratio_superadditive (x y : R) : 0 < x -> 0 < y ->
  ln (sinh x / x) + ln (sinh y / y) <= ln (sinh (x + y) / (x + y)).
Proof.
  intros Hx Hy. assert (a := sinh_pos x Hx). assert (b := sinh_pos y Hy).
  rewrite <- ln_mult by (apply Rdiv_lt_0_compat; lra).
  apply Rcomplements.ln_le; [apply Rmult_lt_0_compat; apply Rdiv_lt_0_compat; lra|]. rewrite sinh_plus.
  assert (c := sinh_le_xcosh x ltac:(lra)). assert (d := sinh_le_xcosh y ltac:(lra)).
  apply Rmult_le_reg_r with (x * y * (x + y)); [apply Rmult_lt_0_compat; nra|].
  replace (sinh x / x * (sinh y / y) * (x * y * (x + y))) with (x * sinh x * sinh y + y * sinh y * sinh x)
    by (field; lra).
  replace ((sinh x * cosh y + cosh x * sinh y) / (x + y) * (x * y * (x + y)))
    with (x * sinh x * (y * cosh y) + y * sinh y * (x * cosh x)) by (field; lra).
  apply Rplus_le_compat; apply Rmult_le_compat_l; nra.
Qed.

(** Lemma 12, [lem:concavity]: f concave, that is with a decreasing derivative, and f'(1) <= f(1). *)
Theorem concave_curve_is_worst_at_order_one (f f' : R -> R) :
  (forall x, 1 <= x -> is_derive f x (f' x)) -> (forall x y, 1 <= x <= y -> f' y <= f' x) -> f' 1 <= f 1 ->
  forall x, 1 <= x -> f x / x <= f 1 / 1.
Proof.
  intros D C H x Hx.
  assert (h : f' 1 * 1 - f 1 <= f' 1 * x - f x).
  { apply (le_of_derive (fun u => f' 1 * u - f u) (fun u => f' 1 - f' u)); [easy| |].
    - intros u Hu. assert (d := is_derive_minus (fun v => f' 1 * v) f u (f' 1) (f' u)). apply d; [|apply D; lra].
      auto_derive; [easy|]. ring.
    - intros u Hu. assert (c := C 1 u). lra. }
  apply Rle_div_l; [lra|]. rewrite Rdiv_1. nra.
Qed.

(** Proposition 15, [prop:dlap-rdp]: the sum as the paper writes it, in both directions. *)
Theorem discrete_laplace_one_shift (a alpha : R) (d : nat) : 0 < a -> 1 < alpha ->
  let D := ln (tanh (a / 2) * (exp (- a * alpha * INR d) / (exp a - 1)
      + (exp (a - a * alpha * INR d) - exp (a * (alpha * (INR d + 2) - INR d))) / (exp a - exp (2 * a * alpha))
      + exp (- a * (1 - alpha) * INR d) / (exp a - 1))) / (alpha - 1) in
  is_renyi integers alpha (discrete_laplace_mass a (Z.of_nat d)) (discrete_laplace_mass a 0) D /\
  is_renyi integers alpha (discrete_laplace_mass a 0) (discrete_laplace_mass a (Z.of_nat d)) D.
Proof.
  intros Ha Hal D.
  assert (E : D = discrete_laplace_cumulant a (a * INR d) (alpha - 1) / (alpha - 1)).
  { unfold D, discrete_laplace_cumulant. f_equal. f_equal. replace (1 + (alpha - 1)) with alpha by ring.
    rewrite tanh_half by easy. unfold sinh.
    assert (x1 := exp_gt_1 a Ha). assert (g1 := exp_gt_1 ((alpha - 1) * a) ltac:(nra)).
    assert (X := exp_pos (a * INR d)). assert (G := exp_pos ((alpha - 1) * (a * INR d))).
    replace (exp (- a)) with (/ exp a) by (now rewrite exp_Ropp).
    replace (exp (- a * alpha * INR d)) with (/ (exp (a * INR d) * exp ((alpha - 1) * (a * INR d))))
      by (rewrite <- exp_plus, <- exp_Ropp; f_equal; ring).
    replace (exp (a - a * alpha * INR d)) with (exp a * / (exp (a * INR d) * exp ((alpha - 1) * (a * INR d))))
      by (rewrite <- exp_plus, <- exp_Ropp, <- exp_plus; f_equal; ring).
    replace (exp (a * (alpha * (INR d + 2) - INR d)))
      with (exp ((alpha - 1) * (a * INR d)) * (exp a * exp a * (exp ((alpha - 1) * a) * exp ((alpha - 1) * a))))
      by (rewrite <- !exp_plus; f_equal; ring).
    replace (exp (2 * a * alpha)) with (exp a * exp a * (exp ((alpha - 1) * a) * exp ((alpha - 1) * a)))
      by (rewrite <- !exp_plus; f_equal; ring).
    replace (exp (- a * (1 - alpha) * INR d)) with (exp ((alpha - 1) * (a * INR d))) by (f_equal; ring).
    replace (exp (- (alpha * (a * INR d)))) with (/ (exp (a * INR d) * exp ((alpha - 1) * (a * INR d))))
      by (rewrite <- exp_plus, <- exp_Ropp; f_equal; ring).
    replace (exp (alpha * a)) with (exp a * exp ((alpha - 1) * a)) by (rewrite <- exp_plus; f_equal; ring).
    replace (exp (- (alpha * a))) with (/ (exp a * exp ((alpha - 1) * a)))
      by (rewrite <- exp_plus, <- exp_Ropp; f_equal; ring).
    replace (exp (- ((alpha - 1) * a))) with (/ exp ((alpha - 1) * a)) by (now rewrite exp_Ropp).
    set (x := exp a) in *. set (g := exp ((alpha - 1) * a)) in *.
    assert (g2 : 1 < g * g) by nra. assert (xg : 1 < x * (g * g)) by nra. assert (xg' : 1 < x * g) by nra.
    assert (xxg : x < x * x * (g * g)) by nra.
    field. repeat split; nra. }
  assert (N : IZR (Z.of_nat d) = INR d) by now rewrite <- INR_IZR_INZ.
  assert (d0 := pos_INR d).
  assert (C : forall m m', Rabs (IZR m - IZR m') = INR d -> is_renyi integers alpha (discrete_laplace_mass a m)
    (discrete_laplace_mass a m') D).
  { intros m m' H. rewrite E. apply renyi_of_cumulant; [|easy]. intros s Hs.
    assert (h := discrete_laplace_moment a m m' s Ha Hs). now rewrite H in h. }
  split; apply C; rewrite N.
  - rewrite Rminus_0_r. now apply Rabs_pos_eq.
  - rewrite Rminus_0_l, Rabs_Ropp. now apply Rabs_pos_eq.
Qed.

(** * Limits at order 1 *)
Lemma curve_limit (K : R -> R) (rho : R) : K 0 = 0 -> is_derive K 0 rho ->
  filterlim (fun alpha => K (alpha - 1) / (alpha - 1)) (at_right 1) (locally rho).
Proof.
  intros K0 D. apply is_derive_Reals in D. intros P [e He]. destruct (D e (cond_pos e)) as [d Hd].
  exists d. intros alpha B A. apply He. unfold ball in *. simpl in *. unfold AbsRing_ball in *. simpl in *.
  unfold abs, minus, plus, opp in *. simpl in *.
  specialize (Hd (alpha - 1) ltac:(lra) B). rewrite Rplus_0_l, K0, Rminus_0_r in Hd. exact Hd.
Qed.

(** Proposition 21, [prop:rdp-k-rr], its second part. *)
Theorem randomized_response_curve_limit (k : nat) (epsilon : R) : (2 <= k)%nat -> 0 < epsilon ->
  filterlim (fun alpha =>
      ln ((exp (alpha * epsilon) + exp ((1 - alpha) * epsilon) + INR k - 2) / (INR k - 1 + exp epsilon)) / (alpha - 1))
    (at_right 1) (locally (epsilon * ((exp epsilon - 1) / (exp epsilon - 1 + INR k)))).
Proof.
  intros Hk He. assert (k2 : 2 <= INR k) by (apply (le_INR 2); lia). assert (p := exp_pos epsilon).
  replace (epsilon * ((exp epsilon - 1) / (exp epsilon - 1 + INR k))) with (three_point_rho (INR k) epsilon)
    by (unfold three_point_rho; field; lra).
  eapply filterlim_ext; [|apply (curve_limit (three_point_cumulant (INR k) epsilon));
    [now apply three_point_cumulant_0|now apply three_point_cumulant_derive]].
  intros alpha. cbv beta. unfold three_point_cumulant. f_equal. f_equal. f_equal; [|ring].
  replace (1 + (alpha - 1)) with alpha by ring.
  now replace (- ((alpha - 1) * epsilon)) with ((1 - alpha) * epsilon) by ring.
Qed.

(** Theorem 26, [thm:br-rdp], its last part: between the curve of one pair and rho alpha. *)
Theorem bounded_range_curve_limit (eta : R) : 0 < eta ->
  filterlim (fun alpha =>
      ln (Rpower (exp (alpha * eta) - 1) alpha * Rpower (alpha * (exp (alpha * eta) - exp eta) / (alpha - 1))
        (1 - alpha)
          / (alpha * (exp eta - 1))) / (alpha - 1))
    (at_right 1) (locally (eta / (exp eta - 1) + ln ((exp eta - 1) / eta) - 1)).
Proof.
  intros He. fold (bounded_range_rho eta). assert (z := worst_z_bounds eta He).
  apply (filterlim_le_le (fun alpha => two_point_cumulant eta (worst_z eta) (alpha - 1) / (alpha - 1)) _
    (fun alpha => bounded_range_rho eta * alpha) (Finite (bounded_range_rho eta))).
  - exists (mkposreal 1 Rlt_0_1). intros alpha _ Ha. assert (s0 : 0 < alpha - 1) by lra.
    rewrite bounded_range_curve by easy. split.
    + apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
      assert (h := two_point_pair eta _ He z (alpha - 1) s0).
      rewrite <- (ln_exp (two_point_cumulant eta (worst_z eta) (alpha - 1))).
      destruct (two_point_range eta _ He z true false) as [t Ht]; [easy|].
      apply (bounded_range_moment_le (finite (true :: false :: nil)) (two_point eta (worst_z eta) true)
        (two_point eta (worst_z eta) false) eta t); try easy;
        now apply two_point_mechanism.
    + apply Rle_div_l; [easy|]. assert (h := bounded_range_cumulant_le eta (alpha - 1) He s0). lra.
  - rewrite <- worst_z_KL by easy.
    apply (curve_limit (two_point_cumulant eta (worst_z eta)));
      [now apply two_point_cumulant_0|now apply two_point_cumulant_derive].
  - assert (h : filterlim (fun alpha => bounded_range_rho eta * alpha) (at_right 1)
      (locally (bounded_range_rho eta * 1))).
    { apply (@filterlim_filter_le_1 R R (locally 1) (at_right 1)).
      - intros P [e Q]. exists e. intros y Hy _. now apply Q.
      - apply (continuous_mult (fun _ => bounded_range_rho eta) (fun alpha => alpha));
          [apply continuous_const|apply continuous_id]. }
    now rewrite Rmult_1_r in h.
Qed.
