(** Composition: the rho of two mechanisms add, also when the second is chosen after the output of the first. *)
Require Import Reals Lra List.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant Sums BoundedRatio.
Import ListNotations.
Local Open Scope R_scope.

Lemma composition_mechanism {X A B} (mu : base_measure A) (nu : base_measure B) (M1 : X -> A -> R)
  (M2 : A -> X -> B -> R) :
  mechanism mu M1 -> (forall a, support mu a -> mechanism nu (M2 a)) -> mechanism (product mu nu) (followed_by M1 M2).
Proof.
  intros H1 H2 x. split.
  - intros [a b] [Ha Hb]. simpl in *. apply Rmult_lt_0_compat; [now apply H1|now apply H2].
  - exists (M1 x). split; [|apply H1]. intros a Ha. unfold followed_by. simpl.
    assert (h := is_integral_scal nu _ _ (M1 x a) (proj2 (H2 a Ha x))). now rewrite Rmult_1_r in h.
Qed.

(** Adaptive, over any base measures, given that the moments of the pair exist. *)
Theorem composition_adaptive {X A B} (mu : base_measure A) (nu : base_measure B) (neighbours : X -> X -> Prop)
  (M1 : X -> A -> R) (M2 : A -> X -> B -> R) (r1 r2 : R) :
  mechanism mu M1 -> (forall a, support mu a -> mechanism nu (M2 a)) ->
  zCDP mu neighbours M1 r1 -> (forall a, support mu a -> zCDP nu neighbours (M2 a) r2) ->
  has_moments (product mu nu) neighbours (followed_by M1 M2) ->
  zCDP (product mu nu) neighbours (followed_by M1 M2) (r1 + r2).
Proof.
  intros H1 H2 Z1 Z2 HE x x' N alpha Ha.
  destruct (HE x x' alpha N Ha) as [m Hm]. exists (ln m / (alpha - 1)). split; [now exists m|].
  assert (C := composition_mechanism mu nu M1 M2 H1 H2).
  assert (m1 := moment_ge_1 (product mu nu) _ _ alpha m (C x) (C x') Ha Hm).
  destruct (Z1 x x' N alpha Ha) as [D1 [[n1 [E1 ->]] L1]].
  assert (n1p := moment_ge_1 mu _ _ alpha n1 (H1 x) (H1 x') Ha E1).
  destruct Hm as [h [P Q]].
  set (c := exp ((alpha - 1) * (r2 * alpha))).
  assert (U : m <= c * n1).
  { refine (is_integral_le mu _ _ _ _ _ Q (is_integral_scal mu _ _ c E1)). intros a Ha'. cbv beta.
    destruct (Z2 a Ha' x x' N alpha Ha) as [D2 [[n2 [E2 ->]] L2]].
    assert (n2p := moment_ge_1 nu _ _ alpha n2 (H2 a Ha' x) (H2 a Ha' x') Ha E2).
    assert (hb : h a = Rpower (M1 x a) alpha * Rpower (M1 x' a) (1 - alpha) * n2).
    { apply (is_integral_unique nu _ _ _ (P a Ha')).
      eapply is_integral_ext;
        [|exact (is_integral_scal nu _ _ (Rpower (M1 x a) alpha * Rpower (M1 x' a) (1 - alpha)) E2)].
      intros b Hb. unfold followed_by. simpl. rewrite <- !Rpower_mult_distr; try (now apply H1); try (now apply H2).
      ring. }
    rewrite hb, (Rmult_comm c). apply Rmult_le_compat_l; [apply Rmult_le_pos; left; apply Rpower_pos|].
    unfold c. rewrite <- (exp_ln n2) by lra. apply exp_le.
    apply Rmult_le_compat_r with (r := alpha - 1) in L2; [|lra].
    replace (ln n2 / (alpha - 1) * (alpha - 1)) with (ln n2) in L2 by (field; lra). lra. }
  assert (lnm : ln m <= (alpha - 1) * (r2 * alpha) + ln n1).
  { apply Rle_trans with (ln (c * n1)); [apply Rcomplements.ln_le; lra|].
    unfold c. rewrite ln_mult, ln_exp by (try apply exp_pos; lra). lra. }
  apply Rle_trans with (r2 * alpha + ln n1 / (alpha - 1)); [|lra].
  apply Rmult_le_reg_r with (alpha - 1); [lra|].
  replace (ln m / (alpha - 1) * (alpha - 1)) with (ln m) by (field; lra).
  replace ((r2 * alpha + ln n1 / (alpha - 1)) * (alpha - 1)) with ((alpha - 1) * (r2 * alpha) + ln n1) by (field; lra).
  easy.
Qed.

(** Adaptive, finitely many outcomes: the moments exist of themselves. *)
Theorem composition_adaptive_finite {X A B} (l : list A) (l' : list B) (neighbours : X -> X -> Prop)
  (M1 : X -> A -> R) (M2 : A -> X -> B -> R) (r1 r2 : R) :
  mechanism (finite l) M1 -> (forall a, In a l -> mechanism (finite l') (M2 a)) ->
  zCDP (finite l) neighbours M1 r1 -> (forall a, In a l -> zCDP (finite l') neighbours (M2 a) r2) ->
  zCDP (product (finite l) (finite l')) neighbours (followed_by M1 M2) (r1 + r2).
Proof.
  intros H1 H2 Z1 Z2. apply composition_adaptive; try easy.
  intros x x' alpha _ _. eexists. eexists. split; [intros a _; simpl; reflexivity|simpl; reflexivity].
Qed.

(** Not adaptive, over any base measures. *)
Theorem composition {X A B} (mu : base_measure A) (nu : base_measure B) (neighbours : X -> X -> Prop)
  (M1 : X -> A -> R) (M2 : X -> B -> R) (r1 r2 : R) :
  mechanism mu M1 -> mechanism nu M2 -> zCDP mu neighbours M1 r1 -> zCDP nu neighbours M2 r2 ->
  zCDP (product mu nu) neighbours (followed_by M1 (fun _ => M2)) (r1 + r2).
Proof.
  intros H1 H2 Z1 Z2. apply composition_adaptive; try easy.
  intros x x' alpha N Ha.
  destruct (Z1 x x' N alpha Ha) as [D1 [[n1 [E1 _]] _]]. destruct (Z2 x x' N alpha Ha) as [D2 [[n2 [E2 _]] _]].
  exists (n2 * n1), (fun a => n2 * (Rpower (M1 x a) alpha * Rpower (M1 x' a) (1 - alpha))). split.
  - intros a Ha'. rewrite Rmult_comm.
    eapply is_integral_ext;
      [|exact (is_integral_scal nu _ _ (Rpower (M1 x a) alpha * Rpower (M1 x' a) (1 - alpha)) E2)].
    intros b Hb. unfold followed_by. simpl. rewrite <- !Rpower_mult_distr; try (now apply H1); try (now apply H2). ring.
  - now apply is_integral_scal.
Qed.
