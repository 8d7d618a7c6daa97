(** Groups of k: the square root of rho adds up along k steps, as epsilon and eta do. *)
Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant BoundedRatio Laplace.
Local Open Scope R_scope.

(** Hoelder's inequality for the moments of three laws, by weighted means at every outcome. *)
Lemma moment_triangle {Y} (mu : base_measure Y) (p r q : Y -> R) (alpha w f g m : R) :
  density mu p -> density mu r -> density mu q -> 1 < alpha -> 0 < w < 1 ->
  let beta := 1 + (alpha - 1) / (1 - w) in
  is_integral mu (fun y => Rpower (p y) (alpha / w) * Rpower (r y) (1 - alpha / w)) f ->
  is_integral mu (fun y => Rpower (r y) beta * Rpower (q y) (1 - beta)) g ->
  is_integral mu (fun y => Rpower (p y) alpha * Rpower (q y) (1 - alpha)) m ->
  0 < f -> 0 < g -> 0 < m -> ln m <= w * ln f + (1 - w) * ln g.
Proof.
  intros [Pp _] [Pr _] [Pq _] Ha Hw beta F G M f0 g0 m0.
  set (c := exp (w * ln f + (1 - w) * ln g)).
  assert (h : m <= c * (w * / f) * f + c * ((1 - w) * / g) * g).
  { refine (is_integral_le mu _ _ _ _ _ M (is_integral_plus mu _ _ _ _
      (is_integral_scal mu _ _ (c * (w * / f)) F) (is_integral_scal mu _ _ (c * ((1 - w) * / g)) G))).
    intros y Hy. cbv beta. specialize (Pp y Hy). specialize (Pr y Hy). specialize (Pq y Hy).
    set (a := Rpower (p y) (alpha / w) * Rpower (r y) (1 - alpha / w)).
    set (b := Rpower (r y) beta * Rpower (q y) (1 - beta)).
    assert (a0 : 0 < a) by (apply Rmult_lt_0_compat; apply Rpower_pos).
    assert (b0 : 0 < b) by (apply Rmult_lt_0_compat; apply Rpower_pos).
    assert (k := amgm w (a / f) (b / g) ltac:(lra) ltac:(now apply Rdiv_lt_0_compat) ltac:(now apply Rdiv_lt_0_compat)).
    replace (c * (w * / f) * a + c * ((1 - w) * / g) * b) with (c * (w * (a / f) + (1 - w) * (b / g))) by (field; lra).
    assert (s0 : 0 < w * (a / f) + (1 - w) * (b / g)).
    { assert (0 < a / f) by (now apply Rdiv_lt_0_compat). assert (0 < b / g) by (now apply Rdiv_lt_0_compat). nra. }
    rewrite <- (exp_ln _ s0). unfold c. rewrite <- exp_plus.
    unfold Rpower. rewrite <- exp_plus. apply exp_le.
    eapply Rle_trans; [|apply Rplus_le_compat_l; exact k]. right.
    rewrite !ln_div by easy. unfold a, b. rewrite !ln_mult by apply Rpower_pos. unfold Rpower. rewrite !ln_exp.
    unfold beta. field. lra. }
  replace (c * (w * / f) * f + c * ((1 - w) * / g) * g) with c in h by (field; lra).
  eapply Rle_trans; [apply Rcomplements.ln_le; [easy|exact h]|]. unfold c. rewrite ln_exp. lra.
Qed.

(** The triangle inequality of sqrt(rho). *)
Lemma zCDP_triangle {Y} (mu : base_measure Y) (p r q : Y -> R) (a b : R) :
  density mu p -> density mu r -> density mu q -> 0 < a -> 0 < b ->
  (forall alpha, 1 < alpha -> exists D, is_renyi mu alpha p r D /\ D <= a * a * alpha) ->
  (forall alpha, 1 < alpha -> exists D, is_renyi mu alpha r q D /\ D <= b * b * alpha) ->
  forall alpha m, 1 < alpha -> is_integral mu (fun y => Rpower (p y) alpha * Rpower (q y) (1 - alpha)) m ->
  ln m / (alpha - 1) <= (a + b) * (a + b) * alpha.
Proof.
  intros Dp Dr Dq Ha Hb H1 H2 alpha m Hal Hm.
  set (W := a / b * (alpha / (alpha - 1))). set (w := W / (1 + W)).
  assert (W0 : 0 < W) by (unfold W; apply Rmult_lt_0_compat; apply Rdiv_lt_0_compat; lra).
  assert (w1 : 0 < w < 1) by (unfold w; split; [apply Rdiv_lt_0_compat|apply Rlt_div_l]; lra).
  assert (o1 : 1 < alpha / w) by (apply Rlt_div_r; nra).
  set (beta := 1 + (alpha - 1) / (1 - w)).
  assert (o2 : 1 < beta) by (unfold beta; assert (0 < (alpha - 1) / (1 - w)) by (apply Rdiv_lt_0_compat; lra); lra).
  destruct (H1 (alpha / w) o1) as [D1 [[f [F ->]] L1]]. destruct (H2 beta o2) as [D2 [[g [G ->]] L2]].
  assert (f1 := moment_ge_1 mu p r _ f Dp Dr o1 F). assert (g1 := moment_ge_1 mu r q _ g Dr Dq o2 G).
  assert (m1 := moment_ge_1 mu p q _ m Dp Dq Hal Hm).
  assert (T := moment_triangle mu p r q alpha w f g m Dp Dr Dq Hal w1 F G Hm ltac:(lra) ltac:(lra) ltac:(lra)).
  apply Rmult_le_compat_r with (r := alpha / w - 1) in L1; [|lra].
  replace (ln f / (alpha / w - 1) * (alpha / w - 1)) with (ln f) in L1 by (field; lra).
  apply Rmult_le_compat_r with (r := beta - 1) in L2; [|lra].
  replace (ln g / (beta - 1) * (beta - 1)) with (ln g) in L2 by (field; lra).
  apply Rmult_le_reg_r with (alpha - 1); [lra|].
  replace (ln m / (alpha - 1) * (alpha - 1)) with (ln m) by (field; lra).
  eapply Rle_trans; [exact T|].
  apply Rle_trans with (w * (a * a * (alpha / w) * (alpha / w - 1)) + (1 - w) * (b * b * beta * (beta - 1))).
  - apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
  - right. unfold beta, w, W. field. repeat split; nra.
Qed.

(** * k steps *)
Lemma steps_one {X} (neighbours : X -> X -> Prop) x x' : steps 1 neighbours x x' <-> neighbours x x'.
Proof. split; [now intros [z [N ->]]|intros N; now exists x']. Qed.

(** rho-zCDP is (k^2 rho)-zCDP for groups of k. (For finitely many outcomes the moments exist: [finite_has_moments].) *)
Theorem group_privacy {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (rho : R) (k : nat) :
  (1 <= k)%nat -> 0 < rho -> mechanism mu M -> (forall j, has_moments mu (steps j neighbours) M) ->
  zCDP mu neighbours M rho -> zCDP mu (steps k neighbours) M (INR k * INR k * rho).
Proof.
  intros Hk Hr HM HE HZ. assert (r0 := sqrt_lt_R0 rho Hr). assert (rr := sqrt_sqrt rho ltac:(lra)).
  set (a := sqrt rho) in *. clearbody a.
  destruct k as [|k]; [lia|]. clear Hk. induction k as [|k IH].
  - simpl INR. rewrite !Rmult_1_l. intros x x' N. apply HZ. now apply steps_one.
  - intros x x' P alpha Ha. destruct (HE (S (S k)) x x' alpha P Ha) as [m Hm].
    exists (ln m / (alpha - 1)). split; [now exists m|]. destruct P as [z [N P]].
    assert (k0 := pos_INR k).
    replace (INR (S (S k)) * INR (S (S k)) * rho) with ((a + INR (S k) * a) * (a + INR (S k) * a))
      by (rewrite !S_INR, <- rr; ring).
    apply (zCDP_triangle mu (M x) (M z) (M x')); try easy.
    + rewrite S_INR. nra.
    + rewrite rr. now apply HZ.
    + replace (INR (S k) * a * (INR (S k) * a)) with (INR (S k) * INR (S k) * rho) by (rewrite <- rr; ring).
      now apply IH.
Qed.

Theorem group_privacy_pure_DP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (epsilon : R)
  (k : nat) :
  pure_DP mu neighbours M epsilon -> pure_DP mu (steps k neighbours) M (INR k * epsilon).
Proof.
  intros H. induction k as [|k IH]; intros x x' P y Hy.
  - simpl in P. subst. simpl INR. rewrite Rmult_0_l, exp_0. lra.
  - destruct P as [z [N P]]. rewrite S_INR. replace ((INR k + 1) * epsilon) with (epsilon + INR k * epsilon) by ring.
    rewrite exp_plus, Rmult_assoc. eapply Rle_trans; [exact (H x z N y Hy)|].
    apply Rmult_le_compat_l; [left; apply exp_pos|]. now apply IH.
Qed.

Theorem group_privacy_bounded_range {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R)
  (eta : R) (k : nat) :
  bounded_range mu neighbours M eta -> bounded_range mu (steps k neighbours) M (INR k * eta).
Proof.
  intros H. induction k as [|k IH]; intros x x' P.
  - simpl in P. subst. exists 0. intros y Hy. simpl INR. rewrite Rmult_0_l, Rminus_0_r, Ropp_0, exp_0. lra.
  - destruct P as [z [N P]]. destruct (H x z N) as [t Ht]. destruct (IH z x' P) as [t' Ht'].
    exists (t + t'). intros y Hy. specialize (Ht y Hy). specialize (Ht' y Hy). rewrite S_INR.
    replace (- (t + t')) with (- t + - t') by ring.
    replace ((INR k + 1) * eta - (t + t')) with (eta - t + (INR k * eta - t')) by ring.
    rewrite !exp_plus, !Rmult_assoc. split.
    + eapply Rle_trans; [|apply Ht]. apply Rmult_le_compat_l; [left; apply exp_pos|apply Ht'].
    + eapply Rle_trans; [apply Ht|]. apply Rmult_le_compat_l; [left; apply exp_pos|apply Ht'].
Qed.

(** Laplace noise: k steps move the query by at most k Delta, so a group has the rho of k epsilon, not k^2 rho. *)
Theorem group_privacy_laplace {X} (neighbours : X -> X -> Prop) (g : X -> R) (Delta epsilon : R) (k : nat) :
  (1 <= k)%nat -> 0 < Delta -> 0 < epsilon -> sensitivity neighbours g Delta ->
  zCDP reals (steps k neighbours) (laplace g Delta epsilon) (INR k * epsilon + exp (- (INR k * epsilon)) - 1).
Proof.
  intros Hk HD He Hg. assert (k1 : 1 <= INR k) by (apply (le_INR 1); lia).
  assert (B : forall x x', steps k neighbours x x' -> Rabs (g x - g x') <= INR k * Delta).
  { clear Hk k1. induction k as [|k IH]; intros x x' P.
    - simpl in P. subst. rewrite Rminus_eq_0, Rabs_R0. simpl INR. lra.
    - destruct P as [z [N P]]. rewrite S_INR. specialize (IH z x' P).
      assert (h := sensitivity_bound neighbours g Delta Hg x z N).
      assert (t := Rabs_triang (g x - g z) (g z - g x')).
      replace (g x - g z + (g z - g x')) with (g x - g x') in t by ring. lra. }
  assert (E : laplace g Delta epsilon = laplace g (INR k * Delta) (INR k * epsilon)).
  { unfold laplace. now replace (INR k * Delta / (INR k * epsilon)) with (Delta / epsilon) by (field; lra). }
  rewrite E. apply laplace_zCDP_of_bound; [nra|nra|easy].
Qed.
