(** The three-point family: losses epsilon, 0 and -epsilon, one real number kappa >= 2 for each pair.

    K(s) = log((c + cosh x)/(c + cosh x0)) with x = epsilon (s + 1/2), x0 = epsilon/2 and c = (kappa - 2)/2
    e^(-epsilon/2). As a function of x^2 its slope is sinh x/(2x (c + cosh x)), which decreases where c <= R(x), the
    [curvature_ratio]. If that is so at x0, rho is the KL divergence. If not, the steepest secant touches at the only
    zero of [overshoot]. *)
Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Cumulant.
Local Open Scope R_scope.

(** * The curvature *)
(* sinh x cosh x - x >= 2 (x cosh x - sinh x): this is R(x) >= 2 *)
Lemma curvature_ratio_ge_2 x : 0 <= x -> 2 * (x * cosh x - sinh x) <= sinh x * cosh x - x.
Proof.
  intros H.
  from_derive (fun u => sinh u * cosh u - u - 2 * (u * cosh u - sinh u))
    (fun u => 2 * sinh u * (sinh u - u)) x; try lra.
  - rewrite sinh_0. ring.
  - intros u _. auto_derive; [easy|]. assert (h := cosh_sqr u). nra.
  - intros u Hu. assert (h := sinh_ge u). assert (0 <= sinh u) by lra. nra.
Qed.

Lemma curvature_ratio_key x : 0 < x -> 2 * (sinh x * sinh x) < x * sinh x * cosh x + x * x.
Proof.
  intros H.
  assert (k1 : forall u, 0 < u -> 0 < u * (3 + 2 * (sinh u * sinh u)) - 3 * sinh u * cosh u).
  { intros u Hu.
    assert (h : (fun u => u * (3 + 2 * (sinh u * sinh u)) - 3 * sinh u * cosh u) 0
      < (fun u => u * (3 + 2 * (sinh u * sinh u)) - 3 * sinh u * cosh u) u).
    { apply (lt_of_derive (fun u => u * (3 + 2 * (sinh u * sinh u)) - 3 * sinh u * cosh u)
        (fun u => 4 * sinh u * (u * cosh u - sinh u))); [easy| |].
      - intros v _. auto_derive; [easy|]. assert (c := cosh_sqr v).
        match goal with |- ?l = ?r => replace l with (r + 3 * (1 + sinh v * sinh v - cosh v * cosh v)) by ring end.
        rewrite c. ring.
      - intros v Hv. assert (q := sinh_pos v ltac:(lra)). assert (q' := sinh_lt_xcosh v ltac:(lra)). nra. }
    cbv beta in h. rewrite sinh_0 in h. lra. }
  assert (h : (fun u => u * sinh u * cosh u + u * u - 2 * (sinh u * sinh u)) 0
    < (fun u => u * sinh u * cosh u + u * u - 2 * (sinh u * sinh u)) x).
  { apply (lt_of_derive (fun u => u * sinh u * cosh u + u * u - 2 * (sinh u * sinh u))
      (fun u => u * (3 + 2 * (sinh u * sinh u)) - 3 * sinh u * cosh u)); [easy| |].
    - intros u _. auto_derive; [easy|]. assert (c := cosh_sqr u).
      match goal with |- ?l = ?r => replace l with (r + u * (cosh u * cosh u - 1 - sinh u * sinh u)) by ring end.
      rewrite c. ring.
    - intros u Hu. apply k1. lra. }
  cbv beta in h. rewrite sinh_0 in h. lra.
Qed.

Definition curvature_ratio (u : R) : R := (sinh u * cosh u - u) / (u * cosh u - sinh u).

Lemma curvature_ratio_increasing a b : 0 < a < b -> curvature_ratio a < curvature_ratio b.
Proof.
  intros H.
  apply (lt_of_derive curvature_ratio (fun u => sinh u * (u * sinh u * cosh u + u * u - 2 * (sinh u * sinh u))
    / ((u * cosh u - sinh u) * (u * cosh u - sinh u)))); [lra| |].
  - intros u Hu. unfold curvature_ratio. assert (q := sinh_lt_xcosh u ltac:(lra)). auto_derive; [lra|].
    assert (c := cosh_sqr u).
    replace (sinh u * (u * sinh u * cosh u + u * u - 2 * (sinh u * sinh u)))
      with ((cosh u * cosh u + sinh u * sinh u - 1) * (u * cosh u - sinh u) - u * sinh u * (sinh u * cosh u - u))
        by (rewrite c; ring).
    field. lra.
  - intros u Hu. assert (q := sinh_lt_xcosh u ltac:(lra)). assert (k := curvature_ratio_key u ltac:(lra)).
    assert (p := sinh_pos u ltac:(lra)).
    apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; lra|nra].
Qed.

Lemma curvature_ratio_le c u : 0 < u -> (c * (u * cosh u - sinh u) <= sinh u * cosh u - u <-> c <= curvature_ratio u).
Proof.
  intros H. assert (q := sinh_lt_xcosh u H). unfold curvature_ratio.
  apply (Rle_div_r c (sinh u * cosh u - u) (u * cosh u - sinh u)). lra.
Qed.

(** * Beyond: the steepest secant

    [rise u] is K at u = epsilon (s + 1/2), [slope u] twice its slope in u^2, [overshoot u] = tangent minus secant. *)
Definition slope (c u : R) : R := sinh u / (u * (c + cosh u)).
Definition slope_derivative (c u : R) : R :=
  (c * (u * cosh u - sinh u) - (sinh u * cosh u - u)) / ((u * (c + cosh u)) * (u * (c + cosh u))).
Definition rise (c x0 u : R) : R := ln (c + cosh u) - ln (c + cosh x0).
Definition overshoot (c x0 u : R) : R := (u * u - x0 * x0) / 2 * slope c u - rise c x0 u.

Section Peak.
Variables c x0 : R.
Hypothesis c0 : 0 <= c.
Hypothesis H0 : 0 < x0.
Hypothesis Hc : curvature_ratio x0 < c.

Let pos u : 0 < c + cosh u.
Proof. assert (h := cosh_pos u). lra. Qed.


Lemma slope_derive u : 0 < u -> is_derive (slope c) u (slope_derivative c u).
Proof.
  intros Hu. unfold slope, slope_derivative. specialize (pos u). auto_derive.
  - apply Rgt_not_eq. nra.
  - assert (h := cosh_sqr u).
    replace (sinh u * cosh u - u) with (cosh u * sinh u - u * (cosh u * cosh u - sinh u * sinh u)) by (rewrite h; ring).
    field. lra.
Qed.

Lemma rise_derive u : is_derive (rise c x0) u (sinh u / (c + cosh u)).
Proof. unfold rise. specialize (pos u). auto_derive; [lra|]. field. lra. Qed.

(* How far the curve is below a line in u^2 of slope k/2 *)
Lemma gap_derive k u : 0 < u -> is_derive (fun v => k / 2 * (v * v) - rise c x0 v) u (u * (k - slope c u)).
Proof.
  intros Hu. assert (d1 : is_derive (fun v => k / 2 * (v * v)) u (k * u)) by (auto_derive; [easy|field]).
  assert (d := is_derive_minus _ _ _ _ _ d1 (rise_derive u)).
  match type of d with is_derive _ _ ?w => replace w with (u * (k - slope c u)) in d end; [exact d|].
  unfold minus, plus, opp; simpl. unfold slope. specialize (pos u). field. lra.
Qed.

(* Where c <= R the curve, as a function of u^2, lies below its tangent at x0. *)
Lemma below_tangent x : x0 <= x ->
  (forall u, x0 <= u <= x -> c * (u * cosh u - sinh u) <= sinh u * cosh u - u) ->
  rise c x0 x <= slope c x0 / 2 * (x * x - x0 * x0).
Proof.
  intros Hx HR.
  assert (dec : forall u, x0 <= u <= x -> slope c u <= slope c x0).
  { intros u Hu. apply Ropp_le_cancel.
    apply (le_of_derive (fun v => - slope c v) (fun v => - slope_derivative c v)); [lra| |].
    - intros v Hv. apply (is_derive_opp (slope c)). apply slope_derive. lra.
    - intros v Hv. specialize (HR v ltac:(lra)). specialize (pos v). unfold slope_derivative. rewrite <- Ropp_div.
      apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat. assert (0 < v * (c + cosh v)) by nra. nra. }
  set (k := slope c x0) in *.
  assert (h : (fun u => k / 2 * (u * u) - rise c x0 u) x0 <= (fun u => k / 2 * (u * u) - rise c x0 u) x).
  { apply (le_of_derive (fun u => k / 2 * (u * u) - rise c x0 u) (fun u => u * (k - slope c u))); [lra| |].
    - intros u Hu. apply gap_derive. lra.
    - intros u Hu. apply Rmult_le_pos; [lra|]. specialize (dec u Hu). lra. }
  cbv beta in h. replace (rise c x0 x0) with 0 in h by (unfold rise; ring). lra.
Qed.

Lemma overshoot_derive u : 0 < u -> is_derive (overshoot c x0) u ((u * u - x0 * x0) / 2 * slope_derivative c u).
Proof.
  intros Hu. unfold overshoot.
  assert (d1 : is_derive (fun v => (v * v - x0 * x0) / 2) u u) by (auto_derive; [easy|field]).
  assert (d := is_derive_minus _ _ _ _ _ (is_derive_mult _ _ _ _ _ d1 (slope_derive u Hu) Rmult_comm) (rise_derive u)).
  eapply is_derive_ext; [|match type of d
    with is_derive _ _ ?v => replace ((u * u - x0 * x0) / 2 * slope_derivative c u) with v end; [exact d|]].
  - intros v. reflexivity.
  - unfold minus, plus, opp, mult; simpl. unfold slope. specialize (pos u). field. lra.
Qed.

Lemma slope_derivative_pos u : 0 < u -> curvature_ratio u < c -> 0 < slope_derivative c u.
Proof.
  intros Hu h. unfold slope_derivative. specialize (pos u). apply Rdiv_lt_0_compat.
  - assert (n : ~ c * (u * cosh u - sinh u) <= sinh u * cosh u - u) by (rewrite curvature_ratio_le by easy; lra). lra.
  - assert (0 < u * (c + cosh u)) by nra. nra.
Qed.

Lemma slope_derivative_neg u : 0 < u -> c < curvature_ratio u -> slope_derivative c u < 0.
Proof.
  intros Hu h. unfold slope_derivative. specialize (pos u).
  assert (q := sinh_lt_xcosh u Hu).
  assert (n : c * (u * cosh u - sinh u) < sinh u * cosh u - u).
  { unfold curvature_ratio in h. apply (Rlt_div_r c (sinh u * cosh u - u) (u * cosh u - sinh u)) in h; lra. }
  assert (0 < u * (c + cosh u)) by nra.
  apply Ropp_lt_cancel. rewrite Ropp_0.
  match goal with |- 0 < - (?a / ?b) => replace (- (a / b)) with ((- a) / b) by (field; nra) end.
  apply Rdiv_lt_0_compat; nra.
Qed.

(* the turning point of the curvature *)
Lemma turning : exists x1, x0 < x1 /\ curvature_ratio x1 = c.
Proof.
  pose (h := fun u => c * (u * cosh u - sinh u) - (sinh u * cosh u - u)).
  set (B := x0 + 2 * c + 2).
  assert (B2 : 2 < B) by (unfold B; lra). assert (B0 : 0 < B) by lra.
  assert (Sq : 1 + B <= exp B) by apply exp_ineq1_le.
  assert (hx0 : 0 < h x0).
  { unfold h. assert (n : ~ c * (x0 * cosh x0 - sinh x0) <= sinh x0 * cosh x0 - x0)
      by (rewrite curvature_ratio_le by easy; lra). lra. }
  assert (hB : h B < 0).
  { unfold h.
    assert (s1 : c * B + B / 2 < sinh B).
    { assert (q : 0 <= (fun u => sinh u - u * u / 2) B).
      { apply (nonneg_of_derive (fun u => sinh u - u * u / 2) (fun u => cosh u - u)); cbv beta;
          [lra|rewrite sinh_0; field| |].
        - intros u _. auto_derive; [easy|]. field.
        - intros u Hu. assert (w : 0 <= (fun v => cosh v - v) u).
          { destruct (Rle_or_lt u 1) as [W|W]; [assert (z := cosh_ge_1 u); lra|].
            assert (z := sinh_ge u ltac:(lra)). assert (y := cosh_sqr u). assert (yy := cosh_pos u). nra. }
          exact w. }
      cbv beta in q. unfold B in *. nra. }
    assert (C1 := cosh_ge_1 B). assert (C2 := cosh_sqr B). assert (S2 := sinh_gt B B0).
    assert (c * (B * cosh B - sinh B) <= c * B * cosh B) by nra.
    assert ((c * B + B / 2) * cosh B < sinh B * cosh B) by (apply Rmult_lt_compat_r; lra).
    assert (c1 : 2 <= cosh B) by nra. nra. }
  destruct (IVT_gen h x0 B 0) as [x1 [R1 E1]].
  - intros u. apply continuity_pt_filterlim. apply (ex_derive_continuous h u). unfold h. auto_derive. easy.
  - rewrite Rmin_right, Rmax_left by lra. lra.
  - exists x1. rewrite Rmin_left, Rmax_right in R1 by (unfold B; lra).
    assert (D : x0 < x1). { destruct R1 as [[R1|R1] _]; [easy|]. subst x1. lra. }
    split; [easy|]. assert (q := sinh_lt_xcosh x1 ltac:(lra)). unfold h in E1. unfold curvature_ratio.
    apply Rmult_eq_reg_r with (x1 * cosh x1 - sinh x1); [|lra]. field_simplify; lra.
Qed.

Lemma overshoot_0 : overshoot c x0 x0 = 0.
Proof. unfold overshoot, rise. field. Qed.

Lemma overshoot_large : exists B, x0 < B /\ forall u, B <= u -> overshoot c x0 u < 0.
Proof.
  exists (x0 + 2 * (ln 2 + Rabs (ln (c + cosh x0))) + 1).
  assert (a := Rle_abs (ln (c + cosh x0))). assert (ap := Rabs_pos (ln (c + cosh x0))).
  assert (l2 : 0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  split; [lra|]. intros u Hu. unfold overshoot, rise.
  assert (pu := pos u).
  assert (g1 : (u * u - x0 * x0) / 2 * slope c u <= u / 2).
  { unfold slope. assert (sc : sinh u <= c + cosh u). { unfold sinh, cosh. assert (z := exp_pos (- u)). lra. }
    assert (sp := sinh_pos u ltac:(lra)).
    apply Rle_trans with (u * u / 2 * (sinh u / (u * (c + cosh u)))).
    - apply Rmult_le_compat_r; [apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; nra]|nra].
    - replace (u * u / 2 * (sinh u / (u * (c + cosh u)))) with (u / 2 * (sinh u / (c + cosh u))) by (field; lra).
      assert (sinh u / (c + cosh u) <= 1) by (apply Rle_div_l; lra).
      rewrite <- (Rmult_1_r (u / 2)) at 2. apply Rmult_le_compat_l; lra. }
  assert (g2 : u - ln 2 <= ln (c + cosh u)).
  { rewrite <- (ln_exp u) at 1. rewrite <- ln_div by (try apply exp_pos; lra).
    apply Rcomplements.ln_le; [apply Rdiv_lt_0_compat; [apply exp_pos|lra]|]. unfold cosh. assert (z := exp_pos (- u)).
    lra. }
  lra.
Qed.

Lemma peak : exists x, x0 < x /\ overshoot c x0 x = 0 /\ (forall u, x0 < u < x -> 0 < overshoot c x0 u)
  /\ (forall u, x < u -> overshoot c x0 u < 0).
Proof.
  destruct turning as [x1 [D1 E1]]. destruct overshoot_large as [B [DB HB]].
  assert (up : forall a b, x0 <= a -> a < b -> b <= x1 -> overshoot c x0 a < overshoot c x0 b).
  { intros a b Ha Hab Hb. apply (lt_of_derive (overshoot c x0) (fun u => (u * u - x0 * x0) / 2 * slope_derivative c u));
      [easy| |].
    - intros u Hu. apply overshoot_derive. lra.
    - intros u Hu. apply Rmult_lt_0_compat; [nra|]. apply slope_derivative_pos; [lra|]. rewrite <- E1.
      apply curvature_ratio_increasing. lra. }
  assert (down : forall a b, x1 <= a -> a < b -> overshoot c x0 b < overshoot c x0 a).
  { intros a b Ha Hab. apply Ropp_lt_cancel.
    apply (lt_of_derive (fun u => - overshoot c x0 u) (fun u => - ((u * u - x0 * x0) / 2 * slope_derivative c u)));
      [easy| |].
    - intros u Hu. apply (is_derive_opp (overshoot c x0) u). apply overshoot_derive. lra.
    - intros u Hu. assert (d : slope_derivative c u < 0)
        by (apply slope_derivative_neg; [lra|]; rewrite <- E1; apply curvature_ratio_increasing; lra).
      assert (0 < (u * u - x0 * x0) / 2) by nra. nra. }
  assert (N1 : 0 < overshoot c x0 x1) by (rewrite <- overshoot_0; apply up; lra).
  set (b := Rmax B (x1 + 1)). assert (bB : B <= b) by apply Rmax_l. assert (b1 : x1 + 1 <= b) by apply Rmax_r.
  assert (Nb := HB b bB).
  pose (h := fun u => (u * u - x0 * x0) / 2 * (sinh u / (c + cosh u)) - u * rise c x0 u).
  assert (hN : forall u, 0 < u -> h u = u * overshoot c x0 u).
  { intros u Hu. unfold h, overshoot, slope. specialize (pos u). field. lra. }
  destruct (IVT_gen h x1 b 0) as [x [Rx Ex]].
  - intros u. apply continuity_pt_filterlim. apply (ex_derive_continuous h u). unfold h, rise. specialize (pos u).
    auto_derive. repeat split; lra.
  - rewrite !hN by lra. rewrite Rmin_right, Rmax_left by nra. nra.
  - rewrite Rmin_left, Rmax_right in Rx by lra. exists x.
    assert (Ex' : overshoot c x0 x = 0). { rewrite hN in Ex by lra. nra. }
    assert (x1x : x1 < x). { destruct Rx as [[Rx|Rx] _]; [easy|]. subst x. lra. }
    split; [lra|]. split; [easy|]. split.
    + intros u Hu. destruct (Rle_or_lt u x1) as [L|L].
      * rewrite <- overshoot_0. apply up; lra.
      * rewrite <- Ex'. apply down; lra.
    + intros u Hu. rewrite <- Ex'. apply down; lra.
Qed.

(* the secant slope is largest at the peak *)
Lemma secant x u : x0 < x -> overshoot c x0 x = 0 -> (forall u, x0 < u < x -> 0 < overshoot c x0 u) ->
  (forall u, x < u -> overshoot c x0 u < 0) ->
  x0 < u -> rise c x0 u <= slope c x / 2 * (u * u - x0 * x0).
Proof.
  intros Hx Ex Hl Hr Hu.
  pose (sec := fun u => rise c x0 u / (u * u - x0 * x0)).
  assert (D : forall v, x0 < v -> is_derive sec v (2 * v * overshoot c x0 v / ((v * v - x0 * x0) * (v * v - x0 * x0)))).
  { intros v Hv. unfold sec. assert (q : 0 < v * v - x0 * x0) by nra.
    assert (d1 : is_derive (fun v => v * v - x0 * x0) v (2 * v)) by (auto_derive; [easy|ring]).
    assert (d := is_derive_div _ _ _ _ _ (rise_derive v) d1 ltac:(lra)). cbv beta in d.
    match type of d with is_derive _ _ ?w => replace w
      with (2 * v * overshoot c x0 v / ((v * v - x0 * x0) * (v * v - x0 * x0))) in d end; [exact d|].
    unfold overshoot, slope. specialize (pos v). field. repeat split; lra. }
  assert (S : sec u <= sec x).
  { destruct (Rle_or_lt u x) as [L|L].
    - apply (le_of_derive sec (fun v => 2 * v * overshoot c x0 v / ((v * v - x0 * x0) * (v * v - x0 * x0)))); [easy| |].
      + intros v Hv. apply D. lra.
      + intros v Hv. assert (q : 0 < v * v - x0 * x0) by nra.
        apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; nra].
        assert (0 <= overshoot c x0 v). { destruct (Req_dec v x) as [->|E]; [lra|]. left. apply Hl. lra. } nra.
    - apply Ropp_le_cancel.
      apply (le_of_derive (fun v => - sec v)
        (fun v => - (2 * v * overshoot c x0 v / ((v * v - x0 * x0) * (v * v - x0 * x0))))); [lra| |].
      + intros v Hv. apply (is_derive_opp sec v). apply D. lra.
      + intros v Hv. assert (q : 0 < v * v - x0 * x0) by nra.
        assert (overshoot c x0 v <= 0). { destruct (Req_dec v x) as [->|E]; [lra|]. left. apply Hr. lra. }
        rewrite <- Ropp_div. apply Rmult_le_pos; [nra|left; apply Rinv_0_lt_compat; nra]. }
  assert (E : sec x = slope c x / 2).
  { unfold sec. unfold overshoot in Ex. assert (q : 0 < x * x - x0 * x0) by nra.
    apply Rmult_eq_reg_r with (x * x - x0 * x0); [|lra]. field_simplify; lra. }
  rewrite E in S. unfold sec in S. assert (q : 0 < u * u - x0 * x0) by nra.
  apply (Rle_div_l (rise c x0 u) (slope c x / 2) (u * u - x0 * x0)) in S; [easy|]. lra.
Qed.
End Peak.


(** * The cumulant of the pair *)
Definition three_point_cumulant (k e s : R) : R := ln ((exp ((1 + s) * e) + exp (- (s * e)) + k - 2) / (exp e + k - 1)).
Definition three_point_rho (k e : R) : R := e * (exp e - 1) / (exp e - 1 + k).

Lemma three_point_cumulant_cosh k e s : 2 <= k ->
  three_point_cumulant k e s
    = ln ((k - 2) / 2 * exp (- (e / 2)) + cosh (e * (s + / 2))) - ln ((k - 2) / 2 * exp (- (e / 2)) + cosh (e / 2)).
Proof.
  intros Hk. unfold three_point_cumulant.
  assert (p1 := exp_pos ((1 + s) * e)). assert (p2 := exp_pos (- (s * e))). assert (p3 := exp_pos e).
  assert (p4 := exp_pos (- (e / 2))).
  rewrite <- ln_div.
  - f_equal. unfold cosh.
    replace (exp (e * (s + / 2))) with (exp ((1 + s) * e) * exp (- (e / 2))) by (rewrite <- exp_plus; f_equal; field).
    replace (exp (- (e * (s + / 2)))) with (exp (- (s * e)) * exp (- (e / 2))) by (rewrite <- exp_plus; f_equal; field).
    replace (exp (e / 2)) with (exp e * exp (- (e / 2))) by (rewrite <- exp_plus; f_equal; field).
    field. split; nra.
  - assert (h := cosh_pos (e * (s + / 2))). nra.
  - assert (h := cosh_pos (e / 2)). nra.
Qed.

Lemma three_point_cumulant_0 k e : 2 <= k -> three_point_cumulant k e 0 = 0.
Proof.
  intros H. unfold three_point_cumulant. rewrite Rplus_0_r, Rmult_1_l, Rmult_0_l, Ropp_0, exp_0.
  assert (p := exp_pos e).
  replace ((exp e + 1 + k - 2) / (exp e + k - 1)) with 1 by (field; lra). apply ln_1.
Qed.

Lemma three_point_cumulant_derive k e : 2 <= k -> is_derive (three_point_cumulant k e) 0 (three_point_rho k e).
Proof.
  intros H. unfold three_point_cumulant, three_point_rho. assert (p := exp_pos e). auto_derive.
  - rewrite Rplus_0_r, Rmult_1_l, Rmult_0_l, Ropp_0, exp_0. apply Rmult_lt_0_compat; [lra|]. apply Rinv_0_lt_compat.
    lra.
  - rewrite Rplus_0_r, !Rmult_1_l, Rmult_0_l, Ropp_0, exp_0. field. lra.
Qed.

Lemma three_point_rho_2 e : three_point_rho 2 e = e * tanh (e / 2).
Proof.
  unfold three_point_rho, tanh, sinh, cosh.
  replace (exp (- (e / 2))) with (/ exp (e / 2)) by (now rewrite exp_Ropp).
  replace (exp e) with (exp (e / 2) * exp (e / 2)) by (rewrite <- exp_plus; f_equal; field).
  assert (p := exp_pos (e / 2)). field. repeat split; nra.
Qed.

Definition three_point_c (k e : R) : R := (k - 2) / 2 * exp (- (e / 2)).

(** The paper's k*(epsilon): the last kappa for which KL is rho. *)
Definition k_star (epsilon : R) : R :=
  2 * (exp epsilon - 1) * (exp epsilon - 1 - epsilon) / (epsilon * (exp epsilon + 1) - 2 * exp epsilon + 2).

Lemma k_star_denominator e : 0 < e -> 0 < e * (exp e + 1) - 2 * exp e + 2.
Proof.
  intros H. assert (h := sinh_lt_xcosh (e / 2) ltac:(lra)). unfold sinh, cosh in h. rewrite exp_Ropp in h.
  assert (p := exp_pos (e / 2)). rewrite (exp_half e). set (a := exp (e / 2)) in *.
  apply Rmult_lt_compat_r with (r := 4 * a) in h; [|lra]. field_simplify in h; [|lra..]. lra.
Qed.

Lemma k_star_iff k e : 0 < e -> (three_point_c k e <= curvature_ratio (e / 2) <-> k <= k_star e).
Proof.
  intros H. unfold k_star. assert (d := k_star_denominator e H).
  rewrite <- (Rle_div_r k _ _ d), <- curvature_ratio_le by lra. clear d. unfold three_point_c, sinh, cosh.
  rewrite exp_Ropp. assert (p := exp_pos (e / 2)). rewrite (exp_half e). set (a := exp (e / 2)) in *.
  split; intros h.
  - apply Rmult_le_compat_r with (r := 8 * a * a) in h; [|nra]. field_simplify in h; [|lra..]. lra.
  - apply Rmult_le_reg_r with (8 * a * a); [nra|]. field_simplify; [|lra..]. lra.
Qed.

(* Up to c = 2, and so for kappa <= 6, KL is rho at every epsilon. *)
Lemma k_star_of_c_le_2 k e : 0 < e -> three_point_c k e <= 2 -> k <= k_star e.
Proof.
  intros H Hc. apply k_star_iff; [easy|]. apply Rle_trans with 2; [easy|].
  apply curvature_ratio_le; [lra|]. apply curvature_ratio_ge_2. lra.
Qed.

Lemma k_star_ge_6 k e : 0 < e -> 2 <= k <= 6 -> k <= k_star e.
Proof.
  intros H Hk. apply k_star_of_c_le_2; [easy|]. unfold three_point_c.
  assert (p := exp_pos (- (e / 2))). assert (exp (- (e / 2)) <= 1) by (rewrite <- exp_0; apply exp_le; lra). nra.
Qed.

Lemma three_point_c_nonneg k e : 2 <= k -> 0 <= three_point_c k e.
Proof. intros H. unfold three_point_c. assert (q := exp_pos (- (e / 2))). nra. Qed.

(* KL in terms of the slope at x0 *)
Lemma three_point_rho_slope k e : 2 <= k -> 0 < e ->
  three_point_rho k e = e * e * (slope (three_point_c k e) (e / 2) / 2).
Proof.
  intros Hk H. unfold slope, three_point_c, three_point_rho, sinh, cosh. rewrite exp_Ropp, (exp_half e).
  assert (q := exp_ge_1 (e / 2)). field. repeat split; nra.
Qed.

Lemma three_point_cumulant_rise k e s : 2 <= k ->
  three_point_cumulant k e s = rise (three_point_c k e) (e / 2) (e * (s + / 2)).
Proof. intros H. now rewrite three_point_cumulant_cosh. Qed.

Lemma three_point_cumulant_le k e s : 2 <= k -> k <= k_star e -> 0 < e -> 0 < s ->
  three_point_cumulant k e s <= three_point_rho k e * (s * (1 + s)).
Proof.
  intros Hk HS He Hs. apply k_star_iff in HS; [|easy]. rewrite three_point_cumulant_rise, three_point_rho_slope by easy.
  assert (c0 := three_point_c_nonneg k e Hk). set (c := three_point_c k e) in *.
  eapply Rle_trans; [apply (below_tangent c (e / 2) c0); try lra; try nra|].
  - intros u Hu. apply curvature_ratio_le; [lra|]. destruct (Req_dec u (e / 2)) as [->|D]; [easy|].
    assert (i := curvature_ratio_increasing (e / 2) u). lra.
  - right. field.
Qed.

(* A larger kappa is better. *)
Lemma three_point_cumulant_decreasing k k' e s : 2 <= k <= k' -> 0 < e -> 0 < s ->
  three_point_cumulant k' e s <= three_point_cumulant k e s.
Proof.
  intros Hk He Hs. unfold three_point_cumulant. set (a := exp ((1 + s) * e) + exp (- (s * e))).
  assert (p := exp_gt_1 e He).
  assert (a1 : exp e + 1 <= a).
  { unfold a. replace ((1 + s) * e) with (e + s * e) by ring. rewrite exp_plus, (exp_Ropp (s * e)).
    assert (f1 := exp_ge_1 (s * e) ltac:(nra)). set (f := exp (s * e)) in *.
    assert (i : 0 < / f <= 1) by (split; [apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_le_contravar; lra]).
    assert (f * / f = 1) by (field; lra). nra. }
  apply Rcomplements.ln_le; [apply Rdiv_lt_0_compat; lra|].
  apply Rle_div_l; [lra|].
  replace ((a + k - 2) / (exp e + k - 1) * (exp e + k' - 1)) with ((a + k - 2) * (exp e + k' - 1) / (exp e + k - 1))
    by (field; lra).
  apply (proj1 (Rle_div_r (a + k' - 2) ((a + k - 2) * (exp e + k' - 1)) (exp e + k - 1) ltac:(lra))). nra.
Qed.

(** * Every mechanism whose pairs are all of this kind *)
Section Family.
Context {X Y : Type} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (kappa epsilon : R).
Hypothesis Hk : 2 <= kappa.
Hypothesis He : 0 < epsilon.
Hypothesis pairs : forall x x', neighbours x x' -> is_cumulant mu (M x) (M x') (three_point_cumulant kappa epsilon).
Hypothesis some : exists x x', neighbours x x'.

Lemma three_point_tight : kappa <= k_star epsilon -> tightly_zCDP mu neighbours M (three_point_rho kappa epsilon).
Proof.
  intros HS. split.
  - apply zCDP_of_cumulant. intros x x' N. eexists. split; [now apply pairs|]. intros s Hs.
    now apply three_point_cumulant_le.
  - intros r Z. destruct some as [x [x' N]].
    apply (tight_of_cumulant mu neighbours M _ r x x' _ N (pairs x x' N)); [| |easy].
    + now apply three_point_cumulant_0.
    + now apply three_point_cumulant_derive.
Qed.

Let c := three_point_c kappa epsilon.
Let c0 : 0 <= c := three_point_c_nonneg kappa epsilon Hk.
Let x0_pos : 0 < epsilon / 2.
Proof. lra. Qed.
Let beyond : k_star epsilon < kappa -> curvature_ratio (epsilon / 2) < c.
Proof. intros H. apply Rnot_le_lt. intros L. apply k_star_iff in L; [|easy]. lra. Qed.

(* What r-zCDP says at the order x/epsilon + 1/2 *)
Let rise_of_zCDP r x : zCDP mu neighbours M r -> epsilon / 2 < x ->
  epsilon * epsilon * rise c (epsilon / 2) x <= r * (x * x - epsilon / 2 * (epsilon / 2)).
Proof.
  intros Z Hx. destruct some as [y [y' N]].
  set (s := x / epsilon - / 2).
  assert (s0 : 0 < s). { unfold s. assert (/ 2 < x / epsilon); [|lra]. apply Rlt_div_r; lra. }
  assert (h := cumulant_of_zCDP mu neighbours M r y y' _ s N (pairs y y' N) Z s0).
  rewrite three_point_cumulant_rise in h by easy. fold c in h.
  replace (epsilon * (s + / 2)) with x in h by (unfold s; field; lra).
  apply Rmult_le_compat_l with (r := epsilon * epsilon) in h; [|nra].
  replace (r * (x * x - epsilon / 2 * (epsilon / 2))) with (epsilon * epsilon * (r * (s * (1 + s))))
    by (unfold s; field; lra).
  easy.
Qed.

Lemma three_point_tight_beyond : k_star epsilon < kappa ->
  exists x, epsilon / 2 < x /\ overshoot c (epsilon / 2) x = 0 /\
    (forall u, epsilon / 2 < u -> overshoot c (epsilon / 2) u = 0 -> u = x) /\
    tightly_zCDP mu neighbours M (epsilon * epsilon * (sinh x / (2 * x * (c + cosh x)))).
Proof.
  intros HS. destruct (peak c (epsilon / 2) c0 x0_pos (beyond HS)) as [x [Hx [Ex [Hl Hr]]]].
  exists x. split; [easy|]. split; [easy|]. split.
  { intros u Hu Eu. destruct (Rtotal_order u x) as [L|[E|L]]; [|easy|].
    - specialize (Hl u). lra.
    - specialize (Hr u). lra. }
  assert (cp : 0 < c + cosh x) by (assert (h := cosh_pos x); lra).
  replace (epsilon * epsilon * (sinh x / (2 * x * (c + cosh x)))) with (epsilon * epsilon * (slope c x / 2))
    by (unfold slope; field; lra).
  split.
  - apply zCDP_of_cumulant. intros y y' N. eexists. split; [now apply pairs|].
    intros s Hs. rewrite three_point_cumulant_rise by easy. fold c.
    eapply Rle_trans; [apply (secant c (epsilon / 2) c0 x0_pos x); try easy; nra|]. right. field.
  - intros r Z. assert (B := rise_of_zCDP r x Z Hx).
    assert (E : rise c (epsilon / 2) x = slope c x / 2 * (x * x - epsilon / 2 * (epsilon / 2)))
      by (unfold overshoot in Ex; lra).
    rewrite E in B. apply Rmult_le_reg_r with (x * x - epsilon / 2 * (epsilon / 2)); [nra|]. lra.
Qed.

Lemma three_point_not_KL : k_star epsilon < kappa -> ~ zCDP mu neighbours M (three_point_rho kappa epsilon).
Proof.
  intros HS Z. destruct (turning c (epsilon / 2) c0 x0_pos (beyond HS)) as [x1 [D1 E1]].
  assert (G : forall u, epsilon / 2 < u < x1 -> slope c (epsilon / 2) < slope c u).
  { intros u Hu. apply (lt_of_derive (slope c) (slope_derivative c)); [lra| |].
    - intros v Hv. apply slope_derive; lra.
    - intros v Hv. apply slope_derivative_pos; [easy|lra|]. rewrite <- E1. apply curvature_ratio_increasing. lra. }
  set (k := slope c (epsilon / 2)) in *.
  assert (L : k / 2 * (x1 * x1) - rise c (epsilon / 2) x1
            < k / 2 * (epsilon / 2 * (epsilon / 2)) - rise c (epsilon / 2) (epsilon / 2)).
  { apply Ropp_lt_cancel.
    apply (lt_of_derive (fun u => - (k / 2 * (u * u) - rise c (epsilon / 2) u)) (fun u => - (u * (k - slope c u))));
      [lra| |].
    - intros u Hu. apply (is_derive_opp (fun u => k / 2 * (u * u) - rise c (epsilon / 2) u)).
      apply gap_derive; [easy|lra].
    - intros u Hu. specialize (G u Hu). nra. }
  replace (rise c (epsilon / 2) (epsilon / 2)) with 0 in L by (unfold rise; ring).
  assert (B := rise_of_zCDP _ x1 Z D1). rewrite three_point_rho_slope in B by easy. fold c k in B.
  assert (e2 : 0 < epsilon * epsilon) by nra.
  assert (B' : rise c (epsilon / 2) x1 <= k / 2 * (x1 * x1 - epsilon / 2 * (epsilon / 2))).
  { apply Rmult_le_reg_l with (epsilon * epsilon); [easy|]. lra. }
  lra.
Qed.
End Family.
