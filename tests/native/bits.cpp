// SPDX-License-Identifier: MIT
// Prints a hash of what the native kernels make of the same numbers, a line for each instruction set of this processor.
// Compiled with several flags and compilers by bits.sh, which wants the same lines from all.
#include <dsl/executors/host/vector_kernels.hpp>
#include <dsl/executors/native/attention.hpp>
#include <dsl/executors/native/depthwise.hpp>
#include <dsl/executors/native/direct_weights.hpp>
#include <dsl/executors/native/recurrent.hpp>
#include <dsl/executors/native/winograd.hpp>
#include <dsl/executors/native/winograd_small.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace dsl;

namespace {

using floats = std::vector<float>;

std::uint64_t hash_of(floats const& v, std::uint64_t h) {
  for (float x : v) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    h = (h ^ bits) * 1099511628211U;
  }
  return h;
}

std::uint64_t hash_of(std::vector<double> const& v, std::uint64_t h) {
  floats parts;
  for (double d : v) {
    parts.push_back(static_cast<float>(d));
    parts.push_back(static_cast<float>(d - static_cast<double>(parts.back())));
  }
  return hash_of(parts, h);
}

floats numbers(long long count, unsigned seed) {
  floats v(static_cast<std::size_t>(count));
  std::uint32_t state = seed;
  for (float& x : v) {
    state = state * 1664525U + 1013904223U;
    x = static_cast<float>(static_cast<std::int32_t>(state >> 8)) * 0x1p-23F - 1;
  }
  return v;
}

floats empty(long long count) { return floats(static_cast<std::size_t>(count)); }

std::uint64_t direct(native_cpu::kernels const& k, dsl::window const& w, std::uint64_t h) {
  shape const in{32, 13, 15};
  shape const out{48, (13 + 2 * w.pad_top - w.height) / w.stride + 1, (15 + 2 * w.pad_left - w.width) / w.stride + 1};
  native_cpu::convolution const c{3, in, out, w};
  floats x = numbers(3 * in.size(), 1), dy = numbers(3 * out.size(), 2), bias = numbers(48, 4);
  floats const kernel = numbers(48LL * 32 * w.height * w.width, 3);
  view<float> const xv{x.data(), in, 3, k.lanes, 32, 0}, dyv{dy.data(), out, 3, k.lanes, 48, 0};
  view<float const> const xr{x.data(), in, 3, k.lanes, 32, 0}, dyr{dy.data(), out, 3, k.lanes, 48, 0};
  auto const run = [&](native_cpu::direct_pass const& p, view<float const> const& from, view<float> const& to,
                       bool add) {
    floats packed = empty(p.packed()), scratch = empty(p.scratch());
    for (int i = 0; i < p.pack_items(); ++i) p.pack(i, kernel.data(), packed.data());
    std::vector<double> moments(static_cast<std::size_t>(p.moments()));
    for (int i = 0; i < p.items(); ++i)
      p.run(i, from, packed.data(), add ? nullptr : bias.data(), to, add, false, scratch.data(),
            add ? nullptr : moments.data());
    h = hash_of(moments, h);
  };
  native_cpu::direct_weights const dw(k, c, false, 1);
  floats sums = empty(dw.sums()), scratch = empty(dw.scratch()), gradient = kernel;
  for (int i = 0; i < dw.items(); ++i) dw.run(i, xr, dyr, sums.data(), scratch.data());
  for (int i = 0; i < dw.finish_items(); ++i) dw.finish(i, sums.data(), gradient.data());
  run({k, c, native_cpu::data_gathering(c, 0, 0), true, false, 2}, dyr, xv, true);
  run({k, c, native_cpu::forward_gathering(c, false), false, false, 2}, xr, dyv, false);
  return hash_of(gradient, hash_of(x, hash_of(dy, h)));
}

std::uint64_t winograd(native_cpu::kernels const& k, std::uint64_t h) {
  shape const in{32, 13, 15}, out{48, 13, 15};
  native_cpu::convolution3x3 const c{3, in, out, 1, 1};
  floats x = numbers(3 * in.size(), 1), dy = numbers(3 * out.size(), 2), bias = numbers(48, 4);
  floats const kernel = numbers(48LL * 32 * 9, 3);
  view<float> const xv{x.data(), in, 3, k.lanes, 32, 0}, dyv{dy.data(), out, 3, k.lanes, 48, 0};
  view<float const> const xr{x.data(), in, 3, k.lanes, 32, 0}, dyr{dy.data(), out, 3, k.lanes, 48, 0};
  auto const run = [&](native_cpu::convolution_pass const& p, view<float const> const& from, view<float> const& to,
                       bool add) {
    floats packed = empty(p.packed()), scratch = empty(p.scratch());
    for (int i = 0; i < p.pack_items(); ++i) p.pack(i, kernel.data(), packed.data());
    std::vector<double> moments(static_cast<std::size_t>(p.moments()));
    for (int i = 0; i < p.items(); ++i)
      p.run(i, from, packed.data(), add ? nullptr : bias.data(), to, add, false, scratch.data(),
            add ? nullptr : moments.data());
    h = hash_of(moments, h);
  };
  native_cpu::winograd_weights const dw(k, c, 1);
  floats sums = empty(dw.sums()), scratch = empty(dw.scratch()), gradient = kernel;
  for (int i = 0; i < dw.items(); ++i) dw.run(i, xr, dyr, sums.data(), scratch.data());
  for (int i = 0; i < dw.finish_items(); ++i) dw.finish(i, sums.data(), gradient.data());
  run(native_cpu::winograd_forward(k, c, true, 2), dyr, xv, true);
  run(native_cpu::winograd_small(k, c, true, 2), dyr, xv, true);
  run(native_cpu::winograd_forward(k, c, false, 2), xr, dyv, false);
  run(native_cpu::winograd_small(k, c, false, 2), xr, dyv, false);
  return hash_of(gradient, hash_of(x, hash_of(dy, h)));
}

view<float const> read_only(view<float> const& v) {
  return {v.data, v.shape, v.batch, v.block, v.buffer_channels, v.channel};
}

std::uint64_t depthwise(native_cpu::kernels const& k, dsl::window const& w, std::uint64_t h) {
  shape const in{32, 13, 15},
      out{32, (13 + 2 * w.pad_top - w.height) / w.stride + 1, (15 + 2 * w.pad_left - w.width) / w.stride + 1};
  native_cpu::convolution const c{3, in, out, w, 32};
  floats x = numbers(3 * in.size(), 1), dy = numbers(3 * out.size(), 2);
  floats const kernel = numbers(32LL * w.height * w.width, 3);
  view<float> const xv{x.data(), in, 3, k.lanes, 32, 0}, dyv{dy.data(), out, 3, k.lanes, 32, 0};
  auto const run = [&](native_cpu::depthwise_pass const& p, view<float> const& from, view<float> const& to) {
    floats packed = empty(p.packed()), scratch = empty(p.scratch());
    for (int i = 0; i < p.pack_items(); ++i) p.pack(i, kernel.data(), packed.data());
    for (int i = 0; i < p.items(); ++i)
      p.run(i, read_only(from), packed.data(), nullptr, to, true, false, scratch.data(), nullptr);
  };
  native_cpu::depthwise_weights const dw(k, c);
  floats sums = empty(dw.sums()), scratch = empty(dw.scratch()), gradient = kernel;
  for (int i = 0; i < dw.items(); ++i) dw.run(i, read_only(xv), read_only(dyv), sums.data(), scratch.data());
  for (int i = 0; i < dw.finish_items(); ++i) dw.finish(i, sums.data(), gradient.data());
  run({k, c, true}, dyv, xv);
  run({k, c, false}, xv, dyv);
  return hash_of(gradient, hash_of(x, hash_of(dy, h)));
}

std::uint64_t attention(host::instructions set, op kind, int width, std::uint64_t h) {
  int const heads = 2, tokens = 271, lanes = host::lanes_of(set);
  auto const padded = [&](int channels) { return native_cpu::blocks_of(channels, lanes) * lanes; };
  int const in = padded(3 * heads * width), out = padded(heads * width);
  floats x = numbers(2LL * in * tokens, 1), y = empty(2LL * out * tokens), dy = numbers(2LL * out * tokens, 2);
  floats dx = numbers(2LL * in * tokens, 3);
  native_cpu::cpu_device at(set, 2);
  node const n{.kind = kind, .groups = heads};
  step forward{}, backward{};
  forward.what = action::forward, backward.what = action::backward;
  shape const in_shape{3 * heads * width, 1, tokens}, out_shape{heads * width, 1, tokens};
  host::bound_step<float> f, b;
  f.step = &forward, f.node = &n, f.x = {x.data(), in_shape, 2, lanes, in, 0};
  f.to = {y.data(), out_shape, 2, lanes, out, 0};
  b.step = &backward, b.node = &n, b.x = f.x, b.dy = {dy.data(), out_shape, 2, lanes, out, 0};
  b.to = {dx.data(), in_shape, 2, lanes, in, 0}, b.accumulate = true;
  native_cpu::attention_task(at, f)();
  native_cpu::attention_task(at, b)();
  return hash_of(y, hash_of(dx, h));
}

std::uint64_t recurrent(host::instructions set, op kind, int units, std::uint64_t h) {
  int const inputs = 5, length = 9, samples = 3, lanes = host::lanes_of(set), rows = recurrent_gates(kind) * units;
  auto const padded = [&](int channels) { return native_cpu::blocks_of(channels, lanes) * lanes; };
  floats x = numbers(1LL * samples * padded(inputs) * length, 1), y = empty(1LL * samples * padded(units) * length);
  floats dy = numbers(1LL * samples * padded(units) * length, 2),
         dx = numbers(1LL * samples * padded(inputs) * length, 3);
  floats states = empty(5LL * samples * units * length);
  floats kernel = numbers(1LL * rows * inputs, 4), recurrent = numbers(1LL * rows * units, 5), bias = numbers(rows, 6);
  floats dkernel = empty(1LL * rows * inputs), drecurrent = empty(1LL * rows * units), dbias = empty(rows);
  native_cpu::cpu_device at(set, 2);
  node const n{.kind = kind};
  step forward{}, backward{};
  forward.what = action::forward, backward.what = action::backward;
  shape const in_shape{inputs, 1, length}, out_shape{units, 1, length};
  host::bound_step<float> f, b;
  f.step = &forward, f.node = &n, f.x = {x.data(), in_shape, samples, lanes, padded(inputs), 0};
  f.to = {y.data(), out_shape, samples, lanes, padded(units), 0}, f.states = states.data();
  auto const of = [](role r) { return static_cast<int>(r); };
  f.parameters[of(role::kernel)] = kernel.data(), f.parameters[of(role::recurrent_kernel)] = recurrent.data();
  f.parameters[of(role::bias)] = f.parameters[of(role::recurrent_bias)] = bias.data();
  b = {.step = &backward, .node = &n, .x = f.x};
  b.dy = {dy.data(), out_shape, samples, lanes, padded(units), 0}, b.states = states.data();
  b.to = {dx.data(), in_shape, samples, lanes, padded(inputs), 0}, b.accumulate = true;
  for (int r = 0; r < role_count; ++r) b.parameters[r] = f.parameters[r];
  b.gradients[of(role::kernel)] = dkernel.data(), b.gradients[of(role::recurrent_kernel)] = drecurrent.data();
  b.gradients[of(role::recurrent_bias)] = dbias.data();
  native_cpu::recurrent_task(at, f)();
  native_cpu::recurrent_task(at, b)();
  return hash_of(y, hash_of(dx, hash_of(dkernel, hash_of(drecurrent, hash_of(dbias, h)))));
}

std::uint64_t updates(host::vector_kernels const& k, std::uint64_t h) {
  update_rule const sgd{.momentum = 0.9, .weight_decay = 0.01, .nesterov = true};
  update_rule slow = sgd,
              adam{.method = update_method::adam, .first_decay = 0.9, .second_decay = 0.99, .epsilon = 1e-3};
  slow.rate_in_velocity = slow.nesterov = false;
  update_rule rmsprop{.momentum = 0.5, .method = update_method::rmsprop, .second_decay = 0.9, .epsilon = 1e-3};
  rmsprop.centered = true;
  for (update_rule const& rule : {sgd, slow, adam, rmsprop}) {
    floats p = numbers(64, 5), slots = empty(192);
    for (unsigned step = 0; step < 3; ++step) {
      floats const g = numbers(64, 6 + step);
      host::update_call<float> const c{&rule, 0.01, step, 0.7, p.data(), g.data(), slots.data(), 64, 64};
      k.update_rows({&c, 0, 64});
    }
    h = hash_of(p, hash_of(slots, h));
  }
  return h;
}

std::uint64_t normalization(host::vector_kernels const& k, std::uint64_t h) {
  floats const x = numbers(9LL * k.lanes, 1), dy = numbers(9LL * k.lanes, 2), constants = numbers(5LL * k.lanes, 3);
  floats y = empty(9LL * k.lanes), dx = y;
  std::vector<double> sums(static_cast<std::size_t>(2 * k.lanes));
  float const* const c = constants.data();
  k.normalize_sums({.x = x.data(), .count = 9, .to = sums.data()});
  h = hash_of(sums, h);
  k.normalize_sums({x.data(), dy.data(), 9, c, c + k.lanes, c + 2 * k.lanes, true, sums.data()});
  h = hash_of(sums, h);
  k.normalize({x.data(), y.data(), 9, c, c + k.lanes, true});
  k.normalize_gradient({x.data(), dy.data(), dx.data(), 9, c, c + k.lanes, c + 2 * k.lanes, c + 3 * k.lanes,
                        c + 4 * k.lanes, true, false});
  h = hash_of(y, hash_of(dx, h));
  for (bool accumulate : {false, true}) {
    k.multiply({x.data(), dy.data(), k.lanes, false, dx.data(), 9, accumulate});
    k.multiply({x.data(), c, 1, true, y.data(), 9, accumulate});
    h = hash_of(y, hash_of(dx, h));
  }
  k.product_sums({x.data(), dy.data(), 9, sums.data()});
  h = hash_of(sums, h);
  std::vector<double> gamma(static_cast<std::size_t>(3 * k.lanes)), beta = gamma, products = gamma;  // 3 pixels
  for (std::size_t i = 0; i + 1 < gamma.size(); ++i) gamma[i] = static_cast<double>(x[i]), beta[i] = 0.1;
  host::layer_norm_call n{.x = x.data(),
                          .to = y.data(),
                          .apart = 3LL * k.lanes,
                          .pixels = 3,
                          .blocks = 3,
                          .channels = 3 * k.lanes - 1,
                          .gamma = gamma.data(),
                          .beta = beta.data(),
                          .epsilon = 1e-3};
  k.layer_norm(n);
  n.dy = dy.data(), n.to = dx.data(), n.products = products.data(), n.sums = beta.data(), n.accumulate = true;
  k.layer_norm(n);
  h = hash_of(beta, hash_of(products, hash_of(y, hash_of(dx, h))));
  for (auto f : {function::elu, function::sigmoid, function::tanh, function::silu}) {
    k.activation({f, 0.3F, x.data(), nullptr, y.data(), 9, false});
    k.activation({f, 0.3F, y.data(), dy.data(), dx.data(), 9, true});
    h = hash_of(y, hash_of(dx, h));
  }
  return h;
}

}  // namespace

int main() {
  for (auto set : {host::instructions::baseline, host::instructions::avx2, host::instructions::avx512}) {
    if (!host::has(set)) continue;
    native_cpu::kernels const& k = native_cpu::kernels_of(set);
    std::uint64_t h = 14695981039346656037U;
    h = direct(k, {1, 1, 1, 0, 0}, h);
    h = direct(k, {3, 3, 2, 1, 1}, h);
    h = winograd(k, h);
    h = depthwise(k, {3, 3, 1, 1, 1}, h);
    h = depthwise(k, {5, 5, 2, 2, 2}, h);
    h = attention(set, op::attention, 32, h);
    h = attention(set, op::causal_attention, 7, h);
    h = recurrent(set, op::lstm, 20, h);
    h = recurrent(set, op::gru, 7, h);
    h = updates(host::vector_kernels_of(set), h);
    h = normalization(host::vector_kernels_of(set), h);
    std::printf("%s %016llx\n", host::name_of(set), static_cast<unsigned long long>(h));
  }
}
