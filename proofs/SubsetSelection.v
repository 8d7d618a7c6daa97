(** Subset selection: a subset of w of the k values, with weight e^epsilon if it holds the input. Beyond the paper.

    All counts are of lists of k bits with w ones, by Pascal's rule. *)
Require Import Reals Lra List Arith Lia Bool.
From ZCDP Require Import Analysis Zcdp Mechanisms Cumulant Sums ThreePoint ThreePointLosses RandomizedResponse.
Import ListNotations.
Local Open Scope R_scope.

(** Binomial coefficients, and the total weight of all subsets *)
Fixpoint binomial (n k : nat) : nat :=
  match n, k with _, O => 1 | O, S _ => 0 | S n, S k => binomial n k + binomial n (S k) end.
Definition subset_total (k w : nat) (epsilon : R) : R :=
  INR (binomial (k - 1) (w - 1)) * exp epsilon + INR (binomial (k - 1) w).

Lemma binomial_0 n : binomial n 0 = 1%nat.
Proof. now destruct n. Qed.
Lemma binomial_S n k : binomial (S n) (S k) = (binomial n k + binomial n (S k))%nat.
Proof. easy. Qed.
Lemma binomial_pos n k : (k <= n)%nat -> (0 < binomial n k)%nat.
Proof.
  revert k. induction n as [|n IH]; intros [|k] H; simpl; try lia. assert (h := IH k ltac:(lia)). lia.
Qed.

Lemma sum_subsets_0 k (f : list bool -> R) : sum_of f (subsets (S k) 0) = sum_of (fun y => f (false :: y))
  (subsets k 0).
Proof. simpl subsets. now rewrite sum_of_map. Qed.
Lemma sum_subsets_S k w (f : list bool -> R) : sum_of f (subsets (S k) (S w))
  = sum_of (fun y => f (true :: y)) (subsets k w) + sum_of (fun y => f (false :: y)) (subsets k (S w)).
Proof. simpl subsets. now rewrite sum_of_app, !sum_of_map. Qed.

Lemma count_subsets k w : sum_of (fun _ => 1) (subsets k w) = INR (binomial k w).
Proof.
  revert w. induction k as [|k IH]; intros [|w].
  - simpl. ring.
  - simpl. ring.
  - rewrite sum_subsets_0, IH, !binomial_0. easy.
  - rewrite sum_subsets_S, !IH, binomial_S, plus_INR. easy.
Qed.

(* Those that hold x *)
Lemma count_holding k w x : (x < k)%nat ->
  sum_of (fun y => if nth x y false then 1 else 0) (subsets k w) = INR (match w
    with O => 0 | S w => binomial (k - 1) w end).
Proof.
  revert w x. induction k as [|k IH]; intros w x Hx; [lia|]. replace (S k - 1)%nat with k by lia.
  destruct w as [|w].
  - rewrite sum_subsets_0. destruct x as [|x].
    + simpl nth. rewrite sum_of_const. simpl. ring.
    + simpl nth. now rewrite IH by lia.
  - rewrite sum_subsets_S. destruct x as [|x]; simpl nth.
    + rewrite count_subsets, sum_of_const. ring.
    + rewrite !IH by lia. destruct k as [|k]; [lia|]. replace (S k - 1)%nat with k by lia. destruct w as [|w].
      * rewrite !binomial_0. simpl. ring.
      * rewrite binomial_S, plus_INR. easy.
Qed.

(* Those that hold x' but not x *)
Lemma count_other k w x x' : (x < k)%nat -> (x' < k)%nat -> x <> x' ->
  sum_of (fun y => if andb (negb (nth x y false)) (nth x' y false) then 1 else 0) (subsets k w)
  = INR (match w with O => 0 | S w => binomial (k - 2) w end).
Proof.
  revert w x x'. induction k as [|k IH]; intros w x x' Hx Hx' N; [lia|].
  assert (C : forall v x', (x' < k)%nat -> sum_of (fun y => if nth x' y false then 1 else 0) (subsets k v)
    = INR (match v with O => 0 | S v => binomial (k - 1) v end)) by (intros; now apply count_holding).
  replace (S k - 2)%nat with (k - 1)%nat by lia.
  destruct w as [|w].
  - rewrite sum_subsets_0. destruct x as [|x], x' as [|x']; try lia; simpl nth; cbn [negb andb].
    + apply (C O). lia.
    + rewrite (sum_of_ext _ (fun _ => 0)), sum_of_const by (intros y _; now rewrite andb_false_r). simpl. ring.
    + apply (IH O); lia.
  - rewrite sum_subsets_S. destruct x as [|x], x' as [|x']; try lia; simpl nth; cbn [negb andb].
    + rewrite sum_of_const, (C (S w)) by lia. ring.
    + rewrite (sum_of_ext (fun y => if negb (nth x y false) && true then 1 else 0)
        (fun y => 1 + -1 * (if nth x y false then 1 else 0))).
      2:{ intros y _. destruct (nth x y false); simpl; ring. }
      rewrite (sum_of_ext (fun y => if negb (nth x y false) && false then 1 else 0) (fun _ => 0)).
      2:{ intros y _. now rewrite andb_false_r. }
      rewrite sum_of_plus, sum_of_scal, count_subsets, C, sum_of_const by lia.
      destruct k as [|k]; [lia|]. replace (S k - 1)%nat with k by lia. destruct w as [|w].
      * rewrite !binomial_0. simpl. ring.
      * rewrite binomial_S, plus_INR. ring.
    + rewrite !IH by lia. destruct k as [|[|k]]; [lia|lia|]. replace (S (S k) - 2)%nat with k by lia.
      replace (S (S k) - 1)%nat with (S k) by lia. destruct w as [|w].
      * rewrite !binomial_0. simpl. ring.
      * rewrite binomial_S, plus_INR. easy.
Qed.

(** (n + 1) C(n, j) = (j + 1) C(n+1, j+1) = (n + 1 - j) C(n+1, j) *)
Lemma binomial_absorb n j : (S n * binomial n j = S j * binomial (S n) (S j))%nat.
Proof.
  revert j. induction n as [|n IH]; intros j.
  - destruct j as [|j]; simpl; lia.
  - destruct j as [|j].
    + assert (h := IH O). rewrite (binomial_S (S n) 0), !binomial_0 in *. lia.
    + assert (h1 := IH j). assert (h2 := IH (S j)). rewrite !binomial_S in *.
      generalize dependent (binomial n j). generalize dependent (binomial n (S j)). generalize (binomial n (S (S j))).
      intros d b h2 a h1. nia.
Qed.

Lemma binomial_absorb_low n j : (j <= n)%nat ->
  (INR n + 1) * INR (binomial n j) = (INR n + 1 - INR j) * INR (binomial (S n) j).
Proof.
  intros H. destruct j as [|j]; [rewrite !binomial_0; simpl; ring|].
  assert (h := binomial_absorb n j). apply (f_equal INR) in h. rewrite !mult_INR, !S_INR in h.
  rewrite binomial_S, plus_INR in *. rewrite S_INR. lra.
Qed.

Section Mechanism.
Variables (k w : nat) (epsilon : R).
Hypothesis Hw : (1 <= w < k)%nat.
Hypothesis He : 0 < epsilon.

Definition subset_mass : R := INR (binomial (k - 2) (w - 1)) / subset_total k w epsilon.

Lemma subset_total_pos : 0 < subset_total k w epsilon.
Proof.
  unfold subset_total. assert (h := binomial_pos (k - 1) (w - 1) ltac:(lia)). apply lt_INR in h. simpl in h.
  assert (p := pos_INR (binomial (k - 1) w)). assert (e := exp_pos epsilon). nra.
Qed.

Lemma subset_mass_pos : 0 < subset_mass.
Proof.
  unfold subset_mass. apply Rdiv_lt_0_compat; [|apply subset_total_pos].
  apply (lt_INR 0). apply binomial_pos. lia.
Qed.

Lemma subset_weights x : (x < k)%nat -> sum_of (subset_weight epsilon x) (subsets k w) = subset_total k w epsilon.
Proof.
  intros Hx. rewrite (sum_of_ext _ (fun y => 1 + (exp epsilon - 1) * (if nth x y false then 1 else 0))).
  2:{ intros y _. unfold subset_weight. destruct (nth x y false); ring. }
  rewrite sum_of_plus, sum_of_scal, count_subsets, count_holding by easy. unfold subset_total.
  clear - Hw. destruct k as [|n], w as [|v]; try lia. rewrite binomial_S, plus_INR. simpl. rewrite !Nat.sub_0_r. ring.
Qed.

Lemma subset_selection_eq x y : (x < k)%nat ->
  subset_selection k w epsilon x y = subset_weight epsilon x y / subset_total k w epsilon.
Proof. intros Hx. unfold subset_selection. now rewrite subset_weights. Qed.

Lemma subset_selection_density x : (x < k)%nat -> density (finite (subsets k w)) (subset_selection k w epsilon x).
Proof.
  intros Hx. assert (Z := subset_total_pos). split.
  - intros y _. rewrite subset_selection_eq by easy. apply Rdiv_lt_0_compat; [|easy].
    unfold subset_weight. destruct (nth x y false); [apply exp_pos|lra].
  - simpl. rewrite (sum_of_ext _ (fun y => / subset_total k w epsilon * subset_weight epsilon x y)).
    + rewrite sum_of_scal, subset_weights by easy. field. lra.
    + intros y _. rewrite subset_selection_eq by easy. field. lra.
Qed.

Lemma subset_selection_losses x x' : any_two k x x' ->
  mirrored_losses (finite (subsets k w)) (subset_selection k w epsilon x)
    (subset_selection k w epsilon x') epsilon subset_mass.
Proof.
  intros [Hx [Hx' N]]. assert (Z := subset_total_pos).
  assert (I : forall a b, (a < k)%nat -> (b < k)%nat -> a <> b ->
    sum_of (inside (fun y => andb (negb (nth a y false)) (nth b y false)) (subset_selection k w epsilon a))
      (subsets k w) = subset_mass).
  { intros a b Ha Hb D.
    rewrite (sum_of_ext _ (fun y => / subset_total k w epsilon * (if andb (negb (nth a y false))
      (nth b y false) then 1 else 0))).
    2:{ intros y _. unfold inside. rewrite subset_selection_eq by easy. unfold subset_weight.
        destruct (nth a y false), (nth b y false); simpl; field; lra. }
    rewrite sum_of_scal, count_other by easy. unfold subset_mass.
    replace (match w with O => 0 | S v => binomial (k - 2) v end)%nat with (binomial (k - 2) (w - 1))
      by (clear - Hw; destruct w as [|v]; [lia|]; simpl; now rewrite Nat.sub_0_r).
    field. lra. }
  exists (fun y => andb (negb (nth x' y false)) (nth x y false)), (fun y => andb (negb (nth x y false))
    (nth x' y false)).
  split; [|split; [|split; [|split; [|split]]]].
  - intros y _. destruct (nth x y false), (nth x' y false); easy.
  - intros y _. rewrite !subset_selection_eq by easy. unfold subset_weight.
    destruct (nth x y false), (nth x' y false); simpl; try easy. intros _. field. lra.
  - intros y _. rewrite !subset_selection_eq by easy. unfold subset_weight.
    destruct (nth x y false), (nth x' y false); simpl; try easy. intros _. field. lra.
  - intros y _. rewrite !subset_selection_eq by easy. unfold subset_weight.
    destruct (nth x y false), (nth x' y false); simpl; easy.
  - apply I; auto.
  - apply I; auto.
Qed.
End Mechanism.

(** The kappa of the page: e^epsilon (w-1)/(k-w) + (k-1)/w + 1 *)
Definition subset_kappa (k w epsilon : R) : R := exp epsilon * (w - 1) / (k - w) + (k - 1) / w + 1.

Lemma subset_kappa_of_mass k w epsilon : (1 <= w < k)%nat -> 0 < epsilon ->
  kappa_of_mass epsilon (subset_mass k w epsilon) = subset_kappa (INR k) (INR w) epsilon.
Proof.
  intros Hw He. assert (Z := subset_total_pos k w epsilon Hw).
  assert (b := binomial_pos (k - 2) (w - 1) ltac:(lia)). apply lt_INR in b. simpl (INR 0) in b.
  unfold kappa_of_mass, subset_mass.
  replace (/ (INR (binomial (k - 2) (w - 1)) / subset_total k w epsilon))
    with (subset_total k w epsilon / INR (binomial (k - 2) (w - 1))) by (field; lra).
  unfold subset_total, subset_kappa. clear Z. destruct k as [|[|n]], w as [|j]; try lia.
  replace (S (S n) - 2)%nat with n in * by lia. replace (S (S n) - 1)%nat with (S n) by lia.
  replace (S j - 1)%nat with j in * by lia.
  assert (h1 := binomial_absorb n j). apply (f_equal INR) in h1. rewrite !mult_INR, !S_INR in h1.
  assert (h2 := binomial_absorb_low n j ltac:(lia)). rewrite !S_INR.
  assert (n0 := pos_INR n). assert (j0 := pos_INR j). assert (jn : INR j <= INR n) by (apply le_INR; lia).
  assert (E1 : INR (binomial (S n) (S j)) = (INR n + 1) * INR (binomial n j) / (INR j + 1)) by (rewrite h1; field; lra).
  assert (E2 : INR (binomial (S n) j) = (INR n + 1) * INR (binomial n j) / (INR n + 1 - INR j))
    by (rewrite h2; field; lra).
  rewrite E1, E2. field. lra.
Qed.

Theorem subset_selection_tight (k w : nat) (epsilon : R) :
  (1 <= w < k)%nat -> 0 < epsilon -> subset_kappa (INR k) (INR w) epsilon <= k_star epsilon ->
  tightly_zCDP (finite (subsets k w)) (any_two k) (subset_selection k w epsilon)
    (epsilon * ((exp epsilon - 1) / (exp epsilon - 1 + subset_kappa (INR k) (INR w) epsilon))).
Proof.
  intros Hw He HS. assert (m0 := subset_mass_pos k w epsilon Hw).
  rewrite <- subset_kappa_of_mass in * by easy.
  replace (epsilon * ((exp epsilon - 1) / (exp epsilon - 1 + kappa_of_mass epsilon (subset_mass k w epsilon))))
    with (epsilon * ((exp epsilon - 1) * subset_mass k w epsilon)).
  - apply three_losses_tight; try easy.
    + intros x x' [Hx [Hx' N]]. split; now apply subset_selection_density.
    + intros x x' N. exists (subset_mass k w epsilon). split; [lra|now apply subset_selection_losses].
    + destruct (any_two_exist k ltac:(lia)) as [x [x' N]]. exists x, x'.
      split; [easy|now apply subset_selection_losses].
  - unfold kappa_of_mass. replace (exp epsilon - 1 + (/ subset_mass k w epsilon + 1 - exp epsilon))
      with (/ subset_mass k w epsilon) by ring.
    field. lra.
Qed.

Theorem subset_selection_tight_beyond (k w : nat) (epsilon : R) :
  (1 <= w < k)%nat -> 0 < epsilon -> k_star epsilon < subset_kappa (INR k) (INR w) epsilon ->
  exists x, epsilon / 2 < x /\
    overshoot (three_point_c (subset_kappa (INR k) (INR w) epsilon) epsilon) (epsilon / 2) x = 0 /\
    (forall u, epsilon / 2 < u ->
       overshoot (three_point_c (subset_kappa (INR k) (INR w) epsilon) epsilon) (epsilon / 2) u = 0 -> u = x) /\
    tightly_zCDP (finite (subsets k w)) (any_two k) (subset_selection k w epsilon)
      (epsilon * epsilon * (sinh x
        / (2 * x * (three_point_c (subset_kappa (INR k) (INR w) epsilon) epsilon + cosh x)))).
Proof.
  intros Hw He HS. assert (m0 := subset_mass_pos k w epsilon Hw).
  rewrite <- subset_kappa_of_mass in * by easy. apply three_losses_tight_beyond; try easy.
  - intros x x' [Hx [Hx' N]]. split; now apply subset_selection_density.
  - intros x x' N. exists (subset_mass k w epsilon). split; [lra|now apply subset_selection_losses].
  - destruct (any_two_exist k ltac:(lia)) as [x [x' N]]. exists x, x'. split; [easy|now apply subset_selection_losses].
Qed.
