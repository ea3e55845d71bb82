// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mapped_file.hpp>
#include <dsl/io/atomic_file.hpp>
#include <dsl/io/event_records.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace dsl::detail {

/// Seconds since 1970.
inline double wall_time() {
  std::timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// An event file that TensorBoard may read while it grows: records appear whole, each with one write to the system, so
/// a process that is killed leaves all that it has said. TensorBoard reads a folder's files by name, which begins with
/// a time: this one's is behind all that are there, even where the clock is not. A run that goes on takes what came
/// before it over from the newest file of typenet's in that folder, which keeps its beginning alone: a TensorBoard that
/// is reading it goes on to this one, and from a file that is gone it would not. Throws file_error.
class event_file {
 public:
  [[gnu::cold]] event_file(std::string const& folder, event_place const& goes_on) {
    found const there = look_into(folder);
    double const now = wall_time();
    std::string all = first_records(now);
    if (!goes_on.is_begin() && !there.ours.empty()) all += kept(folder + "/" + there.ours, goes_on);
    path_ =
        folder + "/" + name(static_cast<long long>(now) > there.time ? static_cast<long long>(now) : there.time + 1);
    // Its last name comes last: one that begins a session and has no points would hide those of the file before.
    atomic_file whole(folder + "/" + begun, "tensorboard");
    whole.write(all);
    whole.commit();
    if (::rename(whole.path().c_str(), path_.c_str()) != 0) fail(errno);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (descriptor_ < 0) fail(errno);
    size_ = static_cast<off_t>(all.size());
    if (goes_on.is_begin() || there.ours.empty()) return;
    // Where this fails the new session hides the old one's points all the same.
    [[maybe_unused]] int const cut =
        ::truncate((folder + "/" + there.ours).c_str(), static_cast<off_t>(first_records(now).size()));
  }
  event_file(event_file const&) = delete;
  event_file& operator=(event_file const&) = delete;
  ~event_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// All of them, or none and a file_error.
  [[gnu::cold]] void append(std::string_view records) {
    off_t const before = size_;
    while (!records.empty()) {
      ssize_t const n = ::write(descriptor_, records.data(), records.size());
      if (n < 0 && errno != EINTR) {
        int const code = errno;
        if (::ftruncate(descriptor_, before) == 0) size_ = before;  // half a record would end what can be read
        fail(code);
      }
      if (n > 0) records.remove_prefix(static_cast<std::size_t>(n)), size_ += n;
    }
  }

  static constexpr char const* begun = "typenet.events";  // no name that TensorBoard looks at

 private:
  static constexpr std::string_view prefix = "events.out.tfevents.", own = ".typenet";

  struct found {
    long long time = 0;  // of the newest file, whoever wrote it
    std::string ours{};  // typenet's newest
  };
  static found look_into(std::string const& folder) {
    found f;
    DIR* const all = ::opendir(folder.c_str());
    while (dirent const* const entry = all ? ::readdir(all) : nullptr) {
      std::string const file = entry->d_name;
      if (!file.starts_with(prefix)) continue;
      long long const time = std::atoll(file.c_str() + prefix.size());
      if (time > f.time) f.time = time;
      if (file.ends_with(own) && file > f.ours) f.ours = file;
    }
    if (all) ::closedir(all);
    return f;
  }
  /// Records that the run which goes on does not write again.
  static std::string kept(std::string const& path, event_place const& before) {
    std::string all;
    try {
      mapped_file const file(path, "tensorboard", "remove it, or give another folder");
      event_reader reader({reinterpret_cast<char const*>(file.data()), file.size()});
      for (std::string_view record = reader.next(); !record.empty(); record = reader.next())
        if (event_reader::is_before(record, before)) all += record;
    } catch (data_error const& e) {
      throw file_error(e.what());
    }
    return all;
  }
  /// events.out.tfevents.1700000000.host.4711.typenet
  static std::string name(long long time) {
    std::string digits = std::to_string(time);
    if (digits.size() < 10) digits.insert(0, 10 - digits.size(), '0');
    char host[256] = "localhost";
    ::gethostname(host, sizeof host - 1);
    return std::string(prefix) + digits + "." + host + "." + std::to_string(::getpid()) + std::string(own);
  }
  [[noreturn]] void fail(int code) const {
    throw file_error("tensorboard: " + path_ + " must be a file that can be written; found " +
                     std::generic_category().message(code) + "; free some space, or give another folder");
  }

  std::string path_;
  int descriptor_ = -1;
  off_t size_ = 0;
};

}  // namespace dsl::detail
