(** Theorem 20 of the paper, [thm:rr-loose-large-k], is false as printed: a counterexample, by interval arithmetic.

    Optional: coq-interval computes with the machine's integers, whose laws Coq takes as axioms of their own. *)
From Coq Require Import Reals Lra List Arith Lia.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant ThreePoint RandomizedResponse.
Local Open Scope R_scope.

(** epsilon^2 max(1/log(sqrt(k - 1 + e^epsilon)/epsilon), 1/sqrt(k - 1 + e^epsilon)) *)
Definition loose_rho (k epsilon : R) : R :=
  epsilon * epsilon * Rmax (1 / ln (1 / epsilon * sqrt (k - 1 + exp epsilon))) (1 / sqrt (k - 1 + exp epsilon)).

(* At k = 1000, epsilon = 10^-12 and s = 13.75 * 10^12 the bound is below the cumulant. *)
Lemma loose_rho_too_small :
  loose_rho 1000 (/ 1000000000000) * ((55 / 4 * 1000000000000) * (1 + 55 / 4 * 1000000000000))
  < three_point_cumulant 1000 (/ 1000000000000) (55 / 4 * 1000000000000).
Proof.
  unfold loose_rho, three_point_cumulant.
  assert (a : 1 / ln (1 / / 1000000000000 * sqrt (1000 - 1 + exp (/ 1000000000000))) <= 33 / 1000)
    by (interval with (i_prec 80)).
  assert (b : 1 / sqrt (1000 - 1 + exp (/ 1000000000000)) <= 33 / 1000) by (interval with (i_prec 80)).
  assert (m := Rmax_lub _ _ _ a b).
  eapply Rle_lt_trans; [apply Rmult_le_compat_r; [lra|]; apply Rmult_le_compat_l; [lra|exact m]|].
  interval with (i_prec 80).
Qed.

Theorem loose_bound_for_large_k_is_false :
  ~ (forall (k : nat) (epsilon : R), (2 <= k)%nat -> 0 < epsilon ->
       zCDP (finite (seq 0 k)) (any_two k) (randomized_response k epsilon) (loose_rho (INR k) epsilon)).
Proof.
  intros H. specialize (H 1000%nat (/ 1000000000000) ltac:(lia) ltac:(lra)).
  assert (N : any_two 1000 0 1) by (unfold any_two; lia).
  set (s := 55 / 4 * 1000000000000). assert (s0 : 0 < s) by (unfold s; lra).
  assert (B := cumulant_of_zCDP _ _ _ _ 0%nat 1%nat _ s N (randomized_response_cumulant 1000 (/ 1000000000000) 0 1 N
    ltac:(lra)) H s0).
  assert (E : INR 1000 = 1000) by (rewrite INR_IZR_INZ; reflexivity).
  rewrite E in B. assert (L := loose_rho_too_small). fold s in L. lra.
Qed.

Definition theorems := @loose_bound_for_large_k_is_false.
Print Assumptions theorems.
