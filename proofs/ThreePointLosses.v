(** Any mechanism whose pairs have only the losses epsilon, 0 and -epsilon, mirrored: rho from one number, the mass m
    of the loss -epsilon in the worst pair. Beyond the paper; what subset selection, Hadamard response, local hashing
    and the staircase need, each with its own m. *)
Require Import Reals Lra Bool.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Cumulant BoundedRatio ThreePoint.
Local Open Scope R_scope.

(** p = e^epsilon q on [up], q = e^epsilon p on [down], p = q elsewhere; [up] has the mass m under q, [down] under p. *)
Definition mirrored_losses {Y} (mu : base_measure Y) (p q : Y -> R) (epsilon m : R) : Prop :=
  exists up down : Y -> bool,
    (forall y, support mu y -> andb (up y) (down y) = false) /\
    (forall y, support mu y -> up y = true -> p y = exp epsilon * q y) /\
    (forall y, support mu y -> down y = true -> q y = exp epsilon * p y) /\
    (forall y, support mu y -> up y = false -> down y = false -> p y = q y) /\
    is_integral mu (inside up q) m /\ is_integral mu (inside down p) m.

(** The kappa of the page three-point-maps. *)
Definition kappa_of_mass (epsilon m : R) : R := / m + 1 - exp epsilon.

Section Pair.
Context {Y : Type} (mu : base_measure Y) (p q : Y -> R) (epsilon m : R).
Hypothesis He : 0 < epsilon.
Hypothesis Hm : 0 < m.
Hypothesis Dp : density mu p.
Hypothesis Dq : density mu q.
Hypothesis L : mirrored_losses mu p q epsilon m.

Lemma mass_le : m * (1 + exp epsilon) <= 1.
Proof.
  destruct L as [up [down [N [U [W [E [Iu Id]]]]]]].
  replace (m * (1 + exp epsilon)) with (m + exp epsilon * m) by ring.
  refine (is_integral_le mu _ _ _ _ _ (is_integral_plus mu _ _ _ _ Iu (is_integral_scal mu _ _ (exp epsilon) Id))
    (proj2 Dq)).
  intros y Hy. cbv beta. unfold inside. specialize (N y Hy). assert (pq := proj1 Dq y Hy).
  destruct (up y) eqn:Eu, (down y) eqn:Ed; try easy; [lra| |lra]. rewrite (W y Hy Ed). lra.
Qed.

Lemma kappa_of_mass_ge_2 : 2 <= kappa_of_mass epsilon m.
Proof.
  assert (h := mass_le). unfold kappa_of_mass. assert (1 + exp epsilon <= / m); [|lra].
  apply Rmult_le_reg_l with m; [easy|]. rewrite Rinv_r by lra. easy.
Qed.

Lemma mirrored_losses_cumulant : is_cumulant mu p q (three_point_cumulant (kappa_of_mass epsilon m) epsilon).
Proof.
  intros s Hs. assert (M := mass_le). assert (K := kappa_of_mass_ge_2).
  destruct L as [up [down [N [U [W [E [Iu Id]]]]]]].
  assert (V : exp (three_point_cumulant (kappa_of_mass epsilon m) epsilon s)
    = 1 * 1 + ((exp ((1 + s) * epsilon) - 1) * m + (exp (- (s * epsilon)) - exp epsilon) * m)).
  { unfold three_point_cumulant. assert (e1 := exp_pos ((1 + s) * epsilon)). assert (e2 := exp_pos (- (s * epsilon))).
    assert (e3 := exp_pos epsilon). rewrite exp_ln by (apply Rdiv_lt_0_compat; lra). unfold kappa_of_mass. field.
    split; [lra|]. apply Rgt_not_eq.
    replace ((exp epsilon - 1) * m + (1 + m - exp epsilon * m)) with 1 by ring. lra. }
  rewrite V.
  eapply is_integral_ext;
    [|exact (is_integral_plus mu _ _ _ _ (is_integral_scal mu _ _ 1 (proj2 Dq)) (is_integral_plus mu _ _ _ _
    (is_integral_scal mu _ _ (exp ((1 + s) * epsilon) - 1) Iu)
      (is_integral_scal mu _ _ (exp (- (s * epsilon)) - exp epsilon) Id)))].
  intros y Hy. cbv beta. unfold inside. specialize (N y Hy).
  assert (pp := proj1 Dp y Hy). assert (pq := proj1 Dq y Hy). rewrite Rpower_ratio by easy. unfold Rpower.
  destruct (up y) eqn:Eu, (down y) eqn:Ed; try easy.
  - rewrite (U y Hy Eu). replace (exp epsilon * q y / q y) with (exp epsilon) by (field; lra). rewrite ln_exp. ring.
  - rewrite (W y Hy Ed). replace (p y / (exp epsilon * p y)) with (/ exp epsilon)
      by (assert (e := exp_pos epsilon); field; lra).
    rewrite <- exp_Ropp, ln_exp.
    replace (exp ((1 + s) * - epsilon)) with (exp (- (s * epsilon)) * / exp epsilon)
      by (rewrite <- exp_Ropp, <- exp_plus; f_equal; ring).
    assert (e := exp_pos epsilon). field. lra.
  - rewrite (E y Hy Eu Ed). replace (q y / q y) with 1 by (field; lra). rewrite ln_1, !Rmult_0_r, exp_0. ring.
Qed.
End Pair.

Section Mechanism.
Context {X Y : Type} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (epsilon m : R).
Hypothesis He : 0 < epsilon.
Hypothesis Hm : 0 < m.
Hypothesis HM : forall x x', neighbours x x' -> density mu (M x) /\ density mu (M x').
Hypothesis losses : forall x x', neighbours x x' ->
exists m', 0 < m' <= m /\ mirrored_losses mu (M x) (M x') epsilon m'.
Hypothesis worst : exists x x', neighbours x x' /\ mirrored_losses mu (M x) (M x') epsilon m.

(* Every pair is at most as bad as the worst one. *)
Lemma mirrored_losses_zCDP rho :
  (forall s, 0 < s -> three_point_cumulant (kappa_of_mass epsilon m) epsilon s <= rho * (s * (1 + s))) ->
  zCDP mu neighbours M rho.
Proof.
  intros B. apply zCDP_of_cumulant. intros x x' N. destruct (losses x x' N) as [m' [Hm' L]]. eexists.
  split; [apply (mirrored_losses_cumulant mu (M x) (M x') epsilon m'); try easy; now apply (HM x x')|].
  intros s Hs. eapply Rle_trans; [|now apply B]. destruct worst as [w [w' [W K]]].
  apply three_point_cumulant_decreasing; [|easy|easy]. split.
  - apply (kappa_of_mass_ge_2 mu (M w) (M w')); try easy; now apply (HM w w').
  - unfold kappa_of_mass. assert (/ m <= / m') by (apply Rinv_le_contravar; lra). lra.
Qed.

(* The mechanism restricted to its worst pair, where [three_point_tight] and its like apply *)
Let worst_pair x x' : Prop := neighbours x x' /\ mirrored_losses mu (M x) (M x') epsilon m.
Let worst_pairs x x' : worst_pair x x' ->
  is_cumulant mu (M x) (M x') (three_point_cumulant (kappa_of_mass epsilon m) epsilon).
Proof. intros [N K]. apply mirrored_losses_cumulant; try easy; now apply (HM x x'). Qed.
Let kappa_ge_2 : 2 <= kappa_of_mass epsilon m.
Proof. destruct worst as [w [w' [W K]]]. apply (kappa_of_mass_ge_2 mu (M w) (M w')); try easy; now apply (HM w w'). Qed.
Let only_worst r : zCDP mu neighbours M r -> zCDP mu worst_pair M r.
Proof. intros Z x x' [N _]. now apply Z. Qed.

Lemma mirrored_losses_tight : kappa_of_mass epsilon m <= k_star epsilon ->
  tightly_zCDP mu neighbours M (three_point_rho (kappa_of_mass epsilon m) epsilon).
Proof.
  intros HS. split.
  - apply mirrored_losses_zCDP. intros s Hs. now apply three_point_cumulant_le.
  - intros r Z. apply (proj2 (three_point_tight mu worst_pair M _ epsilon kappa_ge_2 He worst_pairs worst HS)).
    now apply only_worst.
Qed.

Lemma mirrored_losses_tight_beyond : k_star epsilon < kappa_of_mass epsilon m ->
  exists x, epsilon / 2 < x /\ overshoot (three_point_c (kappa_of_mass epsilon m) epsilon) (epsilon / 2) x = 0 /\
    (forall u, epsilon / 2 < u -> overshoot (three_point_c (kappa_of_mass epsilon m) epsilon) (epsilon / 2) u = 0 -> u
      = x) /\
    tightly_zCDP mu neighbours M
      (epsilon * epsilon * (sinh x / (2 * x * (three_point_c (kappa_of_mass epsilon m) epsilon + cosh x)))).
Proof.
  intros HS.
  destruct (three_point_tight_beyond mu worst_pair M _ epsilon kappa_ge_2 He worst_pairs worst HS) as
    [x [Hx [Ex [Ux [Z T]]]]].
  exists x. split; [easy|]. split; [easy|]. split; [easy|]. split.
  - apply mirrored_losses_zCDP. intros s Hs. destruct worst as [w [w' W]].
    exact (cumulant_of_zCDP mu worst_pair M _ w w' _ s W (worst_pairs w w' W) Z Hs).
  - intros r Zr. apply T. now apply only_worst.
Qed.
End Mechanism.

(** rho = epsilon TV, where (e^epsilon - 1) m = TV is the largest total variation distance, as long as kappa <= k*. *)
Theorem three_losses_tight {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (epsilon m : R) :
  0 < epsilon -> 0 < m -> (forall x x', neighbours x x' -> density mu (M x) /\ density mu (M x')) ->
  (forall x x', neighbours x x' -> exists m', 0 < m' <= m /\ mirrored_losses mu (M x) (M x') epsilon m') ->
  (exists x x', neighbours x x' /\ mirrored_losses mu (M x) (M x') epsilon m) ->
  kappa_of_mass epsilon m <= k_star epsilon ->
  tightly_zCDP mu neighbours M (epsilon * ((exp epsilon - 1) * m)).
Proof.
  intros He Hm HM HL HW HS.
  replace (epsilon * ((exp epsilon - 1) * m)) with (three_point_rho (kappa_of_mass epsilon m) epsilon);
    [now apply mirrored_losses_tight|].
  unfold three_point_rho, kappa_of_mass. field. split; [lra|]. apply Rgt_not_eq.
  replace ((exp epsilon - 1) * m + (1 + m - exp epsilon * m)) with 1 by ring. lra.
Qed.

(** ... and beyond, at the only zero of one equation. *)
Theorem three_losses_tight_beyond {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R)
  (epsilon m : R) :
  0 < epsilon -> 0 < m -> (forall x x', neighbours x x' -> density mu (M x) /\ density mu (M x')) ->
  (forall x x', neighbours x x' -> exists m', 0 < m' <= m /\ mirrored_losses mu (M x) (M x') epsilon m') ->
  (exists x x', neighbours x x' /\ mirrored_losses mu (M x) (M x') epsilon m) ->
  k_star epsilon < kappa_of_mass epsilon m ->
  exists x, epsilon / 2 < x /\
    overshoot (three_point_c (kappa_of_mass epsilon m) epsilon) (epsilon / 2) x = 0 /\
    (forall u, epsilon / 2 < u ->
       overshoot (three_point_c (kappa_of_mass epsilon m) epsilon) (epsilon / 2) u = 0 -> u = x) /\
    tightly_zCDP mu neighbours M
      (epsilon * epsilon * (sinh x / (2 * x * (three_point_c (kappa_of_mass epsilon m) epsilon + cosh x)))).
Proof. intros He Hm HM HL HW HS. now apply mirrored_losses_tight_beyond. Qed.
