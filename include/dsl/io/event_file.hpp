// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/files/mapped_file.hpp>
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

/// Returns the time in seconds since 1970.
double wall_time();

/// Returns a random number other than 0, which identifies a run.
std::uint64_t number_for_run();

/// An event file that TensorBoard can read while it grows. Each append is a single write call, so that even a killed
/// process leaves whole records. TensorBoard reads the files of a folder in the order of their names, which begin with
/// a time. The new file gets a name that is later than all others in the folder, even if the clock is slow. A resumed
/// run finds its newest file in the folder by the run's number in the name, copies the earlier points from it into the
/// new file, and then truncates the old file to its first records. A running TensorBoard then continues with the new
/// file, which it would not do if the old file were removed. Files of other runs do not change, nor do files that
/// another process has locked because it still writes to them. Throws file_error.
class event_file {
 public:
  event_file(std::string const& folder, std::uint64_t run, event_place const& resume_at);
  event_file(event_file const&) = delete;
  event_file& operator=(event_file const&) = delete;
  ~event_file();

  /// Appends all of the records. If this fails, appends none of them and throws file_error.
  void append(std::string_view records);

  /// Whether the file still has all records. Somebody may have cut it.
  bool is_whole() const;

  static constexpr char const* begun = "typenet.events";  // a name that TensorBoard ignores

 private:
  static constexpr std::string_view prefix = "events.out.tfevents.";
  static constexpr long long last_time = 9'999'999'998;  // ten digits: names are sorted as text; one more is free

  struct found {
    long long time = 0;  // of the newest file of any run
    std::string ours{};  // name of the newest file of this run
  };
  static found look_into(std::string const& folder, std::string const& end);
  /// Returns those records of an old file that the resumed run does not write again.
  static std::string kept(std::string const& path, event_place const& before);
  /// Truncates a file to `size` bytes. Does nothing if another process writes to the file, or if the path is a symbolic
  /// link, which may lead to any file. If the file is not truncated, the new session in the new file still hides the
  /// old points.
  static void cut(std::string const& path, off_t size);
  static std::string end_of(std::uint64_t run);
  /// Returns the name of the new file: events.out.tfevents.1700000000.host.4711.0123456789abcdef.typenet
  static std::string name(long long time, std::string const& end);
  [[noreturn]] void fail(int code) const;

  std::string path_;
  int descriptor_ = -1;
  off_t size_ = 0;     // of whole records
  bool whole_ = true;  // whether the file ends with them
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/event_file_inl.hpp>
#endif
