// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/atomic_file.hpp>
#include <dsl/detail/mapped_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/event_records.hpp>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>

namespace dsl::detail::TYPENET_MODE {

/// Seconds since 1970.
double wall_time();

/// A number that no other run has; not 0.
[[gnu::cold]] std::uint64_t number_for_run();

/// An event file that TensorBoard may read while it grows: records appear whole, each with one write to the system, so
/// a process that is killed leaves all that it has said. TensorBoard reads a folder's files by name, which begins with
/// a time: this one's is after all that are there, even where the clock is not. A run that goes on takes what came
/// before it over from its own newest file in that folder, by the run's number in its name. That one keeps its
/// beginning alone: a TensorBoard that is reading it goes on to this one, and from a file that is gone it would not.
/// Other runs' files, and what a process still writes to (it holds a lock), stay as they are. Throws file_error.
class event_file {
 public:
  [[gnu::cold]] event_file(std::string const& folder, std::uint64_t run, event_place const& goes_on);
  event_file(event_file const&) = delete;
  event_file& operator=(event_file const&) = delete;
  ~event_file();

  /// All of them, or none and a file_error.
  [[gnu::cold]] void append(std::string_view records);

  static constexpr char const* begun = "typenet.events";  // no name that TensorBoard looks at

 private:
  static constexpr std::string_view prefix = "events.out.tfevents.";
  static constexpr long long last_time = 9'999'999'998;  // names are read in their text's order: ten digits, one free

  struct found {
    long long time = 0;  // of the newest file, whoever wrote it
    std::string ours{};  // the newest whose name has that end
  };
  static found look_into(std::string const& folder, std::string const& end);
  /// Records that the run which goes on does not write again.
  static std::string kept(std::string const& path, event_place const& before);
  /// Cuts the file off at `size`. If this fails, or another process writes to the file, the new session hides the
  /// points all the same. A link is left alone: it may lead to any file.
  static void cut(std::string const& path, off_t size);
  static std::string end_of(std::uint64_t run);
  /// events.out.tfevents.1700000000.host.4711.0123456789abcdef.typenet
  static std::string name(long long time, std::string const& end);
  [[noreturn]] void fail(int code) const;

  std::string path_;
  int descriptor_ = -1;
  off_t size_ = 0;     // of whole records
  bool whole_ = true;  // there is nothing after them
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/event_file_inl.hpp>
#endif
