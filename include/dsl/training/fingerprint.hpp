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

/// The version of the fingerprints of networks and rules. It determines which fields are hashed. Files store the
/// version with the fingerprint; files from before there were versions have 0. If you add a field, increment the
/// version and hash the field only for this version and later ones, so that older files can still be read.
inline constexpr int fingerprint_version = 1;

/// Computes a hash of everything that is added (FNV-1a, eight bytes at a time).
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

/// Adds what version 1 hashes: a custom operation's name and facts, and a parameter's role and initialisation. The code
/// lists every member, and does not compile if one is missing: if you add a member, hash it here, too.
void add_operation(fingerprint& f, node const& x);

/// Returns a hash of nodes, shapes, connections and numbers. It omits the names of layers, the code of custom
/// operations, and which layers are frozen, since these do not change the weights.
std::uint64_t fingerprint_of(graph_view const& g, int version = fingerprint_version);

/// Returns a hash of an optimizer's rule, including gradient clipping but not the learning rate.
std::uint64_t fingerprint_of(update_rule const& u, int version = fingerprint_version);

/// Returns a hash of which nodes are frozen; 0 if none is.
std::uint64_t fingerprint_of_frozen(graph_view const& g);

/// Returns a hash of the factors of scaled<...>; 0 if there are none.
std::uint64_t fingerprint_of_factors(graph_view const& g);

/// Returns a hash of the names of several outputs and the weights of their losses; 0 if there is one output, with the
/// weight 1.
std::uint64_t fingerprint_of_outputs(graph_view const& g, engine_options const& o);

/// Returns a hash of a loss of the user's own; 0 for a loss of the library. The hash covers the name of the loss's
/// type, and its values and derivatives at some samples. These are rounded to single precision, since mathematical
/// libraries differ in the last bits.
std::uint64_t fingerprint_of_loss(graph_view const& g, engine_options const& o);

/// Returns a hash of everything that decides how a step changes the state, except the seed: how parameters follow from
/// gradients, how running statistics follow from batches, and which parameters are trained.
std::uint64_t fingerprint_of(engine_options const& o, graph_view const& g, int version = fingerprint_version);

/// The samples of a data set that a fingerprint reads. If all samples take at most 256 MiB, it reads all of them;
/// otherwise it reads 256 MiB of samples that are spread over the data set, but at least the first and the last sample.
struct pictures_looked_at {
  std::int64_t size = 0;   // of the set
  std::int64_t bytes = 1;  // per image

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

/// Returns a hash of all labels, the mean, and the samples that pictures_looked_at selects.
std::uint64_t fingerprint_of(dataset const& data);

/// Returns a hash of parameters and optimizer slots.
std::uint64_t fingerprint_of(engine& e);

/// Returns a hash of the behaviour of an augmentation policy, since the identity of its type means nothing in another
/// process. The hash covers the transforms that the policy draws for a few images, and for one image in each later
/// epoch of the run, up to the 10,000th epoch.
std::uint64_t fingerprint_of(augmentation const& policy, shape const& picture, int epochs);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns a 64-bit hash of a data set's labels, mean and images. It reads at most 256 MiB of images, spread over the
/// data set, but at least two images. Equal data sets have equal hashes; different data sets almost certainly have
/// different hashes. The hash is meant for comparing runs and does not protect against forgery.
inline std::uint64_t fingerprint(dataset const& data) { return detail::fingerprint_of(data); }

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/fingerprint_inl.hpp>
#endif
