(** k-randomized response at every k: KL is rho up to k*(epsilon), and what rho is beyond. *)
Require Import Reals Lra List Arith Lia.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant Sums ThreePoint.
Local Open Scope R_scope.

Lemma kappa_of_k k : (2 <= k)%nat -> 2 <= INR k.
Proof. intros H. apply (le_INR 2). lia. Qed.

Lemma any_two_exist k : (2 <= k)%nat -> exists x x', any_two k x x'.
Proof. intros H. exists 0%nat, 1%nat. unfold any_two. lia. Qed.

(* A sum over the outcomes of a function that is special at two of them *)
Lemma sum_of_two_special k x x' a b c (f : nat -> R) : any_two k x x' ->
  f x = a -> f x' = b -> (forall y, y <> x -> y <> x' -> f y = c) ->
  sum_of f (seq 0 k) = a + b + (INR k - 2) * c.
Proof.
  intros [Hx [Hx' N]] Ea Eb Ec.
  rewrite (sum_of_ext _ (fun y => c + ((if Nat.eqb x y then a - c else 0) + (if Nat.eqb x' y then b - c else 0)))).
  - rewrite !sum_of_plus, sum_of_const, !sum_of_point, seq_length; try apply seq_NoDup; try (apply in_seq; lia). ring.
  - intros y _. destruct (Nat.eqb_spec x y), (Nat.eqb_spec x' y); subst; try easy; try ring.
    rewrite Ec by auto. ring.
Qed.

Theorem randomized_response_density (k : nat) (epsilon : R) (x : nat) :
  (2 <= k)%nat -> (x < k)%nat -> 0 < epsilon -> density (finite (seq 0 k)) (randomized_response k epsilon x).
Proof.
  intros Hk Hx He. assert (p := exp_gt_1 epsilon He). assert (k2 := kappa_of_k k Hk). split.
  - intros y _. unfold randomized_response. apply Rdiv_lt_0_compat; [destruct (Nat.eqb x y); lra|lra].
  - simpl. assert (ex : exists x', any_two k x x').
    { exists (if Nat.eqb x 0 then 1 else 0)%nat. unfold any_two. destruct (Nat.eqb_spec x 0); lia. }
    destruct ex as [x' N].
    rewrite (sum_of_two_special k x x' (exp epsilon / (exp epsilon + INR k - 1)) (1 / (exp epsilon + INR k - 1))
      (1 / (exp epsilon + INR k - 1)) _ N).
    + field. lra.
    + unfold randomized_response. now rewrite Nat.eqb_refl.
    + unfold randomized_response. destruct N as [_ [_ N]]. destruct (Nat.eqb_spec x x'); easy.
    + intros y D _. unfold randomized_response. destruct (Nat.eqb_spec x y); [subst|]; easy.
Qed.

Lemma randomized_response_cumulant k epsilon x x' : any_two k x x' -> 0 < epsilon ->
  is_cumulant (finite (seq 0 k)) (randomized_response k epsilon x) (randomized_response k epsilon x')
    (three_point_cumulant (INR k) epsilon).
Proof.
  intros N He s Hs. simpl.
  assert (p := exp_gt_1 epsilon He). assert (k2 : 2 <= INR k) by (apply kappa_of_k; destruct N; lia).
  set (n := exp epsilon + INR k - 1). assert (n0 : 0 < n) by (unfold n; lra).
  assert (P : forall u v, 0 < u -> 0 < v -> Rpower (u / n) (1 + s) * Rpower (v / n) (- s)
    = exp ((1 + s) * ln u - s * ln v) / n).
  { intros u v Hu Hv. unfold Rpower. rewrite !ln_div, <- exp_plus by easy.
    replace (exp ((1 + s) * ln u - s * ln v) / n) with (exp ((1 + s) * ln u - s * ln v) * exp (- ln n))
      by (rewrite exp_Ropp, exp_ln; easy).
    rewrite <- exp_plus. f_equal. ring. }
  rewrite (sum_of_two_special k x x' (exp ((1 + s) * epsilon) / n) (exp (- (s * epsilon)) / n) (1 / n) _ N).
  - unfold three_point_cumulant. fold n. rewrite exp_ln; [field; lra|].
    apply Rdiv_lt_0_compat; [|easy]. assert (h := exp_pos ((1 + s) * epsilon)).
    assert (h' := exp_pos (- (s * epsilon))). lra.
  - destruct N as [_ [_ N]]. unfold randomized_response. fold n. rewrite Nat.eqb_refl.
    destruct (Nat.eqb_spec x' x) as [E|_]; [now symmetry in E|]. rewrite P, ln_exp, ln_1 by lra. f_equal. f_equal. ring.
  - destruct N as [_ [_ N]]. unfold randomized_response. fold n. rewrite Nat.eqb_refl.
    destruct (Nat.eqb_spec x x') as [E|_]; [easy|]. rewrite P, ln_exp, ln_1 by lra. f_equal. f_equal. ring.
  - intros y D D'. unfold randomized_response. fold n.
    destruct (Nat.eqb_spec x y); [now subst|]. destruct (Nat.eqb_spec x' y); [now subst|].
    rewrite P, ln_1 by lra. f_equal. rewrite !Rmult_0_r, Rminus_0_r. apply exp_0.
Qed.

Theorem randomized_response_DP (k : nat) (epsilon : R) : (2 <= k)%nat -> 0 < epsilon ->
  pure_DP (finite (seq 0 k)) (any_two k) (randomized_response k epsilon) epsilon.
Proof.
  intros Hk He x x' N y _. unfold randomized_response. assert (p := exp_gt_1 epsilon He).
  assert (k2 := kappa_of_k k Hk).
  assert (ip : 0 < / (exp epsilon + INR k - 1)) by (apply Rinv_0_lt_compat; lra).
  unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
  destruct (Nat.eqb x y), (Nat.eqb x' y); nra.
Qed.

(** Every k up to k*(epsilon): the converse of the paper's lemma 18. *)
Theorem randomized_response_tight_up_to_k_star (k : nat) (epsilon : R) :
  (2 <= k)%nat -> 0 < epsilon -> INR k <= k_star epsilon ->
  tightly_zCDP (finite (seq 0 k)) (any_two k) (randomized_response k epsilon)
    (epsilon * ((exp epsilon - 1) / (exp epsilon + INR k - 1))).
Proof.
  intros Hk He HS. assert (k2 := kappa_of_k k Hk). assert (p := exp_pos epsilon).
  replace (epsilon * ((exp epsilon - 1) / (exp epsilon + INR k - 1))) with (three_point_rho (INR k) epsilon)
    by (unfold three_point_rho; field; lra).
  apply three_point_tight; try easy; [|now apply any_two_exist].
  intros x x' N. now apply randomized_response_cumulant.
Qed.

(** Theorem 17 of the paper, [thm:zcdp-rr-tight]. *)
Theorem randomized_response_tight (k : nat) (epsilon : R) :
  (2 <= k <= 6)%nat -> 0 < epsilon ->
  tightly_zCDP (finite (seq 0 k)) (any_two k) (randomized_response k epsilon)
    (epsilon * ((exp epsilon - 1) / (exp epsilon + INR k - 1))).
Proof.
  intros Hk He. apply randomized_response_tight_up_to_k_star; [lia|easy|].
  apply k_star_ge_6; [easy|]. split; [apply kappa_of_k; lia|].
  replace 6 with (INR 6) by (simpl; ring). apply le_INR. lia.
Qed.

(** Beyond k*(epsilon), the paper's open problem: rho at the only zero of one equation. *)
Theorem randomized_response_tight_beyond_k_star (k : nat) (epsilon : R) :
  (2 <= k)%nat -> 0 < epsilon -> k_star epsilon < INR k ->
  exists x, epsilon / 2 < x /\
    overshoot (three_point_c (INR k) epsilon) (epsilon / 2) x = 0 /\
    (forall u, epsilon / 2 < u -> overshoot (three_point_c (INR k) epsilon) (epsilon / 2) u = 0 -> u = x) /\
    tightly_zCDP (finite (seq 0 k)) (any_two k) (randomized_response k epsilon)
      (epsilon * epsilon * (sinh x / (2 * x * (three_point_c (INR k) epsilon + cosh x)))).
Proof.
  intros Hk He HS. apply three_point_tight_beyond; try easy.
  - now apply kappa_of_k.
  - intros x x' N. now apply randomized_response_cumulant.
  - now apply any_two_exist.
Qed.

(** Lemma 18 of the paper, [lem:non-opt-rr]. *)
Theorem randomized_response_not_KL (k : nat) (epsilon : R) :
  (2 <= k)%nat -> 0 < epsilon -> k_star epsilon < INR k ->
  ~ zCDP (finite (seq 0 k)) (any_two k) (randomized_response k epsilon)
      (epsilon * ((exp epsilon - 1) / (exp epsilon + INR k - 1))).
Proof.
  intros Hk He HS. assert (k2 := kappa_of_k k Hk). assert (p := exp_pos epsilon).
  replace (epsilon * ((exp epsilon - 1) / (exp epsilon + INR k - 1))) with (three_point_rho (INR k) epsilon)
    by (unfold three_point_rho; field; lra).
  apply three_point_not_KL; try easy; [|now apply any_two_exist].
  intros x x' N. now apply randomized_response_cumulant.
Qed.

(** Corollary 19 of the paper, [cor:krr-general]. *)
Theorem randomized_response_zCDP_min (k : nat) (epsilon : R) :
  (2 <= k)%nat -> 0 < epsilon ->
  zCDP (finite (seq 0 k)) (any_two k) (randomized_response k epsilon)
    (epsilon * ((exp epsilon - 1) / (exp epsilon - 1 + Rmin (INR k) 6))).
Proof.
  intros Hk He. assert (p := exp_gt_1 epsilon He). assert (k2 := kappa_of_k k Hk).
  assert (m2 : 2 <= Rmin (INR k) 6) by (apply Rmin_glb; lra).
  replace (epsilon * ((exp epsilon - 1) / (exp epsilon - 1 + Rmin (INR k) 6)))
    with (three_point_rho (Rmin (INR k) 6) epsilon)
    by (unfold three_point_rho; field; lra).
  apply zCDP_of_cumulant. intros x x' N. eexists. split; [now apply randomized_response_cumulant|].
  intros s Hs. eapply Rle_trans; [apply (three_point_cumulant_decreasing (Rmin (INR k) 6)); try easy|].
  - split; [easy|apply Rmin_l].
  - apply three_point_cumulant_le; try easy. apply k_star_ge_6; [easy|]. split; [easy|apply Rmin_r].
Qed.

(** Proposition 21 of the paper, [prop:rdp-k-rr]: the Renyi curve. *)
Theorem randomized_response_RDP (k : nat) (epsilon alpha : R) :
  (2 <= k)%nat -> 0 < epsilon -> 1 < alpha ->
  tightly_RDP (finite (seq 0 k)) (any_two k) (randomized_response k epsilon) alpha
    (ln ((exp (alpha * epsilon) + exp ((1 - alpha) * epsilon) + INR k - 2) / (INR k - 1 + exp epsilon)) / (alpha - 1)).
Proof.
  intros Hk He Ha.
  replace (ln _) with (three_point_cumulant (INR k) epsilon (alpha - 1)).
  2:{ unfold three_point_cumulant. f_equal. f_equal; [|ring]. replace (1 + (alpha - 1)) with alpha by ring.
      now replace (- ((alpha - 1) * epsilon)) with ((1 - alpha) * epsilon) by ring. }
  apply tightly_RDP_of_cumulant; [easy| |].
  - intros x x' N. exists (three_point_cumulant (INR k) epsilon). split; [now apply randomized_response_cumulant|lra].
  - intros k' H. destruct (any_two_exist k Hk) as [x [x' N]].
    apply (H x x' _ N). now apply randomized_response_cumulant.
Qed.

(** ... and its limit at order 1, as the sum it is. *)
Theorem randomized_response_KL (k : nat) (epsilon : R) (x x' : nat) :
  any_two k x x' -> 0 < epsilon ->
  is_KL (finite (seq 0 k)) (randomized_response k epsilon x) (randomized_response k epsilon x')
    (epsilon * ((exp epsilon - 1) / (exp epsilon + INR k - 1))).
Proof.
  intros N He. assert (p := exp_gt_1 epsilon He). assert (k2 : 2 <= INR k) by (apply kappa_of_k; destruct N; lia).
  unfold is_KL. simpl. unfold randomized_response.
  set (n := exp epsilon + INR k - 1). assert (n0 : 0 < n) by (unfold n; lra).
  rewrite (sum_of_two_special k x x' (exp epsilon / n * epsilon) (1 / n * - epsilon) 0 _ N).
  - field. lra.
  - destruct N as [_ [_ N]]. rewrite Nat.eqb_refl. destruct (Nat.eqb_spec x' x) as [E|_]; [now symmetry in E|].
    replace (exp epsilon / n / (1 / n)) with (exp epsilon) by (field; lra). now rewrite ln_exp.
  - destruct N as [_ [_ N]]. rewrite Nat.eqb_refl. destruct (Nat.eqb_spec x x') as [E|_]; [easy|].
    replace (1 / n / (exp epsilon / n)) with (/ exp epsilon) by (field; lra). now rewrite <- exp_Ropp, ln_exp.
  - intros y D D'. destruct (Nat.eqb_spec x y); [now subst|]. destruct (Nat.eqb_spec x' y); [now subst|].
    replace (1 / n / (1 / n)) with 1 by (field; lra). rewrite ln_1. ring.
Qed.
