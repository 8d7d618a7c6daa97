(** What zCDP says at order 1, and in (epsilon, delta). *)
Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Cumulant BoundedRatio.
Local Open Scope R_scope.

Lemma moment_le_of_zCDP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (rho : R) x x' s :
  mechanism mu M -> zCDP mu neighbours M rho -> neighbours x x' -> 0 < s ->
  exists m, is_integral mu (fun y => Rpower (M x y) (1 + s) * Rpower (M x' y) (- s)) m /\
    1 <= m /\ ln m <= rho * (s * (1 + s)).
Proof.
  intros HM HZ N Hs. destruct (HZ x x' N (1 + s)) as [D [[m [Hm ->]] L]]; [lra|]. exists m.
  assert (m1 := moment_ge_1 mu _ _ (1 + s) m (HM x) (HM x') ltac:(lra) Hm).
  replace (1 - (1 + s)) with (- s) in Hm by ring. split; [easy|]. split; [easy|].
  replace (1 + s - 1) with s in L by ring. apply Rmult_le_compat_r with (r := s) in L; [|lra]. field_simplify in L; lra.
Qed.

(** The paper asks D_alpha <= rho alpha at alpha = 1 too, where D_1 is the KL divergence: it follows. *)
Theorem order_one {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (rho : R) :
  mechanism mu M -> zCDP mu neighbours M rho ->
  forall x x' D, neighbours x x' -> is_KL mu (M x) (M x') D -> D <= rho.
Proof.
  intros HM HZ x x' D N HD.
  (* p log(p/q) <= (p^(1+s) q^-s - p)/s, because 1 + u <= e^u *)
  assert (B : forall s, 0 < s -> exists m, 1 + D * s <= m /\ 1 <= m /\ ln m <= rho * (s * (1 + s))).
  { intros s Hs. destruct (moment_le_of_zCDP mu neighbours M rho x x' s HM HZ N Hs) as [m [Hm [m1 L]]].
    exists m. split; [|easy]. replace (1 + D * s) with (1 + s * D) by ring.
    refine (is_integral_le mu _ _ _ _ _ (is_integral_plus mu _ _ _ _ (proj2 (HM x)) (is_integral_scal mu _ _ s HD)) Hm).
    intros y Hy. cbv beta. assert (p := proj1 (HM x) y Hy). assert (q := proj1 (HM x') y Hy).
    unfold Rpower. rewrite <- exp_plus.
    replace ((1 + s) * ln (M x y) + - s * ln (M x' y)) with (ln (M x y) + s * (ln (M x y) - ln (M x' y))) by ring.
    rewrite exp_plus, exp_ln, ln_div by easy.
    assert (h := exp_ineq1_le (s * (ln (M x y) - ln (M x' y)))).
    apply Rmult_le_compat_l with (r := M x y) in h; lra. }
  destruct (Rle_or_lt D 0) as [D0|D0].
  - destruct (B 1 Rlt_0_1) as [m [_ [m1 L]]].
    assert (0 <= ln m) by (rewrite <- ln_1; apply Rcomplements.ln_le; lra). lra.
  - apply (slope_le (fun s => ln (1 + D * s))).
    + rewrite Rmult_0_r, Rplus_0_r. apply ln_1.
    + auto_derive; rewrite Rmult_0_r, Rplus_0_r; [lra|]. field.
    + intros s Hs. destruct (B s Hs) as [m [m1 [_ L]]]. eapply Rle_trans; [|exact L].
      apply Rcomplements.ln_le; [nra|easy].
Qed.

(** The standard conversion: rho-zCDP is (epsilon, delta)-DP with delta = exp(-(epsilon - rho)^2/(4 rho)), for every
    event whose probabilities a and b exist. *)
Lemma tail_pointwise p q epsilon s : 0 < p -> 0 < q -> 0 < s ->
  p <= exp epsilon * q + exp (- (s * epsilon)) * (Rpower p (1 + s) * Rpower q (- s)).
Proof.
  intros Hp Hq Hs. rewrite Rpower_ratio by easy.
  assert (r0 : 0 < p / q) by (now apply Rdiv_lt_0_compat).
  assert (pos : 0 < exp (- (s * epsilon)) * (q * Rpower (p / q) (1 + s))).
  { apply Rmult_lt_0_compat; [apply exp_pos|]. apply Rmult_lt_0_compat; [easy|apply Rpower_pos]. }
  destruct (Rle_or_lt p (exp epsilon * q)) as [L|L]; [lra|].
  assert (le : epsilon <= ln (p / q)).
  { rewrite <- (ln_exp epsilon). apply Rcomplements.ln_le; [apply exp_pos|].
    apply (proj1 (Rle_div_r (exp epsilon) p q Hq)). lra. }
  assert (h : p <= exp (- (s * epsilon)) * (q * Rpower (p / q) (1 + s))).
  { rewrite Rpower_plus, Rpower_1 by easy.
    replace (exp (- (s * epsilon)) * (q * (p / q * Rpower (p / q) s)))
      with (p * (exp (- (s * epsilon)) * Rpower (p / q) s)) by (field; lra).
    unfold Rpower. rewrite <- exp_plus. rewrite <- (Rmult_1_r p) at 1. apply Rmult_le_compat_l; [lra|].
    apply exp_ge_1. nra. }
  assert (0 < exp epsilon * q) by (apply Rmult_lt_0_compat; [apply exp_pos|easy]). lra.
Qed.

Theorem zCDP_to_approximate_DP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R)
  (rho epsilon : R) :
  mechanism mu M -> zCDP mu neighbours M rho -> 0 < rho -> rho < epsilon ->
  forall x x' S a b, neighbours x x' -> is_integral mu (inside S (M x)) a -> is_integral mu (inside S (M x')) b ->
  a <= exp epsilon * b + exp (- ((epsilon - rho) * (epsilon - rho) / (4 * rho))).
Proof.
  intros HM HZ Hr He x x' S a b N A B.
  set (s := (epsilon - rho) / (2 * rho)). assert (s0 : 0 < s) by (apply Rdiv_lt_0_compat; lra).
  destruct (moment_le_of_zCDP mu neighbours M rho x x' s HM HZ N s0) as [m [Hm [m1 L]]].
  assert (mb : exp (- (s * epsilon)) * m <= exp (- ((epsilon - rho) * (epsilon - rho) / (4 * rho)))).
  { rewrite <- (exp_ln m) at 1 by lra. rewrite <- exp_plus. apply exp_le.
    replace (- ((epsilon - rho) * (epsilon - rho) / (4 * rho))) with (- (s * epsilon) + rho * (s * (1 + s)))
      by (unfold s; field; lra). lra. }
  apply Rle_trans with (exp epsilon * b + exp (- (s * epsilon)) * m); [|lra].
  refine (is_integral_le mu _ _ _ _ _ A
    (is_integral_plus mu _ _ _ _ (is_integral_scal mu _ _ (exp epsilon) B)
      (is_integral_scal mu _ _ (exp (- (s * epsilon))) Hm))).
  intros y Hy. cbv beta. unfold inside. destruct (S y).
  - apply tail_pointwise; [now apply HM|now apply HM|easy].
  - rewrite Rmult_0_r, Rplus_0_l. apply Rmult_le_pos; [left; apply exp_pos|].
    apply Rmult_le_pos; left; apply Rpower_pos.
Qed.
