// SPDX-License-Identifier: MIT
// The names of types in errors, tables and weight files are the same on every compiler, and nodes know their layer.
#include "support/static_graph.hpp"

using dsl::detail::name_of;
using test::same;
using test::stands_at;

namespace mine {
struct block : dsl::sequential<dsl::conv2d<8, 3>, dsl::relu> {};
template <double Rate, int Filters>
struct soft_block : dsl::sequential<dsl::conv2d<Filters, 3>, dsl::dropout<Rate>> {};
template <class Norm, dsl::padding Pad>
struct typed_block : dsl::sequential<dsl::conv2d<8, 3, 3, 1, Pad>, Norm> {};
template <class... Branches>
struct tower : dsl::concat<Branches...> {};
namespace {
struct hidden : dsl::sequential<block, dsl::relu> {};
template <int Filters>
struct hidden_block : dsl::sequential<dsl::conv2d<Filters, 3>> {};
}  // namespace
template <class T>
struct library {
  struct block2 : dsl::sequential<T> {};
  template <int Filters>
  struct block3 : dsl::sequential<dsl::conv2d<Filters, 3>, T> {};
  template <class... Layers>
  struct block4 : dsl::sequential<Layers...> {};
};
template <class First, class Second>
struct both {
  using children = dsl::types<First, Second>;
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    dsl::value const halves[] = {b.lower_child<First>(0, in), b.lower_child<Second>(1, in)};
    return b.append({.kind = dsl::op::add}, halves, in.shape);
  }
};
template <char... Letters>
struct spelled : dsl::relu {
  template <int Filters>
  struct block5 : dsl::conv2d<Filters, 3> {};
};
template <auto Function>
struct calls : dsl::relu {};
struct number {
  bool operator<(number) const;
  bool operator>(number) const;
  bool operator<=(number) const;
  number operator<<(number) const;
  number operator>>(number) const;
};
struct operators : dsl::relu {};
namespace v2::detail {
struct block : dsl::sequential<dsl::relu> {};
}  // namespace v2::detail
}  // namespace mine
struct at_global_scope : dsl::relu {};
constexpr auto local() {
  struct in_function : dsl::relu {};
  return in_function{};
}

static_assert(same(name_of<dsl::inception_module<32, 48>>(), "inception_module"));
static_assert(same(name_of<dsl::relu>(), "relu"));
static_assert(same(name_of<dsl::batch_norm<>>(), "batch_norm"));
static_assert(same(name_of<dsl::sequential<dsl::relu, dsl::conv2d<8, 3>>>(), "sequential"));
static_assert(same(name_of<dsl::concat<>>(), "concat"));
static_assert(same(name_of<dsl::minigooglenet<10>>(), "minigooglenet"));
static_assert(same(name_of<mine::block>(), "block"));
static_assert(same(name_of<mine::v2::detail::block>(), "block"));
static_assert(same(name_of<mine::soft_block<0.5, 8>>(), "soft_block"));
static_assert(same(name_of<mine::typed_block<dsl::batch_norm<0.9>, dsl::padding::valid>>(), "typed_block"));
static_assert(same(name_of<mine::tower<mine::block, mine::tower<dsl::relu>>>(), "tower"));
static_assert(same(name_of<mine::hidden>(), "hidden"));
static_assert(same(name_of<mine::hidden_block<3>>(), "hidden_block"));
static_assert(same(name_of<mine::library<dsl::relu>::block2>(), "block2"));
static_assert(same(name_of<mine::library<mine::soft_block<0.5, 8>>::block2>(), "block2"));
static_assert(same(name_of<mine::library<dsl::relu>::block3<64>>(), "block3"));
static_assert(same(name_of<mine::library<mine::library<dsl::relu>::block3<8>>::block3<64>>(), "block3"));
static_assert(same(name_of<mine::library<dsl::relu>::block4<mine::library<dsl::conv2d<8, 3>>::block2>>(), "block4"));
static_assert(same(name_of<mine::library<dsl::relu>::block4<>>(), "block4"));
static_assert(same(name_of<mine::tower<mine::library<dsl::relu>::block3<64>, dsl::relu>>(), "tower"));
static_assert(same(name_of<mine::spelled<'<', 'a', '>', '\'', '"', '\\', '<'>>(), "spelled"));
static_assert(same(name_of<mine::spelled<'>', '>'>::block5<3>>(), "block5"));
static_assert(same(name_of<mine::calls<[](int) { return 1; }>>(), "calls"));
static_assert(same(name_of<mine::calls<(&mine::number::operator<)>>(), "calls"));
static_assert(same(name_of<mine::calls<(&mine::number::operator>)>>(), "calls"));
static_assert(same(name_of<mine::calls<(&mine::number::operator<=)>>(), "calls"));
static_assert(same(name_of<mine::calls<&mine::number::operator<< >>(), "calls"));
static_assert(same(name_of<mine::calls<(&mine::number::operator>>)>>(), "calls"));
static_assert(same(name_of<mine::operators>(), "operators"));
static_assert(same(name_of<at_global_scope>(), "at_global_scope"));
static_assert(same(name_of<decltype(local())>(), "in_function"));
static_assert(same(name_of<int>(), "int"));

// ---- paths -------------------------------------------------------------------------------------------------------
using model = test::on<3, 32, 32, dsl::conv_module<96, 3, 3>, dsl::inception_module<32, 48>, mine::hidden,
                       mine::soft_block<0.5, 8>, dsl::flatten>;
constexpr auto graph = model::view();
static_assert(same(graph.scopes[0].name, "network") && graph.scopes[0].parent == -1);
static_assert(stands_at(graph, 0, "network"));  // the input
static_assert(stands_at(graph, 1, "network/0.conv_module/0.conv2d"));
static_assert(stands_at(graph, 2, "network/0.conv_module/1.batch_norm"));
static_assert(stands_at(graph, 3, "network/0.conv_module/2.relu"));
static_assert(stands_at(graph, 4, "network/1.inception_module/0.conv_module/0.conv2d"));
static_assert(stands_at(graph, 9, "network/1.inception_module/1.conv_module/2.relu"));
static_assert(graph.nodes[10].kind == dsl::op::concat && stands_at(graph, 10, "network/1.inception_module"));
static_assert(stands_at(graph, 11, "network/2.hidden/0.block/0.conv2d"));
static_assert(stands_at(graph, 13, "network/2.hidden/1.relu"));
static_assert(stands_at(graph, 15, "network/3.soft_block/1.dropout"));
static_assert(stands_at(graph, 16, "network/4.flatten") && graph.size.nodes == 17);
// a combinator of another's
constexpr auto another =
    test::on<3, 8, 8, dsl::relu, mine::both<dsl::tanh, mine::tower<dsl::conv2d<1, 1>, dsl::conv2d<2, 1>>>>::view();
static_assert(stands_at(another, 2, "network/1.both/0.tanh"));
static_assert(stands_at(another, 3, "network/1.both/1.tower/0.conv2d"));
static_assert(stands_at(another, 5, "network/1.both/1.tower") && stands_at(another, 6, "network/1.both"));
constexpr dsl::verdict no_layer = test::verdict_of<dsl::image<3, 8, 8>, dsl::relu, mine::both<dsl::relu, int>>();
static_assert(no_layer.broken == dsl::rule::children_are_layers && no_layer.depth == 2 && no_layer.path[0] == 1 &&
              no_layer.path[1] == 1);
// the helper can say no
static_assert(!stands_at(graph, 16, "network/5.flatten") && !stands_at(graph, 16, "4.flatten") &&
              !stands_at(graph, 16, "network"));
static_assert(!stands_at(graph, 3, "network/0.conv_module/1.conv_module/2.relu") &&
              !stands_at(graph, 3, "0.conv_module/2.relu"));

// identity appends nothing, so a concat's input may be another layer's value
constexpr auto dense_block = test::on<4, 8, 8, dsl::concat<dsl::identity, dsl::conv2d<8, 3>>>::view();
static_assert(dense_block.size.nodes == 3 && stands_at(dense_block, 2, "network/0.concat"));
static_assert(dense_block.input(dense_block.nodes[2], 0) == 0 && dense_block.input(dense_block.nodes[2], 1) == 1);
