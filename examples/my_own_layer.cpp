// SPDX-License-Identifier: MIT
// Shows how to write your own layers. typenet's layers have no privileges: whatever conv2d or concat can do, a struct
// in your namespace can do, with the same errors, names and constants.
//
// 1. A module made of existing layers: one line.
// 2. A layer that appends its own nodes, because it depends on its input's shape; with its own rule.
#include <cstdio>

#include <dsl/language.hpp>

namespace mine {

// ---- 1. A module -------------------------------------------------------------------------------------------------
// SqueezeNet's fire module (Iandola et al. 2016): a 1x1 convolution reduces the channels, and a 1x1 and a 3x3 one
// increase them again. A module only derives from a combinator. It is a struct instead of an alias so that errors,
// tables and weight files call it `fire`.
template <int Squeeze, int Expand>
struct fire : dsl::sequential<dsl::conv2d<Squeeze, 1>, dsl::relu,
                              dsl::concat<dsl::sequential<dsl::conv2d<Expand, 1>, dsl::relu>,
                                          dsl::sequential<dsl::conv2d<Expand, 3>, dsl::relu>>> {};
// fire<16, 64> on 64x32x32 -> 128x32x32

// ---- 2. A layer --------------------------------------------------------------------------------------------------
// A layer is a type with a static lower(): it gets a value (a tensor of the graph and its shape), appends nodes, and
// returns the resulting value. It runs at compile time, twice: once to count, and once to fill arrays of that size.

// Appends one node. Its parameters must be declared before it. Its dims, window and shapes must agree, or the network
// does not compile.
constexpr dsl::value convolve(dsl::builder& b, dsl::value in, int filters, int size) {
  int const area = size * size;
  b.parameter({.role = dsl::role::kernel,
               .dims = {filters, in.shape.channels, size, size},
               .fan_in = in.shape.channels * area,
               .fan_out = filters * area});
  b.parameter({.role = dsl::role::bias, .dims = {filters, 1, 1, 1}});
  int const zeros = size / 2;  // padding that keeps the size of the image
  return b.append({.kind = dsl::op::conv2d, .window = {size, size, 1, zeros, zeros}}, in,
                  {filters, in.shape.height, in.shape.width});
}

// x + convolve(relu(convolve(x))), with 1/Ratio of the channels in between. Their number depends on the layer before,
// so sequential<conv2d<...>, ...> could not express it.
template <int Ratio>
struct bottleneck {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    int const channels = in.shape.channels;
    // The condition, with the input's shape and the message's two numbers. The compiler reports it after lower() has
    // returned, so lower() must work with any shape: no division by zero here.
    bool const good = b.require(Ratio > 0 && channels % (Ratio > 0 ? Ratio : 1) == 0,
                                {.broken = dsl::rule::own_rule, .first = in.shape, .wanted = Ratio, .found = channels});

    dsl::value const narrow = convolve(b, in, good ? channels / Ratio : 1, 1);
    dsl::value const active = dsl::relu::lower(b, narrow);  // other layers are functions too
    dsl::value const wide = convolve(b, active, channels, 3);
    dsl::value const both[] = {in, wide};
    return b.append({.kind = dsl::op::add}, both, in.shape);
  }

  // The message. Found and Wanted are the verdict's numbers; compare them as lower() did. Every compiler prints the
  // template arguments. `holds` is for typenet: if it were true here, the compiler would say that the message and the
  // rule disagree.
  template <class At, dsl::shape In, long long Wanted, long long Found>
  struct broken {
    static constexpr bool holds = Wanted > 0 && Found % (Wanted > 0 ? Wanted : 1) == 0;
    static_assert(holds, "bottleneck: Ratio must divide the channels of the input; change one of them");
  };
};
// bottleneck<4> on 128x32x32 -> 128x32x32, with 32x32x32 in between

}  // namespace mine

using model = dsl::network<dsl::image<3, 32, 32>,                    //
                           dsl::conv2d<64, 3>, dsl::relu,            //
                           mine::fire<16, 64>, mine::bottleneck<4>,  //
                           dsl::max_pool2d<2>, mine::fire<32, 96>,   //
                           dsl::global_avg_pool2d, dsl::flatten, dsl::dense<10>, dsl::softmax>;

// The constants need no further code.
static_assert(model::output == dsl::shape{10});
static_assert(dsl::network<dsl::image<128, 32, 32>, mine::bottleneck<4>>::parameter_count ==
              (128 * 32 + 32) + (9 * 32 * 128 + 128));

// Nor does the error. This one,
//
//   using wrong = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<66, 3>, mine::bottleneck<4>>;
//   constexpr dsl::shape output = wrong::output;
//
// GCC calls (Clang and nvcc differ in punctuation)
//
//   In instantiation of 'struct mine::bottleneck<4>::broken<dsl::at<1>, dsl::shape{66, 32, 32}, 4, 66>':
//   error: static assertion failed: bottleneck: Ratio must divide the channels of the input; change one of them
//
// An inconsistent node is an error, too: without the bias in convolve(), the message is
//
//   error: static assertion failed: node: it must own its operation's parameters; declare kernel, bias, or batch_norm's
//   four, or none before it

int main() {
  // The result of all types is plain data: nodes in topological order, each with the layer it came from.
  constexpr dsl::graph_view graph = model::view();
  std::printf("%-40s %14s %12s\n", "layer", "output", "parameters");
  for (int i = 0; i < graph.size.nodes; ++i) {
    dsl::node const& node = graph.nodes[i];
    long long parameters = 0;
    for (int p = 0; p < node.parameters; ++p) parameters += graph.parameters[node.first_parameter + p].count();

    char path[64] = "input";
    int length = 0;
    int scopes[8] = {};  // from the layer up to the network
    int depth = 0;
    for (int s = node.scope; s != 0 && depth < 8; s = graph.scopes[s].parent) scopes[depth++] = s;
    while (depth > 0 && length < 64) {
      dsl::scope const& scope = graph.scopes[scopes[--depth]];
      length += std::snprintf(path + length, sizeof path - static_cast<unsigned>(length), "%s%d.%.*s",
                              length > 0 ? "/" : "", scope.index, scope.name.size, scope.name.data);
    }
    dsl::shape const& out = graph.output_shape(node);
    char shape[32];
    std::snprintf(shape, sizeof shape, "%dx%dx%d", out.channels, out.height, out.width);
    std::printf("%-40s %14s %12lld\n", path, shape, parameters);
  }
  std::printf("\n%lld parameters, %lld multiply-adds per image, %lld bytes to train with batch 32\n",
              model::parameter_count, model::forward_macs, model::training_bytes(32));
}
