// SPDX-License-Identifier: MIT
// LINES: 6
// EXPECT[gcc]: dsl::broken::has_only_these_options<dsl::broken::field::loss, dsl::broken::field::losses, dsl::broken::field::seed, dsl::broken::field::batch_norm_momentum, dsl::broken::field::unbiased_running_variance, dsl::broken::field::label_smoothing, dsl::broken::field::class_weights, dsl::broken::field::loss_weights, dsl::broken::field::verify>
// EXPECT[clang]: dsl::broken::has_only_these_options<dsl::broken::field::loss, dsl::broken::field::losses, dsl::broken::field::seed, dsl::broken::field::batch_norm_momentum, dsl::broken::field::unbiased_running_variance, dsl::broken::field::label_smoothing, dsl::broken::field::class_weights, dsl::broken::field::loss_weights, dsl::broken::field::verify>
// EXPECT-RE[gcc]: use of deleted function .*compiler<.*operator\(\)
// EXPECT[clang]: no matching function for call to object of type 'const detail::compiler<
// EXPECT-RE[nvcc]: no instance of overloaded function "dsl::.*compiler<
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
dsl::trainer make() { return dsl::compile<model>(dsl::adam{}, {.label_smoothing = 0.1}); }
#else
dsl::trainer make() { return dsl::compile<model>(dsl::adam{}, {.lable_smoothing = 0.1}); }
#endif
