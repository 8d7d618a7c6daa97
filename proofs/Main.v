(** What is proved: every theorem, and from which axioms.

    docs/machine-checked.md quotes each statement; a test compares. `make proofs` refuses any axiom beyond the four
    of the classical real numbers of Coq's library: ClassicalDedekindReals.sig_forall_dec,
    ClassicalDedekindReals.sig_not_dec, Classical_Prop.classic and
    FunctionalExtensionality.functional_extensionality_dep. *)
From ZCDP Require Import Cumulant Laplace DiscreteLaplace RandomizedResponse PureDP UnaryEncoding ThreePointLosses
  SubsetSelection BoundedRange TwoPoint ExponentialMechanism Composition Conversions GroupPrivacy GroupOfPureDP
  PaperLemmas NotVacuous.

Definition theorems := (
  (* Laplace noise *)
  @laplace_mechanism,
  @laplace_DP,
  @laplace_tight,
  @laplace_RDP,
  @laplace_KL,
  (* discrete Laplace noise *)
  @discrete_laplace_mechanism,
  @discrete_laplace_DP,
  @discrete_laplace_tight,
  @discrete_laplace_RDP,
  @discrete_laplace_KL,
  (* pure DP *)
  @pure_DP_RDP,
  @pure_DP_zCDP,
  @pure_DP_attained,
  @event_DP_pointwise,
  (* k-randomized response *)
  @randomized_response_density,
  @randomized_response_DP,
  @randomized_response_tight,
  @randomized_response_tight_up_to_k_star,
  @randomized_response_tight_beyond_k_star,
  @randomized_response_not_KL,
  @randomized_response_zCDP_min,
  @randomized_response_RDP,
  @randomized_response_KL,
  (* unary encoding *)
  @unary_encoding_mechanism,
  @unary_encoding_DP,
  @unary_encoding_tight,
  @unary_encoding_tight_beyond,
  @unary_encoding_KL,
  @rappor_mechanism,
  @rappor_DP,
  @rappor_tight,
  @rappor_RDP,
  @rappor_KL,
  @optimized_unary_encoding_DP,
  @optimized_unary_encoding_tight,
  @optimized_unary_encoding_tight_beyond,
  (* any mechanism with three losses *)
  @three_losses_tight,
  @three_losses_tight_beyond,
  @subset_selection_tight,
  @subset_selection_tight_beyond,
  (* bounded range *)
  @bounded_range_one_t,
  @bounded_range_one_t_attained,
  @bounded_range_RDP,
  @bounded_range_zCDP,
  @bounded_range_tight,
  @bounded_range_RDP_tight,
  @exponential_mechanism_mechanism,
  @exponential_mechanism_range,
  @exponential_mechanism_tight,
  @exponential_mechanism_RDP_tight,
  (* what follows for any mechanism *)
  @vanishing_density,
  @order_one,
  @zCDP_to_approximate_DP,
  @composition,
  @composition_adaptive,
  @composition_adaptive_finite,
  @group_privacy,
  @group_privacy_pure_DP,
  @group_privacy_pure_DP_zCDP,
  @group_privacy_pure_DP_attained,
  @group_privacy_bounded_range,
  @group_privacy_laplace,
  (* lemmas of the paper *)
  @sinh_ratio_increases,
  @log_sinh_ratio_convex,
  @log_sinh_ratio_superadditive,
  @concave_curve_is_worst_at_order_one,
  @discrete_laplace_one_shift,
  @randomized_response_curve_limit,
  @bounded_range_curve_limit,
  (* statements that are false *)
  @laplace_smaller_rho_fails,
  @randomized_response_smaller_rho_fails,
  @exponential_mechanism_smaller_rho_fails,
  @seven_in_place_of_six_fails,
  @pure_DP_in_one_direction_is_not_enough).

Print Assumptions theorems.
