(** Unary encoding: RAPPOR, and optimized unary encoding (which is beyond the paper).

    Two one-hot vectors differ in one place from 1 to 0 and in one from 0 to 1; all other bits have the same law under
    both. The product of the two moments is that of a three-point pair with 1/(q (1-p)) = e^epsilon + kappa - 1. *)
Require Import Reals Lra List Arith Lia Bool.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant Sums ThreePoint RandomizedResponse.
Import ListNotations.
Local Open Scope R_scope.

(** e^epsilon = p (1-q)/(q (1-p)), and the kappa of the page three-point-maps *)
Definition unary_epsilon (p q : R) : R := ln (p * (1 - q) / (q * (1 - p))).
Definition unary_kappa (p q : R) : R := / (q * (1 - p)) + 1 - p * (1 - q) / (q * (1 - p)).

(** How often a 1 of h stands above a 0 of h', and a 0 above a 1 *)
Fixpoint falls (h h' : list bool) : nat :=
  match h, h' with b :: h, b' :: h' => ((if andb b (negb b') then 1 else 0) + falls h h')%nat | _, _ => O end.
Fixpoint rises (h h' : list bool) : nat :=
  match h, h' with b :: h, b' :: h' => ((if andb (negb b) b' then 1 else 0) + rises h h')%nat | _, _ => O end.

Lemma falls_of_places x x' l : NoDup l -> x <> x' ->
  falls (map (Nat.eqb x) l) (map (Nat.eqb x') l) = count_occ Nat.eq_dec l x.
Proof.
  intros N D. induction l as [|y l IH]; simpl; [easy|]. inversion N; subst. rewrite IH by easy.
  destruct (Nat.eqb_spec x y), (Nat.eqb_spec x' y), (Nat.eq_dec y x); simpl; subst; easy.
Qed.
Lemma rises_of_places x x' l : NoDup l -> x <> x' ->
  rises (map (Nat.eqb x) l) (map (Nat.eqb x') l) = count_occ Nat.eq_dec l x'.
Proof.
  intros N D. induction l as [|y l IH]; simpl; [easy|]. inversion N; subst. rewrite IH by easy.
  destruct (Nat.eqb_spec x y), (Nat.eqb_spec x' y), (Nat.eq_dec y x'); simpl; subst; easy.
Qed.

Lemma one_hot_differ d x x' : any_two d x x' ->
  falls (one_hot d x) (one_hot d x') = 1%nat /\ rises (one_hot d x) (one_hot d x') = 1%nat.
Proof.
  intros [Hx [Hx' N]]. unfold one_hot. rewrite falls_of_places, rises_of_places by (try apply seq_NoDup; easy).
  assert (U := seq_NoDup d 0). rewrite (NoDup_count_occ' Nat.eq_dec) in U.
  rewrite !U by (apply in_seq; lia). easy.
Qed.

Lemma one_hot_length d x : length (one_hot d x) = d.
Proof. unfold one_hot. now rewrite map_length, seq_length. Qed.

Section Bits.
Variables p q : R.
Hypothesis Hp : 0 < p < 1.
Hypothesis Hq : 0 < q < 1.

Lemma report_bit_pos b b' : 0 < report_bit p q b b'.
Proof. destruct b, b'; simpl; lra. Qed.

Lemma report_bits_pos h y : 0 < report_bits p q h y.
Proof.
  revert y. induction h as [|b h IH]; intros [|b' y]; simpl; try lra.
  apply Rmult_lt_0_compat; [apply report_bit_pos|easy].
Qed.

Lemma report_bits_sum h : sum_of (report_bits p q h) (bits (length h)) = 1.
Proof.
  induction h as [|b h IH]; simpl; [ring|].
  rewrite sum_of_app, !sum_of_map. simpl. rewrite !sum_of_scal, IH. destruct b; simpl; ring.
Qed.

(** ** Moments *)
Section Moments.
Variable s : R.

Definition bit_term (b b' z : bool) : R := Rpower (report_bit p q b z) (1 + s) * Rpower (report_bit p q b' z) (- s).

Lemma bit_term_same b z : bit_term b b z = report_bit p q b z.
Proof.
  unfold bit_term. rewrite <- Rpower_plus. replace (1 + s + - s) with 1 by ring. apply Rpower_1, report_bit_pos.
Qed.

Lemma report_bits_moment h h' : length h = length h' ->
  sum_of (fun y => Rpower (report_bits p q h y) (1 + s) * Rpower (report_bits p q h' y) (- s)) (bits (length h))
  = (bit_term true false true + bit_term true false false) ^ falls h h'
    * (bit_term false true true + bit_term false true false) ^ rises h h'.
Proof.
  revert h'. induction h as [|b h IH]; intros [|b' h'] L; simpl in L; try lia.
  - simpl. unfold Rpower. rewrite ln_1, !Rmult_0_r, exp_0. ring.
  - simpl length. simpl bits. rewrite sum_of_app, !sum_of_map.
    assert (E : forall z, sum_of (fun y => Rpower (report_bits p q (b :: h) (z :: y)) (1 + s)
                                   * Rpower (report_bits p q (b' :: h') (z :: y)) (- s)) (bits (length h))
      = bit_term b b' z * ((bit_term true false true + bit_term true false false) ^ falls h h'
                           * (bit_term false true true + bit_term false true false) ^ rises h h')).
    { intros z. rewrite <- IH by lia. rewrite <- sum_of_scal. apply sum_of_ext. intros y _. simpl. unfold bit_term.
      rewrite <- !Rpower_mult_distr; try apply report_bits_pos; try apply report_bit_pos. ring. }
    rewrite !E. simpl falls. simpl rises. rewrite !pow_add.
    destruct b, b'; simpl; rewrite ?bit_term_same; simpl; ring.
Qed.

(** The two bits together are a three-point pair. *)
Lemma two_bits_moment :
  (bit_term true false true + bit_term true false false) * (bit_term false true true + bit_term false true false)
  = exp (three_point_cumulant (unary_kappa p q) (unary_epsilon p q) s).
Proof.
  assert (a : 0 < p * (1 - q)) by nra. assert (b : 0 < q * (1 - p)) by nra.
  assert (P : forall u v, 0 < u -> 0 < v -> Rpower u (1 + s) * Rpower v (- s) = v * exp ((1 + s) * ln (u / v))).
  { intros u v Hu Hv. unfold Rpower. rewrite ln_div by easy.
    replace v with (exp (ln v)) at 2 by (now apply exp_ln). rewrite <- !exp_plus. f_equal. ring. }
  assert (E : exp (unary_epsilon p q) = p * (1 - q) / (q * (1 - p)))
    by (unfold unary_epsilon; apply exp_ln; now apply Rdiv_lt_0_compat).
  set (e := unary_epsilon p q) in *.
  unfold three_point_cumulant. rewrite exp_ln.
  2:{ rewrite E. unfold unary_kappa. apply Rdiv_lt_0_compat.
      - replace (exp ((1 + s) * e) + exp (- (s * e)) + (/ (q * (1 - p)) + 1 - p * (1 - q) / (q * (1 - p))) - 2)
          with (exp ((1 + s) * e) + exp (- (s * e)) + (p * q + (1 - p) * (1 - q)) / (q * (1 - p))) by (field; lra).
        assert (e1 := exp_pos ((1 + s) * e)). assert (e2 := exp_pos (- (s * e))).
        assert (0 < (p * q + (1 - p) * (1 - q)) / (q * (1 - p))) by (apply Rdiv_lt_0_compat; nra). lra.
      - replace (p * (1 - q) / (q * (1 - p)) + (/ (q * (1 - p)) + 1 - p * (1 - q) / (q * (1 - p))) - 1)
          with (/ (q * (1 - p))) by (field; lra).
        now apply Rinv_0_lt_compat. }
  unfold bit_term. simpl. rewrite !P by lra.
  set (f1 := (1 + s) * ln (p / q)). set (f2 := (1 + s) * ln ((1 - p) / (1 - q))).
  replace ((1 + s) * ln (q / p)) with (- f1) by (unfold f1; rewrite !ln_div by lra; ring).
  replace ((1 + s) * ln ((1 - q) / (1 - p))) with (- f2) by (unfold f2; rewrite !ln_div by lra; ring).
  assert (F : (1 + s) * e = f1 + - f2).
  { unfold f1, f2, e, unary_epsilon. rewrite !ln_div, !ln_mult by (try easy; lra). ring. }
  replace (- (s * e)) with (- f1 + f2 + e) by lra. rewrite F, !exp_plus, E, !exp_Ropp. unfold unary_kappa.
  assert (e1 := exp_pos f1). assert (e2 := exp_pos f2). field. repeat split; lra.
Qed.
End Moments.

(** ** KL divergence *)
Definition bit_KL (b b' z : bool) : R := report_bit p q b z * ln (report_bit p q b z / report_bit p q b' z).

Lemma report_bits_KL h h' : length h = length h' ->
  sum_of (fun y => report_bits p q h y * ln (report_bits p q h y / report_bits p q h' y)) (bits (length h))
  = INR (falls h h') * (bit_KL true false true + bit_KL true false false)
    + INR (rises h h') * (bit_KL false true true + bit_KL false true false).
Proof.
  revert h'. induction h as [|b h IH]; intros [|b' h'] L; simpl in L; try lia.
  - simpl. replace (1 / 1) with 1 by field. rewrite ln_1. ring.
  - simpl length. simpl bits. rewrite sum_of_app, !sum_of_map.
    assert (E : forall z, sum_of (fun y => report_bits p q (b :: h) (z :: y)
                                   * ln (report_bits p q (b :: h) (z :: y) / report_bits p q (b' :: h') (z :: y)))
                                       (bits (length h))
      = bit_KL b b' z + report_bit p q b z * (INR (falls h h') * (bit_KL true false true + bit_KL true false false)
         + INR (rises h h') * (bit_KL false true true + bit_KL false true false))).
    { intros z. rewrite <- IH by lia. replace (bit_KL b b' z)
        with (bit_KL b b' z * sum_of (report_bits p q h) (bits (length h)))
        by (rewrite report_bits_sum; ring).
      rewrite <- !sum_of_scal, <- sum_of_plus. apply sum_of_ext. intros y _. simpl. unfold bit_KL.
      assert (a1 := report_bit_pos b z). assert (a2 := report_bit_pos b' z).
      assert (a3 := report_bits_pos h y). assert (a4 := report_bits_pos h' y).
      rewrite !ln_div, !ln_mult by (try apply Rmult_lt_0_compat; easy). ring. }
    rewrite !E. simpl falls. simpl rises. rewrite !plus_INR.
    assert (S : forall u, bit_KL u u true = 0 /\ bit_KL u u false = 0).
    { intros u. unfold bit_KL. split; (rewrite ln_div by apply report_bit_pos; ring). }
    destruct (S true), (S false). destruct b, b'; simpl; simpl in *; lra.
Qed.

Lemma two_bits_KL :
  bit_KL true false true + bit_KL true false false + (bit_KL false true true + bit_KL false true false)
  = unary_epsilon p q * (p - q).
Proof.
  unfold bit_KL, unary_epsilon. simpl. rewrite !ln_div, !ln_mult by (try lra; apply Rmult_lt_0_compat; lra). ring.
Qed.

(** ** Ratios *)
Hypothesis Hpq : q < p.

Lemma bit_ratio b b' z : report_bit p q b z <=
  (if andb b (negb b') then p / q else 1) * (if andb (negb b) b' then (1 - q) / (1 - p) else 1) * report_bit p q b' z.
Proof.
  assert (r1 : 1 <= p / q) by (apply Rle_div_r; lra).
  assert (r2 : 1 <= (1 - q) / (1 - p)) by (apply Rle_div_r; lra).
  destruct b, b', z; simpl; try lra.
  - right. field. lra.
  - nra.
  - nra.
  - right. field. lra.
Qed.

Lemma report_bits_ratio h h' y : length h = length h' ->
  report_bits p q h y <= (p / q) ^ falls h h' * ((1 - q) / (1 - p)) ^ rises h h' * report_bits p q h' y.
Proof.
  assert (r1 : 1 <= p / q) by (apply Rle_div_r; lra).
  assert (r2 : 1 <= (1 - q) / (1 - p)) by (apply Rle_div_r; lra).
  revert h' y. induction h as [|b h IH]; intros [|b' h'] y L; simpl in L; try lia.
  - simpl. lra.
  - destruct y as [|z y].
    + cbn [report_bits]. rewrite Rmult_1_r.
      assert (k1 := pow_R1_Rle _ (falls (b :: h) (b' :: h')) r1).
      assert (k2 := pow_R1_Rle _ (rises (b :: h) (b' :: h')) r2). nra.
    + cbn [report_bits falls rises]. rewrite !pow_add. assert (I := IH h' y ltac:(lia)).
      assert (B := bit_ratio b b' z).
      assert (p1 := report_bit_pos b z). assert (p2 := report_bits_pos h y).
      assert (p3 := report_bit_pos b' z). assert (p4 := report_bits_pos h' y).
      eapply Rle_trans; [apply Rmult_le_compat; [lra|lra|exact B|exact I]|].
      right. destruct b, b'; simpl; ring.
Qed.
End Bits.

(** * The theorems *)
Lemma unary_sizes p q : 0 < q -> q < p -> p < 1 ->
  exp (unary_epsilon p q) = p * (1 - q) / (q * (1 - p)) /\ 0 < unary_epsilon p q /\ 2 <= unary_kappa p q.
Proof.
  intros H1 H2 H3. assert (a : 0 < q * (1 - p)) by nra. assert (b : q * (1 - p) < p * (1 - q)) by nra.
  assert (r : 1 < p * (1 - q) / (q * (1 - p))) by (apply Rlt_div_r; lra).
  split; [|split].
  - unfold unary_epsilon. apply exp_ln. lra.
  - unfold unary_epsilon. rewrite <- ln_1. apply ln_increasing; lra.
  - unfold unary_kappa. apply Rmult_le_reg_r with (q * (1 - p)); [easy|].
    replace ((/ (q * (1 - p)) + 1 - p * (1 - q) / (q * (1 - p))) * (q * (1 - p))) with (1 + q * (1 - p) - p * (1 - q))
      by (field; lra). nra.
Qed.

Theorem unary_encoding_mechanism (d : nat) (p q : R) :
  0 < q < 1 -> 0 < p < 1 -> mechanism (finite (bits d)) (unary_encoding d p q).
Proof.
  intros Hq Hp x. split; [intros y _; now apply report_bits_pos|]. simpl. unfold unary_encoding.
  assert (h := report_bits_sum p q (one_hot d x)). now rewrite one_hot_length in h.
Qed.

Theorem unary_encoding_DP (d : nat) (p q : R) :
  0 < q -> q < p -> p < 1 -> pure_DP (finite (bits d)) (any_two d) (unary_encoding d p q) (unary_epsilon p q).
Proof.
  intros H1 H2 H3 x x' N y _. unfold unary_encoding. destruct (unary_sizes p q H1 H2 H3) as [E _]. rewrite E.
  assert (h := report_bits_ratio p q ltac:(lra) ltac:(lra) H2 (one_hot d x) (one_hot d x') y).
  rewrite !one_hot_length in h. destruct (one_hot_differ d x x' N) as [-> ->] in h. rewrite !pow_1 in h.
  replace (p * (1 - q) / (q * (1 - p))) with (p / q * ((1 - q) / (1 - p))) by (field; lra). now apply h.
Qed.

Lemma unary_encoding_cumulant d p q x x' : 0 < q < 1 -> 0 < p < 1 -> any_two d x x' ->
  is_cumulant (finite (bits d)) (unary_encoding d p q x) (unary_encoding d p q x')
    (three_point_cumulant (unary_kappa p q) (unary_epsilon p q)).
Proof.
  intros Hq Hp N s Hs. simpl. unfold unary_encoding.
  assert (h := report_bits_moment p q Hp Hq s (one_hot d x) (one_hot d x')).
  rewrite !one_hot_length in h. destruct (one_hot_differ d x x' N) as [-> ->] in h. rewrite !pow_1 in h.
  rewrite h by easy. now apply two_bits_moment.
Qed.

Theorem unary_encoding_KL (d : nat) (p q : R) (x x' : nat) :
  0 < q < 1 -> 0 < p < 1 -> any_two d x x' ->
  is_KL (finite (bits d)) (unary_encoding d p q x) (unary_encoding d p q x') (unary_epsilon p q * (p - q)).
Proof.
  intros Hq Hp N. unfold is_KL. simpl. unfold unary_encoding.
  assert (h := report_bits_KL p q Hp Hq (one_hot d x) (one_hot d x')).
  rewrite !one_hot_length in h. destruct (one_hot_differ d x x' N) as [-> ->] in h. simpl INR in h.
  rewrite h, <- two_bits_KL by easy. ring.
Qed.

(** Any p > q: rho is the KL divergence as long as kappa <= k*(epsilon). *)
Theorem unary_encoding_tight (d : nat) (p q : R) :
  (2 <= d)%nat -> 0 < q -> q < p -> p < 1 -> unary_kappa p q <= k_star (unary_epsilon p q) ->
  tightly_zCDP (finite (bits d)) (any_two d) (unary_encoding d p q) (unary_epsilon p q * (p - q)).
Proof.
  intros Hd H1 H2 H3 HS. destruct (unary_sizes p q H1 H2 H3) as [E [e0 k2]].
  replace (unary_epsilon p q * (p - q)) with (three_point_rho (unary_kappa p q) (unary_epsilon p q)).
  - apply three_point_tight; try easy; [|now apply any_two_exist].
    intros x x' N. apply unary_encoding_cumulant; [lra|lra|easy].
  - unfold three_point_rho. rewrite E. unfold unary_kappa. field. repeat split; lra.
Qed.

(** ... and beyond it, at the only zero of one equation. *)
Theorem unary_encoding_tight_beyond (d : nat) (p q : R) :
  (2 <= d)%nat -> 0 < q -> q < p -> p < 1 -> k_star (unary_epsilon p q) < unary_kappa p q ->
  exists x, unary_epsilon p q / 2 < x /\
    overshoot (three_point_c (unary_kappa p q) (unary_epsilon p q)) (unary_epsilon p q / 2) x = 0 /\
    (forall u, unary_epsilon p q / 2 < u ->
       overshoot (three_point_c (unary_kappa p q) (unary_epsilon p q)) (unary_epsilon p q / 2) u = 0 -> u = x) /\
    tightly_zCDP (finite (bits d)) (any_two d) (unary_encoding d p q)
      (unary_epsilon p q * unary_epsilon p q
       * (sinh x / (2 * x * (three_point_c (unary_kappa p q) (unary_epsilon p q) + cosh x)))).
Proof.
  intros Hd H1 H2 H3 HS. destruct (unary_sizes p q H1 H2 H3) as [E [e0 k2]].
  apply three_point_tight_beyond; try easy.
  - intros x x' N. apply unary_encoding_cumulant; [lra|lra|easy].
  - now apply any_two_exist.
Qed.

(** ** RAPPOR: p = a/(a+1), q = 1/(a+1) with a = e^(epsilon/2) *)
Lemma rappor_parameters epsilon : 0 < epsilon ->
  let a := exp (epsilon / 2) in
  0 < / (a + 1) < 1 /\ 0 < a / (a + 1) < 1 /\ / (a + 1) < a / (a + 1) /\
  unary_epsilon (a / (a + 1)) (/ (a + 1)) = epsilon /\ a / (a + 1) - / (a + 1) = tanh (epsilon / 4) /\
  unary_kappa (a / (a + 1)) (/ (a + 1)) = 2 + 2 * a.
Proof.
  intros He a. assert (a1 : 1 < a) by (apply exp_gt_1; lra).
  assert (i : 0 < / (a + 1)) by (apply Rinv_0_lt_compat; lra).
  assert (j : / (a + 1) < 1) by (rewrite <- Rinv_1; apply Rinv_1_lt_contravar; lra).
  assert (E : a / (a + 1) = 1 - / (a + 1)) by (field; lra).
  assert (a2 : / (a + 1) < a / (a + 1)) by (unfold Rdiv; nra).
  repeat split; try lra.
  - unfold unary_epsilon. rewrite <- (ln_exp epsilon). f_equal. rewrite (exp_half epsilon). fold a. field.
    repeat split; try lra.
  - unfold tanh, sinh, cosh, a. rewrite (exp_half (epsilon / 2)). replace (epsilon / 2 / 2) with (epsilon / 4) by field.
    rewrite exp_Ropp. assert (p := exp_pos (epsilon / 4)). field. repeat split; nra.
  - unfold unary_kappa. field. repeat split; lra.
Qed.

Theorem rappor_mechanism (d : nat) (epsilon : R) : 0 < epsilon -> mechanism (finite (bits d)) (rappor d epsilon).
Proof. intros He. destruct (rappor_parameters epsilon He) as [H1 [H2 _]]. now apply unary_encoding_mechanism. Qed.

Theorem rappor_DP (d : nat) (epsilon : R) : 0 < epsilon -> pure_DP (finite (bits d)) (any_two d)
  (rappor d epsilon) epsilon.
Proof.
  intros He. destruct (rappor_parameters epsilon He) as [H1 [H2 [H3 [E _]]]]. rewrite <- E at 2.
  apply unary_encoding_DP; lra.
Qed.

(** Proposition 23 of the paper, [prop:zcdp-rappor]. *)
Theorem rappor_tight (d : nat) (epsilon : R) : (2 <= d)%nat -> 0 < epsilon ->
  tightly_zCDP (finite (bits d)) (any_two d) (rappor d epsilon) (epsilon * tanh (epsilon / 4)).
Proof.
  intros Hd He. destruct (rappor_parameters epsilon He) as [H1 [H2 [H3 [E [T K]]]]].
  rewrite <- T. rewrite <- E at 2. apply unary_encoding_tight; try lra; [easy|].
  rewrite E, K. apply k_star_of_c_le_2; [easy|]. unfold three_point_c. rewrite exp_Ropp.
  assert (p := exp_pos (epsilon / 2)). apply Rle_trans with 1; [right; field; lra|lra].
Qed.

(** Proposition 22 of the paper: the Renyi curve. *)
Theorem rappor_RDP (d : nat) (epsilon alpha : R) : (2 <= d)%nat -> 0 < epsilon -> 1 < alpha ->
  tightly_RDP (finite (bits d)) (any_two d) (rappor d epsilon) alpha
    (2 / (alpha - 1) * ln ((exp (alpha * epsilon / 2) + exp ((1 - alpha) * epsilon / 2)) / (exp (epsilon / 2) + 1))).
Proof.
  intros Hd He Ha. destruct (rappor_parameters epsilon He) as [H1 [H2 [H3 [E [T K]]]]].
  set (v := (exp (alpha * epsilon / 2) + exp ((1 - alpha) * epsilon / 2)) / (exp (epsilon / 2) + 1)).
  assert (v0 : 0 < v).
  { assert (h1 := exp_pos (alpha * epsilon / 2)). assert (h2 := exp_pos ((1 - alpha) * epsilon / 2)).
    assert (h3 := exp_pos (epsilon / 2)). apply Rdiv_lt_0_compat; lra. }
  replace (2 / (alpha - 1) * ln v) with (ln (v * v) / (alpha - 1)) by (rewrite ln_mult by easy; field; lra).
  replace (v * v) with ((exp ((1 + (alpha - 1)) * epsilon) + exp (- ((alpha - 1) * epsilon))
    + (2 + 2 * exp (epsilon / 2)) - 2)
    / (exp epsilon + (2 + 2 * exp (epsilon / 2)) - 1)).
  2:{ unfold v. replace ((1 + (alpha - 1)) * epsilon) with (alpha * epsilon / 2 + alpha * epsilon / 2) by field.
      replace (- ((alpha - 1) * epsilon)) with ((1 - alpha) * epsilon / 2 + (1 - alpha) * epsilon / 2) by field.
      rewrite (exp_half epsilon). replace (epsilon / 2) with (alpha * epsilon / 2 + (1 - alpha) * epsilon / 2) by field.
      rewrite !exp_plus. assert (h1 := exp_pos (alpha * epsilon / 2)).
      assert (h2 := exp_pos ((1 - alpha) * epsilon / 2)).
      field. split; nra. }
  assert (C : forall x x', any_two d x x' -> is_cumulant (finite (bits d)) (rappor d epsilon x) (rappor d epsilon x')
    (three_point_cumulant (2 + 2 * exp (epsilon / 2)) epsilon)).
  { intros x x' N. assert (h := unary_encoding_cumulant d _ _ x x' H1 H2 N). now rewrite E, K in h. }
  apply (tightly_RDP_of_cumulant _ _ _ _ (three_point_cumulant (2 + 2 * exp (epsilon / 2)) epsilon (alpha - 1)));
    [easy| |].
  - intros x x' N. eexists. split; [now apply C|lra].
  - intros k H. destruct (any_two_exist d Hd) as [x [x' N]]. exact (H x x' _ N (C x x' N)).
Qed.

Theorem rappor_KL (d : nat) (epsilon : R) (x x' : nat) : 0 < epsilon -> any_two d x x' ->
  is_KL (finite (bits d)) (rappor d epsilon x) (rappor d epsilon x') (epsilon * tanh (epsilon / 4)).
Proof.
  intros He N. destruct (rappor_parameters epsilon He) as [H1 [H2 [H3 [E [T _]]]]]. rewrite <- T. rewrite <- E at 3.
  now apply unary_encoding_KL.
Qed.

(** ** Optimized unary encoding: p = 1/2, q = 1/(e^epsilon + 1), kappa = e^epsilon + 3 *)
Lemma optimized_parameters epsilon : 0 < epsilon ->
  let q := / (exp epsilon + 1) in
  0 < q < / 2 /\ unary_epsilon (/ 2) q = epsilon /\ / 2 - q = tanh (epsilon / 2) / 2 /\ unary_kappa (/ 2) q
    = exp epsilon + 3.
Proof.
  intros He q. assert (a1 := exp_gt_1 epsilon He).
  assert (i : 0 < q) by (apply Rinv_0_lt_compat; lra).
  assert (j : q < / 2) by (unfold q; apply Rinv_lt_contravar; lra).
  split; [lra|]. unfold q. split; [|split].
  - unfold unary_epsilon. rewrite <- (ln_exp epsilon) at 3. f_equal. field. lra.
  - unfold tanh, sinh, cosh. rewrite (exp_half epsilon), exp_Ropp. assert (p := exp_pos (epsilon / 2)). field.
    repeat split; nra.
  - unfold unary_kappa. field. repeat split; lra.
Qed.

Theorem optimized_unary_encoding_DP (d : nat) (epsilon : R) : 0 < epsilon ->
  pure_DP (finite (bits d)) (any_two d) (optimized_unary_encoding d epsilon) epsilon.
Proof.
  intros He. destruct (optimized_parameters epsilon He) as [H [E _]]. rewrite <- E at 2. apply unary_encoding_DP; lra.
Qed.

Theorem optimized_unary_encoding_tight (d : nat) (epsilon : R) :
  (2 <= d)%nat -> 0 < epsilon -> exp epsilon + 3 <= k_star epsilon ->
  tightly_zCDP (finite (bits d)) (any_two d) (optimized_unary_encoding d epsilon) (epsilon / 2 * tanh (epsilon / 2)).
Proof.
  intros Hd He HS. destruct (optimized_parameters epsilon He) as [H [E [T K]]].
  replace (epsilon / 2 * tanh (epsilon / 2))
    with (unary_epsilon (/ 2) (/ (exp epsilon + 1)) * (/ 2 - / (exp epsilon + 1)))
    by (rewrite E, T; field).
  apply unary_encoding_tight; try lra; [easy|]. now rewrite E, K.
Qed.

Theorem optimized_unary_encoding_tight_beyond (d : nat) (epsilon : R) :
  (2 <= d)%nat -> 0 < epsilon -> k_star epsilon < exp epsilon + 3 ->
  exists x, epsilon / 2 < x /\
    overshoot (three_point_c (exp epsilon + 3) epsilon) (epsilon / 2) x = 0 /\
    (forall u, epsilon / 2 < u -> overshoot (three_point_c (exp epsilon + 3) epsilon) (epsilon / 2) u = 0 -> u = x) /\
    tightly_zCDP (finite (bits d)) (any_two d) (optimized_unary_encoding d epsilon)
      (epsilon * epsilon * (sinh x / (2 * x * (three_point_c (exp epsilon + 3) epsilon + cosh x)))).
Proof.
  intros Hd He HS. destruct (optimized_parameters epsilon He) as [H [E [T K]]].
  assert (h := unary_encoding_tight_beyond d (/ 2) (/ (exp epsilon + 1)) Hd). rewrite E, K in h. apply h; lra.
Qed.
