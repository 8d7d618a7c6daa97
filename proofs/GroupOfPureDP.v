(** Groups of pure DP: k steps, each a-DP, cost no more than discrete Laplace noise of t = a and sensitivity k.

    Beyond the paper; sharper than (k a)-DP. With y = f_k/f_0 in [e^-ka, e^ka] the convex function y^(1+s) lies below
    the polygon through its points at y_i = e^(a(2i-k)), whose corners are multiples of (y - y_i)+; and (f_k - y_i
    f_0)+ <= f_k - e^(-a(k-i)) f_i, because f_i is at most e^(a i) f_0 and at most e^(a(k-i)) f_k. Integrate. *)
Require Import Reals Lra Lia Arith ZArith.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant BoundedRatio DiscreteLaplaceInequality DiscreteLaplace
  GroupPrivacy.
Local Open Scope R_scope.

(** * The polygon *)
Section Polygon.
Variables (a s : R) (k : nat).
Hypothesis Ha : 0 < a.
Hypothesis Hs : 0 < s.

Definition corner (i : nat) : R := exp (a * (2 * INR i - INR k)).
(* the slope of the chord from one corner to the next, (r^(1+s) - 1)/(r - 1) y_i^s with r = e^(2a) *)
Definition chord_slope (i : nat) : R :=
  (exp (2 * a * (1 + s)) - 1) / (exp (2 * a) - 1) * exp (a * s * (2 * INR i - INR k)).

Fixpoint polygon (n : nat) (y : R) : R :=
  match n with
  | O => Rpower (corner 0) (1 + s) + chord_slope 0 * (y - corner 0)
  | S m => polygon m y + (chord_slope (S m) - chord_slope m) * Rmax 0 (y - corner (S m))
  end.

Let r_gt_1 : 1 < exp (2 * a).
Proof. apply exp_gt_1. lra. Qed.

Lemma corner_S i : corner (S i) = exp (2 * a) * corner i.
Proof. unfold corner. rewrite <- exp_plus, S_INR. f_equal. ring. Qed.
Lemma corner_pos i : 0 < corner i.
Proof. apply exp_pos. Qed.
Lemma corner_lt i : corner i < corner (S i).
Proof. rewrite corner_S. assert (h := corner_pos i). nra. Qed.

Lemma corner_power i : Rpower (corner i) (1 + s) = corner i * exp (a * s * (2 * INR i - INR k)).
Proof. unfold Rpower, corner. rewrite ln_exp, <- exp_plus. f_equal. ring. Qed.

Lemma chord_slope_chord i :
  Rpower (corner i) (1 + s) + chord_slope i * (corner (S i) - corner i) = Rpower (corner (S i)) (1 + s).
Proof.
  rewrite !corner_power, corner_S. unfold chord_slope. rewrite S_INR.
  replace (a * s * (2 * (INR i + 1) - INR k)) with (2 * a * s + a * s * (2 * INR i - INR k)) by ring.
  replace (2 * a * (1 + s)) with (2 * a + 2 * a * s) by ring. rewrite !exp_plus. field. lra.
Qed.

Lemma chord_slope_increasing i : chord_slope i <= chord_slope (S i).
Proof.
  unfold chord_slope. rewrite S_INR. apply Rmult_le_compat_l.
  - apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; lra].
    assert (h := exp_ge_1 (2 * a * (1 + s)) ltac:(nra)). lra.
  - apply exp_le. nra.
Qed.

(* Beyond its last corner it is the last chord, prolonged. *)
Lemma polygon_line n y : corner n <= y -> polygon n y = Rpower (corner n) (1 + s) + chord_slope n * (y - corner n).
Proof.
  induction n as [|n IH]; intros H; [easy|]. simpl. assert (c := corner_lt n).
  rewrite IH, Rmax_right by lra. rewrite <- (chord_slope_chord n). ring.
Qed.

Lemma below_polygon n y : corner 0 <= y <= corner (S n) -> Rpower y (1 + s) <= polygon n y.
Proof.
  assert (C : forall i, corner i <= y <= corner (S i) ->
    Rpower y (1 + s) <= Rpower (corner i) (1 + s) + chord_slope i * (y - corner i)).
  { intros i H. assert (h := chord (corner i) y (corner (S i)) (1 + s) (corner_pos i) H ltac:(lra)).
    rewrite <- (chord_slope_chord i) in h. assert (l := corner_lt i).
    apply Rmult_le_reg_r with (corner (S i) - corner i); [lra|]. lra. }
  induction n as [|n IH]; intros H; [now apply C|].
  destruct (Rle_or_lt y (corner (S n))) as [L|L].
  - simpl. rewrite Rmax_left by lra. rewrite Rmult_0_r, Rplus_0_r. apply IH. lra.
  - rewrite polygon_line by lra. apply C. lra.
Qed.
End Polygon.

(** * Its integral *)
Section Chain.
Context {Y : Type} (mu : base_measure Y) (f : nat -> Y -> R) (a s : R) (k : nat).
Hypothesis Ha : 0 < a.
Hypothesis Hs : 0 < s.
Hypothesis densities : forall i, density mu (f i).
Hypothesis from_start : forall i y, (i <= k)%nat -> support mu y -> f i y <= exp (INR i * a) * f O y.
Hypothesis from_end : forall i y, (i <= k)%nat -> support mu y -> f i y <= exp ((INR k - INR i) * a) * f k y.
Hypothesis back : forall y, support mu y -> f O y <= exp (INR k * a) * f k y.

(* What the polygon is at most, as a combination of the densities, and what that integrates to *)
Fixpoint combination (n : nat) (y : Y) : R :=
  match n with
  | O => (Rpower (corner a k 0) (1 + s) - chord_slope a s k 0 * corner a k 0) * f O y + chord_slope a s k 0 * f k y
  | S m => combination m y
           + (chord_slope a s k (S m) - chord_slope a s k m) * (f k y + - exp (- ((INR k - INR (S m)) * a)) * f (S m) y)
  end.
Fixpoint combined (n : nat) : R :=
  match n with
  | O => Rpower (corner a k 0) (1 + s) - chord_slope a s k 0 * corner a k 0 + chord_slope a s k 0
  | S m => combined m + (chord_slope a s k (S m) - chord_slope a s k m) * (1 - exp (- ((INR k - INR (S m)) * a)))
  end.

Lemma combination_integral n : is_integral mu (combination n) (combined n).
Proof.
  induction n as [|n IH].
  - simpl. set (c := Rpower _ _ - _).
    replace (c + chord_slope a s k 0) with (c * 1 + chord_slope a s k 0 * 1) by ring.
    apply is_integral_plus; apply is_integral_scal; apply densities.
  - cbn [combination combined]. set (e := exp (- ((INR k - INR (S n)) * a))). apply is_integral_plus; [easy|].
    apply (is_integral_scal mu (fun y => f k y + - e * f (S n) y)).
    replace (1 - e) with (1 + - e * 1) by ring.
    apply is_integral_plus; [apply densities|]. apply (is_integral_scal mu (f (S n))). apply densities.
Qed.

Lemma polygon_le_combination n y : (n < k)%nat -> support mu y ->
  f O y * polygon a s k n (f k y / f O y) <= combination n y.
Proof.
  intros Hn Hy. assert (p0 := proj1 (densities O) y Hy). assert (pk := proj1 (densities k) y Hy).
  induction n as [|n IH].
  - simpl. right. field. lra.
  - specialize (IH ltac:(lia)). cbn [polygon combination].
    assert (d : 0 <= chord_slope a s k (S n) - chord_slope a s k n)
      by (assert (h := chord_slope_increasing a s k Ha Hs n); lra).
    assert (e := exp_pos (- ((INR k - INR (S n)) * a))).
    assert (h1 := from_start (S n) y ltac:(lia) Hy). assert (h2 := from_end (S n) y ltac:(lia) Hy).
    assert (B : f O y * Rmax 0 (f k y / f O y - corner a k (S n))
      <= f k y + - exp (- ((INR k - INR (S n)) * a)) * f (S n) y).
    { assert (E : exp (- ((INR k - INR (S n)) * a)) * exp ((INR k - INR (S n)) * a) = 1)
        by (rewrite <- exp_plus, Rplus_opp_l; apply exp_0).
      assert (E' : exp (- ((INR k - INR (S n)) * a)) * exp (INR (S n) * a) = corner a k (S n))
        by (unfold corner; rewrite <- exp_plus; f_equal; ring).
      apply Rmult_le_compat_l with (r := exp (- ((INR k - INR (S n)) * a))) in h1; [|lra].
      apply Rmult_le_compat_l with (r := exp (- ((INR k - INR (S n)) * a))) in h2; [|lra].
      rewrite <- Rmult_assoc, E' in h1. rewrite <- Rmult_assoc, E in h2.
      apply Rmax_case.
      - lra.
      - replace (f O y * (f k y / f O y - corner a k (S n))) with (f k y - corner a k (S n) * f O y) by (field; lra).
        lra. }
    apply Rmult_le_compat_l with (r := chord_slope a s k (S n) - chord_slope a s k n) in B; [|easy]. lra.
Qed.

Lemma chain_moment_le m : (1 <= k)%nat ->
  is_integral mu (fun y => Rpower (f k y) (1 + s) * Rpower (f O y) (- s)) m -> m <= combined (k - 1).
Proof.
  intros Hk Hm. refine (is_integral_le mu _ _ _ _ _ Hm (combination_integral (k - 1))). intros y Hy.
  assert (p0 := proj1 (densities O) y Hy). assert (pk := proj1 (densities k) y Hy).
  rewrite Rpower_ratio by easy.
  eapply Rle_trans; [|apply polygon_le_combination; [lia|easy]].
  apply Rmult_le_compat_l; [lra|]. apply below_polygon; [easy|easy|]. replace (S (k - 1)) with k by lia.
  assert (h1 := from_start k y (Nat.le_refl k) Hy). assert (h2 := back y Hy).
  unfold corner. simpl (INR 0). split.
  - apply (proj1 (Rle_div_r (exp (a * (2 * 0 - INR k))) (f k y) (f O y) p0)).
    replace (a * (2 * 0 - INR k)) with (- (INR k * a)) by ring. rewrite exp_Ropp.
    assert (e := exp_pos (INR k * a)). apply Rmult_le_reg_l with (exp (INR k * a)); [easy|].
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. easy.
  - apply Rle_div_l; [easy|]. replace (a * (2 * INR k - INR k)) with (INR k * a) by ring. easy.
Qed.

(* The sum, in closed form: by induction, with E = e^((1+2s)a) *)
Let E := exp (a * (1 + 2 * s)).
Let E_gt_1 : 1 < E.
Proof. apply exp_gt_1. nra. Qed.
Let kappa := (exp (2 * a * (1 + s)) - 1) / (exp (2 * a) - 1).

Lemma combined_closed n :
  combined n = exp (- (a * (1 + s) * INR k)) - kappa * exp (- (a * (1 + s) * INR k)) + chord_slope a s k n
    - kappa * (1 - exp (- (2 * a * s))) * exp (- (a * (1 + s) * INR k)) * (exp (a * (1 + 2 * s) * (INR n + 1)) - E)
        / (E - 1).
Proof.
  induction n as [|n IH].
  - cbn [combined]. rewrite corner_power. unfold chord_slope, corner. fold kappa. simpl (INR 0).
    replace (a * (1 + 2 * s) * (0 + 1)) with (a * (1 + 2 * s)) by ring. fold E.
    replace (exp (- (a * (1 + s) * INR k))) with (exp (a * (2 * 0 - INR k)) * exp (a * s * (2 * 0 - INR k)))
      by (rewrite <- exp_plus; f_equal; ring).
    field. lra.
  - cbn [combined]. rewrite IH. unfold chord_slope. fold kappa. rewrite !S_INR.
    replace (a * s * (2 * (INR n + 1) - INR k)) with (2 * a * s + a * s * (2 * INR n - INR k)) by ring.
    replace (exp (- ((INR k - (INR n + 1)) * a)))
      with (exp (- (a * (1 + s) * INR k)) * exp (a * (1 + 2 * s) * (INR n + 1)) *
        / exp (2 * a * s + a * s * (2 * INR n - INR k)))
      by (rewrite <- exp_Ropp, <- !exp_plus; f_equal; ring).
    replace (exp (a * (1 + 2 * s) * (INR n + 1 + 1))) with (exp (a * (1 + 2 * s) * (INR n + 1)) * E)
      by (unfold E; rewrite <- exp_plus; f_equal; ring).
    rewrite (exp_Ropp (2 * a * s)), (exp_plus (2 * a * s)).
    assert (p1 := exp_pos (2 * a * s)). assert (p2 := exp_pos (a * s * (2 * INR n - INR k))). field. repeat split; lra.
Qed.

Lemma combined_is_discrete_laplace : (1 <= k)%nat -> combined (k - 1) = exp (discrete_laplace_cumulant a (a * INR k) s).
Proof.
  intros Hk. rewrite combined_closed, minus_INR by easy. simpl (INR 1).
  replace (INR k - 1 + 1) with (INR k) by ring. unfold chord_slope. fold kappa. rewrite minus_INR by easy.
  simpl (INR 1).
  unfold discrete_laplace_cumulant.
  assert (A0 : 0 < sinh ((1 + s) * a)) by (apply sinh_pos; nra).
  assert (B0 : 0 < sinh (s * a)) by (apply sinh_pos; nra).
  rewrite exp_ln.
  2:{ apply Rdiv_lt_0_compat; [|lra]. assert (h := exp_pos (s * (a * INR k))).
      assert (h' := exp_pos (- ((1 + s) * (a * INR k)))). nra. }
  (* everything in x = e^a, g = e^(a s) and their powers of order k *)
  unfold kappa, E, sinh in *.
  assert (x1 := exp_gt_1 a Ha). assert (g1 := exp_gt_1 (a * s) ltac:(nra)).
  assert (X := exp_pos (a * INR k)). assert (G := exp_pos (a * s * INR k)).
  replace (exp (- (a * (1 + s) * INR k))) with (/ (exp (a * INR k) * exp (a * s * INR k)))
    by (rewrite <- exp_plus, <- exp_Ropp; f_equal; ring).
  replace (exp (- ((1 + s) * (a * INR k)))) with (/ (exp (a * INR k) * exp (a * s * INR k)))
    by (rewrite <- exp_plus, <- exp_Ropp; f_equal; ring).
  replace (exp (s * (a * INR k))) with (exp (a * s * INR k)) by (f_equal; ring).
  replace (exp (a * s * (2 * (INR k - 1) - INR k))) with (exp (a * s * INR k) * / (exp (a * s) * exp (a * s)))
    by (rewrite <- exp_plus, <- exp_Ropp, <- exp_plus; f_equal; ring).
  replace (exp (a * (1 + 2 * s) * INR k)) with (exp (a * INR k) * (exp (a * s * INR k) * exp (a * s * INR k)))
    by (rewrite <- !exp_plus; f_equal; ring).
  replace (exp (a * (1 + 2 * s))) with (exp a * (exp (a * s) * exp (a * s))) by (rewrite <- !exp_plus; f_equal; ring).
  replace (exp (2 * a * (1 + s))) with (exp a * exp a * (exp (a * s) * exp (a * s)))
    by (rewrite <- !exp_plus; f_equal; ring).
  replace (exp (2 * a)) with (exp a * exp a) by (rewrite <- !exp_plus; f_equal; ring).
  replace (exp (- (2 * a * s))) with (/ (exp (a * s) * exp (a * s)))
    by (rewrite <- exp_plus, <- exp_Ropp; f_equal; ring).
  replace (exp ((1 + s) * a)) with (exp a * exp (a * s)) by (rewrite <- !exp_plus; f_equal; ring).
  replace (exp (- ((1 + s) * a))) with (/ (exp a * exp (a * s))) by (rewrite <- exp_plus, <- exp_Ropp; f_equal; ring).
  replace (exp (s * a)) with (exp (a * s)) by (f_equal; ring).
  replace (exp (- (s * a))) with (/ exp (a * s)) by (rewrite <- exp_Ropp; f_equal; ring).
  set (x := exp a) in *. set (g := exp (a * s)) in *. set (xk := exp (a * INR k)) in *.
  set (gk := exp (a * s * INR k)) in *.
  assert (g2 : 1 < g * g) by nra. assert (xg : 1 < x * (g * g)) by nra. assert (xx : 1 < x * x) by nra.
  assert (xg' : 1 < x * g) by nra.
  field. repeat split; nra.
Qed.
End Chain.

(** * A path of k steps *)
Lemma steps_path {X} (neighbours : X -> X -> Prop) k x x' : steps k neighbours x x' ->
  exists path : nat -> X, path O = x' /\ path k = x /\
    (forall i, (i <= k)%nat -> steps (k - i) neighbours x (path i))
      /\ (forall i, (i <= k)%nat -> steps i neighbours (path i) x').
Proof.
  revert x. induction k as [|k IH]; intros x P.
  - simpl in P. subst. exists (fun _ => x'). repeat split; intros i Hi; replace i with O by lia; easy.
  - destruct P as [z [N P]]. destruct (IH z P) as [path [P0 [Pk [F G]]]].
    exists (fun i => if Nat.eqb i (S k) then x else path i). split; [easy|]. split; [now rewrite Nat.eqb_refl|]. split.
    + intros i Hi. destruct (Nat.eqb_spec i (S k)) as [->|D]; [now rewrite Nat.sub_diag|].
      replace (S k - i)%nat with (S (k - i)) by lia. exists z. split; [easy|]. apply F. lia.
    + intros i Hi. destruct (Nat.eqb_spec i (S k)) as [->|D]; [now exists z|]. apply G. lia.
Qed.

Lemma steps_snoc {X} (neighbours : X -> X -> Prop) k x z x' :
  steps k neighbours x z -> neighbours z x' -> steps (S k) neighbours x x'.
Proof.
  revert x. induction k as [|k IH]; intros x P N.
  - simpl in P. subst. now exists x'.
  - destruct P as [w [W P]]. exists w. split; [easy|]. now apply IH.
Qed.

Lemma steps_symmetric {X} (neighbours : X -> X -> Prop) k x x' :
  (forall x x', neighbours x x' -> neighbours x' x) -> steps k neighbours x x' -> steps k neighbours x' x.
Proof.
  intros Sy. revert x. induction k as [|k IH]; intros x P; [now simpl in *|].
  destruct P as [z [N P]]. apply (steps_snoc _ _ _ z); [now apply IH|now apply Sy].
Qed.

(** The page group.md: the rho of discrete Laplace noise with epsilon = k a and sensitivity k. *)
Theorem group_privacy_pure_DP_zCDP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R)
  (epsilon : R) (k : nat) :
  (1 <= k)%nat -> 0 < epsilon -> (forall x x', neighbours x x' -> neighbours x' x) ->
  mechanism mu M -> has_moments mu (steps k neighbours) M -> pure_DP mu neighbours M epsilon ->
  zCDP mu (steps k neighbours) M (epsilon * (INR k - (1 - exp (- (INR k * epsilon))) / sinh epsilon)).
Proof.
  intros Hk He Sy HM HE HP. apply zCDP_of_moments; [easy|]. intros x x' s m P Hs Hm.
  destruct (steps_path neighbours k x x' P) as [path [P0 [Pk [F G]]]].
  assert (m1 : 1 <= m).
  { apply (moment_ge_1 mu (M x) (M x') (1 + s) m (HM x) (HM x')); [lra|]. now replace (1 - (1 + s)) with (- s)
      by ring. }
  assert (B : m <= combined epsilon s k (k - 1)).
  { apply (chain_moment_le mu (fun i => M (path i)) epsilon s k He Hs (fun i => HM (path i))).
    - intros i y Hi Hy. rewrite P0. now apply (group_privacy_pure_DP mu neighbours M epsilon i HP _ _ (G i Hi)).
    - intros i y Hi Hy. rewrite Pk. rewrite <- minus_INR by easy.
      apply (group_privacy_pure_DP mu neighbours M epsilon (k - i) HP); [|easy]. apply steps_symmetric; [easy|].
      now apply F.
    - intros y Hy. rewrite P0, Pk. apply (group_privacy_pure_DP mu neighbours M epsilon k HP); [|easy].
      now apply steps_symmetric.
    - easy.
    - now rewrite P0, Pk. }
  rewrite combined_is_discrete_laplace in B by easy.
  eapply Rle_trans; [apply Rcomplements.ln_le; [lra|exact B]|]. rewrite ln_exp.
  assert (k1 : 1 <= INR k) by (apply (le_INR 1); lia).
  eapply Rle_trans; [apply discrete_laplace_cumulant_le; [easy|nra|easy]|].
  apply Rmult_le_compat_r; [nra|]. right. unfold discrete_laplace_rho.
  replace (- (epsilon * INR k)) with (- (INR k * epsilon)) by ring.
  assert (S := sinh_pos epsilon He). field. lra.
Qed.

(** ... which discrete Laplace noise on an integer attains, whose steps are by 1. *)
Definition one_apart (x x' : Z) : Prop := (Z.abs (x - x') <= 1)%Z.

Lemma steps_one_apart k (x : Z) : (0 <= x <= Z.of_nat k)%Z -> steps k one_apart x 0%Z.
Proof.
  revert x. induction k as [|k IH]; intros x H; [simpl; lia|].
  exists (Z.max 0 (x - 1)). split; [unfold one_apart; lia|]. apply IH. lia.
Qed.

Lemma steps_one_apart_bound k (x x' : Z) : steps k one_apart x x' -> (Z.abs (x - x') <= Z.of_nat k)%Z.
Proof.
  revert x. induction k as [|k IH]; intros x P; [simpl in P; lia|].
  destruct P as [z [N P]]. specialize (IH z P). unfold one_apart in N. lia.
Qed.

Theorem group_privacy_pure_DP_attained (epsilon : R) (k : nat) : (1 <= k)%nat -> 0 < epsilon ->
  pure_DP integers one_apart (discrete_laplace (fun x => x) 1 epsilon) epsilon /\
  tightly_zCDP integers (steps k one_apart) (discrete_laplace (fun x => x) 1 epsilon)
    (epsilon * (INR k - (1 - exp (- (INR k * epsilon))) / sinh epsilon)).
Proof.
  intros Hk He. assert (k1 : 1 <= INR k) by (apply (le_INR 1); lia).
  assert (D : forall x x', Rabs (IZR x - IZR x') = IZR (Z.abs (x - x'))) by (intros; now rewrite <- minus_IZR, abs_IZR).
  assert (Sen : forall j, (1 <= j)%nat -> sensitivity (steps j one_apart) (fun x => IZR x) (INR j)).
  { intros j Hj. split.
    - intros d [x [x' [N ->]]]. rewrite D, INR_IZR_INZ. apply IZR_le. now apply steps_one_apart_bound.
    - intros b H. apply H. exists (Z.of_nat j), 0%Z. split; [apply steps_one_apart; lia|].
      rewrite D, INR_IZR_INZ. f_equal. lia. }
  split.
  - apply discrete_laplace_DP; [lia|easy|]. destruct (Sen 1%nat (Nat.le_refl 1)) as [U L]. split.
    + intros d [x [x' [N E]]]. apply U. exists x, x'. split; [now apply steps_one|easy].
    + intros b H. apply L. intros d [x [x' [N E]]]. apply H. exists x, x'. split; [now apply steps_one|easy].
  - assert (h := discrete_laplace_tight (steps k one_apart) (fun x => x) k (INR k * epsilon) Hk ltac:(nra) (Sen k Hk)).
    replace (INR k * epsilon / INR k) with epsilon in h by (field; lra).
    replace (epsilon * (INR k - (1 - exp (- (INR k * epsilon))) / sinh epsilon))
      with (INR k * epsilon * (1 - (1 - exp (- (INR k * epsilon))) / (INR k * sinh epsilon)))
      by (assert (S := sinh_pos epsilon He); field; lra).
    replace (discrete_laplace (fun x => x) 1 epsilon) with (discrete_laplace (fun x : Z => x) k (INR k * epsilon));
      [exact h|].
    unfold discrete_laplace. simpl (INR 1). replace (INR k * epsilon / INR k) with (epsilon / 1) by (field; lra). easy.
Qed.
