// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/input_file.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/training/earlier_files.hpp>
#include <dsl/training/fingerprint.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void earlier_files::keep(std::string const& path, char const* kind, int epochs) {
  struct stat status{};
  bool const is_file = ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  auto const own = own_.find(path);
  bool const others = own == own_.end() ? new_ : own->second != 0 && own->second != status.st_ino;
  if (others && is_file) add_name(path, kind, epochs, false);  // if this throws, the next save tries again
  own_.try_emplace(path, 0);
}

TYPENET_INLINE void earlier_files::set_aside(std::string const& path, char const* kind, int epochs) {
  add_name(path, kind, epochs, true);
}

TYPENET_INLINE void earlier_files::wrote(std::string const& path) { own_[path] = number_of(path); }

TYPENET_INLINE bool earlier_files::is_own(std::string const& path) const {
  auto const own = own_.find(path);
  return own != own_.end() && own->second != 0 && own->second == number_of(path);
}

TYPENET_INLINE std::uint64_t earlier_files::identity_of(std::string const& path) {
  constexpr std::size_t part = 4096;
  try {
    detail::input_file file(path, "file", "");
    std::string bytes = detail::message({file.size(), ":"});
    file.append(bytes, file.size() < part ? file.size() : part);
    std::size_t const last = file.size() < 2 * part ? 0 : part;
    if (last > 0 && ::lseek(file.descriptor(), -static_cast<off_t>(last), SEEK_END) < 0) return 0;
    file.append(bytes, last);
    detail::fingerprint f;
    for (char const c : bytes) f.add(c);
    return f.value();
  } catch (data_error const&) {
    return 0;
  }
}

TYPENET_INLINE void earlier_files::give_back() {
  for (file const& f : files_) {
    if (number_of(f.kept_as) != f.number) continue;
    ino_t const there = number_of(f.path);
    if (there == 0)
      std::rename(f.kept_as.c_str(), f.path.c_str());
    else if (there == f.number)
      ::unlink(f.kept_as.c_str());
  }
  files_.clear();
}

TYPENET_INLINE void earlier_files::end(int epochs) {
  if (epochs_ == 0 || epochs < epochs_) return;  // 0: nobody knows how many epochs the earlier run had
  for (file const& f : files_)
    if (number_of(f.kept_as) == f.number) ::unlink(f.kept_as.c_str());
  files_.clear();
}

TYPENET_INLINE ino_t earlier_files::number_of(std::string const& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

TYPENET_INLINE void earlier_files::add_name(std::string const& path, char const* kind, int epochs, bool moves) {
  std::string name = path + ".before";
  int code = EEXIST;
  for (int n = 2; code == EEXIST && n < 10'000; ++n) {
    struct stat status{};
    // A link never replaces a file. Where there are none, a name that is free is taken by renaming.
    code = ::link(path.c_str(), name.c_str()) == 0 ? 0 : errno;
    if (code != 0 && code != EEXIST && ::lstat(name.c_str(), &status) == 0)
      code = EEXIST;
    else if (code != 0 && code != EEXIST)
      code = std::rename(path.c_str(), name.c_str()) == 0 ? 0 : errno;
    else if (code == 0 && moves)
      code = ::unlink(path.c_str()) == 0 ? 0 : errno;
    if (code == EEXIST) name = path + ".before." + std::to_string(n);
  }
  if (code != 0)
    detail::throw_error<file_error>({kind, ": ", path, " of an earlier run must be kept as ", name,
                                     ", but renaming failed: ", std::strerror(code),
                                     "; make the folder writable, or give another path"});
  files_.push_back({path, name, number_of(name)});
  if (epochs > epochs_) epochs_ = epochs;
}

}  // namespace dsl::TYPENET_MODE
