(** Two densities whose ratio lies in an interval: the largest moments, by the chord of x^alpha. *)
Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp.
Local Open Scope R_scope.

(** Weighted arithmetic and geometric means *)
Lemma amgm w a b : 0 <= w <= 1 -> 0 < a -> 0 < b ->
  w * ln a + (1 - w) * ln b <= ln (w * a + (1 - w) * b).
Proof.
  intros Hw Ha Hb.
  assert (A : 0 < w * a + (1 - w) * b).
  { destruct (Req_dec w 0) as [->|W]; nra. }
  set (A0 := w * a + (1 - w) * b) in *.
  assert (h1 := ln_le_sub1 (a / A0) (Rdiv_lt_0_compat _ _ Ha A)).
  assert (h2 := ln_le_sub1 (b / A0) (Rdiv_lt_0_compat _ _ Hb A)).
  rewrite ln_div in h1, h2 by easy.
  assert (h : w * (ln a - ln A0) + (1 - w) * (ln b - ln A0) <= w * (a / A0 - 1) + (1 - w) * (b / A0 - 1)) by nra.
  replace (w * (a / A0 - 1) + (1 - w) * (b / A0 - 1)) with 0 in h by (unfold A0; field; unfold A0 in A; lra).
  lra.
Qed.

(* Bernoulli *)
Lemma bernoulli u a : 0 < u -> 1 <= a -> 1 + a * (u - 1) <= Rpower u a.
Proof.
  intros Hu Ha.
  assert (p := Rpower_pos u a).
  assert (ia : 0 < / a <= 1) by (split; [apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_le_contravar; lra]).
  assert (h := amgm (/ a) (Rpower u a) 1). rewrite ln_1 in h.
  replace (ln (Rpower u a)) with (a * ln u) in h by (unfold Rpower; now rewrite ln_exp).
  replace (/ a * (a * ln u) + (1 - / a) * 0) with (ln u) in h by (field; lra).
  assert (A : 0 < / a * Rpower u a + (1 - / a) * 1) by nra.
  assert (g : u <= / a * Rpower u a + (1 - / a) * 1).
  { apply ln_le_inv; [easy..|]. apply h; lra. }
  apply Rmult_le_compat_l with (r := a) in g; [|lra]. field_simplify in g; lra.
Qed.

(* A convex function lies below its chord *)
Lemma chord lo r hi a : 0 < lo -> lo <= r <= hi -> 1 <= a ->
  Rpower r a * (hi - lo) <= (hi - r) * Rpower lo a + (r - lo) * Rpower hi a.
Proof.
  intros Hl Hr Ha.
  assert (T : forall z, 0 < z -> Rpower r a * (1 + a * (z / r - 1)) <= Rpower z a).
  { intros z Hz.
    replace (Rpower z a) with (Rpower r a * Rpower (z / r) a).
    2:{ rewrite Rpower_mult_distr by (try lra; apply Rdiv_lt_0_compat; lra). f_equal. field. lra. }
    apply Rmult_le_compat_l; [left; apply Rpower_pos|].
    apply bernoulli; [apply Rdiv_lt_0_compat; lra|easy]. }
  assert (h1 := T lo Hl). assert (h2 := T hi ltac:(lra)).
  apply Rle_trans with ((hi - r) * (Rpower r a * (1 + a * (lo / r - 1))) + (r - lo)
    * (Rpower r a * (1 + a * (hi / r - 1)))).
  - right. field. lra.
  - apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
Qed.

Lemma Rpower_ratio p q s : 0 < p -> 0 < q -> Rpower p (1 + s) * Rpower q (- s) = q * Rpower (p / q) (1 + s).
Proof.
  intros Hp Hq. unfold Rpower. rewrite ln_div by easy.
  replace q with (exp (ln q)) at 2 by (now apply exp_ln).
  rewrite <- !exp_plus. f_equal. ring.
Qed.

(* The moment of a pair with ratio in [lo, hi] *)
Lemma moment_le {Y} (mu : base_measure Y) (p q : Y -> R) (lo hi s m : R) :
  density mu p -> density mu q -> 0 < lo -> lo < hi -> 0 < s ->
  (forall x, support mu x -> lo * q x <= p x <= hi * q x) ->
  is_integral mu (fun x => Rpower (p x) (1 + s) * Rpower (q x) (- s)) m ->
  0 < m <= ((hi - 1) * Rpower lo (1 + s) + (1 - lo) * Rpower hi (1 + s)) / (hi - lo).
Proof.
  intros [Pp Ip] [Pq Iq] Hlo Hhi Hs HB Hm.
  assert (ratio : forall x, support mu x -> lo <= p x / q x <= hi).
  { intros x Hx. specialize (HB x Hx). specialize (Pq x Hx). split.
    - apply Rmult_le_reg_r with (q x); [easy|]. field_simplify; lra.
    - apply Rmult_le_reg_r with (q x); [easy|]. field_simplify; lra. }
  split.
  - apply Rlt_le_trans with (Rpower lo (1 + s) * 1); [rewrite Rmult_1_r; apply Rpower_pos|].
    refine (is_integral_le mu _ _ _ _ _ (is_integral_scal mu _ _ (Rpower lo (1 + s)) Iq) Hm).
    intros x Hx. cbv beta. rewrite Rpower_ratio, Rmult_comm by auto.
    apply Rmult_le_compat_l; [left; now apply Pq|]. apply Rle_Rpower_l; [lra|]. split; [easy|now apply ratio].
  - set (A := (hi * Rpower lo (1 + s) - lo * Rpower hi (1 + s)) / (hi - lo)).
    set (B := (Rpower hi (1 + s) - Rpower lo (1 + s)) / (hi - lo)).
    replace (((hi - 1) * Rpower lo (1 + s) + (1 - lo) * Rpower hi (1 + s)) / (hi - lo)) with (A * 1 + B * 1)
      by (unfold A, B; field; lra).
    refine (is_integral_le mu _ _ _ _ _ Hm (is_integral_plus mu _ _ _ _ (is_integral_scal mu _ _ A Iq)
      (is_integral_scal mu _ _ B Ip))).
    intros x Hx. cbv beta. rewrite Rpower_ratio by auto.
    assert (c := chord lo (p x / q x) hi (1 + s) Hlo (ratio x Hx) ltac:(lra)).
    specialize (Pq x Hx). apply Rmult_le_reg_r with (hi - lo); [lra|].
    apply Rle_trans with (q x * (Rpower (p x / q x) (1 + s) * (hi - lo))); [right; ring|].
    eapply Rle_trans; [apply Rmult_le_compat_l; [lra|exact c]|].
    right. unfold A, B. field. lra.
Qed.


(** A moment of order alpha > 1 is at least 1, by Bernoulli's inequality. *)
Lemma moment_ge_1 {Y} (mu : base_measure Y) p q alpha m : density mu p -> density mu q -> 1 < alpha ->
  is_integral mu (fun y => Rpower (p y) alpha * Rpower (q y) (1 - alpha)) m -> 1 <= m.
Proof.
  intros [P1 I1] [P2 I2] Ha Hm.
  assert (h : 1 * 1 + (alpha * 1 + (- alpha) * 1) <= m); [|lra].
  refine (is_integral_le mu _ _ _ _ _ (is_integral_plus mu _ _ _ _ (is_integral_scal mu _ _ 1 I2)
    (is_integral_plus mu _ _ _ _ (is_integral_scal mu _ _ alpha I1) (is_integral_scal mu _ _ (- alpha) I2))) Hm).
  intros y Hy. cbv beta. specialize (P1 y Hy). specialize (P2 y Hy).
  replace (Rpower (p y) alpha) with (Rpower (p y) (1 + (alpha - 1))) by (f_equal; ring).
  replace (1 - alpha) with (- (alpha - 1)) by ring.
  rewrite Rpower_ratio by easy. replace (1 + (alpha - 1)) with alpha by ring.
  assert (bb := bernoulli (p y / q y) alpha (Rdiv_lt_0_compat _ _ P1 P2) ltac:(lra)).
  apply Rmult_le_compat_l with (r := q y) in bb; [|lra].
  eapply Rle_trans; [|exact bb]. right. field. lra.
Qed.
