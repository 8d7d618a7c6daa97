(** Pure DP: the largest Renyi curve of all epsilon-DP mechanisms, rho = epsilon tanh(epsilon/2), and that it is
    attained. *)
Require Import Reals Lra List Arith Lia Bool.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant Sums BoundedRatio ThreePoint RandomizedResponse.
Import ListNotations.
Local Open Scope R_scope.

(** The chord of [e^-epsilon, e^epsilon] gives the moment of binary randomized response. *)
Lemma pure_moment_le {Y} (mu : base_measure Y) (p q : Y -> R) (e s m : R) :
  0 < e -> 0 < s -> density mu p -> density mu q ->
  (forall y, support mu y -> p y <= exp e * q y) -> (forall y, support mu y -> q y <= exp e * p y) ->
  is_integral mu (fun y => Rpower (p y) (1 + s) * Rpower (q y) (- s)) m -> ln m <= three_point_cumulant 2 e s.
Proof.
  intros He Hs Dp Dq H1 H2 Hm.
  assert (e1 := exp_gt_1 e He).
  assert (ie : 0 < / exp e) by (apply Rinv_0_lt_compat; lra).
  assert (lt : / exp e < exp e).
  { apply Rlt_trans with 1; [|easy]. rewrite <- Rinv_1. apply Rinv_1_lt_contravar; lra. }
  destruct (moment_le mu p q (/ exp e) (exp e) s m Dp Dq ie lt Hs) as [m0 m1]; [|easy|].
  - intros y Hy. split; [|now apply H1]. apply Rmult_le_reg_l with (exp e); [lra|].
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. now apply H2.
  - unfold three_point_cumulant.
    match type of m1 with _
      <= ?v => replace ((exp ((1 + s) * e) + exp (- (s * e)) + 2 - 2) / (exp e + 2 - 1)) with v end.
    + now apply Rcomplements.ln_le.
    + unfold Rpower. rewrite <- exp_Ropp, !ln_exp.
      replace (exp (- (s * e))) with (exp ((1 + s) * - e) * exp e) by (rewrite <- exp_plus; f_equal; ring).
      rewrite exp_Ropp. field. split; nra.
Qed.

(** Proposition 7 of the paper, [prop:dp-to-rdp]. *)
Theorem pure_DP_RDP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (epsilon alpha : R) :
  0 < epsilon -> 1 < alpha -> (forall x x', neighbours x x' -> neighbours x' x) ->
  mechanism mu M -> has_moments mu neighbours M -> pure_DP mu neighbours M epsilon ->
  RDP mu neighbours M alpha (ln ((exp (alpha * epsilon) + exp (epsilon * (1 - alpha))) / (exp epsilon + 1))
    / (alpha - 1)).
Proof.
  intros He Ha Sy HM HE HP. apply RDP_of_moments; [easy..|]. intros x x' m N Hm.
  replace (ln ((exp (alpha * epsilon) + exp (epsilon * (1 - alpha))) / (exp epsilon + 1)))
    with (three_point_cumulant 2 epsilon (alpha - 1)).
  - apply (pure_moment_le mu (M x) (M x')); try easy; try lra; try apply HM.
    + now apply HP.
    + apply HP. now apply Sy.
  - unfold three_point_cumulant. f_equal. f_equal; [|ring].
    replace (1 + (alpha - 1)) with alpha by ring.
    replace (- ((alpha - 1) * epsilon)) with (epsilon * (1 - alpha)) by ring. ring.
Qed.

(** Propositions 8 and 9 of the paper, [prop:dp-to-zcdp] and [cor:dlap-rdp-one]. *)
Theorem pure_DP_zCDP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (epsilon : R) :
  0 < epsilon -> (forall x x', neighbours x x' -> neighbours x' x) ->
  mechanism mu M -> has_moments mu neighbours M -> pure_DP mu neighbours M epsilon ->
  zCDP mu neighbours M (epsilon * tanh (epsilon / 2)).
Proof.
  intros He Sy HM HE HP. apply zCDP_of_moments; [easy|].
  intros x x' s m N Hs Hm. rewrite <- three_point_rho_2.
  eapply Rle_trans; [|apply three_point_cumulant_le; try easy; [lra|apply k_star_ge_6; lra]].
  apply (pure_moment_le mu (M x) (M x')); try easy; try apply HM.
  - now apply HP.
  - apply HP. now apply Sy.
Qed.

(** Binary randomized response attains it. *)
Theorem pure_DP_attained (epsilon : R) : 0 < epsilon ->
  pure_DP (finite (seq 0 2)) (any_two 2) (randomized_response 2 epsilon) epsilon /\
  tightly_zCDP (finite (seq 0 2)) (any_two 2) (randomized_response 2 epsilon) (epsilon * tanh (epsilon / 2)).
Proof.
  intros He. split; [apply randomized_response_DP; [lia|easy]|]. rewrite <- three_point_rho_2.
  replace (three_point_rho 2 epsilon) with (epsilon * ((exp epsilon - 1) / (exp epsilon + INR 2 - 1))).
  - apply randomized_response_tight; [lia|easy].
  - unfold three_point_rho. simpl INR. assert (p := exp_pos epsilon). field. lra.
Qed.

(** For finitely many outcomes, epsilon-DP of every event is epsilon-DP of every outcome. *)
Theorem event_DP_pointwise {X Y} (same : forall y z : Y, {y = z} + {y <> z}) (l : list Y)
  (neighbours : X -> X -> Prop) (M : X -> Y -> R) (epsilon : R) : NoDup l ->
  (pure_DP (finite l) neighbours M epsilon <->
   forall x x' (S : Y -> bool), neighbours x x' ->
   sum_of (inside S (M x)) l <= exp epsilon * sum_of (inside S (M x')) l).
Proof.
  intros U. split.
  - intros H x x' S N. rewrite <- sum_of_scal. apply sum_of_le. intros y Hy. unfold inside.
    destruct (S y); [now apply H|lra].
  - intros H x x' N y F. simpl in F. specialize (H x x' (fun z => if same y z then true else false) N).
    assert (P : forall p : Y -> R, sum_of (inside (fun z => if same y z then true else false) p) l = p y).
    { intros p. clear H. unfold inside. induction l as [|z l0 IH]; [easy|]. simpl. inversion U; subst.
      destruct (same y z) as [->|D].
      - rewrite (sum_of_ext _ (fun _ => 0)); [rewrite sum_of_const; ring|].
        intros w Hw. destruct (same z w) as [->|]; [easy|easy].
      - destruct F as [->|F]; [easy|]. rewrite IH by easy. ring. }
    now rewrite !P in H.
Qed.
