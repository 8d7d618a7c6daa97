(** What is stated: integrals, Renyi divergence, zCDP and what "tight" means.

    This file and Mechanisms.v are all that one has to read to know what the theorems of Main.v say. They use nothing
    else of this folder. How to read Coq: [forall x, A -> B -> C] is "for all x, if A and B then C", [/\] is "and",
    [fun y => e] is the function y |-> e, [f x] is f(x), [R] are the real numbers, [exp], [ln] (the natural logarithm)
    and [Rpower x a] = x^a (for x > 0) are those of Coq's library. Text in curly braces is filled in by Coq. What stands
    between [Proof] and [Qed] is checked by the machine and need not be read. *)
Require Import Reals Lra List ZArith.
From Coquelicot Require Import Coquelicot.
Local Open Scope R_scope.

(** * Integrals

    The outputs of a mechanism have a probability density (or mass) with respect to a base measure. All that is needed
    of it: which functions are integrable, with which integral, and four laws. [support] says which outcomes count: what
    a function does elsewhere changes no integral, so densities may vanish there, or be anything. *)
Record base_measure (Y : Type) := BaseMeasure {
  support : Y -> Prop;
  is_integral : (Y -> R) -> R -> Prop;  (* [is_integral f a]: f is integrable, and a is its integral *)
  is_integral_ext : forall f g a, (forall y, support y -> f y = g y) -> is_integral f a -> is_integral g a;
  is_integral_scal : forall f a k, is_integral f a -> is_integral (fun y => k * f y) (k * a);
  is_integral_plus : forall f g a b,
    is_integral f a -> is_integral g b -> is_integral (fun y => f y + g y) (a + b);
  is_integral_le : forall f g a b,
    (forall y, support y -> f y <= g y) -> is_integral f a -> is_integral g b -> a <= b
}.
Arguments support {Y}.
Arguments is_integral {Y}.
Arguments is_integral_ext {Y}.
Arguments is_integral_scal {Y}.
Arguments is_integral_plus {Y}.
Arguments is_integral_le {Y}.

(** Finitely many outcomes, those of the list [l]: the integral is the sum. *)
Definition sum_of {Y} (f : Y -> R) (l : list Y) : R := fold_right (fun y s => f y + s) 0 l.

Program Definition finite {Y} (l : list Y) : base_measure Y :=
  BaseMeasure Y (fun y => In y l) (fun f a => sum_of f l = a) _ _ _ _.
Next Obligation. induction l; simpl in *; [easy|]. rewrite H, IHl; auto. Qed.
Next Obligation. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Next Obligation. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Next Obligation. induction l; simpl in *; [lra|]. apply Rplus_le_compat; auto. Qed.

(** All integers: the sum of two convergent series, over 0, 1, 2, ... and over -1, -2, ... *)
Definition is_sum_over_integers (f : Z -> R) (a : R) : Prop :=
  exists u v, is_series (fun n => f (Z.of_nat n)) u /\ is_series (fun n => f (- Z.of_nat (S n))%Z) v /\ a = u + v.

Lemma is_series_le (f g : nat -> R) a b : (forall n, f n <= g n) -> is_series f a -> is_series g b -> a <= b.
Proof.
  intros H A B.
  assert (h : Rbar_le (Finite a) (Finite b)); [|exact h].
  apply (is_lim_seq_le (sum_n f) (sum_n g)); [|exact A|exact B].
  intros n. apply sum_n_m_le. exact H.
Qed.

Program Definition integers : base_measure Z := BaseMeasure Z (fun _ => True) is_sum_over_integers _ _ _ _.
Next Obligation.
  destruct H0 as [u [v [A [B E]]]]. exists u, v. split; [|split]; [| |easy].
  - eapply is_series_ext; [|exact A]. intros n. now apply H.
  - eapply is_series_ext; [|exact B]. intros n. now apply H.
Qed.
Next Obligation.
  destruct H as [u [v [A [B E]]]]. exists (k * u), (k * v). split; [|split].
  - exact (is_series_scal (V:=R_NormedModule) k (fun n => f (Z.of_nat n)) u A).
  - exact (is_series_scal (V:=R_NormedModule) k (fun n => f (- Z.of_nat (S n))%Z) v B).
  - rewrite E. ring.
Qed.
Next Obligation.
  destruct H as [u [v [A [B E]]]]. destruct H0 as [u' [v' [A' [B' E']]]].
  exists (u + u'), (v + v'). split; [|split].
  - exact (is_series_plus (V:=R_NormedModule) (fun n => f (Z.of_nat n)) (fun n => g (Z.of_nat n)) u u' A A').
  - exact (is_series_plus (V:=R_NormedModule) (fun n => f (- Z.of_nat (S n))%Z)
      (fun n => g (- Z.of_nat (S n))%Z) v v' B B').
  - rewrite E, E'. ring.
Qed.
Next Obligation.
  destruct H0 as [u [v [A [B E]]]]. destruct H1 as [u' [v' [A' [B' E']]]].
  assert (u <= u') by (apply (is_series_le _ _ _ _ (fun n => H _ Logic.I) A A')).
  assert (v <= v') by (apply (is_series_le _ _ _ _ (fun n => H _ Logic.I) B B')).
  lra.
Qed.

(** The real line: the improper Riemann integral from minus to plus infinity. *)
Definition is_integral_over_reals (f : R -> R) (a : R) : Prop :=
  is_RInt_gen f (Rbar_locally m_infty) (Rbar_locally p_infty) a.

Lemma is_integral_over_reals_nonneg f a : (forall x, 0 <= f x) -> is_integral_over_reals f a -> 0 <= a.
Proof.
  intros H A.
  assert (h : norm a <= a).
  { apply (@RInt_gen_norm R_CompleteNormedModule (Rbar_locally m_infty) (Rbar_locally p_infty) _ _ f f a a);
      try exact A.
    - exists (fun x => x < 0) (fun x => 0 < x).
      + exists 0. easy.
      + exists 0. easy.
      + intros x y Hx Hy. simpl. lra.
    - exists (fun _ => True) (fun _ => True); try (exists 0; easy).
      intros x y _ _ z _. unfold norm. simpl. unfold abs. simpl. rewrite Rabs_pos_eq; [lra|apply H]. }
  assert (h' := norm_ge_0 a). lra.
Qed.

Program Definition reals : base_measure R := BaseMeasure R (fun _ => True) is_integral_over_reals _ _ _ _.
Next Obligation.
  eapply is_RInt_gen_ext; [|exact H0].
  exists (fun _ => True) (fun _ => True); try (exists 0; easy).
  intros x y _ _ z _. now apply H.
Qed.
Next Obligation. now apply (is_RInt_gen_scal f k a). Qed.
Next Obligation. now apply (is_RInt_gen_plus f g a b). Qed.
Next Obligation.
  assert (h : 0 <= b + (-1) * a); [|lra].
  apply (is_integral_over_reals_nonneg (fun x => g x + (-1) * f x)).
  - intros x. specialize (H x Logic.I). lra.
  - apply (is_RInt_gen_plus g (fun x => (-1) * f x) b ((-1) * a)); [easy|].
    now apply (is_RInt_gen_scal f (-1) a).
Qed.

(** Only the outcomes in [S] of another base measure: for densities that vanish outside of [S]. *)
Definition inside {Y} (S : Y -> bool) (f : Y -> R) (y : Y) : R := if S y then f y else 0.

Program Definition restrict {Y} (mu : base_measure Y) (S : Y -> bool) : base_measure Y :=
  BaseMeasure Y (fun y => support mu y /\ S y = true) (fun f a => is_integral mu (inside S f) a) _ _ _ _.
Next Obligation.
  eapply is_integral_ext; [|exact H0]. intros y Hy. unfold inside. destruct (S y) eqn:E; [now apply H|easy].
Qed.
Next Obligation.
  eapply is_integral_ext; [|exact (is_integral_scal mu _ _ k H)]. intros y _. unfold inside. destruct (S y); ring.
Qed.
Next Obligation.
  eapply is_integral_ext; [|exact (is_integral_plus mu _ _ _ _ H H0)]. intros y _. unfold inside. destruct (S y); ring.
Qed.
Next Obligation.
  refine (is_integral_le mu _ _ _ _ _ H0 H1). intros y Hy. unfold inside. destruct (S y) eqn:E; [now apply H|lra].
Qed.

(** * Divergences of two laws

    A density is positive on the support (elsewhere it may vanish) and has integral 1. So any two of them are absolutely
    continuous with respect to each other, as the paper assumes throughout. *)
Definition density {Y} (mu : base_measure Y) (p : Y -> R) : Prop :=
  (forall y, support mu y -> 0 < p y) /\ is_integral mu p 1.

(** D is the Renyi divergence of order alpha > 1 of p from q: 1/(alpha - 1) log of the integral of p^alpha q^(1-alpha).
    (Definition 2 of the paper.) *)
Definition is_renyi {Y} (mu : base_measure Y) (alpha : R) (p q : Y -> R) (D : R) : Prop :=
  exists m, is_integral mu (fun y => Rpower (p y) alpha * Rpower (q y) (1 - alpha)) m /\ D = ln m / (alpha - 1).

(** D is the Kullback-Leibler divergence of p from q: the integral of p log(p/q), the paper's order 1. *)
Definition is_KL {Y} (mu : base_measure Y) (p q : Y -> R) (D : R) : Prop :=
  is_integral mu (fun y => p y * ln (p y / q y)) D.

(** * Privacy of a mechanism

    A mechanism gives each input x the density [M x] of its output. Which inputs are neighbours is any relation. *)
Definition mechanism {X Y} (mu : base_measure Y) (M : X -> Y -> R) : Prop := forall x, density mu (M x).

(** epsilon-DP (Definition 1), for each outcome; [event_DP_pointwise] shows that for finitely many outcomes it is the
    same as for each event. *)
Definition pure_DP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (epsilon : R) : Prop :=
  forall x x', neighbours x x' -> forall y, support mu y -> M x y <= exp epsilon * M x' y.

(** (alpha, e)-RDP (Definition 3). That the divergence exists, so that the integral is finite, is part of the claim. *)
Definition RDP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (alpha e : R) : Prop :=
  forall x x', neighbours x x' -> exists D, is_renyi mu alpha (M x) (M x') D /\ D <= e.

(** Tightly (alpha, e)-RDP: no smaller e will do. *)
Definition tightly_RDP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (alpha e : R)
  : Prop :=
  RDP mu neighbours M alpha e /\ forall e', RDP mu neighbours M alpha e' -> e <= e'.

(** rho-zCDP (Definition 4): (alpha, rho alpha)-RDP for every alpha > 1. The paper asks it for alpha = 1 too, which adds
    nothing: theorem [order_one]. *)
Definition zCDP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (rho : R) : Prop :=
  forall x x', neighbours x x' -> forall alpha, 1 < alpha ->
    exists D, is_renyi mu alpha (M x) (M x') D /\ D <= rho * alpha.

(** Tightly rho-zCDP: no smaller rho will do. *)
Definition tightly_zCDP {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (rho : R) : Prop :=
  zCDP mu neighbours M rho /\ forall r, zCDP mu neighbours M r -> rho <= r.

(** eta-bounded-range (Definition 5, with its quantifiers repaired): for every two neighbours there is one t such that
    the privacy loss log(p/q) lies in [-t, eta - t] for all outcomes. *)
Definition bounded_range {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) (eta : R) : Prop :=
  forall x x', neighbours x x' ->
    exists t, forall y, support mu y -> exp (- t) * M x' y <= M x y <= exp (eta - t) * M x' y.

(** Delta is the sensitivity of g (Definition 6): the least upper bound of |g x - g x'| over neighbours. It need not be
    attained. *)
Definition sensitivity {X} (neighbours : X -> X -> Prop) (g : X -> R) (Delta : R) : Prop :=
  is_lub (fun d => exists x x', neighbours x x' /\ d = Rabs (g x - g x')) Delta.

(** All moments of the privacy loss of neighbours exist: a hypothesis of the theorems on whole classes of mechanisms
    over any base measure. It holds by itself for finitely many outcomes ([finite_has_moments]), and for every
    measure space, where the loss is bounded (AnyMeasure.v). *)
Definition has_moments {X Y} (mu : base_measure Y) (neighbours : X -> X -> Prop) (M : X -> Y -> R) : Prop :=
  forall x x' alpha, neighbours x x' -> 1 < alpha ->
    exists m, is_integral mu (fun y => Rpower (M x y) alpha * Rpower (M x' y) (1 - alpha)) m.
