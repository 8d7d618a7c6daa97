(** The Laplace mechanism: its cumulant, rho = epsilon + e^-epsilon - 1, its Renyi curve and its KL divergence. *)
Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant.
Local Open Scope R_scope.

(** * The inequality K(s) <= rho s(1+s)

    In epsilon both sides vanish at 0, and the derivative of their difference has the sign of
    s sinh((1+s) epsilon) - (1+s) sinh(s epsilon), which is >= 0 because sinh(x)/x increases (the paper's way). *)
Definition laplace_cumulant (e s : R) : R := ln (((1 + s) * exp (s * e) + s * exp (- ((1 + s) * e))) / (1 + 2 * s)).
Definition laplace_rho (e : R) : R := e + exp (- e) - 1.

Lemma laplace_cumulant_le e s : 0 <= e -> 0 < s -> laplace_cumulant e s <= laplace_rho e * (s * (1 + s)).
Proof.
  intros He Hs.
  assert (pos : forall u, 0 < (1 + s) * exp (s * u) + s * exp (- ((1 + s) * u))).
  { intros u. assert (h := exp_pos (s * u)). assert (h' := exp_pos (- ((1 + s) * u))). nra. }
  from_derive (fun u => laplace_rho u * (s * (1 + s)) - laplace_cumulant u s)
    (fun u => s * (1 + s) * (2 * exp (- u) * (s * sinh ((1 + s) * u) - (1 + s) * sinh (s * u)))
              / ((1 + s) * exp (s * u) + s * exp (- ((1 + s) * u)))) e; try lra.
  - unfold laplace_rho, laplace_cumulant. rewrite !Rmult_0_r, Ropp_0, exp_0.
    replace (((1 + s) * 1 + s * 1) / (1 + 2 * s)) with 1 by (field; lra). rewrite ln_1. ring.
  - intros u Hu. unfold laplace_rho, laplace_cumulant. specialize (pos u). auto_derive.
    + apply Rdiv_lt_0_compat; lra.
    + unfold sinh.
      replace (exp (- ((1 + s) * u))) with (exp (- u) * / exp (s * u)) in *.
      2:{ rewrite <- exp_Ropp, <- exp_plus. f_equal. ring. }
      replace (exp ((1 + s) * u)) with (/ exp (- u) * exp (s * u)).
      2:{ rewrite <- exp_Ropp, <- exp_plus. f_equal. ring. }
      replace (exp (- (s * u))) with (/ exp (s * u)) by (now rewrite exp_Ropp).
      assert (h := exp_pos (s * u)). assert (h' := exp_pos (- u)).
      set (a := exp (s * u)) in *. set (b := exp (- u)) in *.
      assert (pos' : 0 < (1 + s) * a * a + s * b).
      { replace ((1 + s) * a * a + s * b) with (a * ((1 + s) * a + s * (b * / a))) by (field; lra). nra. }
      field. repeat split; nra.
  - intros u Hu. specialize (pos u).
    apply Rmult_le_pos; [|left; now apply Rinv_0_lt_compat].
    assert (h := exp_pos (- u)).
    assert (h' := sinh_ratio_increasing (s * u) ((1 + s) * u)).
    assert (0 <= s * sinh ((1 + s) * u) - (1 + s) * sinh (s * u)).
    { destruct (Rle_lt_or_eq_dec 0 u) as [U| <-]; [lra| |rewrite !Rmult_0_r, sinh_0; lra].
      apply Rmult_le_reg_l with u; [lra|].
      assert (s * u <= (1 + s) * u) by nra. assert (0 <= s * u) by nra. nra. }
    repeat apply Rmult_le_pos; try lra.
Qed.

Lemma laplace_rho_mono e e' : 0 <= e <= e' -> laplace_rho e <= laplace_rho e'.
Proof.
  intros H. apply (le_of_derive laplace_rho (fun u => 1 - exp (- u))); [lra| |].
  - intros u _. unfold laplace_rho. auto_derive; [easy|]. ring.
  - intros u Hu. assert (exp (- u) <= exp 0) by (apply exp_le; lra). rewrite exp_0 in *. lra.
Qed.

Lemma laplace_cumulant_0 e : laplace_cumulant e 0 = 0.
Proof. unfold laplace_cumulant. rewrite !Rmult_0_l, !Rmult_0_r, !Rplus_0_r, exp_0. replace (1 * 1 / 1) with 1 by field.
apply ln_1. Qed.

Lemma laplace_cumulant_derive e : is_derive (laplace_cumulant e) 0 (laplace_rho e).
Proof.
  unfold laplace_cumulant, laplace_rho. auto_derive.
  - rewrite !Rmult_0_l, !Rplus_0_r, !Rmult_1_l, exp_0. lra.
  - rewrite !Rmult_0_l, !Rplus_0_r, !Rmult_0_r, !Rplus_0_r, !Rmult_1_l, exp_0. field.
Qed.

(** The largest shift is the worst at every order; A and B leave room for discrete Laplace noise. *)
Lemma shift_mono A B s w w' : 0 < s -> 0 < B -> (1 + s) * B <= s * A -> 0 <= w <= w' ->
  A * exp (s * w) + B * exp (- ((1 + s) * w)) <= A * exp (s * w') + B * exp (- ((1 + s) * w')).
Proof.
  intros Hs HB HAB Hw.
  apply (le_of_derive (fun u => A * exp (s * u) + B * exp (- ((1 + s) * u)))
    (fun u => s * A * exp (s * u) - (1 + s) * B * exp (- ((1 + s) * u)))); [lra| |].
  - intros u _. auto_derive; [easy|]. ring.
  - intros u Hu. assert (e : exp (- ((1 + s) * u)) <= exp (s * u)) by (apply exp_le; nra).
    assert (p := exp_pos (- ((1 + s) * u))).
    assert (0 <= (1 + s) * B) by nra.
    assert ((1 + s) * B * exp (- ((1 + s) * u)) <= (1 + s) * B * exp (s * u)) by (apply Rmult_le_compat_l; lra).
    assert ((1 + s) * B * exp (s * u) <= s * A * exp (s * u)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma laplace_cumulant_mono s w w' : 0 < s -> 0 <= w <= w' -> laplace_cumulant w s <= laplace_cumulant w' s.
Proof.
  intros Hs Hw. unfold laplace_cumulant.
  assert (e1 := exp_pos (s * w)). assert (e2 := exp_pos (- ((1 + s) * w))).
  apply Rcomplements.ln_le; [apply Rdiv_lt_0_compat; nra|].
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. apply shift_mono; nra.
Qed.

(** * The integral *)
Lemma is_RInt_gen_antiderivative {Fa Fb : (R -> Prop) -> Prop} {FFa : Filter Fa} {FFb : Filter Fb}
  (f F : R -> R) (la lb : R) :
  (forall x, is_derive F x (f x)) -> (forall x, continuous f x) ->
  filterlim F Fa (locally la) -> filterlim F Fb (locally lb) ->
  is_RInt_gen f Fa Fb (lb - la).
Proof.
  intros D C La Lb.
  assert (E : forall x, Derive F x = f x) by (intros x; now apply is_derive_unique).
  eapply is_RInt_gen_ext; [|apply (is_RInt_gen_Derive F la lb); try assumption].
  - exists (fun _ => True) (fun _ => True); try apply filter_true. intros x y _ _ z _. apply E.
  - exists (fun _ => True) (fun _ => True); try apply filter_true. intros x y _ _ z _. exists (f z). apply D.
  - exists (fun _ => True) (fun _ => True); try apply filter_true. intros x y _ _ z _.
    apply (continuous_ext f); [|apply C]. intros u. now rewrite E.
Qed.

Lemma filterlim_at_point (F : R -> R) (x : R) : filterlim F (at_point x) (locally (F x)).
Proof. intros P HP. unfold filtermap, at_point. now apply locally_singleton. Qed.

Lemma lim_exp_m k c : 0 < k -> filterlim (fun u => c * exp (k * u)) (Rbar_locally m_infty) (locally 0).
Proof.
  intros Hk.
  assert (h : is_lim (fun u => c * exp (k * u)) m_infty 0).
  { replace (Finite 0) with (Rbar_mult c 0) by (simpl; f_equal; ring).
    apply is_lim_scal_l.
    apply (is_lim_comp exp (fun u => k * u) m_infty 0 m_infty).
    - apply is_lim_exp_m.
    - apply is_lim_spec. intros M. exists (M / k). intros x Hx.
      apply Rmult_lt_reg_r with (/ k); [now apply Rinv_0_lt_compat|]. field_simplify; lra.
    - exists 0. intros y _. easy. }
  exact h.
Qed.

Lemma lim_exp_p k c : 0 < k -> filterlim (fun u => c * exp (- k * u)) (Rbar_locally p_infty) (locally 0).
Proof.
  intros Hk.
  assert (h : is_lim (fun u => c * exp (- k * u)) p_infty 0).
  { replace (Finite 0) with (Rbar_mult c 0) by (simpl; f_equal; ring).
    apply is_lim_scal_l.
    apply (is_lim_comp exp (fun u => - k * u) p_infty 0 m_infty).
    - apply is_lim_exp_m.
    - apply is_lim_spec. intros M. exists (- M / k). intros x Hx.
      apply Rmult_lt_compat_r with (r := k) in Hx; [|easy]. field_simplify in Hx; lra.
    - exists 0. intros y _. easy. }
  exact h.
Qed.

(** Two exponential tails, and between them an exponential times a linear function (constant for moments, linear for
    KL). *)
Lemma is_integral_pieces (f : R -> R) (c1 u v c3 k b m1 m2 : R) :
  m1 <= m2 -> 0 < k -> b <> 0 ->
  (forall x, x <= m1 -> f x = c1 * exp (k * x)) ->
  (forall x, m1 <= x <= m2 -> f x = (u + v * x) * exp (b * x)) ->
  (forall x, m2 <= x -> f x = c3 * exp (- k * x)) ->
  is_integral_over_reals f (c1 * exp (k * m1) / k
    + (((u + v * m2) / b - v / (b * b)) * exp (b * m2) - ((u + v * m1) / b - v / (b * b)) * exp (b * m1))
    + c3 * exp (- k * m2) / k).
Proof.
  intros Hm Hk Hb H1 H2 H3.
  assert (C : forall (g : R -> R) (x : R), ex_derive g x -> continuous g x)
    by (intros g x; apply (ex_derive_continuous g x)).
  apply (is_RInt_gen_Chasles f m2).
  apply (is_RInt_gen_Chasles f m1).
  - apply (is_RInt_gen_ext (fun x => c1 * exp (k * x))).
    { exists (fun x => x < m1) (fun x => x = m1); [now exists m1|easy|].
      intros x y Hx -> z. simpl. rewrite Rmin_left, Rmax_right by lra. intros Hz. symmetry. apply H1. lra. }
    replace (c1 * exp (k * m1) / k) with (c1 / k * exp (k * m1) - 0) by (field; lra).
    apply (is_RInt_gen_antiderivative _ (fun x => c1 / k * exp (k * x))).
    + intros x. auto_derive; [easy|]. field. lra.
    + intros x. apply C. auto_derive. easy.
    + now apply lim_exp_m.
    + apply (filterlim_at_point (fun x => c1 / k * exp (k * x))).
  - apply (is_RInt_gen_ext (fun x => (u + v * x) * exp (b * x))).
    { exists (fun x => x = m1) (fun x => x = m2); [easy..|].
      intros x y -> -> z. simpl. rewrite Rmin_left, Rmax_right by lra. intros Hz. symmetry. apply H2. lra. }
    apply (is_RInt_gen_antiderivative _ (fun x => ((u + v * x) / b - v / (b * b)) * exp (b * x))).
    + intros x. auto_derive; [easy|]. field. lra.
    + intros x. apply C. auto_derive. easy.
    + apply (filterlim_at_point (fun x => ((u + v * x) / b - v / (b * b)) * exp (b * x))).
    + apply (filterlim_at_point (fun x => ((u + v * x) / b - v / (b * b)) * exp (b * x))).
  - apply (is_RInt_gen_ext (fun x => c3 * exp (- k * x))).
    { exists (fun x => x = m2) (fun x => m2 < x); [easy|now exists m2|].
      intros x y -> Hy z. simpl. rewrite Rmin_left, Rmax_right by lra. intros Hz. symmetry. apply H3. lra. }
    replace (c3 * exp (- k * m2) / k) with (0 - (- c3 / k) * exp (- k * m2)) by (field; lra).
    apply (is_RInt_gen_antiderivative _ (fun x => (- c3 / k) * exp (- k * x))).
    + intros x. auto_derive; [easy|]. field. lra.
    + intros x. apply C. auto_derive. easy.
    + apply (filterlim_at_point (fun x => (- c3 / k) * exp (- k * x))).
    + now apply lim_exp_p.
Qed.

(* The same without the linear part. *)
Lemma is_integral_exponentials (f : R -> R) (c1 c2 c3 k b m1 m2 : R) :
  m1 <= m2 -> 0 < k -> b <> 0 ->
  (forall x, x <= m1 -> f x = c1 * exp (k * x)) ->
  (forall x, m1 <= x <= m2 -> f x = c2 * exp (b * x)) ->
  (forall x, m2 <= x -> f x = c3 * exp (- k * x)) ->
  is_integral_over_reals f (c1 * exp (k * m1) / k + c2 * (exp (b * m2) - exp (b * m1)) / b + c3 * exp (- k * m2) / k).
Proof.
  intros Hm Hk Hb H1 H2 H3.
  assert (h := is_integral_pieces f c1 c2 0 c3 k b m1 m2 Hm Hk Hb H1).
  replace (c2 * (exp (b * m2) - exp (b * m1)) / b)
    with (((c2 + 0 * m2) / b - 0 / (b * b)) * exp (b * m2) - ((c2 + 0 * m1) / b - 0 / (b * b)) * exp (b * m1))
      by (field; easy).
  apply h; [|easy]. intros x Hx. rewrite Rmult_0_l, Rplus_0_r. now apply H2.
Qed.

Lemma laplace_pos l m x : 0 < l -> 0 < laplace_density l m x.
Proof. intros H. apply Rmult_lt_0_compat; [apply Rinv_0_lt_compat; lra|apply exp_pos]. Qed.

Lemma laplace_is_density l m : 0 < l -> density reals (laplace_density l m).
Proof.
  intros H. split; [intros x _; now apply laplace_pos|].
  assert (h := is_integral_exponentials (laplace_density l m) (/ (2 * l) * exp (- m / l)) (/ (2 * l) * exp (- m))
    (/ (2 * l) * exp (m / l)) (/ l) 1 m m).
  match type of h with _ -> _ -> _ -> _ -> _ -> _ -> is_integral_over_reals _ ?v => replace v with 1 in h end.
  - apply h; try lra; [now apply Rinv_0_lt_compat| | |]; intros x Hx; unfold laplace_density;
      rewrite ?Rmult_assoc, <- ?exp_plus; do 2 f_equal.
    + rewrite Rabs_left1 by lra. field. lra.
    + replace x with m by lra. rewrite Rminus_eq_0, Rabs_R0. field. lra.
    + rewrite Rabs_pos_eq by lra. field. lra.
  - rewrite Rminus_eq_0, !Rmult_assoc, <- !exp_plus.
    replace (- m / l + / l * m) with 0 by (field; lra). replace (m / l + - / l * m) with 0 by (field; lra).
    rewrite exp_0. field. lra.
Qed.

(** The moment of order 1 + s of two shifts *)
Lemma laplace_moment l a b s : 0 < l -> 0 < s ->
  is_integral_over_reals (fun x => Rpower (laplace_density l a x) (1 + s) * Rpower (laplace_density l b x) (- s))
    (exp (laplace_cumulant (Rabs (a - b) / l) s)).
Proof.
  intros Hl Hs.
  assert (i2l : 0 < / (2 * l)) by (apply Rinv_0_lt_compat; lra).
  assert (il : 0 < / l) by (apply Rinv_0_lt_compat; lra).
  assert (F : forall x, Rpower (laplace_density l a x) (1 + s) * Rpower (laplace_density l b x) (- s)
              = / (2 * l) * exp ((- (1 + s) * Rabs (x - a) + s * Rabs (x - b)) / l)).
  { intros x. unfold Rpower, laplace_density. rewrite !ln_mult, !ln_exp by (try apply exp_pos; easy).
    rewrite <- exp_plus.
    replace (/ (2 * l)) with (exp (ln (/ (2 * l)))) at 3 by (now apply exp_ln).
    rewrite <- exp_plus. f_equal. field. lra. }
  assert (G : exp (laplace_cumulant (Rabs (a - b) / l) s) =
    ((1 + s) * exp (s * (Rabs (a - b) / l)) + s * exp (- ((1 + s) * (Rabs (a - b) / l)))) / (1 + 2 * s)).
  { unfold laplace_cumulant. apply exp_ln. apply Rdiv_lt_0_compat; [|lra].
    assert (h := exp_pos (s * (Rabs (a - b) / l))). assert (h' := exp_pos (- ((1 + s) * (Rabs (a - b) / l)))). nra. }
  rewrite G. clear G.
  destruct (Rle_or_lt a b) as [ab|ab].
  - rewrite (Rabs_left1 (a - b)) by lra.
    assert (h := is_integral_exponentials
      (fun x => Rpower (laplace_density l a x) (1 + s) * Rpower (laplace_density l b x) (- s))
      (/ (2 * l) * exp ((- (1 + s) * a + s * b) / l))
      (/ (2 * l) * exp (((1 + s) * a + s * b) / l))
      (/ (2 * l) * exp (((1 + s) * a - s * b) / l))
      (/ l) (- ((1 + 2 * s) / l)) a b).
    match type of h with _ -> _ -> _ -> _ -> _ -> _ -> is_integral_over_reals _ ?v => replace v with
      (((1 + s) * exp (s * (- (a - b) / l)) + s * exp (- ((1 + s) * (- (a - b) / l)))) / (1 + 2 * s)) in h end.
    + apply h; try lra.
      * apply Rlt_not_eq. apply Ropp_lt_gt_0_contravar. apply Rdiv_lt_0_compat; lra.
      * intros x Hx. rewrite F, Rmult_assoc, <- exp_plus. do 2 f_equal.
        rewrite !Rabs_left1 by lra. field. lra.
      * intros x Hx. rewrite F, Rmult_assoc, <- exp_plus. do 2 f_equal.
        rewrite Rabs_pos_eq, Rabs_left1 by lra. field. lra.
      * intros x Hx. rewrite F, Rmult_assoc, <- exp_plus. do 2 f_equal.
        rewrite !Rabs_pos_eq by lra. field. lra.
    + rewrite Rmult_minus_distr_l, !Rmult_assoc, <- !exp_plus.
      match goal with |- _ = / (2 * l) * exp ?u / _ + _ + / (2 * l) * exp ?v / _ =>
        replace u with (s * (- (a - b) / l)) by (field; lra); replace v with (- ((1 + s) * (- (a - b) / l)))
          by (field; lra) end.
      match goal with |- context [/ (2 * l) * exp ?u - / (2 * l) * exp ?v] =>
        replace u with (- ((1 + s) * (- (a - b) / l))) by (field; lra); replace v with (s * (- (a - b) / l))
          by (field; lra) end.
      field. lra.
  - rewrite (Rabs_pos_eq (a - b)) by lra.
    assert (h := is_integral_exponentials
      (fun x => Rpower (laplace_density l a x) (1 + s) * Rpower (laplace_density l b x) (- s))
      (/ (2 * l) * exp ((- (1 + s) * a + s * b) / l))
      (/ (2 * l) * exp ((- (1 + s) * a - s * b) / l))
      (/ (2 * l) * exp (((1 + s) * a - s * b) / l))
      (/ l) ((1 + 2 * s) / l) b a).
    match type of h with _ -> _ -> _ -> _ -> _ -> _ -> is_integral_over_reals _ ?v => replace v with
      (((1 + s) * exp (s * ((a - b) / l)) + s * exp (- ((1 + s) * ((a - b) / l)))) / (1 + 2 * s)) in h end.
    + apply h; try lra.
      * apply Rgt_not_eq. apply Rdiv_lt_0_compat; lra.
      * intros x Hx. rewrite F, Rmult_assoc, <- exp_plus. do 2 f_equal.
        rewrite !Rabs_left1 by lra. field. lra.
      * intros x Hx. rewrite F, Rmult_assoc, <- exp_plus. do 2 f_equal.
        rewrite Rabs_left1, Rabs_pos_eq by lra. field. lra.
      * intros x Hx. rewrite F, Rmult_assoc, <- exp_plus. do 2 f_equal.
        rewrite !Rabs_pos_eq by lra. field. lra.
    + rewrite Rmult_minus_distr_l, !Rmult_assoc, <- !exp_plus.
      match goal with |- _ = / (2 * l) * exp ?u / _ + _ + / (2 * l) * exp ?v / _ =>
        replace u with (- ((1 + s) * ((a - b) / l))) by (field; lra); replace v with (s * ((a - b) / l))
          by (field; lra) end.
      match goal with |- context [/ (2 * l) * exp ?u - / (2 * l) * exp ?v] =>
        replace u with (s * ((a - b) / l)) by (field; lra); replace v with (- ((1 + s) * ((a - b) / l)))
          by (field; lra) end.
      field. lra.
Qed.

(** The integral of p log(p/q) *)
Lemma laplace_KL_integral l a b : 0 < l ->
  is_integral_over_reals (fun x => laplace_density l a x * ln (laplace_density l a x / laplace_density l b x))
    (laplace_rho (Rabs (a - b) / l)).
Proof.
  intros Hl.
  assert (i2l : 0 < / (2 * l)) by (apply Rinv_0_lt_compat; lra).
  assert (il : 0 < / l) by (apply Rinv_0_lt_compat; lra).
  assert (F : forall x, laplace_density l a x * ln (laplace_density l a x / laplace_density l b x)
              = / (2 * l) * exp (- Rabs (x - a) / l) * ((Rabs (x - b) - Rabs (x - a)) / l)).
  { intros x. rewrite ln_div by now apply laplace_pos. unfold laplace_density.
    rewrite !ln_mult, !ln_exp by (try apply exp_pos; easy). field. lra. }
  destruct (Rle_or_lt a b) as [ab|ab].
  - rewrite (Rabs_left1 (a - b)) by lra.
    assert (h := is_integral_pieces (fun x => laplace_density l a x
      * ln (laplace_density l a x / laplace_density l b x))
      (/ (2 * l) * exp (- a / l) * ((b - a) / l))
      (/ (2 * l) * exp (a / l) * ((a + b) / l)) (- (/ (2 * l) * exp (a / l) * (2 / l)))
      (- (/ (2 * l) * exp (a / l) * ((b - a) / l))) (/ l) (- / l) a b).
    match type of h with _ -> _ -> _ -> _ -> _ -> _ -> is_integral_over_reals _ ?v =>
      replace v with (laplace_rho (- (a - b) / l)) in h end.
    + apply h; try lra.
      * intros x Hx. rewrite F, !Rabs_left1 by lra.
        replace (- - (x - a) / l) with (- a / l + / l * x) by (field; lra). rewrite exp_plus. field. lra.
      * intros x Hx. rewrite F, (Rabs_pos_eq (x - a)), (Rabs_left1 (x - b)) by lra.
        replace (- (x - a) / l) with (a / l + - / l * x) by (field; lra). rewrite exp_plus. field. lra.
      * intros x Hx. rewrite F, !Rabs_pos_eq by lra.
        replace (- (x - a) / l) with (a / l + - / l * x) by (field; lra). rewrite exp_plus. field. lra.
    + unfold laplace_rho. replace (- (- (a - b) / l)) with (- b / l + a / l) by (field; lra).
      replace (/ l * a) with (a / l) by (field; lra). replace (- / l * a) with (- (a / l)) by (field; lra).
      replace (- / l * b) with (- b / l) by (field; lra). replace (- a / l) with (- (a / l)) by (field; lra).
      rewrite exp_plus, exp_Ropp. assert (e := exp_pos (a / l)). field. lra.
  - rewrite (Rabs_pos_eq (a - b)) by lra.
    assert (h := is_integral_pieces (fun x => laplace_density l a x
      * ln (laplace_density l a x / laplace_density l b x))
      (- (/ (2 * l) * exp (- a / l) * ((a - b) / l)))
      (- (/ (2 * l) * exp (- a / l) * ((a + b) / l))) (/ (2 * l) * exp (- a / l) * (2 / l))
      (/ (2 * l) * exp (a / l) * ((a - b) / l)) (/ l) (/ l) b a).
    match type of h with _ -> _ -> _ -> _ -> _ -> _ -> is_integral_over_reals _ ?v =>
      replace v with (laplace_rho ((a - b) / l)) in h end.
    + apply h; try lra.
      * intros x Hx. rewrite F, !Rabs_left1 by lra.
        replace (- - (x - a) / l) with (- a / l + / l * x) by (field; lra). rewrite exp_plus. field. lra.
      * intros x Hx. rewrite F, (Rabs_left1 (x - a)), (Rabs_pos_eq (x - b)) by lra.
        replace (- - (x - a) / l) with (- a / l + / l * x) by (field; lra). rewrite exp_plus. field. lra.
      * intros x Hx. rewrite F, !Rabs_pos_eq by lra.
        replace (- (x - a) / l) with (a / l + - / l * x) by (field; lra). rewrite exp_plus. field. lra.
    + unfold laplace_rho. replace (- ((a - b) / l)) with (b / l + - (a / l)) by (field; lra).
      replace (/ l * a) with (a / l) by (field; lra). replace (- / l * a) with (- (a / l)) by (field; lra).
      replace (/ l * b) with (b / l) by (field; lra). replace (- a / l) with (- (a / l)) by (field; lra).
      rewrite exp_plus, exp_Ropp. assert (e := exp_pos (a / l)). field. lra.
Qed.

(** * The theorems *)
Section Mechanism.
Context {X : Type} (neighbours : X -> X -> Prop) (g : X -> R) (Delta epsilon : R).
Hypothesis HD : 0 < Delta.
Hypothesis He : 0 < epsilon.

Let scale_pos : 0 < Delta / epsilon.
Proof. now apply Rdiv_lt_0_compat. Qed.

Lemma laplace_pair x x' :
  is_cumulant reals (laplace g Delta epsilon x) (laplace g Delta epsilon x')
    (laplace_cumulant (Rabs (g x - g x') / (Delta / epsilon))).
Proof. intros s Hs. now apply laplace_moment. Qed.

Lemma laplace_shift x x' :
  Rabs (g x - g x') <= Delta -> 0 <= Rabs (g x - g x') / (Delta / epsilon) <= epsilon.
Proof.
  intros H. split.
  - apply Rmult_le_pos; [apply Rabs_pos|left; now apply Rinv_0_lt_compat].
  - apply Rle_div_l; [easy|]. replace (epsilon * (Delta / epsilon)) with Delta by (field; lra). easy.
Qed.

Lemma laplace_zCDP_of_bound :
  (forall x x', neighbours x x' -> Rabs (g x - g x') <= Delta) ->
  zCDP reals neighbours (laplace g Delta epsilon) (laplace_rho epsilon).
Proof.
  intros Hg. apply zCDP_of_cumulant. intros x x' N. eexists. split; [apply laplace_pair|].
  intros s Hs. assert (w := laplace_shift x x' (Hg x x' N)).
  eapply Rle_trans; [now apply laplace_cumulant_le|].
  apply Rmult_le_compat_r; [nra|]. now apply laplace_rho_mono.
Qed.

Lemma sensitivity_bound : sensitivity neighbours g Delta -> forall x x', neighbours x x' -> Rabs (g x - g x') <= Delta.
Proof. intros [U _] x x' N. apply U. now exists x, x'. Qed.
End Mechanism.

Theorem laplace_mechanism {X} (g : X -> R) (Delta epsilon : R) :
  0 < Delta -> 0 < epsilon -> mechanism reals (laplace g Delta epsilon).
Proof. intros HD He. intros x. apply laplace_is_density. now apply Rdiv_lt_0_compat. Qed.

Theorem laplace_DP {X} (neighbours : X -> X -> Prop) (g : X -> R) (Delta epsilon : R) :
  0 < Delta -> 0 < epsilon -> sensitivity neighbours g Delta ->
  pure_DP reals neighbours (laplace g Delta epsilon) epsilon.
Proof.
  intros HD He Hg x x' N y _. apply sensitivity_bound with (x := x) (x' := x') in Hg; [|easy].
  unfold laplace, laplace_density.
  assert (l0 : 0 < Delta / epsilon) by (now apply Rdiv_lt_0_compat).
  replace (exp epsilon * (/ (2 * (Delta / epsilon)) * exp (- Rabs (y - g x') / (Delta / epsilon))))
    with (/ (2 * (Delta / epsilon)) * exp (epsilon + - Rabs (y - g x') / (Delta / epsilon)))
      by (rewrite exp_plus; ring).
  apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat; lra|]. apply exp_le.
  assert (t := Rabs_triang (y - g x) (g x - g x')).
  replace (y - g x + (g x - g x')) with (y - g x') in t by ring.
  apply Rmult_le_reg_r with (Delta / epsilon); [easy|].
  replace (- Rabs (y - g x) / (Delta / epsilon) * (Delta / epsilon)) with (- Rabs (y - g x)) by (field; lra).
  replace ((epsilon + - Rabs (y - g x') / (Delta / epsilon)) * (Delta / epsilon)) with (Delta - Rabs (y - g x'))
    by (field; lra). lra.
Qed.

(** Theorem 13 of the paper, [thm:zcdp-lap]. *)
Theorem laplace_tight {X} (neighbours : X -> X -> Prop) (g : X -> R) (Delta epsilon : R) :
  0 < Delta -> 0 < epsilon -> sensitivity neighbours g Delta ->
  tightly_zCDP reals neighbours (laplace g Delta epsilon) (epsilon + exp (- epsilon) - 1).
Proof.
  intros HD He Hg. fold (laplace_rho epsilon).
  split; [apply laplace_zCDP_of_bound; try easy; now apply sensitivity_bound|].
  intros r Z.
  replace epsilon with (Delta / (Delta / epsilon)) by (field; lra).
  apply (le_at_lub _ Delta (fun d => laplace_rho (d / (Delta / epsilon))) r Hg).
  - unfold laplace_rho. auto_derive. easy.
  - intros d [x [x' [N ->]]].
    apply (tight_of_cumulant reals neighbours _ _ r x x' _ N (laplace_pair g Delta epsilon HD He x x'));
      [apply laplace_cumulant_0|apply laplace_cumulant_derive|easy].
Qed.

(** The Renyi curve, which the paper quotes from Mironov. *)
Theorem laplace_RDP {X} (neighbours : X -> X -> Prop) (g : X -> R) (Delta epsilon alpha : R) :
  0 < Delta -> 0 < epsilon -> 1 < alpha -> sensitivity neighbours g Delta ->
  tightly_RDP reals neighbours (laplace g Delta epsilon) alpha
    (ln (alpha / (2 * alpha - 1) * exp ((alpha - 1) * epsilon) + (alpha - 1) / (2 * alpha - 1)
      * exp (- (alpha * epsilon)))
     / (alpha - 1)).
Proof.
  intros HD He Ha Hg.
  replace (ln _) with (laplace_cumulant epsilon (alpha - 1)).
  2:{ unfold laplace_cumulant. f_equal. replace (1 + (alpha - 1)) with alpha by ring. field. lra. }
  apply tightly_RDP_of_cumulant; [easy| |].
  - intros x x' N. eexists. split; [now apply laplace_pair|]. apply laplace_cumulant_mono; [lra|].
    apply laplace_shift; [easy..|]. now apply (sensitivity_bound neighbours).
  - intros k H. replace epsilon with (Delta / (Delta / epsilon)) by (field; lra).
    apply (le_at_lub _ Delta (fun d => laplace_cumulant (d / (Delta / epsilon)) (alpha - 1)) k Hg).
    + unfold laplace_cumulant. auto_derive. apply Rdiv_lt_0_compat; [|lra].
      match goal with |- 0 < _ * exp ?u + _ * exp ?v => assert (h := exp_pos u); assert (h' := exp_pos v) end. nra.
    + intros d [x [x' [N ->]]]. apply (H x x' _ N). now apply laplace_pair.
Qed.

(** The KL divergence of two neighbours at the full distance is rho. *)
Theorem laplace_KL {X} (g : X -> R) (Delta epsilon : R) (x x' : X) :
  0 < Delta -> 0 < epsilon -> Rabs (g x - g x') = Delta ->
  is_KL reals (laplace g Delta epsilon x) (laplace g Delta epsilon x') (epsilon + exp (- epsilon) - 1).
Proof.
  intros HD He E. assert (h := laplace_KL_integral (Delta / epsilon) (g x) (g x')). rewrite E in h.
  replace (Delta / (Delta / epsilon)) with epsilon in h by (field; lra).
  apply h. now apply Rdiv_lt_0_compat.
Qed.
