// SPDX-License-Identifier: MIT
// EXPECT: named_output: its last layer must be on the device of the network's last layer; put its layers in on<device<...>, ...>
// EXPECT-RE: outputs_share_a_device<.*dsl::at<1>, (Layer=)?(dsl::named_output<.*|head), (Device=)?0, (DeviceOfResult=)?1
#include <dsl/language.hpp>
#include <dsl/placement/on.hpp>

#ifdef FIXED
using head = dsl::named_output<"aux", dsl::on<dsl::device<1>, dsl::dense<10>>>;
#else
using head = dsl::named_output<"aux", dsl::dense<10>>;
#endif
using model = dsl::network<dsl::features<8>, dsl::dense<20>, head, dsl::on<dsl::device<1>, dsl::dense<10>>>;
static_assert(model::parameter_count == 600);
