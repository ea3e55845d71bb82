// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/api.hpp>
#include <dsl/executors/cuda/cache_folder.hpp>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// A program compiled for one architecture.
struct cubin {
  std::string code{};
  bool from_cache = false;
};

}  // namespace dsl::cu::TYPENET_MODE

namespace dsl::cu::nvrtc::TYPENET_MODE {

inline std::string hexadecimal(std::uint64_t n) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(n));
  return text;
}

/// Returns the FNV-1a hash of a text. Two hashes with different initial values form a key of 128 bits.
inline std::uint64_t hash_of(std::string_view text, std::uint64_t begin = 0xcbf29ce484222325u) {
  for (char const c : text) begin = (begin ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return begin;
}

inline std::vector<std::string> compiler_options(std::string const& architecture) {
  return {"--gpu-architecture=" + architecture, "--std=c++17"};
}

struct program {
  cu::api const& api;
  nvrtcProgram handle = nullptr;

  program(cu::api const& a, std::string const& text) : api(a) {
    a(a.nvrtcCreateProgram, &handle, text.c_str(), "typenet_kernels.cu", 0, nullptr, nullptr);
  }
  program(program const&) = delete;
  program& operator=(program const&) = delete;
  ~program() { api.nvrtcDestroyProgram.function(&handle); }

  std::string log() const {
    std::size_t size = 0;
    if (api.nvrtcGetProgramLogSize.function(handle, &size) != NVRTC_SUCCESS) return {};
    std::string text(size, '\0');
    if (size == 0 || api.nvrtcGetProgramLog.function(handle, text.data()) != NVRTC_SUCCESS) return {};
    if (std::size_t const end = text.find('\0'); end != std::string::npos) text.resize(end);
    return text;
  }
};

}  // namespace dsl::cu::nvrtc::TYPENET_MODE

namespace dsl::cu::TYPENET_MODE {

/// Compiles a program for an architecture in NVRTC's notation, "sm_80" or "sm_90a", and returns the code. Throws
/// executor_error with the compiler's log.
inline std::string compile(api const& a, std::string const& text, std::string const& architecture) {
  nvrtc::program const unit(a, text);
  std::vector<std::string> const options = nvrtc::compiler_options(architecture);
  std::vector<char const*> pointers;
  pointers.reserve(options.size());
  for (std::string const& o : options) pointers.push_back(o.c_str());
  nvrtcResult const result =
      a.nvrtcCompileProgram.function(unit.handle, static_cast<int>(pointers.size()), pointers.data());
  if (result != NVRTC_SUCCESS) {
    std::string log = unit.log();
    for (char& c : log)
      if (c == '\n' || c == '\0') c = ' ';  // a message is one line
    throw executor_error(dsl::detail::message({"nvrtc: nvrtcCompileProgram failed for ", architecture, ": ",
                                               a.nvrtcGetErrorString.function(result), " ", log}));
  }
  std::size_t size = 0;
  a(a.nvrtcGetCUBINSize, unit.handle, &size);
  std::string code(size, '\0');
  a(a.nvrtcGetCUBIN, unit.handle, code.data());
  return code;
}

/// The file of a compiled program: a line that names its text, options and compiler, and its length; then the code. A
/// file with any other content (truncated, another program's, another format) is treated as missing.
class cubin_file {
 public:
  cubin_file(std::string folder, std::string const& text, std::string const& architecture, int major, int minor)
      : folder_(std::move(folder)) {
    std::string key = dsl::detail::message({"nvrtc ", major, ".", minor});
    for (std::string const& o : nvrtc::compiler_options(architecture)) key += " " + o;
    key += "\n" + text;
    std::uint64_t const name = nvrtc::hash_of(key);
    name_ = "kernels-" + nvrtc::hexadecimal(name) + ".cubin";
    head_ = "typenet kernels 1 " + nvrtc::hexadecimal(name) + nvrtc::hexadecimal(nvrtc::hash_of(key, ~name)) + " ";
  }
  std::optional<std::string> read() const {
    std::optional<std::string> bytes = read_cached(folder_, name_);
    if (!bytes) return std::nullopt;
    std::size_t const line = bytes->find('\n');
    if (line == std::string::npos) return std::nullopt;
    std::string_view const code = std::string_view(*bytes).substr(line + 1);
    if (code.empty() || bytes->compare(0, line + 1, head_line(code)) != 0) return std::nullopt;
    return bytes->substr(line + 1);
  }
  bool write(std::string const& code) const { return write_cached(folder_, name_, head_line(code) + code); }
  std::string const& name() const { return name_; }

 private:
  std::string head_line(std::string_view code) const {
    return head_ + std::to_string(code.size()) + " " + nvrtc::hexadecimal(nvrtc::hash_of(code)) + "\n";
  }
  std::string folder_;
  std::string name_;
  std::string head_;
};

/// Returns a program from the cache, or compiles and stores it. If `folder` is empty, nothing is stored. A folder that
/// cannot be written to is not an error.
inline cubin compile_cached(api const& a, std::string const& text, std::string const& architecture,
                            std::string const& folder) {
  int major = 0;
  int minor = 0;
  a(a.nvrtcVersion, &major, &minor);
  cubin_file const file(folder, text, architecture, major, minor);
  if (std::optional<std::string> code = file.read()) return {std::move(*code), true};
  cubin c{compile(a, text, architecture), false};
  file.write(c.code);
  return c;
}

}  // namespace dsl::cu::TYPENET_MODE
