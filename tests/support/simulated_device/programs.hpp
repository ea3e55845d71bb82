// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/simulated_device/calls.hpp"
#include "support/simulated_device/kernels.hpp"
#include "support/simulated_device/state.hpp"

namespace dsl_test::simulated {

/// A wrapper of a program: `// dsl-kernel NAME FUNCTION STORAGE NUMBERS...`.
struct kernel_line {
  std::string name, function, storage;
  std::vector<literal> numbers;
};

inline constexpr std::string_view kernel_mark = "// dsl-kernel ";

inline std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    std::size_t const first = line.find_first_not_of(" \t\r,");
    if (first == line.npos) return words;
    line.remove_prefix(first);
    std::size_t const end = std::min(line.find_first_of(" \t\r,"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}
/// Throws simulation_error if the line does not fit a kernel that the test has registered.
inline kernel_line parse_kernel_line(std::string_view line) {
  auto const words = words_of(line.substr(kernel_mark.size()));
  if (words.size() < 3) throw simulation_error("too short: " + std::string(line));
  kernel_line k{std::string(words[0]), std::string(words[1]), std::string(words[2]), {}};
  for (std::size_t i = 3; i < words.size(); ++i) k.numbers.push_back(parse_literal(words[i]));
  auto const at = all_kernels().find({k.function, k.storage});
  if (at == all_kernels().end())
    throw simulation_error("no " + k.function + "<" + k.storage + "> in this program: the test must add_kernel() it");
  if (at->second.numbers != k.numbers.size())
    throw simulation_error("the shape of " + k.function + " consists of " + std::to_string(at->second.numbers) +
                           " numbers, not " + std::to_string(k.numbers.size()));
  return k;
}
inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// ---- the compiler ------------------------------------------------------------------------------------------------
struct program : object {
  std::string source, log, image;
};

/// The result of a compilation, instead of a cubin: a header, then the kernels' lines.
struct image_header {
  char magic[16] = "SIMULATED-CUBIN";
  std::uint64_t bytes = 0;  // of the text after it
  std::uint64_t hash = 0;
  std::int32_t major = 0, minor = 0;
};
inline std::uint64_t hash_of(std::string_view text) {  // FNV-1a
  std::uint64_t h = 14695981039346656037u;
  for (char const c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

inline nvrtcResult version(state&, int* major, int* minor) {
  if (!major || !minor) return NVRTC_ERROR_INVALID_INPUT;
  *major = CUDART_VERSION / 1000;
  *minor = CUDART_VERSION % 1000 / 10;
  return NVRTC_SUCCESS;
}
inline char const* error_string(state&, nvrtcResult r) { return ::nvrtcGetErrorString(r); }
inline nvrtcResult create_program(state& s, nvrtcProgram* handle, char const* source, char const*, int headers,
                                  char const* const*, char const* const*) {
  if (!handle || !source || headers != 0) return NVRTC_ERROR_INVALID_INPUT;
  auto p = std::make_shared<program>();
  p->source = source;
  *handle = s.add<nvrtcProgram>("nvrtc program", p);
  return NVRTC_SUCCESS;
}
/// Parses an architecture: sm_90 and sm_90a give 9, 0.
inline bool parse_architecture(std::string_view option, image_header& h) {
  for (std::string_view const key : {"--gpu-architecture=sm_", "-arch=sm_"}) {
    if (!option.starts_with(key)) continue;
    int const number = std::atoi(std::string(option.substr(key.size())).c_str());
    h.major = number / 10;
    h.minor = number % 10;
    return number >= 75;  // what CUDA 13 still compiles for
  }
  return false;
}
inline nvrtcResult compile_program(state& s, nvrtcProgram handle, int count, char const* const* options) {
  auto const p = s.find<program>(handle, "nvrtcCompileProgram");
  if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
  image_header header;
  bool architecture = false;
  for (int i = 0; i < count; ++i) {
    if (options[i][0] != '-') return NVRTC_ERROR_INVALID_OPTION;
    architecture = architecture || parse_architecture(options[i], header);
  }
  if (!architecture) {
    p->log = "nvrtc: error: the simulated compiler needs --gpu-architecture=sm_XX, 75 or more\n";
    return NVRTC_ERROR_INVALID_OPTION;
  }
  std::string text;
  p->log.clear();
  int number = 0;
  for (std::string_view const line : lines_of(p->source)) {
    ++number;
    std::string error;
    if (line.starts_with("#error")) error = std::string(line.substr(1));
    if (line.starts_with(kernel_mark)) {
      try {
        parse_kernel_line(line);
        text += std::string(line) + "\n";
      } catch (simulation_error const& e) {
        error = std::string("error: ") + e.what();
      }
    }
    if (!error.empty()) p->log += "program(" + std::to_string(number) + "): " + error + "\n";
  }
  if (!p->log.empty()) return NVRTC_ERROR_COMPILATION;
  header.bytes = text.size();
  header.hash = hash_of(text);
  p->image.assign(reinterpret_cast<char const*>(&header), sizeof header);
  p->image += text;
  return NVRTC_SUCCESS;
}
inline nvrtcResult destroy_program(state& s, nvrtcProgram* handle) {
  if (!handle || !s.find<program>(*handle, "nvrtcDestroyProgram")) return NVRTC_ERROR_INVALID_PROGRAM;
  s.remove(*handle);
  *handle = nullptr;
  return NVRTC_SUCCESS;
}
template <auto Text, std::size_t Terminator>
nvrtcResult get_size(state& s, nvrtcProgram handle, std::size_t* size) {
  auto const p = s.find<program>(handle, "nvrtc");
  if (!p || !size) return NVRTC_ERROR_INVALID_INPUT;
  *size = ((*p).*Text).size() + Terminator;
  return NVRTC_SUCCESS;
}
template <auto Text, std::size_t Terminator>
nvrtcResult get_text(state& s, nvrtcProgram handle, char* to) {
  auto const p = s.find<program>(handle, "nvrtc");
  if (!p || !to) return NVRTC_ERROR_INVALID_INPUT;
  std::memcpy(to, ((*p).*Text).c_str(), ((*p).*Text).size() + Terminator);
  return NVRTC_SUCCESS;
}

inline void install_programs(installer& table) {
  using dsl::cu::api;
  table.set<&api::nvrtcVersion, &version>();
  table.set<&api::nvrtcGetErrorString, &error_string>();
  table.set<&api::nvrtcCreateProgram, &create_program>();
  table.set<&api::nvrtcCompileProgram, &compile_program>();
  table.set<&api::nvrtcDestroyProgram, &destroy_program>();
  table.set<&api::nvrtcGetCUBINSize, &get_size<&program::image, 0>>();
  table.set<&api::nvrtcGetCUBIN, &get_text<&program::image, 0>>();
  table.set<&api::nvrtcGetProgramLogSize, &get_size<&program::log, 1>>();
  table.set<&api::nvrtcGetProgramLog, &get_text<&program::log, 1>>();
}

}  // namespace dsl_test::simulated
