(** The discrete Laplace mechanism on the integers: rho, the Renyi curve and the KL divergence, for every integer
    Delta >= 1. *)
Require Import Reals Lra ZArith Lia.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant Laplace DiscreteLaplaceInequality.
Local Open Scope R_scope.

(** * Sums over the integers: shift and reflection *)
Notation is_series_of_reals := (@is_series R_AbsRing R_NormedModule).

Lemma series_ext (f g : nat -> R) a : (forall n, f n = g n) -> is_series_of_reals f a -> is_series_of_reals g a.
Proof. intros H. now apply is_series_ext. Qed.
Lemma series_scal k (f : nat -> R) a : is_series_of_reals f a -> is_series_of_reals (fun n => k * f n) (k * a).
Proof. exact (is_series_scal (V:=R_NormedModule) k f a). Qed.
(* a series from its first term and the rest *)
Lemma series_decr (f : nat -> R) (a : R) : is_series_of_reals (fun n => f (S n)) a -> is_series_of_reals f (f O + a).
Proof.
  intros H. apply (is_series_decr_1 (V:=R_NormedModule)).
  match goal with |- is_series _ ?v => replace v with a end; [exact H|].
  change (a = f O + a + - f O). ring.
Qed.
Lemma series_incr (f : nat -> R) (a : R) : is_series_of_reals f a -> is_series_of_reals (fun n => f (S n)) (a - f O).
Proof.
  intros H. apply (is_series_incr_1 (V:=R_NormedModule)).
  match goal with |- is_series _ ?v => replace v with a end; [exact H|]. change (a = a - f O + f O). ring.
Qed.
Lemma series_geom t : 0 < t -> is_series_of_reals (fun n => exp (- (t * INR n))) (/ (1 - exp (- t))).
Proof.
  intros H. assert (e : exp (- t) < exp 0) by (apply exp_increasing; lra). rewrite exp_0 in e.
  assert (p := exp_pos (- t)).
  eapply series_ext; [|apply is_series_geom with (q := exp (- t)); rewrite Rabs_pos_eq; lra].
  intros n. induction n; simpl pow.
  - simpl. now rewrite Rmult_0_r, Ropp_0, exp_0.
  - rewrite IHn, <- exp_plus. f_equal. rewrite S_INR. ring.
Qed.

Lemma sum_over_integers_shift1 f a : is_sum_over_integers f a -> is_sum_over_integers (fun z => f (z + 1)%Z) a.
Proof.
  intros [u [v [A [B ->]]]]. exists (u - f 0%Z), (f 0%Z + v). split; [|split].
  - eapply series_ext; [|exact (series_incr (fun n => f (Z.of_nat n)) u A)]. intros n. cbv beta. f_equal; lia.
  - eapply series_ext; [|apply (series_decr (fun n => f (- Z.of_nat n)%Z) v)].
    + intros n. cbv beta. f_equal; lia.
    + eapply series_ext; [|exact B]. intros n. reflexivity.
  - ring.
Qed.

Lemma sum_over_integers_refl f a : is_sum_over_integers f a -> is_sum_over_integers (fun z => f (- z)%Z) a.
Proof.
  intros [u [v [A [B ->]]]]. exists (f 0%Z + v), (u - f 0%Z). split; [|split].
  - eapply series_ext; [|apply (series_decr (fun n => f (- Z.of_nat n)%Z) v)].
    + intros n. reflexivity.
    + eapply series_ext; [|exact B]. intros n. reflexivity.
  - eapply series_ext; [|exact (series_incr (fun n => f (Z.of_nat n)) u A)]. intros n. cbv beta. f_equal; lia.
  - ring.
Qed.

Lemma sum_over_integers_ext f g a : (forall z, f z = g z) -> is_sum_over_integers f a -> is_sum_over_integers g a.
Proof. intros H. apply (is_integral_ext integers f g a). intros z _. apply H. Qed.

Lemma sum_over_integers_shiftn f a n : is_sum_over_integers f a ->
  is_sum_over_integers (fun z => f (z + Z.of_nat n)%Z) a.
Proof.
  intros H. induction n.
  - eapply sum_over_integers_ext; [|exact H]. intros z. cbv beta. f_equal; lia.
  - apply sum_over_integers_shift1 in IHn. eapply sum_over_integers_ext; [|exact IHn]. intros z. cbv beta. f_equal; lia.
Qed.

Lemma sum_over_integers_shift f a k : is_sum_over_integers f a -> is_sum_over_integers (fun z => f (z + k)%Z) a.
Proof.
  intros H. destruct (Z_le_gt_dec 0 k) as [P|P].
  - apply (sum_over_integers_shiftn f a (Z.to_nat k)) in H. eapply sum_over_integers_ext; [|exact H]. intros z.
    cbv beta. f_equal; lia.
  - apply sum_over_integers_refl in H. apply (sum_over_integers_shiftn _ a (Z.to_nat (- k))) in H.
    apply sum_over_integers_refl in H.
    eapply sum_over_integers_ext; [|exact H]. intros z. cbv beta. f_equal; lia.
Qed.

(** * The moments *)
Lemma tanh_half_pos t : 0 < t -> 0 < tanh (t / 2).
Proof. intros H. apply Rdiv_lt_0_compat; [apply sinh_pos; lra|apply cosh_pos]. Qed.

Lemma tanh_half t : 0 < t -> tanh (t / 2) = (1 - exp (- t)) / (1 + exp (- t)).
Proof.
  intros H. unfold tanh, sinh, cosh.
  replace (exp (- t)) with (exp (- (t / 2)) * exp (- (t / 2))) by (rewrite <- exp_plus; f_equal; field).
  rewrite exp_Ropp. assert (p := exp_pos (t / 2)). field. repeat split; nra.
Qed.

(* The half sum over n >= 0 with P around d and Q around 0 *)
Lemma half_sum t s d : 0 < t -> 0 < s ->
  is_series_of_reals (fun n => exp (t * (- (1 + s) * Rabs (INR n - INR d) + s * INR n)))
    (exp (t * s * INR d) * / (1 - exp (- t))
     + exp (- (t * (1 + s))) * (exp (t * s * INR d) - exp (- (t * (1 + s) * INR d)))
         / (exp (t * s) - exp (- (t * (1 + s))))).
Proof.
  intros Ht Hs.
  assert (xy : exp (- (t * (1 + s))) < exp (t * s)) by (apply exp_increasing; nra).
  assert (e : exp (- t) < exp 0) by (apply exp_increasing; lra). rewrite exp_0 in e.
  induction d.
  - simpl INR. rewrite !Rmult_0_r, Ropp_0, exp_0.
    replace (1 * / (1 - exp (- t)) + exp (- (t * (1 + s))) * (1 - 1) / (exp (t * s) - exp (- (t * (1 + s)))))
      with (/ (1 - exp (- t))) by (field; lra).
    eapply series_ext; [|now apply series_geom]. intros n. cbv beta. f_equal. rewrite Rabs_pos_eq; [ring|].
    rewrite Rminus_0_r. apply pos_INR.
  - apply (series_scal (exp (t * s))) in IHd.
    assert (h := series_decr (fun n => exp (t * (- (1 + s) * Rabs (INR n - INR (S d)) + s * INR n)))
                  (exp (t * s) * (exp (t * s * INR d) * / (1 - exp (- t))
     + exp (- (t * (1 + s))) * (exp (t * s * INR d) - exp (- (t * (1 + s) * INR d)))
         / (exp (t * s) - exp (- (t * (1 + s))))))).
    match type of h with _ ->
    is_series_of_reals _ ?v => match goal with |- is_series_of_reals _ ?w => replace w with v end end.
    + apply h. eapply series_ext; [|exact IHd]. intros n. cbv beta. rewrite <- exp_plus. f_equal. rewrite !S_INR.
      replace (INR n + 1 - (INR d + 1)) with (INR n - INR d) by ring. ring.
    + simpl (INR 0). rewrite Rminus_0_l, Rabs_Ropp, (Rabs_pos_eq (INR (S d))) by apply pos_INR. rewrite !S_INR.
      replace (t * (- (1 + s) * (INR d + 1) + s * 0)) with (- (t * (1 + s) * INR d) + - (t * (1 + s))) by ring.
      replace (t * s * (INR d + 1)) with (t * s * INR d + t * s) by ring.
      replace (- (t * (1 + s) * (INR d + 1))) with (- (t * (1 + s) * INR d) + - (t * (1 + s))) by ring.
      rewrite !exp_plus. field. lra.
Qed.

Lemma discrete_laplace_sum t s d : 0 < t -> 0 < s ->
  is_sum_over_integers (fun z => tanh (t / 2) * exp (t * (- (1 + s) * Rabs (IZR z - INR d) + s * Rabs (IZR z))))
    (exp (discrete_laplace_cumulant t (t * INR d) s)).
Proof.
  intros Ht Hs.
  assert (xy : exp (- (t * (1 + s))) < exp (t * s)) by (apply exp_increasing; nra).
  assert (e : exp (- t) < exp 0) by (apply exp_increasing; lra). rewrite exp_0 in e. assert (ep := exp_pos (- t)).
  exists (tanh (t / 2) * (exp (t * s * INR d) * / (1 - exp (- t))
     + exp (- (t * (1 + s))) * (exp (t * s * INR d) - exp (- (t * (1 + s) * INR d)))
         / (exp (t * s) - exp (- (t * (1 + s)))))),
   (tanh (t / 2) * exp (- (t * (1 + s) * INR d)) * exp (- t) * / (1 - exp (- t))).
  split; [|split].
  - apply series_scal. eapply series_ext; [|now apply (half_sum t s d)]. intros n. cbv beta. rewrite <- INR_IZR_INZ.
    now rewrite (Rabs_pos_eq (INR n)) by apply pos_INR.
  - eapply series_ext; [|apply (series_scal (tanh (t / 2) * exp (- (t * (1 + s) * INR d)) * exp (- t)));
      now apply series_geom].
    intros n. cbv beta. rewrite opp_IZR, <- INR_IZR_INZ, S_INR.
    assert (n0 := pos_INR n). assert (d0 := pos_INR d).
    rewrite !Rabs_left1 by lra. rewrite !Rmult_assoc, <- !exp_plus. do 2 f_equal. ring.
  - rewrite tanh_half by easy. unfold discrete_laplace_cumulant.
    assert (A0 : 0 < sinh ((1 + s) * t)) by (apply sinh_pos; nra).
    assert (B0 : 0 < sinh (s * t)) by (apply sinh_pos; nra).
    rewrite exp_ln.
    2:{ apply Rdiv_lt_0_compat; [|lra]. assert (h := exp_pos (s * (t * INR d))).
        assert (h' := exp_pos (- ((1 + s) * (t * INR d)))). nra. }
    replace (s * (t * INR d)) with (t * s * INR d) by ring.
    replace (- ((1 + s) * (t * INR d))) with (- (t * (1 + s) * INR d)) by ring.
    unfold sinh in *.
    replace (exp ((1 + s) * t)) with (/ exp (- t) * exp (t * s)) in *
      by (rewrite <- exp_Ropp, <- exp_plus; f_equal; ring).
    replace (exp (- ((1 + s) * t))) with (exp (- t) * / exp (t * s)) in *
      by (rewrite <- exp_Ropp, <- exp_plus; f_equal; ring).
    replace (exp (- (s * t))) with (/ exp (t * s)) in * by (rewrite <- exp_Ropp; f_equal; ring).
    replace (exp (s * t)) with (exp (t * s)) in * by (f_equal; ring).
    replace (exp (- (t * (1 + s)))) with (exp (- t) * / exp (t * s)) in *
      by (rewrite <- exp_Ropp, <- exp_plus; f_equal; ring).
    assert (gp := exp_ge_1 (t * s) ltac:(nra)).
    set (g := exp (t * s)) in *. set (q := exp (- t)) in *.
    assert (gq : 0 < g * g - q) by nra.
    field. repeat split; try lra; try nra.
Qed.

(* The moment, for any two centres *)
Lemma discrete_laplace_moment t a b s : 0 < t -> 0 < s ->
  is_sum_over_integers (fun z => Rpower (discrete_laplace_mass t a z) (1 + s) * Rpower (discrete_laplace_mass t b z)
    (- s)) (exp (discrete_laplace_cumulant t (t * Rabs (IZR a - IZR b)) s)).
Proof.
  intros Ht Hs. assert (tp := tanh_half_pos t Ht).
  assert (F : forall z, Rpower (discrete_laplace_mass t a z) (1 + s) * Rpower (discrete_laplace_mass t b z) (- s)
              = tanh (t / 2) * exp (t * (- (1 + s) * Rabs (IZR z - IZR a) + s * Rabs (IZR z - IZR b)))).
  { intros z. unfold Rpower, discrete_laplace_mass. rewrite !ln_mult, !ln_exp by (try apply exp_pos; easy).
    rewrite <- exp_plus. replace (tanh (t / 2)) with (exp (ln (tanh (t / 2)))) at 3 by (now apply exp_ln).
    rewrite <- exp_plus. f_equal. ring. }
  destruct (Z_le_gt_dec b a) as [L|L].
  - set (d := Z.to_nat (a - b)).
    assert (D : INR d = IZR a - IZR b) by (unfold d; rewrite INR_IZR_INZ, Z2Nat.id, minus_IZR by lia; ring).
    rewrite Rabs_pos_eq by (rewrite <- D; apply pos_INR). rewrite <- D.
    assert (h := sum_over_integers_shift _ _ (- b) (discrete_laplace_sum t s d Ht Hs)).
    eapply sum_over_integers_ext; [|exact h]. intros z. cbv beta. rewrite F, D, plus_IZR, opp_IZR.
    do 2 f_equal. f_equal.
    replace (IZR z + - IZR b - (IZR a - IZR b)) with (IZR z - IZR a) by ring. reflexivity.
  - set (d := Z.to_nat (b - a)).
    assert (D : INR d = IZR b - IZR a) by (unfold d; rewrite INR_IZR_INZ, Z2Nat.id, minus_IZR by lia; ring).
    rewrite Rabs_left1 by (assert (p := pos_INR d); lra). replace (- (IZR a - IZR b)) with (INR d) by (rewrite D; ring).
    assert (h := sum_over_integers_shift _ _ (- b) (sum_over_integers_refl _ _ (discrete_laplace_sum t s d Ht Hs))).
    eapply sum_over_integers_ext; [|exact h]. intros z. cbv beta. rewrite F, D, opp_IZR, plus_IZR, opp_IZR.
    do 2 f_equal. f_equal.
    replace (- (IZR z + - IZR b) - (IZR b - IZR a)) with (- (IZR z - IZR a)) by ring.
    replace (- (IZR z + - IZR b)) with (- (IZR z - IZR b)) by ring. now rewrite !Rabs_Ropp.
Qed.

Lemma discrete_laplace_is_density t m : 0 < t -> density integers (discrete_laplace_mass t m).
Proof.
  intros Ht. assert (tp := tanh_half_pos t Ht). split.
  - intros z _. apply Rmult_lt_0_compat; [easy|apply exp_pos].
  - assert (h := discrete_laplace_moment t m m 1 Ht Rlt_0_1).
    replace (exp (discrete_laplace_cumulant t (t * Rabs (IZR m - IZR m)) 1)) with 1 in h.
    + eapply sum_over_integers_ext; [|exact h]. intros z. cbv beta. rewrite <- Rpower_plus.
      replace (1 + 1 + - (1)) with 1 by ring.
      apply Rpower_1. apply Rmult_lt_0_compat; [easy|apply exp_pos].
    + rewrite Rminus_eq_0, Rabs_R0, Rmult_0_r. unfold discrete_laplace_cumulant.
      rewrite !Rmult_0_r, Ropp_0, exp_0, !Rmult_1_r.
      assert (A0 : 0 < sinh ((1 + 1) * t)) by (apply sinh_pos; lra).
      assert (B0 : 0 < sinh (1 * t)) by (apply sinh_pos; lra).
      rewrite exp_ln; [field; lra|apply Rdiv_lt_0_compat; lra].
Qed.

Lemma discrete_laplace_rho_mono t w w' : 0 < t -> 0 <= w <= w' -> discrete_laplace_rho t w <= discrete_laplace_rho t w'.
Proof.
  intros Ht H. assert (h := sinh_ge t). assert (S := sinh_pos t Ht).
  apply (le_of_derive (discrete_laplace_rho t) (fun u => 1 - exp (- u) * (t / sinh t))); [lra| |].
  - intros u _. unfold discrete_laplace_rho. auto_derive; [easy|]. field. lra.
  - intros u Hu. assert (e : exp (- u) <= exp 0) by (apply exp_le; lra). rewrite exp_0 in e.
    assert (p := exp_pos (- u)).
    assert (q : t / sinh t <= 1) by (apply Rle_div_l; lra).
    assert (q0 : 0 < t / sinh t) by (now apply Rdiv_lt_0_compat). nra.
Qed.

Lemma discrete_laplace_cumulant_0 t w : 0 < t -> discrete_laplace_cumulant t w 0 = 0.
Proof.
  intros Ht. assert (S := sinh_pos t Ht). unfold discrete_laplace_cumulant.
  rewrite !Rmult_0_l, !Rplus_0_r, !Rmult_1_l, sinh_0, exp_0.
  match goal with |- ln ?v = _ => replace v with 1 by (field; lra) end. apply ln_1.
Qed.

Lemma discrete_laplace_cumulant_derive t w : 0 < t ->
  is_derive (discrete_laplace_cumulant t w) 0 (discrete_laplace_rho t w).
Proof.
  intros Ht. assert (S := sinh_pos t Ht). unfold discrete_laplace_cumulant, discrete_laplace_rho. auto_derive.
  - rewrite !Rmult_0_l, !Rplus_0_r, !Rmult_1_l, sinh_0, exp_0. repeat split; try lra.
    match goal with |- 0 < ?v => replace v with 1 by (field; lra) end. lra.
  - rewrite !Rmult_0_l, !Rplus_0_r, !Rmult_1_l, sinh_0, cosh_0, exp_0. field. lra.
Qed.

Lemma discrete_laplace_cumulant_mono t s w w' : 0 < t -> 0 < s -> 0 <= w <= w' ->
  discrete_laplace_cumulant t w s <= discrete_laplace_cumulant t w' s.
Proof.
  intros Ht Hs Hw. unfold discrete_laplace_cumulant.
  assert (A0 : 0 < sinh ((1 + s) * t)) by (apply sinh_pos; nra).
  assert (B0 : 0 < sinh (s * t)) by (apply sinh_pos; nra).
  assert (m := sinh_ratio_increasing (s * t) ((1 + s) * t) ltac:(nra)).
  assert (m' : (1 + s) * sinh (s * t) <= s * sinh ((1 + s) * t)) by (apply Rmult_le_reg_l with t; nra).
  assert (e1 := exp_pos (s * w)). assert (e2 := exp_pos (- ((1 + s) * w))).
  apply Rcomplements.ln_le; [apply Rdiv_lt_0_compat; nra|].
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. now apply shift_mono.
Qed.

(** * The theorems *)
Section Mechanism.
Context {X : Type} (neighbours : X -> X -> Prop) (g : X -> Z) (Delta : nat) (epsilon : R).
Hypothesis HD : (1 <= Delta)%nat.
Hypothesis He : 0 < epsilon.

Lemma Delta_pos : 0 < INR Delta.
Proof. apply lt_0_INR. lia. Qed.
Let t_pos : 0 < epsilon / INR Delta.
Proof. apply Rdiv_lt_0_compat; [easy|apply Delta_pos]. Qed.

Lemma discrete_laplace_pair x x' :
  is_cumulant integers (discrete_laplace g Delta epsilon x) (discrete_laplace g Delta epsilon x')
    (discrete_laplace_cumulant (epsilon / INR Delta) (epsilon / INR Delta * Rabs (IZR (g x) - IZR (g x')))).
Proof. intros s Hs. now apply discrete_laplace_moment. Qed.

Lemma discrete_laplace_shift x x' :
  Rabs (IZR (g x) - IZR (g x')) <= INR Delta ->
  0 <= epsilon / INR Delta * Rabs (IZR (g x) - IZR (g x')) <= epsilon.
Proof.
  intros H. assert (d := Delta_pos). split; [apply Rmult_le_pos; [lra|apply Rabs_pos]|].
  apply Rle_trans with (epsilon / INR Delta * INR Delta); [apply Rmult_le_compat_l; lra|]. right. field. lra.
Qed.

(* A supremum of integers is attained. *)
Lemma sensitivity_attained : sensitivity neighbours (fun x => IZR (g x)) (INR Delta) ->
  exists x x', neighbours x x' /\ Rabs (IZR (g x) - IZR (g x')) = INR Delta.
Proof.
  intros [U L]. apply Classical_Prop.NNPP. intros no.
  assert (h : INR Delta <= INR Delta - 1); [|lra]. apply L. intros d [x [x' [N ->]]].
  assert (u := U _ (ex_intro _ x (ex_intro _ x' (conj N eq_refl)))).
  rewrite <- minus_IZR, <- abs_IZR, INR_IZR_INZ in u |- *. apply le_IZR in u.
  rewrite <- minus_IZR. apply IZR_le.
  assert (ne : Z.abs (g x - g x') <> Z.of_nat Delta); [|lia].
  intros E. apply no. exists x, x'. split; [easy|]. now rewrite <- minus_IZR, <- abs_IZR, E, <- INR_IZR_INZ.
Qed.
End Mechanism.

Theorem discrete_laplace_mechanism {X} (g : X -> Z) (Delta : nat) (epsilon : R) :
  (1 <= Delta)%nat -> 0 < epsilon -> mechanism integers (discrete_laplace g Delta epsilon).
Proof.
  intros HD He x. apply discrete_laplace_is_density. apply Rdiv_lt_0_compat; [easy|]. apply lt_0_INR. lia.
Qed.

Theorem discrete_laplace_DP {X} (neighbours : X -> X -> Prop) (g : X -> Z) (Delta : nat) (epsilon : R) :
  (1 <= Delta)%nat -> 0 < epsilon -> sensitivity neighbours (fun x => IZR (g x)) (INR Delta) ->
  pure_DP integers neighbours (discrete_laplace g Delta epsilon) epsilon.
Proof.
  intros HD He Hg x x' N y _. apply sensitivity_bound with (x := x) (x' := x') in Hg; [|easy].
  unfold discrete_laplace, discrete_laplace_mass.
  assert (D0 : 0 < INR Delta) by (apply lt_0_INR; lia).
  assert (Ht : 0 < epsilon / INR Delta) by (now apply Rdiv_lt_0_compat).
  set (t := epsilon / INR Delta) in *.
  replace (exp epsilon * (tanh (t / 2) * exp (- (t * Rabs (IZR y - IZR (g x'))))))
    with (tanh (t / 2) * exp (epsilon + - (t * Rabs (IZR y - IZR (g x'))))) by (rewrite exp_plus; ring).
  apply Rmult_le_compat_l; [left; now apply tanh_half_pos|]. apply exp_le.
  assert (tr := Rabs_triang (IZR y - IZR (g x)) (IZR (g x) - IZR (g x'))).
  replace (IZR y - IZR (g x) + (IZR (g x) - IZR (g x'))) with (IZR y - IZR (g x')) in tr by ring.
  assert (E : epsilon = t * INR Delta) by (unfold t; field; lra). rewrite E at 1.
  assert (t * Rabs (IZR y - IZR (g x')) <= t * (Rabs (IZR y - IZR (g x)) + INR Delta))
    by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

(** Theorem 14 of the paper, [thm:zcdp]. *)
Theorem discrete_laplace_tight {X} (neighbours : X -> X -> Prop) (g : X -> Z) (Delta : nat) (epsilon : R) :
  (1 <= Delta)%nat -> 0 < epsilon -> sensitivity neighbours (fun x => IZR (g x)) (INR Delta) ->
  tightly_zCDP integers neighbours (discrete_laplace g Delta epsilon)
    (epsilon * (1 - (1 - exp (- epsilon)) / (INR Delta * sinh (epsilon / INR Delta)))).
Proof.
  intros HD He Hg.
  assert (D0 := Delta_pos Delta HD).
  assert (Ht : 0 < epsilon / INR Delta) by (now apply Rdiv_lt_0_compat).
  assert (S := sinh_pos _ Ht).
  replace (epsilon * (1 - (1 - exp (- epsilon)) / (INR Delta * sinh (epsilon / INR Delta))))
    with (discrete_laplace_rho (epsilon / INR Delta) epsilon) by (unfold discrete_laplace_rho; field; lra).
  split.
  - apply zCDP_of_cumulant. intros x x' N. eexists. split; [now apply discrete_laplace_pair|].
    intros s Hs. assert (w := discrete_laplace_shift g Delta epsilon HD He x x' (sensitivity_bound _ _ _ Hg x x' N)).
    eapply Rle_trans; [now apply discrete_laplace_cumulant_le|]. apply Rmult_le_compat_r; [nra|].
    now apply discrete_laplace_rho_mono.
  - intros r Z. destruct (sensitivity_attained neighbours g Delta HD Hg) as [x [x' [N E]]].
    assert (C := discrete_laplace_pair g Delta epsilon HD He x x').
    rewrite E in C. replace (epsilon / INR Delta * INR Delta) with epsilon in C by (field; lra).
    apply (tight_of_cumulant integers neighbours _ _ r x x' _ N C); [now apply discrete_laplace_cumulant_0| |easy].
    now apply discrete_laplace_cumulant_derive.
Qed.

(** Lemma 16 of the paper, [lem:dlap-rdp], in the form A e^(s epsilon) + B e^(-(1+s) epsilon) of the moment. *)
Theorem discrete_laplace_RDP {X} (neighbours : X -> X -> Prop) (g : X -> Z) (Delta : nat) (epsilon alpha : R) :
  (1 <= Delta)%nat -> 0 < epsilon -> 1 < alpha -> sensitivity neighbours (fun x => IZR (g x)) (INR Delta) ->
  tightly_RDP integers neighbours (discrete_laplace g Delta epsilon) alpha
    (ln ((sinh (alpha * (epsilon / INR Delta)) * exp ((alpha - 1) * epsilon)
          + sinh ((alpha - 1) * (epsilon / INR Delta)) * exp (- (alpha * epsilon)))
         / (sinh (alpha * (epsilon / INR Delta)) + sinh ((alpha - 1) * (epsilon / INR Delta)))) / (alpha - 1)).
Proof.
  intros HD He Ha Hg.
  assert (D0 := Delta_pos Delta HD).
  assert (Ht : 0 < epsilon / INR Delta) by (now apply Rdiv_lt_0_compat).
  replace (ln _) with (discrete_laplace_cumulant (epsilon / INR Delta) epsilon (alpha - 1)).
  2:{ unfold discrete_laplace_cumulant. now replace (1 + (alpha - 1)) with alpha by ring. }
  apply tightly_RDP_of_cumulant; [easy| |].
  - intros x x' N. eexists. split; [now apply discrete_laplace_pair|].
    apply discrete_laplace_cumulant_mono; [easy|lra|].
    apply discrete_laplace_shift; [easy..|]. now apply (sensitivity_bound neighbours (fun x => IZR (g x))).
  - intros k H. destruct (sensitivity_attained neighbours g Delta HD Hg) as [x [x' [N E]]].
    assert (C := discrete_laplace_pair g Delta epsilon HD He x x').
    rewrite E in C. replace (epsilon / INR Delta * INR Delta) with epsilon in C by (field; lra).
    exact (H x x' _ N C).
Qed.

(** * The KL divergence, as the sum it is *)
Section KL.
Variable t : R.
Hypothesis Ht : 0 < t.
Let q := exp (- t).
Let q_lt_1 : q < 1.
Proof. unfold q. rewrite <- exp_0. apply exp_increasing. lra. Qed.
Let q_pos : 0 < q.
Proof. apply exp_pos. Qed.

Let step d : exp (- (t * INR (S d))) = q * exp (- (t * INR d)).
Proof. unfold q. rewrite <- exp_plus, S_INR. f_equal. ring. Qed.
Let first_term d : Rabs (INR 0 - INR (S d)) = INR (S d).
Proof. simpl (INR 0). rewrite Rminus_0_l, Rabs_Ropp. apply Rabs_pos_eq, pos_INR. Qed.
Let next_term n d : INR (S n) - INR (S d) = INR n - INR d.
Proof. rewrite !S_INR. ring. Qed.

(* The half sums over n >= 0 with P around d and Q around 0, by induction on d *)
Lemma half_mass d :
  is_series_of_reals (fun n => exp (- (t * Rabs (INR n - INR d)))) ((1 + q - q * exp (- (t * INR d))) / (1 - q)).
Proof.
  induction d.
  - replace ((1 + q - q * exp (- (t * INR 0))) / (1 - q)) with (/ (1 - q))
      by (simpl INR; rewrite Rmult_0_r, Ropp_0, exp_0; field; lra).
    eapply series_ext; [|now apply series_geom]. intros n. simpl INR.
    rewrite Rminus_0_r, Rabs_pos_eq; [easy|apply pos_INR].
  - assert (h := series_decr (fun n => exp (- (t * Rabs (INR n - INR (S d)))))
      ((1 + q - q * exp (- (t * INR d))) / (1 - q))).
    cbv beta in h. rewrite first_term, step in h. rewrite step.
    replace ((1 + q - q * (q * exp (- (t * INR d)))) / (1 - q))
      with (q * exp (- (t * INR d)) + (1 + q - q * exp (- (t * INR d))) / (1 - q)) by (field; lra).
    apply h. eapply series_ext; [|exact IHd]. intros n. cbv beta. now rewrite next_term.
Qed.

Lemma half_KL d :
  is_series_of_reals (fun n => exp (- (t * Rabs (INR n - INR d))) * (INR n - Rabs (INR n - INR d)))
    (((1 + q + q * exp (- (t * INR d))) * INR d + 2 * q * (exp (- (t * INR d)) - 1) / (1 - q)) / (1 - q)).
Proof.
  induction d.
  - replace (((1 + q + q * exp (- (t * INR 0))) * INR 0 + 2 * q * (exp (- (t * INR 0)) - 1) / (1 - q)) / (1 - q))
      with (0 * / (1 - q))
      by (simpl INR; rewrite !Rmult_0_r, Ropp_0, exp_0; field; lra).
    eapply series_ext; [|apply series_scal; now apply series_geom]. intros n. cbv beta. simpl INR.
    rewrite Rminus_0_r, Rabs_pos_eq by apply pos_INR. ring.
  - assert (h := series_decr (fun n => exp (- (t * Rabs (INR n - INR (S d)))) * (INR n - Rabs (INR n - INR (S d))))
      (((1 + q + q * exp (- (t * INR d))) * INR d + 2 * q * (exp (- (t * INR d)) - 1) / (1 - q)) / (1 - q)
       + (1 + q - q * exp (- (t * INR d))) / (1 - q))).
    cbv beta in h. rewrite first_term, step in h. rewrite step.
    match type of h with _ ->
    is_series_of_reals _ ?v => match goal with |- is_series_of_reals _ ?w => replace w with v end end.
    + apply h. eapply series_ext; [|exact (is_series_plus (V:=R_NormedModule) _ _ _ _ IHd (half_mass d))].
      intros n. change plus with Rplus. cbv beta. rewrite next_term, S_INR. ring.
    + rewrite !S_INR. simpl (INR 0). field. lra.
Qed.

Lemma discrete_laplace_KL_sum d :
  is_sum_over_integers (fun z => tanh (t / 2) * exp (- (t * Rabs (IZR z - INR d)))
    * (t * (Rabs (IZR z) - Rabs (IZR z - INR d))))
    (discrete_laplace_rho t (t * INR d)).
Proof.
  exists (t * tanh (t / 2) * (((1 + q + q * exp (- (t * INR d))) * INR d + 2 * q * (exp (- (t * INR d)) - 1) / (1 - q))
    / (1 - q))),
    (- (t * tanh (t / 2) * INR d * q * exp (- (t * INR d))) * / (1 - q)).
  split; [|split].
  - eapply series_ext; [|apply series_scal; exact (half_KL d)]. intros n. cbv beta. rewrite <- INR_IZR_INZ.
    rewrite (Rabs_pos_eq (INR n)) by apply pos_INR. ring.
  - eapply series_ext; [|apply series_scal; exact (series_geom t Ht)].
    intros n. cbv beta. rewrite opp_IZR, <- INR_IZR_INZ, S_INR.
    assert (n0 := pos_INR n). assert (d0 := pos_INR d). rewrite !Rabs_left1 by lra.
    replace (- (t * - (- (INR n + 1) - INR d))) with (- t + - (t * INR d) + - (t * INR n)) by ring.
    rewrite !exp_plus. fold q. ring.
  - unfold discrete_laplace_rho, sinh. rewrite tanh_half by easy.
    replace (exp t) with (/ q) by (unfold q; rewrite exp_Ropp; field; apply Rgt_not_eq, exp_pos). fold q.
    field. repeat split; try lra; nra.
Qed.
End KL.

Lemma discrete_laplace_KL_shift t a b : 0 < t ->
  is_sum_over_integers
    (fun z => discrete_laplace_mass t a z * ln (discrete_laplace_mass t a z / discrete_laplace_mass t b z))
    (discrete_laplace_rho t (t * Rabs (IZR a - IZR b))).
Proof.
  intros Ht. assert (tp := tanh_half_pos t Ht).
  assert (F : forall z, discrete_laplace_mass t a z * ln (discrete_laplace_mass t a z / discrete_laplace_mass t b z)
     = tanh (t / 2) * exp (- (t * Rabs (IZR z - IZR a))) * (t * (Rabs (IZR z - IZR b) - Rabs (IZR z - IZR a)))).
  { intros z. unfold discrete_laplace_mass.
    rewrite ln_div by (apply Rmult_lt_0_compat; [easy|apply exp_pos]).
    rewrite !ln_mult, !ln_exp by (try apply exp_pos; easy). ring. }
  destruct (Z_le_gt_dec b a) as [L|L].
  - set (d := Z.to_nat (a - b)).
    assert (D : INR d = IZR a - IZR b) by (unfold d; rewrite INR_IZR_INZ, Z2Nat.id, minus_IZR by lia; ring).
    rewrite (Rabs_pos_eq (IZR a - IZR b)) by (rewrite <- D; apply pos_INR). rewrite <- D.
    eapply sum_over_integers_ext; [|exact (sum_over_integers_shift _ _ (- b) (discrete_laplace_KL_sum t Ht d))].
    intros z. cbv beta. rewrite F, D, plus_IZR, opp_IZR.
    now replace (IZR z + - IZR b - (IZR a - IZR b)) with (IZR z - IZR a) by ring.
  - set (d := Z.to_nat (b - a)).
    assert (D : INR d = IZR b - IZR a) by (unfold d; rewrite INR_IZR_INZ, Z2Nat.id, minus_IZR by lia; ring).
    rewrite (Rabs_left1 (IZR a - IZR b)) by (assert (p := pos_INR d); lra).
    replace (- (IZR a - IZR b)) with (INR d) by (rewrite D; ring).
    eapply sum_over_integers_ext;
      [|exact (sum_over_integers_shift _ _ (- b) (sum_over_integers_refl _ _ (discrete_laplace_KL_sum t Ht d)))].
    intros z. cbv beta. rewrite F, D, opp_IZR, plus_IZR, opp_IZR.
    replace (- (IZR z + - IZR b) - (IZR b - IZR a)) with (- (IZR z - IZR a)) by ring.
    replace (- (IZR z + - IZR b)) with (- (IZR z - IZR b)) by ring. now rewrite !Rabs_Ropp.
Qed.

(** The KL divergence of two neighbours at the full distance is rho. *)
Theorem discrete_laplace_KL {X} (g : X -> Z) (Delta : nat) (epsilon : R) (x x' : X) :
  (1 <= Delta)%nat -> 0 < epsilon -> Rabs (IZR (g x) - IZR (g x')) = INR Delta ->
  is_KL integers (discrete_laplace g Delta epsilon x) (discrete_laplace g Delta epsilon x')
    (epsilon * (1 - (1 - exp (- epsilon)) / (INR Delta * sinh (epsilon / INR Delta)))).
Proof.
  intros HD He E. assert (D0 := Delta_pos Delta HD).
  assert (Ht : 0 < epsilon / INR Delta) by (now apply Rdiv_lt_0_compat).
  assert (S := sinh_pos _ Ht).
  replace (epsilon * (1 - (1 - exp (- epsilon)) / (INR Delta * sinh (epsilon / INR Delta))))
    with (discrete_laplace_rho (epsilon / INR Delta) (epsilon / INR Delta * Rabs (IZR (g x) - IZR (g x'))))
    by (rewrite E; unfold discrete_laplace_rho; replace (epsilon / INR Delta * INR Delta) with epsilon
      by (field; lra); field; lra).
  now apply discrete_laplace_KL_shift.
Qed.
