// SPDX-License-Identifier: MIT
// Skips over a distance: tap<"name"> and from<"name">.
#include <dsl/language.hpp>
#include <dsl/placement.hpp>

using namespace dsl;
using namespace dsl::literals;

/// Whether two networks have the same nodes and edges, whatever their layers are called.
template <class A, class B>
constexpr bool same_graph() {
  graph_view const a = A::view(), b = B::view();
  if (a.size.nodes != b.size.nodes || a.size.edges != b.size.edges) return false;
  for (int n = 0; n < a.size.nodes; ++n) {
    node x = a.nodes[n];
    x.scope = b.nodes[n].scope;
    if (!(x == b.nodes[n]) || a.output_shape(x) != b.output_shape(x)) return false;
  }
  for (int e = 0; e < a.size.edges; ++e)
    if (a.edges[e] != b.edges[e]) return false;
  return true;
}

// A tap appends no node: skips that can be nested give the same graph in both forms.
static_assert(same_graph<network<image<8, 4, 4>, residual<conv2d<8, 3>, relu>>,
                         network<image<8, 4, 4>, tap<"x">, conv2d<8, 3>, relu, add<from<"x">, identity>>>());
static_assert(same_graph<network<image<3, 8, 8>, conv2d<8, 3>, concat<max_pool2d<2>, sequential<max_pool2d<2>, relu>>>,
                         network<image<3, 8, 8>, conv2d<8, 3>, tap<"x">, max_pool2d<2>, tap<"y">, from<"x">,
                                 max_pool2d<2>, relu, tap<"z">, concat<from<"y">, from<"z">>>>());
static_assert(!same_graph<network<image<8, 4, 4>, residual<conv2d<8, 3>>>,
                          network<image<8, 4, 4>, tap<"x">, conv2d<8, 3>, add<identity, from<"x">>>>());

// A branch reads the branches before it (Gao et al. 2019, Res2Net).
template <int Width>
struct res2_block : residual<conv2d<4 * Width, 1>, relu,
                             channel_split<identity, sequential<conv2d<Width, 3>, relu, tap<"part">>,
                                           sequential<add<identity, from<"part">>, conv2d<Width, 3>, relu, tap<"part">>,
                                           sequential<add<identity, from<"part">>, conv2d<Width, 3>, relu>>,
                             conv2d<4 * Width, 1>> {};
using res2net = network<image<16, 6, 6>, res2_block<4>, repeat<2, res2_block<4>>, global_avg_pool2d, dense<3>, softmax>;
static_assert(res2net::output == shape{3} && verified<res2net> && verified<res2net, 4, mode::inference>);
static_assert(res2net::parameter_count == 3 * (2 * (16 * 16 + 16) + 3 * (9 * 16 + 4)) + 16 * 3 + 3);

// Each copy of a repeated block reads its own tap, and where that tap comes later, the one of the copy before it.
using copies = network<image<4, 4, 4>, repeat<2, tap<"x">, conv2d<4, 3>, relu, add<identity, from<"x">>>>;
static_assert(copies::view().edges[copies::view().nodes[3].first_input + 1] == 0);
static_assert(copies::view().edges[copies::view().nodes[6].first_input + 1] == 3 && verified<copies>);
using chain = network<image<4, 4, 4>, tap<"x">, repeat<2, conv2d<4, 3>, add<identity, from<"x">>, tap<"x">>, relu>;
static_assert(chain::view().edges[chain::view().nodes[4].first_input + 1] == 2 && verified<chain>);

// A tap in a module is seen outside it: U-Net's skips, and pixels of the input.
struct down : sequential<conv2d<4, 3>, tap<"fine">, max_pool2d<2>, conv2d<8, 3>, tap<"coarse">, max_pool2d<2>> {};
struct up : sequential<upsample2d<2>, concat<identity, from<"coarse">>, conv2d<4, 3>, upsample2d<2>,
                       concat<identity, from<"fine">, from<"pixels">>, conv2d<2, 1>> {};
using unet = network<image<3, 8, 8>, tap<"pixels">, down, relu, up, softmax2d>;
static_assert(unet::output == shape{2, 8, 8} && verified<unet> && unet::trains_in<4, 1_MiB>);

// The layers between may be on another device.
using placed = network<image<3, 8, 8>, conv2d<4, 3>, tap<"x">, on<device<1>, conv2d<4, 3>, relu>,
                       add<identity, from<"x">>, global_avg_pool2d, dense<2>>;
static_assert(placed::device_count == 2 && verified<placed>);

// An output of the network is computed by a named_output's own layers. A from<...> is none of them, and may return what
// is an output already: of another named_output, of one within this one, or the network's result.
template <class... Layers>
inline constexpr rule broken_by = detail::checked<image<4, 4, 4>, Layers...>::why.broken;
using conv = conv2d<4, 3>;
static_assert(broken_by<conv, tap<"x">, conv, named_output<"p", conv, from<"x">>, conv> == rule::outputs_have_layers);
static_assert(broken_by<tap<"in">, conv, named_output<"p", from<"in">>, conv> == rule::outputs_have_layers);
static_assert(broken_by<conv, named_output<"p", conv, tap<"h">>, named_output<"q", from<"h">>, conv> ==
              rule::outputs_have_layers);
static_assert(broken_by<conv, named_output<"p", named_output<"q", conv, tap<"h">>, from<"h">>, conv> ==
              rule::outputs_have_layers);
static_assert(broken_by<conv, named_output<"p", conv, tap<"h">>, from<"h">> ==
              rule::outputs_come_before_the_last_layer);
static_assert(broken_by<conv, named_output<"p", conv, tap<"h">>, named_output<"q", from<"h">, conv>, conv,
                        add<identity, from<"h">>> == rule::holds);
