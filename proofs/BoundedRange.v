(** Bounded range: the largest Renyi curve of the class, and rho. *)
Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Cumulant BoundedRatio.
Local Open Scope R_scope.

Definition bounded_range_rho (n : R) : R := n / (exp n - 1) + ln ((exp n - 1) / n) - 1.

(** The worst case over t of the cumulant *)
Definition bounded_range_cumulant (n s : R) : R :=
  (1 + s) * ln ((exp ((1 + s) * n) - 1) / (1 + s)) - s * ln ((exp (s * n) - 1) / s) - s * n - ln (exp n - 1).

(* x coth(x/2) >= 2 *)
Lemma coth_lower x : 0 < x -> 2 / x <= (exp x + 1) / (exp x - 1).
Proof.
  intros H. assert (g := exp_gt_1 x H).
  assert (h : 2 * (exp x - 1) <= x * (exp x + 1)).
  { assert (q := sinh_le_xcosh (x / 2)). unfold sinh, cosh in q. rewrite exp_Ropp in q.
    assert (p := exp_pos (x / 2)). rewrite (exp_half x). set (a := exp (x / 2)) in *.
    assert (q' : (a - / a) / 2 <= x / 2 * ((a + / a) / 2)) by lra.
    apply Rmult_le_compat_r with (r := a) in q'; [|lra]. field_simplify in q'; [|lra..]. 
    nra. }
  apply Rmult_le_reg_r with (x * (exp x - 1)); [nra|]. field_simplify; lra.
Qed.

(* (x/2)^2 <= sinh(x/2)^2 *)
Lemma csch_upper x : 0 < x -> x * exp x * 2 / ((exp x - 1) * (exp x - 1)) <= 2 / x.
Proof.
  intros H. assert (g := exp_gt_1 x H).
  assert (h : x * x * exp x <= (exp x - 1) * (exp x - 1)).
  { assert (q := sinh_ge (x / 2)). unfold sinh in q. rewrite exp_Ropp in q.
    assert (p := exp_pos (x / 2)). rewrite (exp_half x). set (a := exp (x / 2)) in *.
    assert (q' : x / 2 <= (a - / a) / 2) by lra.
    apply Rmult_le_compat_r with (r := a) in q'; [|lra]. field_simplify in q'; [|lra..].
    assert (x * a <= a * a - 1) by nra.
    replace (x * x * (a * a)) with ((x * a) * (x * a)) by ring.
    assert (0 <= x * a) by nra. apply Rmult_le_compat; lra. }
  assert (D : 0 < (exp x - 1) * (exp x - 1)) by nra.
  apply Rle_div_l; [easy|].
  replace (2 / x * ((exp x - 1) * (exp x - 1))) with (2 * ((exp x - 1) * (exp x - 1)) / x) by (field; lra).
  apply (proj1 (Rle_div_r (x * exp x * 2) (2 * ((exp x - 1) * (exp x - 1))) x H)). lra.
Qed.

(* x <= sinh x *)
Lemma csch_upper2 x : 0 < x -> x * exp x * 2 / ((exp x - 1) * (exp x - 1)) <= (exp x + 1) / (exp x - 1).
Proof.
  intros H. assert (g := exp_gt_1 x H).
  assert (h : 2 * x * exp x <= exp x * exp x - 1).
  { assert (q := sinh_ge x). unfold sinh in q. rewrite exp_Ropp in q.
    assert (q' : x <= (exp x - / exp x) / 2) by lra.
    apply Rmult_le_compat_r with (r := exp x) in q'; [|lra]. field_simplify in q'; [|lra..]. nra. }
  assert (D : 0 < (exp x - 1) * (exp x - 1)) by nra.
  apply Rle_div_l; [easy|].
  replace ((exp x + 1) / (exp x - 1) * ((exp x - 1) * (exp x - 1))) with ((exp x + 1) * (exp x - 1)) by (field; lra).
  lra.
Qed.

(* Lower ends of ln ((e^x - 1)/x) *)
Lemma ln_expm1 x : 0 < x -> 0 <= ln ((exp x - 1) / x) <= x.
Proof.
  intros H. assert (g := exp_gt_1 x H). assert (i := exp_ineq1_le x).
  assert (1 <= (exp x - 1) / x) by (apply Rmult_le_reg_r with x; [lra|field_simplify; lra]).
  split.
  - rewrite <- ln_1. apply Rcomplements.ln_le; lra.
  - apply Rle_trans with (ln (exp x)); [|rewrite ln_exp; lra]. apply Rcomplements.ln_le; [lra|].
    apply Rmult_le_reg_r with x; [lra|]. field_simplify; [|lra].
    assert (j := exp_ineq1_le (- x)). rewrite exp_Ropp in j.
    apply Rmult_le_compat_r with (r := exp x) in j; [|lra]. field_simplify in j; lra.
Qed.

Lemma bounded_range_rho_nonneg n : 0 < n -> 0 <= bounded_range_rho n.
Proof.
  intros H. unfold bounded_range_rho. assert (g := exp_gt_1 n H).
  assert (p : 0 < n / (exp n - 1)) by (apply Rdiv_lt_0_compat; lra).
  assert (h := ln_le_sub1 _ p).
  replace ((exp n - 1) / n) with (/ (n / (exp n - 1))) by (field; lra).
  rewrite ln_Rinv by easy. lra.
Qed.

Lemma bounded_range_cumulant_upper n s : 0 < n -> 0 < s -> bounded_range_cumulant n s <= (1 + s) * (1 + s) * n.
Proof.
  intros Hn Hs. unfold bounded_range_cumulant.
  assert (a1 : 0 < (1 + s) * n) by nra. assert (a2 : 0 < s * n) by nra.
  assert (h1 := ln_expm1 _ a1). assert (h2 := ln_expm1 _ a2). assert (h3 := ln_expm1 _ Hn).
  assert (g1 := exp_gt_1 _ a1). assert (g2 := exp_gt_1 _ a2). assert (g3 := exp_gt_1 _ Hn).
  replace ((exp ((1 + s) * n) - 1) / (1 + s)) with ((exp ((1 + s) * n) - 1) / ((1 + s) * n) * n) by (field; lra).
  replace ((exp (s * n) - 1) / s) with ((exp (s * n) - 1) / (s * n) * n) by (field; lra).
  replace (exp n - 1) with ((exp n - 1) / n * n) by (field; lra).
  rewrite !ln_mult by (try easy; apply Rdiv_lt_0_compat; lra).
  nra.
Qed.

(** With C = coth(n/2), T = coth(s n/2) and W = n/(2 sinh^2(n/2)), twice the derivative in n of rho s(1+s) - K is the
    product of two factors, divided by C + T: both are >= 0 because x coth x >= 1 and sinh x >= x. *)
Lemma bounded_range_cumulant_mono s a b : 0 < s -> 0 < a <= b ->
  bounded_range_rho a * (s * (1 + s)) - bounded_range_cumulant a s
    <= bounded_range_rho b * (s * (1 + s)) - bounded_range_cumulant b s.
Proof.
  intros Hs Hab.
  pose (C := fun n => (exp n + 1) / (exp n - 1)).
  pose (T := fun n => (exp (s * n) + 1) / (exp (s * n) - 1)).
  pose (W := fun n => n * exp n * 2 / ((exp n - 1) * (exp n - 1))).
  apply (le_of_derive (fun n => bounded_range_rho n * (s * (1 + s)) - bounded_range_cumulant n s)
    (fun n => (s * T n - 2 / n + s * (C n - 2 / n)) * (s * T n - W n + s * (C n - W n)) / (2 * (C n + T n)))); [lra| |].
  - intros n Hn. unfold bounded_range_rho, bounded_range_cumulant, C, T, W.
    assert (g1 := exp_gt_1 ((1 + s) * n)). assert (g2 := exp_gt_1 (s * n)). assert (g3 := exp_gt_1 n).
    assert (a1 : 0 < (1 + s) * n) by nra. assert (a2 : 0 < s * n) by nra.
    specialize (g1 a1). specialize (g2 a2). specialize (g3 ltac:(lra)).
    auto_derive.
    + repeat split; try lra; apply Rmult_lt_0_compat; try lra; apply Rinv_0_lt_compat; lra.
    + replace (exp ((1 + s) * n)) with (exp n * exp (s * n)) in * by (rewrite <- exp_plus; f_equal; ring).
      set (E := exp n) in *. set (F := exp (s * n)) in *. field.
      repeat split; try lra; try nra.
  - intros n Hn. assert (Hn' : 0 < n) by lra. assert (a2 : 0 < s * n) by nra.
    assert (h1 := coth_lower (s * n) a2). assert (h2 := coth_lower n Hn').
    assert (h3 := csch_upper n Hn'). assert (h4 := csch_upper2 n Hn').
    fold (T n) in h1. fold (C n) in h2, h4. fold (W n) in h3, h4.
    assert (T1 : 2 / n <= s * T n).
    { replace (2 / n) with (s * (2 / (s * n))) by (field; lra). apply Rmult_le_compat_l; lra. }
    assert (p1 : 0 < 2 / n) by (apply Rdiv_lt_0_compat; lra).
    assert (p2 : 0 < 2 / (s * n)) by (apply Rdiv_lt_0_compat; lra).
    apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; lra].
    apply Rmult_le_pos.
    + assert (0 <= s * (C n - 2 / n)) by (apply Rmult_le_pos; lra). lra.
    + assert (0 <= s * (C n - W n)) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma bounded_range_cumulant_le n s : 0 < n -> 0 < s ->
  bounded_range_cumulant n s <= bounded_range_rho n * (s * (1 + s)).
Proof.
  intros Hn Hs.
  assert (h : forall e, 0 < e -> - e <= bounded_range_rho n * (s * (1 + s)) - bounded_range_cumulant n s).
  { intros e He. set (a := Rmin n (e / ((1 + s) * (1 + s)))).
    assert (q : 0 < (1 + s) * (1 + s)) by nra.
    assert (a0 : 0 < a) by (apply Rmin_glb_lt; [easy|now apply Rdiv_lt_0_compat]).
    assert (an : a <= n) by apply Rmin_l.
    assert (ae : (1 + s) * (1 + s) * a <= e).
    { assert (r : a <= e / ((1 + s) * (1 + s))) by apply Rmin_r.
      apply Rmult_le_compat_l with (r := (1 + s) * (1 + s)) in r; [|lra]. field_simplify in r; nra. }
    assert (m := bounded_range_cumulant_mono s a n Hs ltac:(lra)).
    assert (u := bounded_range_cumulant_upper a s a0 Hs). assert (r0 := bounded_range_rho_nonneg a a0).
    assert (0 <= bounded_range_rho a * (s * (1 + s))) by (apply Rmult_le_pos; nra). lra. }
  apply Rnot_lt_le. intros L.
  specialize (h ((bounded_range_cumulant n s - bounded_range_rho n * (s * (1 + s))) / 2)). lra.
Qed.

(* The moment bound for one t is at most exp (bounded_range_cumulant n s): weighted AM-GM *)
Lemma bounded_range_worst_t n t s : 0 < n -> 0 <= t <= n -> 0 < s ->
  ln (((exp (n - t) - 1) * Rpower (exp (- t)) (1 + s) + (1 - exp (- t)) * Rpower (exp (n - t)) (1 + s))
    / (exp (n - t) - exp (- t))) <= bounded_range_cumulant n s.
Proof.
  intros Hn Ht Hs.
  assert (g1 : 1 < exp ((1 + s) * n)) by (apply exp_gt_1; nra).
  assert (g2 : 1 < exp (s * n)) by (apply exp_gt_1; nra).
  assert (g3 : 1 < exp n) by (now apply exp_gt_1).
  assert (g4 : 1 <= exp t) by (apply exp_ge_1; lra).
  assert (EF : exp ((1 + s) * n) = exp n * exp (s * n)) by (rewrite <- exp_plus; f_equal; ring).
  set (a := exp ((1 + s) * n) - 1). set (b := exp n * (exp (s * n) - 1)). set (z := exp t).
  assert (a0 : 0 < a) by (unfold a; lra). assert (b0 : 0 < b) by (unfold b; nra).
  set (x := a * z - b). assert (x0 : 0 < x).
  { unfold x. assert (a * 1 <= a * z) by (apply Rmult_le_compat_l; unfold z; lra). unfold a, b in *. nra. }
  match goal with |- ln ?v <= _ => replace v with (x * exp (- ((1 + s) * t)) / (exp n - 1)) end.
  2:{ unfold x, a, b, z, Rpower. rewrite !ln_exp.
      replace (exp ((1 + s) * - t)) with (exp (- ((1 + s) * t))) by (f_equal; ring).
      replace (exp ((1 + s) * (n - t))) with (exp ((1 + s) * n) * exp (- ((1 + s) * t)))
        by (rewrite <- exp_plus; f_equal; ring).
      replace (exp (n - t)) with (exp n * / exp t) by (rewrite <- exp_Ropp, <- exp_plus; easy).
      rewrite (exp_Ropp t), EF. field. split; lra. }
  assert (ep := exp_pos (- ((1 + s) * t))).
  assert (xe : 0 < x * exp (- ((1 + s) * t))) by (now apply Rmult_lt_0_compat).
  rewrite ln_div by lra. rewrite ln_mult, ln_exp by easy.
  assert (w : 0 <= / (1 + s) <= 1).
  { split; [left; apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_le_contravar; lra]. }
  assert (h := amgm (/ (1 + s)) ((1 + s) * x) ((1 + s) * b / s) w ltac:(nra)).
  assert (bs : 0 < (1 + s) * b / s) by (apply Rdiv_lt_0_compat; nra).
  specialize (h bs).
  replace (/ (1 + s) * ((1 + s) * x) + (1 - / (1 + s)) * ((1 + s) * b / s)) with (a * z) in h by (unfold x; field; lra).
  apply Rmult_le_compat_l with (r := 1 + s) in h; [|lra].
  rewrite ln_div, !ln_mult in h by (try lra; try nra; unfold z; apply exp_pos).
  unfold z in h. rewrite ln_exp in h.
  unfold b in h. rewrite ln_mult, ln_exp in h by lra.
  unfold bounded_range_cumulant. fold a. rewrite !ln_div by lra.
  field_simplify in h; [|lra..]. nra.
Qed.

(** The t of a pair lies in [0, eta], because both densities have integral 1. *)
Lemma bounded_range_t {Y} (mu : base_measure Y) (p q : Y -> R) (eta t : R) :
  density mu p -> density mu q -> (forall y, support mu y -> exp (- t) * q y <= p y <= exp (eta - t) * q y) ->
  0 <= t <= eta.
Proof.
  intros [_ Ip] [_ Iq] H.
  assert (t0 : exp (- t) * 1 <= 1).
  { apply (is_integral_le mu _ _ _ _ (fun y Hy => proj1 (H y Hy)) (is_integral_scal mu _ _ _ Iq) Ip). }
  assert (t1 : 1 <= exp (eta - t) * 1).
  { apply (is_integral_le mu _ _ _ _ (fun y Hy => proj2 (H y Hy)) Ip (is_integral_scal mu _ _ _ Iq)). }
  split; apply Rnot_lt_le; intros L.
  - assert (h := exp_gt_1 (- t)). lra.
  - assert (h : exp (eta - t) < exp 0) by (apply exp_increasing; lra). rewrite exp_0 in h. lra.
Qed.

(** Lemma 25 of the paper, [lem:br-rdp-one]: the bound for one t. ([bounded_range_one_t_attained] says that it is
    attained.) *)
Theorem bounded_range_one_t {Y} (mu : base_measure Y) (p q : Y -> R) (eta t alpha D : R) :
  0 < eta -> 1 < alpha -> density mu p -> density mu q ->
  (forall y, support mu y -> exp (- t) * q y <= p y <= exp (eta - t) * q y) -> is_renyi mu alpha p q D ->
  D <= ln ((exp eta - exp t) / (exp eta - 1) * exp (- t * alpha)
           + (exp t - 1) / (exp eta - 1) * exp ((- t + eta) * alpha)) / (alpha - 1).
Proof.
  intros He Ha Dp Dq H [m [Hm ->]]. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|].
  assert (g := exp_gt_1 eta He).
  assert (lt : exp (- t) < exp (eta - t)) by (apply exp_increasing; lra).
  apply moment_of_order in Hm.
  destruct (moment_le mu p q (exp (- t)) (exp (eta - t)) (alpha - 1) m Dp Dq (exp_pos _) lt ltac:(lra) H Hm) as [m0 m1].
  eapply Rle_trans; [apply Rcomplements.ln_le; [easy|exact m1]|]. right. f_equal.
  unfold Rpower. rewrite !ln_exp. replace ((1 + (alpha - 1)) * - t) with (- t * alpha) by ring.
  replace ((1 + (alpha - 1)) * (eta - t)) with ((- t + eta) * alpha) by ring.
  replace (exp (eta - t)) with (exp eta * / exp t) by (rewrite <- exp_Ropp, <- exp_plus; easy). rewrite (exp_Ropp t).
  assert (et := exp_pos t). field. lra.
Qed.

Lemma bounded_range_moment_le {Y} (mu : base_measure Y) (p q : Y -> R) (eta t s m : R) :
  0 < eta -> 0 < s -> density mu p -> density mu q ->
  (forall y, support mu y -> exp (- t) * q y <= p y <= exp (eta - t) * q y) ->
  is_integral mu (fun y => Rpower (p y) (1 + s) * Rpower (q y) (- s)) m -> ln m <= bounded_range_cumulant eta s.
Proof.
  intros He Hs Dp Dq Ht Hm.
  eapply Rle_trans; [|apply (bounded_range_worst_t eta t s); try easy; now apply (bounded_range_t mu p q)].
  destruct (moment_le mu p q (exp (- t)) (exp (eta - t)) s m Dp Dq (exp_pos _)) as [m0 m1]; try easy.
  - apply exp_increasing. lra.
  - now apply Rcomplements.ln_le.
Qed.

(** The curve, as the paper writes it *)
Lemma bounded_range_curve (eta alpha : R) : 0 < eta -> 1 < alpha ->
  ln (Rpower (exp (alpha * eta) - 1) alpha * Rpower (alpha * (exp (alpha * eta) - exp eta) / (alpha - 1)) (1 - alpha)
      / (alpha * (exp eta - 1))) = bounded_range_cumulant eta (alpha - 1).
Proof.
  intros He Ha. unfold bounded_range_cumulant. replace (1 + (alpha - 1)) with alpha by ring.
  assert (g1 : 1 < exp (alpha * eta)) by (apply exp_gt_1; nra).
  assert (g2 : 1 < exp ((alpha - 1) * eta)) by (apply exp_gt_1; nra).
  assert (g3 := exp_gt_1 eta He).
  assert (b : exp (alpha * eta) - exp eta = exp eta * (exp ((alpha - 1) * eta) - 1)).
  { rewrite Rmult_minus_distr_l, <- exp_plus, Rmult_1_r. do 2 f_equal. ring. }
  rewrite b.
  assert (b0 : 0 < exp eta * (exp ((alpha - 1) * eta) - 1)) by nra.
  rewrite ln_div; [|apply Rmult_lt_0_compat; apply Rpower_pos|nra].
  rewrite ln_mult by apply Rpower_pos. unfold Rpower. rewrite !ln_exp.
  rewrite !ln_div, !ln_mult, ln_exp by (try lra; try easy; try nra). ring.
Qed.

(** Theorem 26 of the paper, [thm:br-rdp], the upper bound. *)
Theorem bounded_range_RDP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (eta alpha : R) :
  0 < eta -> 1 < alpha -> mechanism mu M -> has_moments mu neighbours M -> bounded_range mu neighbours M eta ->
  RDP mu neighbours M alpha
    (ln (Rpower (exp (alpha * eta) - 1) alpha * Rpower (alpha * (exp (alpha * eta) - exp eta) / (alpha - 1)) (1 - alpha)
         / (alpha * (exp eta - 1))) / (alpha - 1)).
Proof.
  intros He Ha HM HE HB. rewrite bounded_range_curve by easy. apply RDP_of_moments; [easy..|]. intros x x' m N Hm.
  destruct (HB x x' N) as [t Ht]. apply (bounded_range_moment_le mu (M x) (M x') eta t); try easy; try apply HM. lra.
Qed.

(** Theorem 24 of the paper, [thm:br-cdp], the upper bound. *)
Theorem bounded_range_zCDP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (eta : R) :
  0 < eta -> mechanism mu M -> has_moments mu neighbours M -> bounded_range mu neighbours M eta ->
  zCDP mu neighbours M (eta / (exp eta - 1) + ln ((exp eta - 1) / eta) - 1).
Proof.
  intros He HM HE HB. apply zCDP_of_moments; [easy|].
  intros x x' s m N Hs Hm. fold (bounded_range_rho eta). destruct (HB x x' N) as [t Ht].
  eapply Rle_trans; [|now apply bounded_range_cumulant_le].
  apply (bounded_range_moment_le mu (M x) (M x') eta t); try easy; apply HM.
Qed.
