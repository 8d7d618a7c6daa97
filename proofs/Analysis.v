(** Real analysis that all mechanisms share: signs from derivatives, exp, ln and the hyperbolic functions. *)
Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
Local Open Scope R_scope.

(* A derivative that is >= 0 on [a, b] gives f a <= f b. *)
Lemma le_of_derive (f df : R -> R) (a b : R) :
  a <= b ->
  (forall x, a <= x <= b -> is_derive f x (df x)) ->
  (forall x, a <= x <= b -> 0 <= df x) ->
  f a <= f b.
Proof.
  intros ab D P.
  destruct (MVT_gen f a b df) as [c [Hc E]].
  - intros x Hx. rewrite Rmin_left, Rmax_right in Hx by lra. apply D; lra.
  - intros x Hx. rewrite Rmin_left, Rmax_right in Hx by lra.
    apply continuity_pt_filterlim.
    apply (ex_derive_continuous f x). exists (df x). apply D; lra.
  - rewrite Rmin_left, Rmax_right in Hc by lra.
    specialize (P c Hc).
    assert (0 <= df c * (b - a)) by (apply Rmult_le_pos; lra).
    lra.
Qed.

(* The usual form: f 0 = 0 and f' >= 0 on [0, x] give f x >= 0. *)
Lemma nonneg_of_derive (f df : R -> R) (x : R) :
  0 <= x -> f 0 = 0 ->
  (forall u, 0 <= u <= x -> is_derive f u (df u)) ->
  (forall u, 0 <= u <= x -> 0 <= df u) ->
  0 <= f x.
Proof.
  intros Hx H0 D P. rewrite <- H0. now apply (le_of_derive f df).
Qed.

(* A derivative that is > 0 between a and b gives f a < f b. *)
Lemma lt_of_derive (f df : R -> R) (a b : R) :
  a < b -> (forall x, a <= x <= b -> is_derive f x (df x)) -> (forall x, a < x < b -> 0 < df x) -> f a < f b.
Proof.
  intros ab D P. destruct (MVT_cor2 f df a b ab) as [c [E H]].
  - intros x Hx. apply is_derive_Reals. now apply D.
  - specialize (P c H). assert (0 < df c * (b - a)) by (apply Rmult_lt_0_compat; lra). lra.
Qed.

(* [from_derive f df x]: leaves x >= 0, f 0 = 0, f' = df, df >= 0, and then the goal with 0 <= f x. *)
Tactic Notation "from_derive" constr(f) constr(df) constr(x) :=
  let H := fresh "FD" in
  assert (H : 0 <= f x);
  [apply (nonneg_of_derive f df x); cbv beta | cbv beta in H].

(* Tightness at order 1: a cumulant with K 0 = 0 below rho s (1 + s) has slope at most rho at 0. *)
Lemma slope_le (K : R -> R) (l r : R) :
  K 0 = 0 -> is_derive K 0 l ->
  (forall s, 0 < s -> K s <= r * (s * (1 + s))) -> l <= r.
Proof.
  intros K0 D H.
  apply Rnot_lt_le. intros lr.
  apply is_derive_Reals in D.
  destruct (D ((l - r) / 2)) as [d Hd]; [lra|].
  set (s := Rmin (d / 2) (Rmin 1 ((l - r) / (4 * (Rabs r + 1))))).
  assert (Hr : 0 <= Rabs r) by apply Rabs_pos.
  assert (Hrr : r <= Rabs r) by apply Rle_abs.
  assert (Hq : 0 < (l - r) / (4 * (Rabs r + 1))) by (apply Rdiv_lt_0_compat; lra).
  assert (dp : 0 < d) by apply cond_pos.
  assert (s0 : 0 < s) by (unfold s; repeat apply Rmin_glb_lt; lra).
  assert (s1 : s <= d / 2) by apply Rmin_l.
  assert (s2 : s <= (l - r) / (4 * (Rabs r + 1))).
  { eapply Rle_trans; [apply Rmin_r|]. apply Rmin_r. }
  assert (s3 : s * Rabs r <= (l - r) / 4).
  { apply Rle_trans with ((l - r) / (4 * (Rabs r + 1)) * Rabs r).
    - apply Rmult_le_compat_r; lra.
    - apply Rmult_le_reg_r with (4 * (Rabs r + 1)); [lra|]. field_simplify; lra. }
  specialize (Hd s). rewrite Rplus_0_l, K0, Rminus_0_r in Hd.
  assert (Hs : Rabs (K s / s - l) < (l - r) / 2).
  { apply Hd. lra. rewrite Rabs_pos_eq; lra. }
  apply Rabs_def2 in Hs.
  specialize (H s s0).
  assert (K s / s <= r * (1 + s)).
  { apply Rmult_le_reg_r with s; [lra|]. field_simplify; lra. }
  assert (r * s <= Rabs r * s) by (apply Rmult_le_compat_r; lra).
  nra.
Qed.

(* Tightness as a supremum: a bound at all points of a set holds at its least upper bound, if f is continuous there. *)
Lemma le_at_lub (E : R -> Prop) (m : R) (f : R -> R) (r : R) :
  is_lub E m -> ex_derive f m -> (forall d, E d -> f d <= r) -> f m <= r.
Proof.
  intros [U L] D H. apply Rnot_lt_le. intros lt.
  assert (C := ex_derive_continuous f m D).
  destruct (C (fun v => r < v)) as [d Hd].
  { exists (mkposreal (f m - r) ltac:(lra)). intros v Hv. unfold ball in Hv. simpl in Hv. unfold AbsRing_ball in Hv.
    simpl in Hv. unfold abs, minus, plus, opp in Hv. simpl in Hv. apply Rabs_def2 in Hv. lra. }
  assert (dp : 0 < d) by apply cond_pos.
  assert (h : m <= m - d); [|lra]. apply L. intros z Hz. apply Rnot_lt_le. intros zl.
  specialize (U z Hz). specialize (H z Hz). assert (r < f z); [|lra]. apply Hd.
  unfold ball. simpl. unfold AbsRing_ball. simpl. unfold abs, minus, plus, opp. simpl. apply Rabs_def1; lra.
Qed.

(** * exp and ln *)
Lemma exp_ge_1 x : 0 <= x -> 1 <= exp x.
Proof. intros H. rewrite <- exp_0. destruct H as [H| <-]; [left; now apply exp_increasing|lra]. Qed.

Lemma exp_gt_1 x : 0 < x -> 1 < exp x.
Proof. intros H. rewrite <- exp_0. now apply exp_increasing. Qed.

Lemma exp_half x : exp x = exp (x / 2) * exp (x / 2).
Proof. rewrite <- exp_plus. f_equal. field. Qed.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [H| ->]; [left; now apply exp_increasing|lra]. Qed.

Lemma ln_le_sub1 x : 0 < x -> ln x <= x - 1.
Proof. intros H. assert (h := exp_ineq1_le (ln x)). rewrite exp_ln in h by easy. lra. Qed.

Lemma ln_le_inv x y : 0 < x -> 0 < y -> ln x <= ln y -> x <= y.
Proof. intros Hx Hy [H|H]; [left; now apply ln_lt_inv|right; now apply ln_inv]. Qed.

Lemma Rpower_pos x y : 0 < Rpower x y.
Proof. apply exp_pos. Qed.

(** * Hyperbolic functions *)
Lemma cosh_pos x : 0 < cosh x.
Proof. unfold cosh. assert (h := exp_pos x). assert (h' := exp_pos (- x)). lra. Qed.

Lemma cosh_sqr x : cosh x * cosh x = 1 + sinh x * sinh x.
Proof.
  unfold cosh, sinh.
  assert (h : exp x * exp (- x) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  nra.
Qed.

Lemma cosh_ge_1 x : 1 <= cosh x.
Proof. assert (h := cosh_sqr x). assert (h' := cosh_pos x). nra. Qed.

Lemma sinh_ge x : 0 <= x -> x <= sinh x.
Proof.
  intros H.
  from_derive (fun u => sinh u - u) (fun u => cosh u - 1) x; try lra.
  - rewrite sinh_0. lra.
  - intros u _. auto_derive; [easy|]. ring.
  - intros u _. assert (h := cosh_ge_1 u). lra.
Qed.

Lemma sinh_nonneg x : 0 <= x -> 0 <= sinh x.
Proof. intros H. assert (h := sinh_ge x H). lra. Qed.

Lemma sinh_pos x : 0 < x -> 0 < sinh x.
Proof. intros H. assert (h := sinh_ge x). lra. Qed.

Lemma sinh_mono x y : x <= y -> sinh x <= sinh y.
Proof. intros [H| ->]; [left; now apply sinh_lt|lra]. Qed.

Lemma cosh_mono x y : 0 <= x <= y -> cosh x <= cosh y.
Proof.
  intros H. apply (le_of_derive cosh sinh); [lra| |].
  - intros u _. auto_derive; [easy|]. ring.
  - intros u Hu. apply sinh_nonneg; lra.
Qed.

(* sinh x <= x cosh x *)
Lemma sinh_le_xcosh x : 0 <= x -> sinh x <= x * cosh x.
Proof.
  intros H.
  from_derive (fun u => u * cosh u - sinh u) (fun u => u * sinh u) x; try lra.
  - rewrite sinh_0. lra.
  - intros u _. auto_derive; [easy|]. ring.
  - intros u Hu. apply Rmult_le_pos; [lra|]. apply sinh_nonneg; lra.
Qed.

(* sinh(x)/x increases, in the form x sinh y >= y sinh x for 0 <= x <= y. *)
Lemma sinh_ratio_increasing x y : 0 <= x <= y -> y * sinh x <= x * sinh y.
Proof.
  intros [Hx Hy].
  destruct Hx as [Hx | <-]; [|rewrite sinh_0; lra].
  assert (h : sinh x / x <= sinh y / y).
  { apply (le_of_derive (fun u => sinh u / u) (fun u => (u * cosh u - sinh u) / (u * u))); [lra| |].
    - intros u Hu. auto_derive; [lra|]. field. lra.
    - intros u Hu. assert (h := sinh_le_xcosh u).
      apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat. nra. }
  apply Rmult_le_reg_r with (/ x * / y).
  - apply Rmult_lt_0_compat; apply Rinv_0_lt_compat; lra.
  - replace (y * sinh x * (/ x * / y)) with (sinh x / x) by (field; lra).
    replace (x * sinh y * (/ x * / y)) with (sinh y / y) by (field; lra).
    easy.
Qed.

Lemma sinh_gt x : 0 < x -> x < sinh x.
Proof.
  intros H. assert (h : (fun u => sinh u - u) 0 < (fun u => sinh u - u) x).
  { apply (lt_of_derive (fun u => sinh u - u) (fun u => cosh u - 1)); [easy| |].
    - intros u _. auto_derive; [easy|]. ring.
    - intros u Hu. assert (c := cosh_sqr u). assert (p := cosh_pos u). assert (q := sinh_pos u ltac:(lra)). nra. }
  cbv beta in h. rewrite sinh_0 in h. lra.
Qed.

Lemma sinh_lt_xcosh x : 0 < x -> sinh x < x * cosh x.
Proof.
  intros H. assert (h : (fun u => u * cosh u - sinh u) 0 < (fun u => u * cosh u - sinh u) x).
  { apply (lt_of_derive (fun u => u * cosh u - sinh u) (fun u => u * sinh u)); [easy| |].
    - intros u _. auto_derive; [easy|]. ring.
    - intros u Hu. assert (q := sinh_pos u ltac:(lra)). nra. }
  cbv beta in h. rewrite sinh_0 in h. lra.
Qed.

Lemma sinh_plus x y : sinh (x + y) = sinh x * cosh y + cosh x * sinh y.
Proof. unfold sinh, cosh. rewrite Ropp_plus_distr, !exp_plus. field. Qed.
Lemma sinh_opp x : sinh (- x) = - sinh x.
Proof. unfold sinh. rewrite Ropp_involutive. field. Qed.
Lemma cosh_opp x : cosh (- x) = cosh x.
Proof. unfold cosh. rewrite Ropp_involutive. field. Qed.
Lemma sinh_minus x y : sinh (x - y) = sinh x * cosh y - cosh x * sinh y.
Proof. unfold Rminus. rewrite sinh_plus, sinh_opp, cosh_opp. ring. Qed.
