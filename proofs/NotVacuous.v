(** The theorems say something: slightly stronger statements are false.

    A theorem could be true because its hypotheses cannot be met, or because its conclusion is weak. Here hypotheses are
    met, and three changed statements are refuted: a rho that is 1 % smaller, 7 in place of 6, a hypothesis left out. *)
Require Import Reals Lra Lia List Arith.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant BoundedRatio Laplace DiscreteLaplace ThreePoint
  RandomizedResponse
  PureDP UnaryEncoding BoundedRange ExponentialMechanism Conversions.
Import ListNotations.
Local Open Scope R_scope.

(** * A smaller rho *)
Lemma smaller_rho_fails {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (rho : R) :
  tightly_zCDP mu neighbours M rho -> 0 < rho -> ~ zCDP mu neighbours M (99 / 100 * rho).
Proof. intros [_ T] H Z. specialize (T _ Z). lra. Qed.

(** A real number as input, neighbours at distance at most 1: the sensitivity of the identity is 1. *)
Definition close (x x' : R) : Prop := Rabs (x - x') <= 1.
Lemma close_sensitivity : sensitivity close (fun x => x) 1.
Proof.
  split.
  - intros d [x [x' [N ->]]]. exact N.
  - intros b H. apply H. exists 1, 0. unfold close. rewrite Rminus_0_r, Rabs_R1. split; lra.
Qed.

Theorem laplace_smaller_rho_fails (epsilon : R) : 0 < epsilon ->
  ~ zCDP reals close (laplace (fun x => x) 1 epsilon) (99 / 100 * (epsilon + exp (- epsilon) - 1)).
Proof.
  intros He. apply smaller_rho_fails.
  - apply laplace_tight; [lra|easy|apply close_sensitivity].
  - assert (h : 1 + - epsilon < exp (- epsilon)) by (apply exp_ineq1; lra). lra.
Qed.

Theorem randomized_response_smaller_rho_fails (k : nat) (epsilon : R) : (2 <= k <= 6)%nat -> 0 < epsilon ->
  ~ zCDP (finite (seq 0 k)) (any_two k) (randomized_response k epsilon)
      (99 / 100 * (epsilon * ((exp epsilon - 1) / (exp epsilon + INR k - 1)))).
Proof.
  intros Hk He. apply smaller_rho_fails; [now apply randomized_response_tight|].
  assert (p := exp_gt_1 epsilon He). assert (k2 := kappa_of_k k ltac:(lia)).
  apply Rmult_lt_0_compat; [easy|]. apply Rdiv_lt_0_compat; lra.
Qed.

Theorem exponential_mechanism_smaller_rho_fails (epsilon : R) : 0 < epsilon ->
  ~ zCDP (finite (seq 0 2)) (moved_by 1) (exponential_mechanism (seq 0 2) (fun u : nat -> R => u) 1 epsilon)
      (99 / 100 * (epsilon / (exp epsilon - 1) + ln ((exp epsilon - 1) / epsilon) - 1)).
Proof.
  intros He. apply smaller_rho_fails; [apply exponential_mechanism_tight; [lia|lra|easy]|].
  assert (g := exp_gt_1 epsilon He). assert (p : 0 < epsilon / (exp epsilon - 1)) by (apply Rdiv_lt_0_compat; lra).
  (* x - 1 > log x for x = epsilon/(e^epsilon - 1) < 1 *)
  set (x := epsilon / (exp epsilon - 1)) in *.
  assert (x1 : x < 1).
  { unfold x. apply Rlt_div_l; [lra|]. assert (h : 1 + epsilon < exp epsilon) by (apply exp_ineq1; lra). lra. }
  replace ((exp epsilon - 1) / epsilon) with (/ x) by (unfold x; field; lra). rewrite ln_Rinv by easy.
  assert (l : ln x <> 0). { intros E. assert (x = 1); [|lra]. apply ln_inv; [easy|lra|]. now rewrite ln_1. }
  assert (h : 1 + ln x < exp (ln x)) by (now apply exp_ineq1). rewrite exp_ln in h by easy. lra.
Qed.

(** * Seven in place of six *)
Lemma exp_three_tenths : exp (3 / 10) < 27 / 20.
Proof.
  (* e^-u >= 1 - u + u^2/2 - u^3/6 + u^4/24 - u^5/120, one derivative after the other *)
  assert (t2 : forall u, 0 <= u -> 0 <= 1 - u + u * u / 2 - exp (- u)).
  { intros u Hu. from_derive (fun v => 1 - v + v * v / 2 - exp (- v)) (fun v => -1 + v + exp (- v)) u; try easy.
    - rewrite Ropp_0, exp_0. field.
    - intros v _. auto_derive; [easy|]. field.
    - intros v _. assert (h := exp_ineq1_le (- v)). lra. }
  assert (t3 : forall u, 0 <= u -> 0 <= exp (- u) - (1 - u + u * u / 2 - u * u * u / 6)).
  { intros u Hu. from_derive (fun v => exp (- v) - (1 - v + v * v / 2 - v * v * v / 6))
      (fun v => 1 - v + v * v / 2 - exp (- v)) u; try easy.
    - rewrite Ropp_0, exp_0. field.
    - intros v _. auto_derive; [easy|]. field.
    - intros v Hv. apply t2. lra. }
  assert (t4 : forall u, 0 <= u -> 0 <= 1 - u + u * u / 2 - u * u * u / 6 + u * u * u * u / 24 - exp (- u)).
  { intros u Hu. from_derive (fun v => 1 - v + v * v / 2 - v * v * v / 6 + v * v * v * v / 24 - exp (- v))
      (fun v => exp (- v) - (1 - v + v * v / 2 - v * v * v / 6)) u; try easy.
    - rewrite Ropp_0, exp_0. field.
    - intros v _. auto_derive; [easy|]. field.
    - intros v Hv. apply t3. lra. }
  from_derive (fun v => exp (- v) - (1 - v + v * v / 2 - v * v * v / 6 + v * v * v * v / 24 - v * v * v * v * v / 120))
    (fun v => 1 - v + v * v / 2 - v * v * v / 6 + v * v * v * v / 24 - exp (- v)) (3 / 10); try lra.
  - rewrite Ropp_0, exp_0. field.
  - intros v _. auto_derive; [easy|]. field.
  - intros v Hv. apply t4. lra.
  - assert (b : / (27 / 20) < exp (- (3 / 10))) by lra.
    rewrite exp_Ropp in b. apply Rinv_lt_cancel; [lra|]. exact b.
Qed.

Theorem seven_in_place_of_six_fails :
  ~ (forall (k : nat) (epsilon : R), (2 <= k <= 7)%nat -> 0 < epsilon ->
       zCDP (finite (seq 0 k)) (any_two k) (randomized_response k epsilon)
         (epsilon * ((exp epsilon - 1) / (exp epsilon + INR k - 1)))).
Proof.
  intros H. apply (randomized_response_not_KL 7 (3 / 10)); [lia|lra| |apply H; [lia|lra]].
  replace (INR 7) with 7 by (simpl; ring).
  assert (u := exp_three_tenths). assert (l := exp_gt_1 (3 / 10) ltac:(lra)).
  unfold k_star. apply Rlt_div_l; [apply (k_star_denominator (3 / 10)); lra|]. nra.
Qed.

(** * A hypothesis left out: the bound for pure DP needs both directions *)
Definition skewed (x y : bool) : R :=
  match x, y with true, true => 3 / 4 | true, false => 1 / 4 | false, true => 3 / 8 | false, false => 5 / 8 end.
Definition one_way (x x' : bool) : Prop := x = true /\ x' = false.

Theorem pure_DP_in_one_direction_is_not_enough :
  ~ (forall (M : bool -> bool -> R) (neighbours : bool -> bool -> Prop) (epsilon : R), 0 < epsilon ->
       mechanism (finite [true; false]) M -> pure_DP (finite [true; false]) neighbours M epsilon ->
       zCDP (finite [true; false]) neighbours M (epsilon * tanh (epsilon / 2))).
Proof.
  intros H.
  assert (l2 : 0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (m : mechanism (finite [true; false]) skewed).
  { intros x. split; [intros y _; destruct x, y; simpl; lra|simpl; destruct x; simpl; lra]. }
  assert (Z := H skewed one_way (ln 2) l2 m). clear H.
  assert (D : pure_DP (finite [true; false]) one_way skewed (ln 2)).
  { intros x x' [-> ->] y _. rewrite exp_ln by lra. destruct y; simpl; lra. }
  specialize (Z D).
  assert (K := order_one (finite [true; false]) one_way skewed _ m Z true false (3 / 4 * ln (3 / 4 / (3 / 8))
    + (1 / 4 * ln (1 / 4 / (5 / 8)) + 0))
    (conj eq_refl eq_refl) eq_refl).
  rewrite tanh_half, exp_Ropp, exp_ln in K by lra.
  replace (3 / 4 / (3 / 8)) with 2 in K by field. replace (1 / 4 / (5 / 8)) with (/ (5 / 2)) in K by field.
  rewrite ln_Rinv in K by lra. replace (ln 2 * ((1 - / 2) / (1 + / 2))) with (ln 2 / 3) in K by field.
  assert (a : ln (5 / 2 * (5 / 2) * (5 / 2)) < ln (2 * 2 * 2 * 2 * 2)) by (apply ln_increasing; lra).
  rewrite !ln_mult in a by lra. lra.
Qed.
