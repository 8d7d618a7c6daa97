(** Pure DP and bounded range over any measure space: the Lebesgue integral of MathComp Analysis over a measurable set S
    is a base measure, and there the moments of a bounded loss exist by themselves.

    S is the support: densities may vanish outside of it, and a bound that holds almost everywhere is one that holds on
    such a set S of full measure. Optional: MathComp Analysis adds propositional extensionality and choice to the axioms
    of the other files. *)
From Coq Require Import Reals Lra.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets functions.
From mathcomp.analysis Require Import topology normedtype reals ereal measure lebesgue_measure lebesgue_integral
  Rstruct.
From ZCDP Require Import Analysis Zcdp Cumulant BoundedRatio PureDP BoundedRange.
Import GRing.Theory Num.Theory.
Local Open Scope classical_set_scope.
Local Open Scope ring_scope.
Local Open Scope ereal_scope.

Section Measure.
Context d (T : measurableType d) (mu : {measure set T -> \bar real_realType}) (S : set T) (mS : measurable S).

Definition is_lebesgue_integral (f : T -> real_realType) (a : real_realType) : Prop :=
  mu.-integrable S (EFin \o f) /\ (\int[mu]_(x in S) (f x)%:E = a%:E)%E.

Lemma lebesgue_ext f g a : (forall x, S x -> f x = g x) -> is_lebesgue_integral f a -> is_lebesgue_integral g a.
Proof.
move=> E [I F]. have e : {in S, EFin \o f =1 EFin \o g} by move=> x; rewrite inE /= => /E ->.
split; first exact: (eq_integrable mS _ _ e I). rewrite -F. symmetry. exact: (eq_integral _ _ e).
Qed.

Lemma lebesgue_scal f a k : is_lebesgue_integral f a -> is_lebesgue_integral (fun x => (k * f x)%R) (k * a)%R.
Proof.
move=> [I E]; split.
  have := @integrablerM _ _ _ mu S mS k _ I. exact.
have h := @integralM _ _ _ mu S mS (EFin \o f) I k.
rewrite EFinM -E -h. exact.
Qed.

Lemma lebesgue_plus f g a b : is_lebesgue_integral f a -> is_lebesgue_integral g b ->
  is_lebesgue_integral (fun x => (f x + g x)%R) (a + b)%R.
Proof.
move=> [I E] [J F]; split.
  have := @integrableD _ _ _ mu S mS _ _ I J. exact.
have h := @integralD _ _ _ mu S mS (EFin \o f) (EFin \o g) I J.
rewrite EFinD -E -F -h. exact.
Qed.

Lemma lebesgue_ge0 f a : (forall x, S x -> Rle 0 (f x)) -> is_lebesgue_integral f a -> Rle 0 a.
Proof.
move=> P [I E]. apply/RleP. rewrite -lee_fin -E. apply: integral_ge0 => x Sx. rewrite lee_fin. exact/RleP/P.
Qed.

Lemma lebesgue_le f g a b : (forall x, S x -> Rle (f x) (g x)) ->
  is_lebesgue_integral f a -> is_lebesgue_integral g b -> Rle a b.
Proof.
move=> H A B.
have h := lebesgue_plus _ _ _ _ B (lebesgue_scal _ _ (Ropp 1) A).
have : Rle 0 (b + Ropp 1 * a)%R.
  apply: (lebesgue_ge0 _ _ _ h) => x Sx.
  have := H x Sx. rewrite -RplusE -RmultE. lra.
rewrite -RplusE -RmultE. lra.
Qed.

Definition lebesgue : base_measure T :=
  BaseMeasure T S is_lebesgue_integral lebesgue_ext lebesgue_scal lebesgue_plus lebesgue_le.

(* Bounded ratio: the moments exist as soon as the integrand is measurable. *)
Lemma lebesgue_moment (p q : T -> R) (hi s : R) :
  density lebesgue p -> density lebesgue q -> Rlt 0 s -> Rlt 0 hi ->
  (forall x, S x -> Rle (p x) (Rmult hi (q x))) ->
  measurable_fun S (fun x => (Rpower (p x) (Rplus 1 s) * Rpower (q x) (Ropp s))%R : real_realType) ->
  exists m, is_integral lebesgue (fun x => Rmult (Rpower (p x) (Rplus 1 s)) (Rpower (q x) (Ropp s))) m.
Proof.
move=> [Pp Ip] [Pq Iq] Hs Hhi HB Mf.
set f := (fun x => Rmult (Rpower (p x) (Rplus 1 s)) (Rpower (q x) (Ropp s))).
have If : mu.-integrable S (EFin \o (f : T -> real_realType)).
  have I2 := @integrablerM _ _ _ mu S mS (Rpower hi (Rplus 1 s)) _ (proj1 Iq).
  apply: (le_integrable mS _ _ I2).
    by apply: measurable_fun_comp.
  move=> x Sx /=. have px := Pp x Sx. have qx := Pq x Sx. rewrite lee_fin ger0_norm ?ger0_norm.
  - apply/RleP. rewrite /f Rpower_ratio //. rewrite -RmultE Rmult_comm.
    apply: Rmult_le_compat_r; first exact: Rlt_le qx.
    apply: Rle_Rpower_l; first lra. split.
      by apply: Rdiv_lt_0_compat.
    apply: (Rmult_le_reg_r (q x)) => //. have hb := HB x Sx.
    have -> : Rmult (Rdiv (p x) (q x)) (q x) = p x by field; lra.
    exact: hb.
  - apply/RleP. apply: Rmult_le_pos; apply: Rlt_le => //. exact: Rpower_pos.
  - apply/RleP. rewrite /f. apply: Rmult_le_pos; apply: Rlt_le; exact: Rpower_pos.
exists (fine (\int[mu]_(x in S) (f x : real_realType)%:E)). split => //.
rewrite fineK //. exact: integral_fune_fin_num.
Qed.

Lemma measurable_power (p : T -> R) (k : R) :
  (forall x, S x -> Rlt 0 (p x)) -> measurable_fun S (p : T -> real_realType) ->
  measurable_fun S ((fun x => Rpower (p x) k) : T -> real_realType).
Proof.
move=> P Mp.
have Mln : measurable_fun [set x : real_realType | (0 < x)%R] (ln : real_realType -> real_realType).
  apply: open_continuous_measurable_fun; first exact: open_gt.
  move=> x. rewrite inE /= => /RltP x0. apply/continuity_pt_cvg.
  apply: derivable_continuous_pt. exists (Rinv x). exact: derivable_pt_lim_ln.
have Mlp : measurable_fun S ((fun x => ln (p x)) : T -> real_realType).
  move=> _ A mA.
  have mD : measurable ([set x : real_realType | (0 < x)%R]) by apply: open_measurable; exact: open_gt.
  have := Mp mS _ (Mln mD A mA).
  congr measurable. apply/seteqP; split => x /= [Sx]; first by case.
  move=> h. split => //. split => //. exact/RltP/P.
have Mexp : measurable_fun setT ((fun u => exp (Rmult k u)) : real_realType -> real_realType).
  apply: continuous_measurable_fun => x.
  have := proj1 (continuity_pt_cvg (fun u => exp (Rmult k u)) x). apply.
  apply: derivable_continuous_pt. apply: (derivable_pt_comp (fun u => Rmult k u) exp); last exact: derivable_pt_exp.
  apply: derivable_pt_scal. exact: derivable_pt_id.
exact: (measurable_fun_comp Mexp Mlp).
Qed.

Lemma lebesgue_moment_of_order (p q : T -> R) (hi alpha : R) :
  density lebesgue p -> density lebesgue q -> Rlt 1 alpha -> Rlt 0 hi ->
  (forall x, S x -> Rle (p x) (Rmult hi (q x))) ->
  exists m, is_integral lebesgue (fun x => Rmult (Rpower (p x) alpha) (Rpower (q x) (Rminus 1 alpha))) m.
Proof.
move=> Dp Dq Ha Hhi HB.
have s0 : Rlt 0 (Rminus alpha 1) by lra.
have [m Hm] : exists m, is_integral lebesgue
    (fun x => Rmult (Rpower (p x) (Rplus 1 (Rminus alpha 1))) (Rpower (q x) (Ropp (Rminus alpha 1)))) m.
  apply: (lebesgue_moment p q hi _ Dp Dq s0 Hhi HB).
  apply: measurable_funM; apply: measurable_power.
  + exact: (proj1 Dp).
  + apply/EFin_measurable_fun. exact: (proj1 (proj1 (proj2 Dp))).
  + exact: (proj1 Dq).
  + apply/EFin_measurable_fun. exact: (proj1 (proj1 (proj2 Dq))).
exists m. exact/moment_of_order.
Qed.
End Measure.

(** Propositions 7 to 9 of the paper and its theorem 24 (the upper bound) over any measure space *)
Theorem pure_DP_zCDP_any_measure {X : Type} d (T : measurableType d) (mu : {measure set T -> \bar real_realType})
  (S : set T) (mS : measurable S) (neighbours : X -> X -> Prop) (M : X -> T -> R) (epsilon : R) :
  Rlt 0 epsilon -> (forall x x', neighbours x x' -> neighbours x' x) -> mechanism (lebesgue d T mu S mS) M ->
  pure_DP (lebesgue d T mu S mS) neighbours M epsilon ->
  zCDP (lebesgue d T mu S mS) neighbours M (Rmult epsilon (tanh (Rdiv epsilon 2))).
Proof.
move=> He Sy HM HP. apply: pure_DP_zCDP => // x x' alpha N Ha.
apply: (lebesgue_moment_of_order _ _ _ _ _ _ _ (exp epsilon) alpha (HM x) (HM x') Ha).
- exact: exp_pos.
- exact: HP.
Qed.

Theorem bounded_range_zCDP_any_measure {X : Type} d (T : measurableType d) (mu : {measure set T -> \bar real_realType})
  (S : set T) (mS : measurable S) (neighbours : X -> X -> Prop) (M : X -> T -> R) (eta : R) :
  Rlt 0 eta -> mechanism (lebesgue d T mu S mS) M -> bounded_range (lebesgue d T mu S mS) neighbours M eta ->
  zCDP (lebesgue d T mu S mS) neighbours M
    (Rminus (Rplus (Rdiv eta (Rminus (exp eta) 1)) (ln (Rdiv (Rminus (exp eta) 1) eta))) 1).
Proof.
move=> He HM HB. apply: bounded_range_zCDP => // x x' alpha N Ha.
have [t Ht] := HB x x' N.
apply: (lebesgue_moment_of_order _ _ _ _ _ _ _ (exp (Rminus eta t)) alpha (HM x) (HM x') Ha).
- exact: exp_pos.
- move=> y Sy. exact: (proj2 (Ht y Sy)).
Qed.

Definition theorems := (@pure_DP_zCDP_any_measure, @bounded_range_zCDP_any_measure).
Print Assumptions theorems.
