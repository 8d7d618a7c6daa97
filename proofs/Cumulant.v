(** The cumulant K(s) = log E_p (p/q)^s of the privacy loss: bounds on it are zCDP, its slope at 0 is what is tight.

    With alpha = 1 + s the Renyi divergence is K(s)/s, so that rho-zCDP says K(s) <= rho s(1+s). *)
Require Import Reals Lra List.
From Coquelicot Require Import Coquelicot.
From ZCDP Require Import Analysis Zcdp.
Local Open Scope R_scope.

Lemma is_integral_unique {Y} (mu : base_measure Y) f a b : is_integral mu f a -> is_integral mu f b -> a = b.
Proof.
  intros A B. apply Rle_antisym; eapply (is_integral_le mu); try eassumption; intros; lra.
Qed.

(** K is the cumulant of the pair p, q. *)
Definition is_cumulant {Y} (mu : base_measure Y) (p q : Y -> R) (K : R -> R) : Prop :=
  forall s, 0 < s -> is_integral mu (fun y => Rpower (p y) (1 + s) * Rpower (q y) (- s)) (exp (K s)).

Lemma moment_of_order {Y} (mu : base_measure Y) (p q : Y -> R) alpha m :
  is_integral mu (fun y => Rpower (p y) (1 + (alpha - 1)) * Rpower (q y) (- (alpha - 1))) m <->
  is_integral mu (fun y => Rpower (p y) alpha * Rpower (q y) (1 - alpha)) m.
Proof.
  split; intros H; (eapply is_integral_ext; [|exact H]); intros y _; cbv beta;
    now replace (1 + (alpha - 1)) with alpha by ring; replace (- (alpha - 1)) with (1 - alpha) by ring.
Qed.

Lemma renyi_of_cumulant {Y} (mu : base_measure Y) p q K alpha :
  is_cumulant mu p q K -> 1 < alpha -> is_renyi mu alpha p q (K (alpha - 1) / (alpha - 1)).
Proof.
  intros H Ha. exists (exp (K (alpha - 1))). split.
  - apply moment_of_order. apply H. lra.
  - now rewrite ln_exp.
Qed.

Lemma renyi_unique {Y} (mu : base_measure Y) p q alpha D D' :
  is_renyi mu alpha p q D -> is_renyi mu alpha p q D' -> D = D'.
Proof.
  intros [m [A ->]] [m' [B ->]]. now rewrite (is_integral_unique mu _ _ _ A B).
Qed.

(** * Upper bounds *)
Lemma zCDP_of_cumulant {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) rho :
  (forall x x', neighbours x x' ->
     exists K, is_cumulant mu (M x) (M x') K /\ forall s, 0 < s -> K s <= rho * (s * (1 + s))) ->
  zCDP mu neighbours M rho.
Proof.
  intros H x x' N alpha Ha. destruct (H x x' N) as [K [C B]].
  exists (K (alpha - 1) / (alpha - 1)). split; [now apply renyi_of_cumulant|].
  specialize (B (alpha - 1)). apply Rmult_le_reg_r with (alpha - 1); [lra|]. field_simplify; [|lra]. nra.
Qed.

(** For classes of mechanisms, whose moments are only known to exist. *)
Lemma RDP_of_moments {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (alpha k : R) :
  1 < alpha -> has_moments mu neighbours M ->
  (forall x x' m, neighbours x x' ->
     is_integral mu (fun y => Rpower (M x y) (1 + (alpha - 1)) * Rpower (M x' y) (- (alpha - 1))) m -> ln m <= k) ->
  RDP mu neighbours M alpha (k / (alpha - 1)).
Proof.
  intros Ha E H x x' N. destruct (E x x' alpha N Ha) as [m Hm].
  exists (ln m / (alpha - 1)). split; [now exists m|].
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. apply (H x x' m N). now apply moment_of_order.
Qed.

Lemma zCDP_RDP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) rho :
  zCDP mu neighbours M rho <-> forall alpha, 1 < alpha -> RDP mu neighbours M alpha (rho * alpha).
Proof. split; intros H; [intros alpha Ha x x' N; now apply H|intros x x' N alpha Ha; now apply H]. Qed.

Lemma zCDP_of_moments {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (rho : R) :
  has_moments mu neighbours M ->
  (forall x x' s m, neighbours x x' -> 0 < s ->
     is_integral mu (fun y => Rpower (M x y) (1 + s) * Rpower (M x' y) (- s)) m -> ln m <= rho * (s * (1 + s))) ->
  zCDP mu neighbours M rho.
Proof.
  intros E H. apply zCDP_RDP. intros alpha Ha.
  replace (rho * alpha) with (rho * ((alpha - 1) * (1 + (alpha - 1))) / (alpha - 1)) by (field; lra).
  apply RDP_of_moments; [easy..|]. intros x x' m N Hm. apply (H x x'); [easy|lra|easy].
Qed.

Lemma finite_has_moments {X Y} (l : list Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) :
  has_moments (finite l) neighbours M.
Proof. intros x x' alpha _ _. eexists. simpl. reflexivity. Qed.

(** * Tightness *)

(** What rho-zCDP says of the cumulant of one pair. *)
Lemma cumulant_of_zCDP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) r x x' K s :
  neighbours x x' -> is_cumulant mu (M x) (M x') K -> zCDP mu neighbours M r -> 0 < s -> K s <= r * (s * (1 + s)).
Proof.
  intros N C Z Hs. destruct (Z x x' N (1 + s)) as [d [A B]]; [lra|].
  rewrite (renyi_unique mu _ _ _ _ _ A (renyi_of_cumulant mu _ _ K (1 + s) C ltac:(lra))) in B.
  replace (1 + s - 1) with s in B by ring.
  apply Rmult_le_compat_r with (r := s) in B; [|lra]. field_simplify in B; nra.
Qed.

(** A cumulant of one pair with slope rho at 0, that is with KL divergence rho: no smaller rho will do. *)
Lemma tight_of_cumulant {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) rho r x x' K :
  neighbours x x' -> is_cumulant mu (M x) (M x') K -> K 0 = 0 -> is_derive K 0 rho -> zCDP mu neighbours M r ->
  rho <= r.
Proof.
  intros N C K0 D Z. apply (slope_le K); [easy..|]. intros s Hs. now apply (cumulant_of_zCDP mu neighbours M r x x').
Qed.

Lemma tightly_RDP_of_cumulant {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) alpha k :
  1 < alpha ->
  (forall x x', neighbours x x' -> exists K, is_cumulant mu (M x) (M x') K /\ K (alpha - 1) <= k) ->
  (forall k', (forall x x' K, neighbours x x' -> is_cumulant mu (M x) (M x') K -> K (alpha - 1) <= k') -> k <= k') ->
  tightly_RDP mu neighbours M alpha (k / (alpha - 1)).
Proof.
  intros Ha H T. split.
  - intros x x' N. destruct (H x x' N) as [K [C B]]. exists (K (alpha - 1) / (alpha - 1)).
    split; [now apply renyi_of_cumulant|].
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|easy].
  - intros e' H'. apply Rmult_le_reg_r with (alpha - 1); [lra|].
    replace (k / (alpha - 1) * (alpha - 1)) with k by (field; lra). apply T.
    intros x x' K N C. destruct (H' x x' N) as [D [A B]].
    rewrite (renyi_unique mu _ _ _ _ _ A (renyi_of_cumulant mu _ _ K alpha C Ha)) in B.
    apply Rmult_le_compat_r with (r := alpha - 1) in B; [|lra].
    replace (K (alpha - 1) / (alpha - 1) * (alpha - 1)) with (K (alpha - 1)) in B by (field; lra). lra.
Qed.

(** * Densities that vanish outside of S are densities of [restrict mu S] *)
Theorem vanishing_density {Y} (mu : base_measure Y) (S : Y -> bool) (p : Y -> R) :
  (forall y, support mu y -> if S y then 0 < p y else p y = 0) -> is_integral mu p 1 -> density (restrict mu S) p.
Proof.
  intros H I. split.
  - intros y [Hy E]. specialize (H y Hy). now rewrite E in H.
  - simpl. eapply is_integral_ext; [|exact I]. intros y Hy. unfold inside. specialize (H y Hy). now destruct (S y).
Qed.
