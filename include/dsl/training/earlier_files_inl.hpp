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
#include <set>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace dsl::detail::TYPENET_MODE {

/// Whether two regular files can be read and have the same bytes.
TYPENET_INLINE bool have_equal_bytes(std::string const& a, std::string const& b) {
  constexpr std::size_t part = std::size_t{1} << 16;
  struct stat of_a{}, of_b{};
  bool const are_files = ::lstat(a.c_str(), &of_a) == 0 && ::lstat(b.c_str(), &of_b) == 0 && S_ISREG(of_a.st_mode) &&
                         S_ISREG(of_b.st_mode) && of_a.st_size == of_b.st_size;
  if (!are_files) return false;
  try {
    input_file one(a, "file", ""), other(b, "file", "");
    if (one.size() != other.size()) return false;
    for (std::size_t left = one.size(), n = 0; left > 0; left -= n) {
      std::string x, y;
      n = left < part ? left : part;
      one.append(x, n), other.append(y, n);
      if (x != y) return false;
    }
    return true;
  } catch (data_error const&) {
    return false;
  }
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void earlier_files::wrote(std::string const& path) {
  own_[path] = look_at(path);
  if (restored_) std::erase_if(files_, [&](file const& f) { return f.path == path && is_repeated(f) && removed(f); });
}

TYPENET_INLINE void earlier_files::found_another(std::string const& path) {
  own_[path] = {.number = ~ino_t{0}};  // no file has this number
}

TYPENET_INLINE bool earlier_files::is_repeated(file const& f) {
  return look_at(f.path).number != f.is.number && detail::have_equal_bytes(f.path, f.kept_as);
}

TYPENET_INLINE bool earlier_files::removed(file const& f) {
  return look_at(f.kept_as) == f.is && ::unlink(f.kept_as.c_str()) == 0;
}

TYPENET_INLINE bool earlier_files::is_own(std::string const& path) const {
  auto const own = own_.find(path);
  return own != own_.end() && own->second.number != 0 && own->second == look_at(path);
}

TYPENET_INLINE bool earlier_files::is_others(std::string const& path) const {
  if (auto const own = own_.find(path); own != own_.end() && own->second.number != 0)
    return own->second != look_at(path);
  return !restored_ || !restored_->contains(identity_of(path));
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
    if (look_at(f.kept_as) != f.is) continue;
    identity const there = look_at(f.path);
    if (there.number == 0)
      std::rename(f.kept_as.c_str(), f.path.c_str());
    else if (there == f.is)
      ::unlink(f.kept_as.c_str());
  }
  files_.clear();
}

TYPENET_INLINE void earlier_files::end(int epochs) {
  int most = 0;
  for (file const& f : files_)
    if (f.epochs && *f.epochs > most) most = *f.epochs;
  std::erase_if(files_, [&](file const& f) { return (is_repeated(f) || (f.epochs && most <= epochs)) && removed(f); });
}

TYPENET_INLINE void earlier_files::state(callback_state& s) {
  constexpr std::size_t size = sizeof(std::uint64_t);
  std::string all = s.restores() ? "none" : "";
  if (!s.restores()) {
    std::set<std::uint64_t> files;
    if (restored_) files = *restored_;
    for (auto const& [path, is] : own_) files.insert(is.bytes);
    for (std::uint64_t const file : files) all.append(reinterpret_cast<char const*>(&file), size);
  }
  s("fit's files", all);
  if (!s.restores() || all == "none") return;
  restored_.emplace();
  for (std::size_t at = 0; at + size <= all.size(); at += size) {
    std::uint64_t file = 0;
    std::memcpy(&file, all.data() + at, size);
    restored_->insert(file);
  }
}

TYPENET_INLINE earlier_files::identity earlier_files::look_at(std::string const& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, S_ISREG(status.st_mode) ? identity_of(path) : 0};
}

TYPENET_INLINE void earlier_files::keep(std::string const& path, char const* kind, std::optional<int> epochs,
                                        bool writes_into) {
  struct stat status{};
  bool const is_file = ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  if (is_file && is_others(path)) add_name(path, kind, epochs, writes_into);
}

TYPENET_INLINE void earlier_files::set_aside(std::string const& path, char const* kind, std::optional<int> epochs) {
  add_name(path, kind, epochs, true);
}

TYPENET_INLINE void earlier_files::add_name(std::string const& path, char const* kind, std::optional<int> epochs,
                                            bool moves) {
  struct stat status{};
  auto const exists = [&](std::string const& name) { return ::lstat(name.c_str(), &status) == 0; };
  std::string name = path + ".before";
  int code = EEXIST;
  bool is_kept = false;  // by another name that it had before
  for (int n = 2; code == EEXIST && n < 10'000; ++n) {
    // A link never replaces a file. Where there are none, a name that is free is taken by renaming.
    code = ::link(path.c_str(), name.c_str()) == 0 ? 0 : errno;
    if (code != 0 && exists(name)) {
      is_kept = detail::have_equal_bytes(path, name);
      code = is_kept ? 0 : EEXIST;
    } else if (code != 0) {
      code = std::rename(path.c_str(), name.c_str()) == 0 ? 0 : errno;
    }
    if (code == 0 && moves && exists(path) && ::unlink(path.c_str()) != 0) {
      code = errno;
      if (!is_kept) ::unlink(name.c_str());
    }
    if (code == EEXIST) name = path + ".before." + std::to_string(n);
  }
  if (code != 0)
    detail::throw_error<file_error>({kind, ": ", path, " of an earlier run must be kept as ", name,
                                     ", but renaming failed: ", std::strerror(code),
                                     "; make the folder writable, or give another path"});
  if (!is_kept) files_.push_back({path, name, look_at(name), epochs});
}

}  // namespace dsl::TYPENET_MODE
