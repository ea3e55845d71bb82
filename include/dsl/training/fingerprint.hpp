// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/graph/facts.hpp>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Says which fields the fingerprints of networks and rules cover; files keep it beside them. 0 is that of files
/// written before there were versions. Whoever adds a field increments it, and hashes the field from that version on,
/// so that older files stay readable.
inline constexpr int fingerprint_version = 1;

/// A number that stands for what is put into it (FNV-1a, eight bytes at a time).
class fingerprint {
 public:
  fingerprint() = default;
  explicit fingerprint(int version);
  void add(void const* data, std::size_t bytes);
  template <class Number>
  void add(Number n) {
    static_assert(__is_trivially_copyable(Number) && sizeof n <= sizeof(std::uint64_t));
    std::uint64_t word = 0;
    std::memcpy(&word, &n, sizeof n);
    mix(word);
  }
  std::uint64_t value() const { return value_; }

 private:
  void mix(std::uint64_t word);
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

/// What version 1 adds: a user's own operation has its name and its facts, a parameter its role and where its first
/// values come from. The lists of members are whole, or this does not compile: who adds one hashes it, too.
[[gnu::cold]] void add_operation(fingerprint& f, node const& x);

/// Stands for nodes, shapes, their connections and numbers; not for names of layers, nor for what a custom operation
/// computes, nor for what is frozen: weights are the same.
[[gnu::cold]] std::uint64_t fingerprint_of(graph_view const& g, int version = fingerprint_version);

/// Of an optimizer's rule, the clipping of gradients with it; a learning rate is not among it.
[[gnu::cold]] std::uint64_t fingerprint_of(update_rule const& u, int version = fingerprint_version);

/// Stands for which nodes are frozen; 0: none.
[[gnu::cold]] std::uint64_t fingerprint_of_frozen(graph_view const& g);

/// Of how parameters follow from gradients, which of them do, and running statistics from batches; the seed is not
/// among it.
[[gnu::cold]] std::uint64_t fingerprint_of(engine_options const& o, graph_view const& g,
                                           int version = fingerprint_version);

/// The pictures that a fingerprint looks at: all of them up to 256 MiB, else as many, but the first and the last of
/// whatever size, spread over the set.
struct pictures_looked_at {
  std::int64_t size = 0;   // of the set
  std::int64_t bytes = 1;  // of a picture

  constexpr std::int64_t count() const {
    std::int64_t const fit = (std::int64_t{256} << 20) / bytes + 1;
    std::int64_t const most = fit < 2 ? 2 : fit;
    return size < most ? size : most;
  }
  constexpr std::int64_t operator[](std::int64_t i) const {
    return count() == size ? i : i * (size - 1) / (count() - 1);
  }
};
// 10 of 300 MiB -> 0 and 9

/// Of all labels, the mean, and some pictures.
[[gnu::cold]] std::uint64_t fingerprint_of(dataset const& data);

/// Of parameters and optimizer slots.
[[gnu::cold]] std::uint64_t fingerprint_of(engine& e);

/// A number that stands for a policy, whose type says nothing to another process: what it draws for a few pictures, and
/// for one in each later epoch of a run, up to the 10,000th.
[[gnu::cold]] std::uint64_t fingerprint_of(augmentation const& policy, shape const& picture, int epochs);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// 64 bits that stand for a data set's labels, mean and pictures (of more than 256 MiB as many, but two at least,
/// spread over the set): the same for the same ones, in all likelihood others for others. To compare, as from run to
/// run; not against forgery.
[[gnu::cold]] inline std::uint64_t fingerprint(dataset const& data) { return detail::fingerprint_of(data); }

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/fingerprint_inl.hpp>
#endif
