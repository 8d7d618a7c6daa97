(** The mechanisms: which law of outputs each gives to an input.

    With Zcdp.v, what one has to read to know what the theorems of Main.v say. *)
Require Import Reals List Arith ZArith Bool.
From ZCDP Require Import Zcdp.
Import ListNotations.
Local Open Scope R_scope.

(** * Noise on numbers *)

(** Density exp(-|y - m|/scale)/(2 scale) of Laplace noise around m. *)
Definition laplace_density (scale m y : R) : R := / (2 * scale) * exp (- Rabs (y - m) / scale).

(** A real query g of sensitivity Delta, plus Laplace noise of scale Delta/epsilon. *)
Definition laplace {X} (g : X -> R) (Delta epsilon : R) (x : X) (y : R) : R :=
  laplace_density (Delta / epsilon) (g x) y.

(** Mass tanh(t/2) exp(-t |y - m|) of discrete Laplace noise around m. *)
Definition discrete_laplace_mass (t : R) (m y : Z) : R := tanh (t / 2) * exp (- (t * Rabs (IZR y - IZR m))).

(** An integer query g of sensitivity Delta, plus discrete Laplace noise with t = epsilon/Delta. *)
Definition discrete_laplace {X} (g : X -> Z) (Delta : nat) (epsilon : R) (x : X) (y : Z) : R :=
  discrete_laplace_mass (epsilon / INR Delta) (g x) y.

(** * Local randomizers: inputs are 0, ..., k - 1, and every two different ones are neighbours *)
Definition any_two (k : nat) (x x' : nat) : Prop := (x < k)%nat /\ (x' < k)%nat /\ x <> x'.

(** k-randomized response: the input with weight e^epsilon, every other value with weight 1. *)
Definition randomized_response (k : nat) (epsilon : R) (x y : nat) : R :=
  (if Nat.eqb x y then exp epsilon else 1) / (exp epsilon + INR k - 1).

(** All lists of d bits, and the bits of x: one-hot, a 1 in place x. *)
Fixpoint bits (d : nat) : list (list bool) :=
  match d with O => [[]] | S d => map (cons true) (bits d) ++ map (cons false) (bits d) end.
Definition one_hot (d x : nat) : list bool := map (Nat.eqb x) (seq 0 d).

(** One bit b is reported as b': a 1 as 1 with probability p, a 0 as 1 with probability q; the bits of h as those of y,
    independently. *)
Definition report_bit (p q : R) (b b' : bool) : R :=
  match b, b' with true, true => p | true, false => 1 - p | false, true => q | false, false => 1 - q end.
Fixpoint report_bits (p q : R) (h y : list bool) : R :=
  match h, y with b :: h, b' :: y => report_bit p q b b' * report_bits p q h y | _, _ => 1 end.

(** Unary encoding: each bit of the one-hot vector is reported so. *)
Definition unary_encoding (d : nat) (p q : R) (x : nat) (y : list bool) : R := report_bits p q (one_hot d x) y.

(** RAPPOR keeps each bit with probability e^(epsilon/2)/(e^(epsilon/2) + 1). *)
Definition rappor (d : nat) (epsilon : R) : nat -> list bool -> R :=
  unary_encoding d (exp (epsilon / 2) / (exp (epsilon / 2) + 1)) (/ (exp (epsilon / 2) + 1)).

(** Optimized unary encoding: p = 1/2 and q = 1/(e^epsilon + 1). *)
Definition optimized_unary_encoding (d : nat) (epsilon : R) : nat -> list bool -> R :=
  unary_encoding d (/ 2) (/ (exp epsilon + 1)).

(** Subset selection: of all subsets of w of the k values, as lists of k bits with w ones, those that hold the input
    have weight e^epsilon and the others weight 1. *)
Fixpoint subsets (k w : nat) : list (list bool) :=
  match k, w with
  | O, O => [[]]
  | O, S _ => []
  | S k, O => map (cons false) (subsets k O)
  | S k, S w => map (cons true) (subsets k w) ++ map (cons false) (subsets k (S w))
  end.
Definition subset_weight (epsilon : R) (x : nat) (y : list bool) : R := if nth x y false then exp epsilon else 1.
Definition subset_selection (k w : nat) (epsilon : R) (x : nat) (y : list bool) : R :=
  subset_weight epsilon x y / sum_of (subset_weight epsilon x) (subsets k w).

(** * Selection *)

(** The exponential mechanism on a list of candidates: y with weight exp(epsilon u(x, y)/(2 Delta)). *)
Definition weight {X Y} (u : X -> Y -> R) (Delta epsilon : R) (x : X) (y : Y) : R :=
  exp (epsilon * u x y / (2 * Delta)).
Definition exponential_mechanism {X Y} (l : list Y) (u : X -> Y -> R) (Delta epsilon : R) (x : X) (y : Y) : R :=
  weight u Delta epsilon x y / sum_of (weight u Delta epsilon x) l.

(** Inputs that are utilities themselves; neighbours move each of them by at most Delta. *)
Definition moved_by {Y} (Delta : R) (u u' : Y -> R) : Prop := forall y, Rabs (u y - u' y) <= Delta.

(** Two inputs, each the neighbour of the other. *)
Definition two_inputs (x x' : bool) : Prop := x <> x'.

(** * Several mechanisms, several steps *)

(** The iterated integral over pairs of outcomes. *)
Definition is_iterated_integral {A B} (mu : base_measure A) (nu : base_measure B) (f : A * B -> R) (a : R) : Prop :=
  exists g, (forall x, support mu x -> is_integral nu (fun y => f (x, y)) (g x)) /\ is_integral mu g a.

Program Definition product {A B} (mu : base_measure A) (nu : base_measure B) : base_measure (A * B) :=
  BaseMeasure (A * B) (fun ab => support mu (fst ab) /\ support nu (snd ab)) (is_iterated_integral mu nu) _ _ _ _.
Next Obligation.
  destruct H0 as [h [P Q]]. exists h. split; [|easy]. intros x Hx. eapply is_integral_ext; [|now apply P].
  intros y Hy. now apply H.
Qed.
Next Obligation.
  destruct H as [h [P Q]]. exists (fun x => k * h x). split; [|now apply is_integral_scal].
  intros x Hx. exact (is_integral_scal nu _ _ k (P x Hx)).
Qed.
Next Obligation.
  destruct H as [h [P Q]]. destruct H0 as [h' [P' Q']]. exists (fun x => h x + h' x).
  split; [|now apply is_integral_plus].
  intros x Hx. exact (is_integral_plus nu _ _ _ _ (P x Hx) (P' x Hx)).
Qed.
Next Obligation.
  destruct H0 as [h [P Q]]. destruct H1 as [h' [P' Q']]. apply (is_integral_le mu h h'); try easy.
  intros x Hx. exact (is_integral_le nu _ _ _ _ (fun y Hy => H (x, y) (conj Hx Hy)) (P x Hx) (P' x Hx)).
Qed.

(** One mechanism, then a second that may depend on what the first one said. *)
Definition followed_by {X A B} (M1 : X -> A -> R) (M2 : A -> X -> B -> R) (x : X) (ab : A * B) : R :=
  M1 x (fst ab) * M2 (fst ab) x (snd ab).

(** Inputs that k steps between neighbours join: the neighbours of a group of k. *)
Fixpoint steps {X} (k : nat) (neighbours : X -> X -> Prop) (x x' : X) : Prop :=
  match k with O => x = x' | S k => exists z, neighbours x z /\ steps k neighbours z x' end.
