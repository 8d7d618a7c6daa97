(** Sums over finite lists of outcomes. *)
Require Import Reals Lra List Arith.
From ZCDP Require Import Zcdp.
Import ListNotations.
Local Open Scope R_scope.

Lemma sum_of_ext {A} (f g : A -> R) l : (forall x, In x l -> f x = g x) -> sum_of f l = sum_of g l.
Proof. induction l; simpl; intros H; [easy|]. rewrite H, IHl; auto. Qed.
Lemma sum_of_le {A} (f g : A -> R) l : (forall x, In x l -> f x <= g x) -> sum_of f l <= sum_of g l.
Proof. induction l; simpl; intros H; [lra|]. apply Rplus_le_compat; auto. Qed.
Lemma sum_of_plus {A} (f g : A -> R) l : sum_of (fun x => f x + g x) l = sum_of f l + sum_of g l.
Proof. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Lemma sum_of_scal {A} k (f : A -> R) l : sum_of (fun x => k * f x) l = k * sum_of f l.
Proof. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Lemma sum_of_const {A} c (l : list A) : sum_of (fun _ => c) l = INR (length l) * c.
Proof. induction l; [simpl; ring|]. simpl length. rewrite S_INR. simpl. rewrite IHl. ring. Qed.
Lemma sum_of_app {A} (f : A -> R) l l' : sum_of f (l ++ l') = sum_of f l + sum_of f l'.
Proof. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Lemma sum_of_map {A B} (h : A -> B) (f : B -> R) l : sum_of f (map h l) = sum_of (fun x => f (h x)) l.
Proof. induction l; simpl; [easy|]. now rewrite IHl. Qed.
Lemma sum_of_prod {A B} (f : A * B -> R) l l' :
  sum_of f (list_prod l l') = sum_of (fun a => sum_of (fun b => f (a, b)) l') l.
Proof. induction l; simpl; [easy|]. now rewrite sum_of_app, IHl, sum_of_map. Qed.

Lemma sum_of_nonneg {A} (f : A -> R) l : (forall x, In x l -> 0 <= f x) -> 0 <= sum_of f l.
Proof. intros H. rewrite <- (Rmult_0_r (INR (length l))), <- (sum_of_const 0 l). now apply sum_of_le. Qed.
Lemma sum_of_pos {A} (f : A -> R) l : l <> [] -> (forall x, In x l -> 0 < f x) -> 0 < sum_of f l.
Proof.
  intros N H. destruct l as [|a l]; [easy|]. simpl.
  assert (0 < f a) by (apply H; now left). assert (0 <= sum_of f l); [|lra].
  apply sum_of_nonneg. intros x Hx. left. apply H. now right.
Qed.

Lemma sum_of_point (x : nat) a l : NoDup l -> In x l -> sum_of (fun y => if Nat.eqb x y then a else 0) l = a.
Proof.
  induction l as [|y l IH]; simpl; [easy|]. intros N [->|H].
  - rewrite Nat.eqb_refl. inversion N; subst.
    rewrite (sum_of_ext _ (fun _ => 0)), sum_of_const; [ring|].
    intros z Hz. destruct (Nat.eqb_spec x z); [subst; easy|easy].
  - inversion N; subst. rewrite IH by easy. destruct (Nat.eqb_spec x y); [subst; easy|ring].
Qed.
