(** The exponential mechanism: epsilon-bounded-range, and tight as a supremum over inputs for every number of
    candidates. *)
Require Import Reals Lra List Lia Arith.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant Sums BoundedRatio BoundedRange TwoPoint.
Import ListNotations.
Local Open Scope R_scope.

Theorem exponential_mechanism_mechanism {X Y} (l : list Y) (u : X -> Y -> R) (Delta epsilon : R) :
  l <> [] -> mechanism (finite l) (exponential_mechanism l u Delta epsilon).
Proof.
  intros N x. assert (p : 0 < sum_of (weight u Delta epsilon x) l) by (apply sum_of_pos; [easy|intros; apply exp_pos]).
  split.
  - intros y _. apply Rdiv_lt_0_compat; [apply exp_pos|easy].
  - assert (h : is_integral (finite l) (weight u Delta epsilon x) (sum_of (weight u Delta epsilon x) l)) by reflexivity.
    apply (is_integral_scal _ _ _ (/ sum_of (weight u Delta epsilon x) l)) in h. rewrite Rinv_l in h by lra.
    eapply is_integral_ext; [|exact h]. intros y _. unfold exponential_mechanism. field. lra.
Qed.

Theorem exponential_mechanism_range {X Y} (neighbours : X -> X -> Prop) (l : list Y) (u : X -> Y -> R)
  (Delta epsilon : R) :
  l <> [] -> 0 < Delta -> 0 < epsilon ->
  (forall x x' y, neighbours x x' -> Rabs (u x y - u x' y) <= Delta) ->
  bounded_range (finite l) neighbours (exponential_mechanism l u Delta epsilon) epsilon.
Proof.
  intros N HD He HU x x' Nb.
  assert (p : 0 < sum_of (weight u Delta epsilon x) l) by (apply sum_of_pos; [easy|intros; apply exp_pos]).
  assert (p' : 0 < sum_of (weight u Delta epsilon x') l) by (apply sum_of_pos; [easy|intros; apply exp_pos]).
  set (Z := sum_of (weight u Delta epsilon x) l) in *. set (Z' := sum_of (weight u Delta epsilon x') l) in *.
  exists (epsilon / 2 - ln (Z' / Z)). intros y _. unfold exponential_mechanism. fold Z Z'.
  assert (q : 0 < Z' / Z) by (now apply Rdiv_lt_0_compat).
  replace (- (epsilon / 2 - ln (Z' / Z))) with (ln (Z' / Z) + - (epsilon / 2)) by ring.
  replace (epsilon - (epsilon / 2 - ln (Z' / Z))) with (ln (Z' / Z) + epsilon / 2) by field.
  rewrite !exp_plus, exp_ln by easy.
  assert (B : - (epsilon / 2) <= epsilon * u x y / (2 * Delta) - epsilon * u x' y / (2 * Delta) <= epsilon / 2).
  { specialize (HU x x' y Nb). apply Rabs_le_between in HU.
    replace (epsilon * u x y / (2 * Delta) - epsilon * u x' y / (2 * Delta))
      with (epsilon / (2 * Delta) * (u x y - u x' y)) by (field; lra).
    assert (k : 0 < epsilon / (2 * Delta)) by (apply Rdiv_lt_0_compat; lra).
    replace (epsilon / 2) with (epsilon / (2 * Delta) * Delta) by (field; lra). nra. }
  assert (W : weight u Delta epsilon x y = exp (epsilon * u x y / (2 * Delta) - epsilon * u x' y / (2 * Delta))
    * weight u Delta epsilon x' y).
  { unfold weight. rewrite <- exp_plus. f_equal. ring. }
  rewrite W. set (r := exp (epsilon * u x y / (2 * Delta) - epsilon * u x' y / (2 * Delta))).
  assert (w := exp_pos (epsilon * u x' y / (2 * Delta))). fold (weight u Delta epsilon x' y) in w.
  assert (r1 : exp (- (epsilon / 2)) <= r) by (apply exp_le; lra).
  assert (r2 : r <= exp (epsilon / 2)) by (apply exp_le; lra).
  assert (wz : 0 < weight u Delta epsilon x' y / Z) by (now apply Rdiv_lt_0_compat).
  replace (Z' / Z * exp (- (epsilon / 2)) * (weight u Delta epsilon x' y / Z'))
    with (exp (- (epsilon / 2)) * (weight u Delta epsilon x' y / Z)) by (field; lra).
  replace (Z' / Z * exp (epsilon / 2) * (weight u Delta epsilon x' y / Z'))
    with (exp (epsilon / 2) * (weight u Delta epsilon x' y / Z)) by (field; lra).
  replace (r * weight u Delta epsilon x' y / Z) with (r * (weight u Delta epsilon x' y / Z)) by (field; lra).
  split; apply Rmult_le_compat_r; lra.
Qed.

Corollary exponential_mechanism_zCDP {X Y} (neighbours : X -> X -> Prop) (l : list Y) (u : X -> Y -> R)
  (Delta epsilon : R) :
  l <> [] -> 0 < Delta -> 0 < epsilon ->
  (forall x x' y, neighbours x x' -> Rabs (u x y - u x' y) <= Delta) ->
  zCDP (finite l) neighbours (exponential_mechanism l u Delta epsilon)
    (epsilon / (exp epsilon - 1) + ln ((exp epsilon - 1) / epsilon) - 1).
Proof.
  intros. apply bounded_range_zCDP;
    [easy|now apply exponential_mechanism_mechanism|apply finite_has_moments|now apply exponential_mechanism_range].
Qed.

(** * Tightness

    Candidates 0 and 1 with utilities chosen so that they alone would be the pair [two_point] of z, and all others
    with a utility so low that together they weigh (m - 2) delta. *)
Section Limit.
Variables (n : nat) (Delta epsilon z s : R).
Hypothesis HD : 0 < Delta.
Hypothesis He : 0 < epsilon.
Hypothesis Hz : 1 < z < exp epsilon.
Hypothesis Hs : 0 < s.

Definition utility_of_weight (w : R) : R := 2 * Delta / epsilon * ln w.

Lemma weight_of_utility w : 0 < w -> exp (epsilon * utility_of_weight w / (2 * Delta)) = w.
Proof.
  intros Hw. unfold utility_of_weight. rewrite <- (exp_ln w Hw) at 2. f_equal. field. lra.
Qed.

(* Weights A and 1 of the candidates 0 and 1, then A e^(-epsilon/2) and e^(epsilon/2) *)
Definition odds : R := exp epsilon * (z - 1) / (exp epsilon - z).

Definition before_weights (delta : R) (y : nat) : R := match y with O => odds | 1 => 1 | _ => delta end.
Definition after_weights (delta : R) (y : nat) : R :=
  match y with O => odds * exp (- (epsilon / 2)) | 1 => exp (epsilon / 2) | _ => delta end.
Definition before (delta : R) (y : nat) : R := utility_of_weight (before_weights delta y).
Definition after (delta : R) (y : nat) : R := utility_of_weight (after_weights delta y).

Lemma odds_pos : 0 < odds.
Proof. unfold odds. apply Rdiv_lt_0_compat; [|lra]. apply Rmult_lt_0_compat; [apply exp_pos|lra]. Qed.

Lemma before_moved_by delta : 0 < delta -> moved_by Delta (before delta) (after delta).
Proof.
  intros Hd y. unfold before, after, utility_of_weight. assert (A := odds_pos).
  rewrite <- Rmult_minus_distr_l.
  assert (B : Rabs (ln (before_weights delta y) - ln (after_weights delta y)) <= epsilon / 2).
  { destruct y as [|[|y]]; simpl.
    - rewrite ln_mult, ln_exp by (try apply exp_pos; easy).
      replace (ln odds - (ln odds + - (epsilon / 2))) with (epsilon / 2) by ring. rewrite Rabs_pos_eq; lra.
    - rewrite ln_1, ln_exp, Rminus_0_l, Rabs_Ropp, Rabs_pos_eq; lra.
    - rewrite Rminus_eq_0, Rabs_R0. lra. }
  assert (k : 0 < 2 * Delta / epsilon) by (apply Rdiv_lt_0_compat; lra).
  rewrite Rabs_mult, (Rabs_pos_eq (2 * Delta / epsilon)) by lra.
  apply Rle_trans with (2 * Delta / epsilon * (epsilon / 2)); [apply Rmult_le_compat_l; lra|]. right. field. lra.
Qed.

Lemma before_law delta y : 0 < delta ->
  exponential_mechanism (seq 0 (2 + n)) (fun u : nat -> R => u) Delta epsilon (before delta) y
  = before_weights delta y / (odds + 1 + INR n * delta) /\
  exponential_mechanism (seq 0 (2 + n)) (fun u : nat -> R => u) Delta epsilon (after delta) y
  = after_weights delta y / (odds * exp (- (epsilon / 2)) + exp (epsilon / 2) + INR n * delta).
Proof.
  intros Hd. assert (A := odds_pos). unfold exponential_mechanism.
  assert (e1 := exp_pos (- (epsilon / 2))). assert (e2 := exp_pos (epsilon / 2)).
  assert (W : forall y, weight (fun u : nat -> R => u) Delta epsilon (before delta) y = before_weights delta y).
  { intros w. unfold weight, before. apply weight_of_utility. destruct w as [|[|w]]; simpl; lra. }
  assert (W' : forall y, weight (fun u : nat -> R => u) Delta epsilon (after delta) y = after_weights delta y).
  { intros w. unfold weight, after. apply weight_of_utility. destruct w as [|[|w]]; simpl; nra. }
  assert (T : forall f : nat -> R, (forall w, f (S (S w)) = delta) -> sum_of f (seq 2 n) = INR n * delta).
  { intros f Hf. rewrite (sum_of_ext f (fun _ => delta)), sum_of_const, seq_length; [easy|].
    intros w Hw. apply in_seq in Hw. destruct w as [|[|w]]; [lia|lia|apply Hf]. }
  rewrite W, W'. rewrite (sum_of_ext (weight (fun u : nat -> R => u) Delta epsilon (before delta))
    (before_weights delta)) by (intros; apply W).
  rewrite (sum_of_ext (weight (fun u : nat -> R => u) Delta epsilon (after delta)) (after_weights delta))
    by (intros; apply W'). split; f_equal; simpl; rewrite T by easy; ring.
Qed.

(* The moment of two candidates alone, times what the others take away *)
Lemma moment_with_others delta : 0 < delta ->
  exp (two_point_cumulant epsilon z s) * Rpower ((odds + 1) / (odds + 1 + INR n * delta)) (1 + s)
  <= sum_of (fun y => Rpower (exponential_mechanism (seq 0 (2 + n))
    (fun u : nat -> R => u) Delta epsilon (before delta) y) (1 + s)
                    * Rpower (exponential_mechanism (seq 0 (2 + n))
                        (fun u : nat -> R => u) Delta epsilon (after delta) y) (- s))
       (seq 0 (2 + n)).
Proof.
  intros Hd. assert (A := odds_pos). assert (n0 := pos_INR n).
  assert (e1 := exp_pos (- (epsilon / 2))). assert (e2 := exp_pos (epsilon / 2)). assert (g := exp_gt_1 epsilon He).
  assert (nd : 0 <= INR n * delta) by nra.
  set (Z0 := odds + 1). set (Z0' := odds * exp (- (epsilon / 2)) + exp (epsilon / 2)).
  assert (z0 : 0 < Z0) by (unfold Z0; lra). assert (z0' : 0 < Z0') by (unfold Z0'; nra).
  rewrite (sum_of_ext _ (fun y => Rpower (before_weights delta y / (Z0 + INR n * delta)) (1 + s)
                                * Rpower (after_weights delta y / (Z0' + INR n * delta)) (- s))).
  2:{ intros y _. destruct (before_law delta y Hd) as [-> ->]. easy. }
  (* one candidate *)
  assert (T : forall w w', 0 < w -> 0 < w' ->
    Rpower (w / Z0) (1 + s) * Rpower (w' / Z0') (- s) * Rpower (Z0 / (Z0 + INR n * delta)) (1 + s)
    <= Rpower (w / (Z0 + INR n * delta)) (1 + s) * Rpower (w' / (Z0' + INR n * delta)) (- s)).
  { intros w w' Hw Hw'.
    assert (L : ln Z0' <= ln (Z0' + INR n * delta)) by (apply Rcomplements.ln_le; lra).
    unfold Rpower. rewrite <- !exp_plus. apply exp_le. rewrite !ln_div by lra. nra. }
  simpl seq. cbn [sum_of fold_right].
  assert (E : exp (two_point_cumulant epsilon z s)
    = Rpower (odds / Z0) (1 + s) * Rpower (odds * exp (- (epsilon / 2)) / Z0') (- s)
      + Rpower (1 / Z0) (1 + s) * Rpower (exp (epsilon / 2) / Z0') (- s)).
  { assert (h := two_point_pair epsilon z He Hz s Hs). cbv [is_integral finite sum_of fold_right] in h. rewrite <- h.
    rewrite Rplus_0_r. unfold two_point. f_equal; f_equal; f_equal; unfold Z0, Z0', odds; rewrite ?exp_Ropp;
      rewrite ?(exp_half epsilon) in *; set (a := exp (epsilon / 2)) in *; field; repeat split; nra. }
  rewrite E, Rmult_plus_distr_r.
  assert (R0 : 0 <= sum_of (fun y => Rpower (before_weights delta y / (Z0 + INR n * delta)) (1 + s)
                                * Rpower (after_weights delta y / (Z0' + INR n * delta)) (- s)) (seq 2 n)).
  { apply sum_of_nonneg. intros y _. apply Rmult_le_pos; left; apply Rpower_pos. }
  assert (T0 := T odds (odds * exp (- (epsilon / 2))) ltac:(easy) ltac:(nra)).
  assert (T1 := T 1 (exp (epsilon / 2)) ltac:(lra) ltac:(easy)).
  simpl before_weights. simpl after_weights. unfold sum_of in R0. lra.
Qed.

(* So a bound on all cumulants of the mechanism is one on the cumulant of the pair. *)
Lemma bound_in_the_limit (k : R) :
  (forall (u u' : nat -> R), moved_by Delta u u' ->
     ln (sum_of (fun y => Rpower (exponential_mechanism (seq 0 (2 + n)) (fun u => u) Delta epsilon u y) (1 + s)
                        * Rpower (exponential_mechanism (seq 0 (2 + n)) (fun u => u) Delta epsilon u' y) (- s))
           (seq 0 (2 + n))) <= k) ->
  two_point_cumulant epsilon z s <= k.
Proof.
  intros H. apply Rnot_lt_le. intros L. assert (A := odds_pos). assert (n0 := pos_INR n).
  set (delta := (two_point_cumulant epsilon z s - k) / (2 * (1 + s) * (INR n + 1))).
  assert (d0 : 0 < delta) by (apply Rdiv_lt_0_compat; [lra|nra]).
  specialize (H _ _ (before_moved_by delta d0)). assert (B := moment_with_others delta d0).
  assert (nd : 0 <= INR n * delta) by nra.
  assert (q0 : 0 < (odds + 1) / (odds + 1 + INR n * delta)) by (apply Rdiv_lt_0_compat; lra).
  assert (B' : ln (exp (two_point_cumulant epsilon z s) * Rpower ((odds + 1) / (odds + 1 + INR n * delta)) (1 + s))
    <= k).
  { eapply Rle_trans; [|exact H]. apply Rcomplements.ln_le; [|exact B].
    apply Rmult_lt_0_compat; [apply exp_pos|apply Rpower_pos]. }
  rewrite ln_mult in B' by (try apply exp_pos; apply Rpower_pos). unfold Rpower in B'. rewrite !ln_exp in B'.
  assert (C : - (INR n * delta) <= ln ((odds + 1) / (odds + 1 + INR n * delta))).
  { rewrite ln_div by lra.
    assert (h := ln_le_sub1 ((odds + 1 + INR n * delta) / (odds + 1)) ltac:(apply Rdiv_lt_0_compat; lra)).
    rewrite ln_div in h by lra.
    replace ((odds + 1 + INR n * delta) / (odds + 1) - 1) with (INR n * delta / (odds + 1)) in h by (field; lra).
    assert (INR n * delta / (odds + 1) <= INR n * delta) by (apply Rle_div_l; nra). lra. }
  assert (E : 2 * (1 + s) * ((INR n + 1) * delta) = two_point_cumulant epsilon z s - k) by (unfold delta; field; lra).
  assert (INR n * delta <= (INR n + 1) * delta) by nra. nra.
Qed.
End Limit.

(** For every number m >= 2 of candidates: with all utilities as inputs, no smaller rho will do. *)
Theorem exponential_mechanism_tight (m : nat) (Delta epsilon : R) :
  (2 <= m)%nat -> 0 < Delta -> 0 < epsilon ->
  tightly_zCDP (finite (seq 0 m)) (moved_by Delta)
    (exponential_mechanism (seq 0 m) (fun u : nat -> R => u) Delta epsilon)
    (epsilon / (exp epsilon - 1) + ln ((exp epsilon - 1) / epsilon) - 1).
Proof.
  intros Hm HD He. split.
  - apply exponential_mechanism_zCDP; [destruct m; easy|easy|easy|]. intros u u' y N. apply N.
  - intros r Z. destruct m as [|[|n]]; [lia|lia|]. assert (z := worst_z_bounds epsilon He).
    fold (bounded_range_rho epsilon). rewrite <- worst_z_KL by easy.
    apply (slope_le (two_point_cumulant epsilon (worst_z epsilon))).
    + now apply two_point_cumulant_0.
    + now apply two_point_cumulant_derive.
    + intros s Hs. apply (bound_in_the_limit n Delta epsilon (worst_z epsilon) s HD He z Hs).
      intros u u' N. destruct (Z u u' N (1 + s)) as [D [[m [Em ED]] B]]; [lra|]. simpl in Em.
      apply Rmult_le_compat_r with (r := s) in B; [|lra]. rewrite ED in B. replace (1 + s - 1) with s in B by ring.
      replace (ln m / s * s) with (ln m) in B by (field; lra).
      replace (- s) with (1 - (1 + s)) by ring. cbn [plus]. simpl. rewrite Em. lra.
Qed.

(** ... and no smaller Renyi curve, at any order. *)
Theorem exponential_mechanism_RDP_tight (m : nat) (Delta epsilon alpha : R) :
  (2 <= m)%nat -> 0 < Delta -> 0 < epsilon -> 1 < alpha ->
  tightly_RDP (finite (seq 0 m)) (moved_by Delta)
    (exponential_mechanism (seq 0 m) (fun u : nat -> R => u) Delta epsilon) alpha
    (ln (Rpower (exp (alpha * epsilon) - 1) alpha
         * Rpower (alpha * (exp (alpha * epsilon) - exp epsilon) / (alpha - 1)) (1 - alpha)
         / (alpha * (exp epsilon - 1))) / (alpha - 1)).
Proof.
  intros Hm HD He Ha. assert (l : seq 0 m <> []) by (destruct m; easy). split.
  - apply bounded_range_RDP; [easy|easy|now apply exponential_mechanism_mechanism|apply finite_has_moments|].
    apply exponential_mechanism_range; [exact l|exact HD|exact He|]. intros u u' y N. apply N.
  - intros e' H. destruct m as [|[|n]]; [lia|lia|]. assert (s0 : 0 < alpha - 1) by lra.
    assert (z := worst_z_at_bounds epsilon (alpha - 1) He s0).
    rewrite bounded_range_curve, <- worst_z_at_cumulant by easy.
    apply (proj2 (Rle_div_l (two_point_cumulant epsilon (worst_z_at epsilon (alpha - 1))
      (alpha - 1)) e' (alpha - 1) s0)).
    apply (bound_in_the_limit n Delta epsilon (worst_z_at epsilon (alpha - 1)) (alpha - 1) HD He z s0).
    intros u u' N. destruct (H u u' N) as [D [[m [Em ED]] B]]. simpl in Em.
    apply Rmult_le_compat_r with (r := alpha - 1) in B; [|lra]. rewrite ED in B.
    replace (ln m / (alpha - 1) * (alpha - 1)) with (ln m) in B by (field; lra).
    replace (1 + (alpha - 1)) with alpha by ring. replace (- (alpha - 1)) with (1 - alpha) by ring.
    cbn [plus]. simpl. rewrite Em. lra.
Qed.
