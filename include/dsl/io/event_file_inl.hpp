// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/files/mapped_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/event_file.hpp>
#include <dsl/io/event_records.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <system_error>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE double wall_time() {
  std::timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TYPENET_INLINE std::uint64_t number_for_run() {
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof number) != 0)
    number = static_cast<std::uint64_t>(wall_time() * 1e9) ^ static_cast<std::uint64_t>(::getpid()) << 40;
  return number == 0 ? 1 : number;
}

TYPENET_INLINE event_file::event_file(std::string const& folder, std::uint64_t run, event_place const& resume_at) {
  std::string const end = end_of(run);
  found const there = look_into(folder, end);
  bool const takes_over = !resume_at.is_begin() && !there.ours.empty();
  double const now = wall_time();
  std::string all = first_records(now);
  auto const beginning = static_cast<off_t>(all.size());
  if (takes_over) all += kept(folder + "/" + there.ours, resume_at);
  path_ =
      folder + "/" + name(static_cast<long long>(now) > there.time ? static_cast<long long>(now) : there.time + 1, end);
  // It gets its final name last: a file that begins a session without points would hide those of the file before.
  atomic_file whole(folder + "/" + begun, "tensorboard");
  whole.write(all);
  whole.commit_as(path_);
  descriptor_ = ::fcntl(whole.descriptor(), F_DUPFD_CLOEXEC, 3);  // keeps the lock; not a standard stream
  if (descriptor_ < 0 || ::fcntl(descriptor_, F_SETFL, O_APPEND) != 0) {
    int const code = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    fail(code);
  }
  size_ = static_cast<off_t>(all.size());
  if (takes_over) cut(folder + "/" + there.ours, beginning);
}

TYPENET_INLINE event_file::~event_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

TYPENET_INLINE bool event_file::is_whole() const {
  struct stat status{};
  return ::fstat(descriptor_, &status) == 0 && status.st_size >= size_;
}

TYPENET_INLINE void event_file::append(std::string_view records) {
  if (!whole_ && ::ftruncate(descriptor_, size_) != 0) fail(errno);
  whole_ = true;
  auto const size = static_cast<off_t>(records.size());
  while (!records.empty()) {
    ssize_t const n = ::write(descriptor_, records.data(), records.size());
    if (n == 0 || (n < 0 && errno != EINTR)) {
      int const code = n == 0 ? ENOSPC : errno;       // 0: nothing more will ever be taken
      whole_ = ::ftruncate(descriptor_, size_) == 0;  // readers stop at half a record
      fail(code);
    }
    if (n > 0) records.remove_prefix(static_cast<std::size_t>(n));
  }
  size_ += size;
}

TYPENET_INLINE event_file::found event_file::look_into(std::string const& folder, std::string const& end) {
  found f;
  DIR* const all = ::opendir(folder.c_str());
  while (dirent const* const entry = all ? ::readdir(all) : nullptr) {
    std::string const file = entry->d_name;
    if (!file.starts_with(prefix)) continue;
    long long const time = std::atoll(file.c_str() + prefix.size());
    if (time > f.time && time <= last_time) f.time = time;
    if (file.ends_with(end) && file > f.ours) f.ours = file;
  }
  if (all) ::closedir(all);
  return f;
}

TYPENET_INLINE std::string event_file::kept(std::string const& path, event_place const& before) {
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

TYPENET_INLINE void event_file::cut(std::string const& path, off_t size) {
  int const file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  struct stat status{};
  if (::fstat(file, &status) != 0 || status.st_size < size) size = 0;  // somebody has cut it within its first records
  [[maybe_unused]] bool const done = ::flock(file, LOCK_EX | LOCK_NB) == 0 && ::ftruncate(file, size) == 0;
  ::close(file);
}

TYPENET_INLINE std::string event_file::end_of(std::uint64_t run) {
  char text[32];
  std::snprintf(text, sizeof text, ".%016llx.typenet", static_cast<unsigned long long>(run));
  return text;
}

TYPENET_INLINE std::string event_file::name(long long time, std::string const& end) {
  std::string digits = std::to_string(time);
  if (digits.size() < 10) digits.insert(0, 10 - digits.size(), '0');
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return std::string(prefix) + digits + "." + host + "." + std::to_string(::getpid()) + end;
}

TYPENET_INLINE void event_file::fail(int code) const {
  throw file_error("tensorboard: cannot write " + path_ + ": " + std::generic_category().message(code) +
                   "; free some space, or give another folder");
}

}  // namespace dsl::detail::TYPENET_MODE
