// SPDX-License-Identifier: MIT
#include <dsl/data/cifar10.hpp>
#include <dsl/data/csv.hpp>
#include <dsl/data/npy.hpp>
#include <dsl/data/tokens.hpp>
#include <dsl/data/vocabulary.hpp>
#include <dsl/dsl.hpp>
#include <dsl/io/classes_file.hpp>
#include <dsl/io/event_records.hpp>
#include <dsl/io/model_checkpoint.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/state_network.hpp"
#include "fuzz/targets.hpp"

namespace {

/// Returns whether f runs to its end; false after one of typenet's exceptions.
template <class F>
bool accepts(F f) {
  try {
    f();
    return true;
  } catch (dsl::error const&) {
    return false;
  }
}

}  // namespace

namespace dsl::fuzz {

bool cifar(std::string_view bytes) {
  memory_file const file(bytes);
  auto const records = std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes.size()) / 3073);
  return accepts([&] { read_cifar_files({file.path()}, records); });
}

bool csv(std::string_view bytes) {
  memory_file const file(bytes);
  bool const values = accepts([&] { read_csv_values(file.path(), {"y"}, {.ignore = {"id"}, .shuffle_seed = 3}); });
  bool const classes = accepts([&] { read_csv_classes(file.path(), "y"); });
  bool const bare = accepts([&] { read_csv_values(file.path(), {"0"}, {.separator = ';', .header = false}); });
  return values || classes || bare;
}

bool npy(std::string_view bytes) {
  memory_file const file(bytes);
  bool const is_array = accepts([&] {
    detail::npy_array const all(file.path());
    std::shared_ptr<std::vector<float>> copy;
    float volatile sum = 0;
    for (float const x : all.floats(copy)) sum = sum + x;
  });
  accepts([&] { static_cast<void>(detail::npy_array(file.path()).labels()); });
  accepts([&] { read_npy_values(file.path(), file.path()); });
  accepts([&] { read_npy_classes(file.path(), file.path()); });
  accepts([&] { read_npy_pixel_classes(file.path(), file.path(), 10); });
  return is_array;
}

bool classes(std::string_view bytes) {
  memory_file const file(bytes);
  return accepts([&] { read_classes(file.path()); });
}

bool events(std::string_view bytes) {
  detail::event_place const place{.epochs = 3, .batches = 20};
  detail::event_reader reader(bytes);
  bool before = false;
  for (std::string_view record = reader.next(); !record.empty(); record = reader.next())
    before = detail::event_reader::is_before(record, place) || before;
  std::string const alone = detail::framed(bytes);
  detail::event_reader one(alone);
  std::string_view const record = one.next();
  if (record != alone) throw std::logic_error("a record that framed() made was not read back");
  return detail::event_reader::is_before(record, place) || before;
}

bool text(std::string_view bytes) {
  memory_file const file(bytes);
  std::string read;
  if (!accepts([&] { read = read_text(file.path()); })) return false;
  if (read != bytes || bytes_of_tokens(byte_tokens(read)) != bytes) throw std::logic_error("a text was changed");
  return accepts([&] {
    character_vocabulary const letters(read);
    std::vector<std::int32_t> const tokens = letters.encode(read);
    if (letters.decode(tokens) != bytes) throw std::logic_error("characters were changed");
    accepts([&] { next_tokens(tokens, letters.size(), {.length = 3, .step = 2}); });
  });
}

bool pattern(std::string_view bytes) {
  fit_run run{.trainer = small_trainer(), .epochs = 3, .steps = 4, .validates = true};
  std::string const text(bytes);
  // In this order, as model_checkpoint does: the widths bound the memory that formatting takes.
  if (!accepts([&] { detail::require_widths(text); })) return false;
  bool const good = accepts([&] { detail::checkpoint_path(text, run, false); });
  accepts([&] { detail::checkpoint_path(text, run, true); });
  return good;
}

}  // namespace dsl::fuzz
