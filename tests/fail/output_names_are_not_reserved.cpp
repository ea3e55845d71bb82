// SPDX-License-Identifier: MIT
// EXPECT: named_output: main, val and names that begin with val_ are reserved; choose another name
// EXPECT-RE: output_names_are_not_reserved<.*dsl::at<1>, (Layer=)?(dsl::named_output<.*|head)
// val_aux_loss would be the training loss of this output, but also the validation loss of an output named aux.
#include <dsl/language.hpp>

#ifdef FIXED
using head = dsl::named_output<"aux", dsl::dense<10>>;
#else
using head = dsl::named_output<"val_aux", dsl::dense<10>>;
#endif
using model = dsl::network<dsl::features<8>, dsl::dense<20>, head, dsl::dense<10>>;
constexpr dsl::shape output = model::output;
