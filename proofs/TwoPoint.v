(** The extreme pairs of bounded range, with two outcomes: at every order some pair attains the curve, and one has KL
    = rho.

    With z = e^t, 1 < z < e^eta, the losses are eta - log z and -log z. *)
Require Import Reals Lra List Bool.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant BoundedRatio BoundedRange.
Import ListNotations.
Local Open Scope R_scope.

Definition two_point (eta z : R) (x y : bool) : R :=
  match x, y with
  | true, true => (z - 1) * exp eta / ((exp eta - 1) * z)
  | true, false => (exp eta - z) / ((exp eta - 1) * z)
  | false, true => (z - 1) / (exp eta - 1)
  | false, false => (exp eta - z) / (exp eta - 1)
  end.

Definition two_point_cumulant (n z s : R) : R :=
  ln ((z - 1) * exp n / ((exp n - 1) * z) * exp (s * (n - ln z))
      + (exp n - z) / ((exp n - 1) * z) * exp (- (s * ln z))).

Section Pair.
Variables n z : R.
Hypothesis Hn : 0 < n.
Hypothesis Hz : 1 < z < exp n.

Let g : 1 < exp n := exp_gt_1 n Hn.

Lemma two_point_mechanism : mechanism (finite [true; false]) (two_point n z).
Proof.
  intros x. split.
  - intros y _. unfold two_point. destruct x, y; apply Rdiv_lt_0_compat; try lra; nra.
  - simpl. unfold two_point. destruct x; field; lra.
Qed.

Lemma two_point_pos x y : 0 < two_point n z x y.
Proof. apply two_point_mechanism. destruct y; simpl; auto. Qed.

Lemma two_point_loss y :
  two_point n z true y = exp ((if y then n else 0) - ln z) * two_point n z false y.
Proof.
  unfold Rminus. rewrite exp_plus, exp_Ropp, exp_ln by lra. destruct y; simpl; rewrite ?exp_0; field; lra.
Qed.

Lemma two_point_range : bounded_range (finite [true; false]) two_inputs (two_point n z) n.
Proof.
  assert (L : 0 < ln z) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (L' : ln z < n) by (rewrite <- (ln_exp n); apply ln_increasing; lra).
  assert (E : forall y, two_point n z false y = exp (ln z - (if y then n else 0)) * two_point n z true y).
  { intros y. rewrite two_point_loss, <- Rmult_assoc, <- exp_plus.
    match goal with |- _ = exp ?v * _ => replace v with 0 by ring end. rewrite exp_0. ring. }
  intros x x' D. destruct x, x'; try (now elim D).
  - exists (ln z). intros y _. rewrite two_point_loss. assert (p := two_point_pos false y).
    destruct y; split; apply Rmult_le_compat_r; try lra; apply exp_le; lra.
  - exists (n - ln z). intros y _. rewrite E. assert (p := two_point_pos true y).
    destruct y; split; apply Rmult_le_compat_r; try lra; apply exp_le; lra.
Qed.

Lemma two_point_pair : is_cumulant (finite [true; false]) (two_point n z true) (two_point n z false)
  (two_point_cumulant n z).
Proof.
  intros s Hs.
  assert (P : forall p q l, 0 < p -> 0 < q -> p = exp l * q -> Rpower p (1 + s) * Rpower q (- s) = p * exp (s * l)).
  { intros p q l Hp Hq E. unfold Rpower. rewrite <- exp_plus.
    replace p with (exp (ln p)) at 2 by (now apply exp_ln). rewrite <- exp_plus. f_equal.
    rewrite E, ln_mult, ln_exp by (try easy; apply exp_pos). ring. }
  cbv [is_integral finite sum_of fold_right].
  rewrite (P _ _ _ (two_point_pos true true) (two_point_pos false true) (two_point_loss true)),
    (P _ _ _ (two_point_pos true false) (two_point_pos false false) (two_point_loss false)).
  unfold two_point_cumulant. assert (P1 := two_point_pos true true). assert (P0 := two_point_pos true false).
  unfold two_point in *. rewrite exp_ln.
  - replace (s * (0 - ln z)) with (- (s * ln z)) by ring. ring.
  - assert (e1 := exp_pos (s * (n - ln z))). assert (e2 := exp_pos (- (s * ln z))). nra.
Qed.

Lemma two_point_cumulant_0 : two_point_cumulant n z 0 = 0.
Proof. unfold two_point_cumulant. rewrite !Rmult_0_l, Ropp_0, exp_0, <- ln_1. f_equal. field. lra. Qed.

Definition two_point_KL_value : R := (z - 1) * exp n / ((exp n - 1) * z) * n - ln z.

Lemma two_point_cumulant_derive : is_derive (two_point_cumulant n z) 0 two_point_KL_value.
Proof.
  unfold two_point_cumulant, two_point_KL_value. auto_derive.
  - rewrite !Rmult_0_l, Ropp_0, exp_0. match goal with |- 0 < ?v => replace v with 1 by (field; lra) end. lra.
  - rewrite !Rmult_0_l, Ropp_0, exp_0. set (l := ln z). set (E := exp n) in *. field.
    repeat split; try lra. apply Rgt_not_eq. nra.
Qed.

Lemma two_point_KL : is_KL (finite [true; false]) (two_point n z true) (two_point n z false) two_point_KL_value.
Proof.
  unfold is_KL. cbv [is_integral finite sum_of fold_right].
  assert (L : forall y, ln (two_point n z true y / two_point n z false y) = (if y then n else 0) - ln z).
  { intros y. rewrite ln_div by apply two_point_pos. rewrite two_point_loss, ln_mult, ln_exp
      by (try apply exp_pos; apply two_point_pos). ring. }
  rewrite !L. unfold two_point_KL_value, two_point. field. lra.
Qed.

(* The moment as a function of z *)
Lemma two_point_moment s : 0 < s ->
  two_point_cumulant n z s
  = ln ((exp ((1 + s) * n) - 1) * z - exp n * (exp (s * n) - 1)) - (1 + s) * ln z - ln (exp n - 1).
Proof.
  intros Hs. assert (f1 : 1 < exp (s * n)) by (apply exp_gt_1; nra).
  replace (exp ((1 + s) * n)) with (exp n * exp (s * n)) by (rewrite <- exp_plus; f_equal; ring).
  set (F := exp (s * n)) in *.
  assert (X : 0 < (exp n * F - 1) * z - exp n * (F - 1)).
  { assert (0 < (exp n * F - 1) * (z - 1)) by (apply Rmult_lt_0_compat; nra). lra. }
  rewrite <- (ln_exp ((1 + s) * ln z)), <- ln_div by (try easy; apply exp_pos).
  rewrite <- ln_div by (lra || (apply Rdiv_lt_0_compat; [easy|apply exp_pos])).
  unfold two_point_cumulant. f_equal.
  replace (exp (s * (n - ln z))) with (F * / exp (s * ln z))
    by (unfold F; rewrite <- exp_Ropp, <- exp_plus; f_equal; ring).
  rewrite exp_Ropp. replace ((1 + s) * ln z) with (s * ln z + ln z) by ring. rewrite exp_plus, exp_ln by lra.
  assert (e := exp_pos (s * ln z)). field. lra.
Qed.

(** The bound of [bounded_range_one_t] is attained, at t = log z. *)
Lemma two_point_renyi alpha : 1 < alpha ->
  is_renyi (finite [true; false]) alpha (two_point n z true) (two_point n z false)
    (ln ((exp n - z) / (exp n - 1) * exp (- ln z * alpha) + (z - 1) / (exp n - 1) * exp ((- ln z + n) * alpha))
      / (alpha - 1)).
Proof.
  intros Ha. assert (h := renyi_of_cumulant _ _ _ _ alpha two_point_pair Ha).
  replace (ln _) with (two_point_cumulant n z (alpha - 1)); [easy|].
  unfold two_point_cumulant. f_equal.
  replace (exp (- ln z * alpha)) with (/ z * exp (- ((alpha - 1) * ln z)))
    by (replace (/ z) with (exp (- ln z)) by (rewrite exp_Ropp, exp_ln; lra); rewrite <- exp_plus; f_equal; ring).
  replace (exp ((- ln z + n) * alpha)) with (exp n * / z * exp ((alpha - 1) * (n - ln z)))
    by (replace (/ z) with (exp (- ln z)) by (rewrite exp_Ropp, exp_ln; lra); rewrite <- !exp_plus; f_equal; ring).
  field. lra.
Qed.
End Pair.

(** Lemma 25 of the paper, [lem:br-rdp-one], its second part: the bound for one t is attained. *)
Theorem bounded_range_one_t_attained (eta t alpha : R) : 0 < t < eta -> 1 < alpha ->
  exists p q : bool -> R, density (finite [true; false]) p /\ density (finite [true; false]) q /\
    (forall y, exp (- t) * q y <= p y <= exp (eta - t) * q y) /\
    is_renyi (finite [true; false]) alpha p q
      (ln ((exp eta - exp t) / (exp eta - 1) * exp (- t * alpha)
           + (exp t - 1) / (exp eta - 1) * exp ((- t + eta) * alpha)) / (alpha - 1)).
Proof.
  intros Ht Ha. assert (He : 0 < eta) by lra.
  assert (z : 1 < exp t < exp eta) by (split; [apply exp_gt_1|apply exp_increasing]; lra).
  exists (two_point eta (exp t) true), (two_point eta (exp t) false).
  assert (Mm := two_point_mechanism eta _ He z). split; [apply Mm|]. split; [apply Mm|]. split.
  - intros y. assert (L := two_point_loss eta _ z y). assert (q := two_point_pos eta _ He z false y).
    rewrite ln_exp in L.
    rewrite L. destruct y; split; apply Rmult_le_compat_r; try lra; apply exp_le; lra.
  - assert (h := two_point_renyi eta _ He z alpha Ha). now rewrite ln_exp in h.
Qed.

(** * Order 1: z = eta e^eta/(e^eta - 1) *)
Definition worst_z (n : R) : R := n * exp n / (exp n - 1).

Lemma worst_z_bounds n : 0 < n -> 1 < worst_z n < exp n.
Proof.
  intros H. unfold worst_z. assert (g := exp_gt_1 n H). split.
  - apply Rlt_div_r; [lra|]. rewrite Rmult_1_l.
    assert (h : 1 + - n < exp (- n)) by (apply exp_ineq1; lra). rewrite exp_Ropp in h.
    apply Rmult_lt_compat_r with (r := exp n) in h; [|lra]. field_simplify in h; lra.
  - apply Rlt_div_l; [lra|]. assert (h : 1 + n < exp n) by (apply exp_ineq1; lra). nra.
Qed.

Lemma worst_z_KL n : 0 < n -> two_point_KL_value n (worst_z n) = bounded_range_rho n.
Proof.
  intros H. assert (g := exp_gt_1 n H). unfold two_point_KL_value, bounded_range_rho.
  assert (L : ln (worst_z n) = n - ln ((exp n - 1) / n)).
  { unfold worst_z. rewrite !ln_div, ln_mult, ln_exp by (try lra; nra). ring. }
  rewrite L. unfold worst_z. field. lra.
Qed.

(** Theorem 24 of the paper, [thm:br-cdp]: some mechanism of the class needs all of rho, which is its KL divergence. *)
Theorem bounded_range_tight (eta : R) : 0 < eta ->
  exists M : bool -> bool -> R,
    mechanism (finite [true; false]) M /\ bounded_range (finite [true; false]) two_inputs M eta /\
    tightly_zCDP (finite [true; false]) two_inputs M (eta / (exp eta - 1) + ln ((exp eta - 1) / eta) - 1) /\
    is_KL (finite [true; false]) (M true) (M false) (eta / (exp eta - 1) + ln ((exp eta - 1) / eta) - 1).
Proof.
  intros H. assert (z := worst_z_bounds eta H). exists (two_point eta (worst_z eta)).
  assert (Mm := two_point_mechanism eta _ H z). assert (Mr := two_point_range eta _ H z).
  fold (bounded_range_rho eta). rewrite <- worst_z_KL by easy.
  split; [easy|]. split; [easy|]. split; [|now apply two_point_KL]. split.
  - rewrite worst_z_KL by easy. apply bounded_range_zCDP; [easy|easy|apply finite_has_moments|easy].
  - intros r. apply (tight_of_cumulant _ _ _ _ r true false (two_point_cumulant eta (worst_z eta))).
    + easy.
    + now apply two_point_pair.
    + now apply two_point_cumulant_0.
    + now apply two_point_cumulant_derive.
Qed.

(** * Order alpha = 1 + s: z = alpha (e^(alpha eta) - e^eta)/((alpha - 1) (e^(alpha eta) - 1)) *)
Definition worst_z_at (n s : R) : R := (1 + s) * (exp n * (exp (s * n) - 1)) / (s * (exp ((1 + s) * n) - 1)).

Lemma worst_z_at_bounds n s : 0 < n -> 0 < s -> 1 < worst_z_at n s < exp n.
Proof.
  intros Hn Hs. unfold worst_z_at.
  assert (g1 : 1 < exp ((1 + s) * n)) by (apply exp_gt_1; nra).
  assert (E : exp ((1 + s) * n) = exp n * exp (s * n)) by (rewrite <- exp_plus; f_equal; ring).
  assert (g := exp_gt_1 n Hn).
  (* Bernoulli, strictly, for e^n and for e^-n *)
  assert (b1 : 0 < exp ((1 + s) * n) - (1 + s) * exp n + s).
  { replace 0 with ((fun u => exp ((1 + s) * u) - (1 + s) * exp u + s) 0) by (rewrite Rmult_0_r, exp_0; ring).
    apply (lt_of_derive (fun u => exp ((1 + s) * u) - (1 + s) * exp u + s)
      (fun u => (1 + s) * (exp ((1 + s) * u) - exp u))); [easy| |].
    - intros u _. auto_derive; [easy|]. ring.
    - intros u Hu. apply Rmult_lt_0_compat; [lra|]. assert (exp u < exp ((1 + s) * u)) by (apply exp_increasing; nra).
      lra. }
  assert (b2 : 0 < exp (- ((1 + s) * n)) - (1 + s) * exp (- n) + s).
  { replace 0 with ((fun u => exp (- ((1 + s) * u)) - (1 + s) * exp (- u) + s) 0)
      by (rewrite Rmult_0_r, Ropp_0, exp_0; ring).
    apply (lt_of_derive (fun u => exp (- ((1 + s) * u)) - (1 + s) * exp (- u) + s)
      (fun u => (1 + s) * (exp (- u) - exp (- ((1 + s) * u))))); [easy| |].
    - intros u _. auto_derive; [easy|]. ring.
    - intros u Hu. apply Rmult_lt_0_compat; [lra|].
      assert (exp (- ((1 + s) * u)) < exp (- u)) by (apply exp_increasing; nra). lra. }
  split.
  - apply Rlt_div_r; [nra|]. rewrite E in *. nra.
  - apply Rlt_div_l; [nra|]. rewrite !exp_Ropp in b2. rewrite E in *. set (F := exp (s * n)) in *.
    set (G := exp n) in *.
    assert (F0 : 0 < F) by apply exp_pos.
    assert (b3 : 0 < G * (G * F * (/ (G * F) - (1 + s) * / G + s))) by (repeat apply Rmult_lt_0_compat; try lra; nra).
    replace (G * (G * F * (/ (G * F) - (1 + s) * / G + s))) with (G * (s * (G * F - 1)) - (1 + s) * (G * (F - 1))) in b3
      by (field; lra).
    lra.
Qed.

Lemma worst_z_at_cumulant n s : 0 < n -> 0 < s -> two_point_cumulant n (worst_z_at n s) s = bounded_range_cumulant n s.
Proof.
  intros Hn Hs. assert (B := worst_z_at_bounds n s Hn Hs). rewrite two_point_moment by easy.
  assert (g1 : 1 < exp ((1 + s) * n)) by (apply exp_gt_1; nra).
  assert (g2 : 1 < exp (s * n)) by (apply exp_gt_1; nra).
  assert (g := exp_gt_1 n Hn). unfold worst_z_at.
  replace ((exp ((1 + s) * n) - 1) * ((1 + s) * (exp n * (exp (s * n) - 1)) / (s * (exp ((1 + s) * n) - 1))) - exp n
    * (exp (s * n) - 1))
    with (exp n * (exp (s * n) - 1) / s) by (field; lra).
  unfold bounded_range_cumulant. assert (b0 : 0 < exp n * (exp (s * n) - 1)) by nra.
  rewrite !ln_div, !ln_mult, ln_exp by (try lra; try easy; try nra). ring.
Qed.

(** Theorem 26 of the paper, [thm:br-rdp]: at each order some mechanism of the class attains the curve. *)
Theorem bounded_range_RDP_tight (eta alpha : R) : 0 < eta -> 1 < alpha ->
  exists M : bool -> bool -> R,
    mechanism (finite [true; false]) M /\ bounded_range (finite [true; false]) two_inputs M eta /\
    tightly_RDP (finite [true; false]) two_inputs M alpha
      (ln (Rpower (exp (alpha * eta) - 1) alpha * Rpower (alpha * (exp (alpha * eta) - exp eta) / (alpha - 1))
        (1 - alpha)
           / (alpha * (exp eta - 1))) / (alpha - 1)).
Proof.
  intros H Ha. assert (s0 : 0 < alpha - 1) by lra. assert (z := worst_z_at_bounds eta (alpha - 1) H s0).
  exists (two_point eta (worst_z_at eta (alpha - 1))).
  assert (Mm := two_point_mechanism eta _ H z). assert (Mr := two_point_range eta _ H z).
  split; [easy|]. split; [easy|]. split.
  - apply bounded_range_RDP; [easy|easy|easy|apply finite_has_moments|easy].
  - intros e' H'. rewrite bounded_range_curve, <- worst_z_at_cumulant by easy.
    destruct (H' true false) as [D [A B]]; [easy|].
    now rewrite (renyi_unique _ _ _ _ _ _ A (renyi_of_cumulant _ _ _ _ alpha (two_point_pair eta _ H z) Ha)) in B.
Qed.
