// SPDX-License-Identifier: MIT
// Compares the bits of zero_pad2d's task with those of the plain loops, between guard pages: for all layouts, sides,
// directions, instruction sets and numbers of threads.
#include "support/catch.hpp"
#include "support/guarded_floats.hpp"

#include <dsl/executors/host/instructions.hpp>
#include <dsl/operations/zero_pad2d/host.hpp>
#include <dsl/executors/native/cpu_device.hpp>

#include <cstddef>
#include <cstring>
#include <list>
#include <string>
#include <vector>

using namespace dsl;
using host::instructions;

namespace {

/// How a tensor lies in its buffer: its channel block, and the channels of other tensors before it and after it.
struct layout {
  int block;
  int before = 0;
  int after = 0;
};
struct padding_of {
  int top, left, bottom, right;
};
struct trial {
  shape image;  // without zeros
  padding_of zeros;
  layout from, to;
  bool forward;
  bool accumulate;
};

constexpr int batch = 2;

template <class T>
view<T> view_in(float* data, shape const& s, layout const& l) {
  int const all = host::blocks_of(l.before + s.channels + l.after, l.block) * l.block;
  return {data, s, batch, l.block, all, l.before};
}
long long floats_of(shape const& s, layout const& l) {
  view<float> const v = view_in<float>(nullptr, s, l);
  return batch * v.buffer_channels * s.area();
}

/// Fills a buffer, with numbers of both signs and both zeros. Lanes that belong to no tensor are 0 in a tensor that a
/// step reads or adds to.
void fill(test::guarded_floats& all, shape const& s, layout const& l, bool clean) {
  for (long long i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i * 37 % 1009 - 500) / 7;
  all[0] = -0.0F;
  view<float> v = view_in<float>(all.data(), s, l);
  v.shape.channels += l.after;
  if (clean) host::zero_rest_of_block(v);
}

/// Runs a trial with the plain loops, and with the task in each place. Returns the first place whose buffer differs.
template <class Places>
std::string differs(trial const& t, Places& places) {
  shape const large{t.image.channels, t.image.height + t.zeros.top + t.zeros.bottom,
                    t.image.width + t.zeros.left + t.zeros.right};
  shape const &in = t.forward ? t.image : large, &out = t.forward ? large : t.image;
  step const s{.what = t.forward ? action::forward : action::backward};
  node const n{.kind = op::zero_pad2d, .window = {1, 1, 1, t.zeros.top, t.zeros.left}};
  test::guarded_floats from(floats_of(in, t.from)), expected(floats_of(out, t.to));
  fill(from, in, t.from, true);

  host::bound_step<float> b;
  b.step = &s, b.node = &n, b.accumulate = t.accumulate;
  (t.forward ? b.x : b.dy) = view_in<float const>(from.data(), in, t.from);
  auto const aim_at = [&](test::guarded_floats& to) {
    fill(to, out, t.to, t.accumulate);
    b.to = view_in<float>(to.data(), out, t.to);
    int const end = b.to.channel + b.to.shape.channels;
    b.ends_block = end < b.to.buffer_channels && end + b.to.block > b.to.buffer_channels;  // as binding.hpp does
  };
  aim_at(expected);
  auto const& loops = plain::loops_for<float, op::zero_pad2d>;
  (t.forward ? loops.forward : loops.backward)(b, {});
  if (b.ends_block) host::zero_rest_of_block(b.to);

  for (auto& place : places) {
    test::guarded_floats found(expected.size());
    aim_at(found);
    host::step_task<op::zero_pad2d>::make<all_operations>(place, b)();
    if (std::memcmp(found.data(), expected.data(), sizeof(float) * static_cast<std::size_t>(found.size())) != 0)
      return std::to_string(place.lanes()) + " lanes, " + std::to_string(place.threads()) + " threads";
  }
  return "none";
}

template <class Places>
void check(shape const& image, padding_of const& zeros, layout const& small, layout const& large, Places& places) {
  INFO(image.channels << 'x' << image.height << 'x' << image.width << ", zeros " << zeros.top << ' ' << zeros.left
                      << ' ' << zeros.bottom << ' ' << zeros.right << "; blocks of " << small.block << " behind "
                      << small.before << " and of " << large.block << " behind " << large.before);
  CHECK(differs({image, zeros, small, large, true, false}, places) == "none");
  CHECK(differs({image, zeros, large, small, false, false}, places) == "none");
  CHECK(differs({image, zeros, large, small, false, true}, places) == "none");
}

/// Places with each number of threads.
std::list<native_cpu::cpu_device> places_of(instructions set) {
  std::list<native_cpu::cpu_device> all;
  for (int threads : {1, 2, 3, 4, 7}) all.emplace_back(set, threads);
  return all;
}

/// The layouts of the image without zeros and of the one with zeros.
struct layouts {
  layout small, large;
};
std::vector<layouts> layouts_with(int L) {
  return {{{L}, {L}},          {{1}, {L}},       {{1}, {1}},       {{1, 2, 3}, {1, 1}}, {{L, L, L}, {L, 2 * L}},
          {{1, 0, 4}, {L, L}}, {{L, 3}, {L, 3}}, {{L, 0}, {L, 3}}, {{L, 3, 1}, {L}},    {{L, 1, 2}, {L, 3, L + 1}}};
}

}  // namespace

TEST_CASE("zero_pad2d: the task has the bits of the plain loops", "[native]") {
  for (auto const set : {instructions::baseline, instructions::avx2, instructions::avx512}) {
    if (!host::has(set)) continue;
    auto places = places_of(set);
    int const L = host::lanes_of(set);
    for (auto const& [small, large] : layouts_with(L))
      for (int channels : {1, 3, L, L + 3, 2 * L}) {
        for (shape const pixels : {shape{0, 3, 4}, shape{0, 1, 1}})
          for (padding_of const& zeros :
               {padding_of{1, 1, 1, 1}, {0, 0, 0, 0}, {1, 0, 2, 3}, {0, 2, 0, 1}, {3, 1, 0, 0}})
            check({channels, pixels.height, pixels.width}, zeros, small, large, places);
        // more than 2048 pixels: several bands of rows, which begin within the zeros and within the image
        if (channels == 3 || channels == L) check({channels, 33, 70}, {30, 1, 40, 2}, small, large, places);
      }
  }
}

TEST_CASE("zero_pad2d: no task writes a gradient that nobody needs", "[native]") {
  native_cpu::cpu_device place(host::widest(), 2);
  step const s{.what = action::backward};
  node const n{.kind = op::zero_pad2d, .window = {1, 1, 1, 1, 1}};
  std::vector<float> dy(16, 1.0F);
  host::bound_step<float> b;
  b.step = &s, b.node = &n;
  b.dy = {dy.data(), {1, 4, 4}, 1, 1, 1, 0};
  host::task const none = host::step_task<op::zero_pad2d>::make<all_operations>(place, b);
  REQUIRE(none);
  none();
}
