// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/source.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// The parameters of a kernel as its text lists them, without the shape: {"T const* x", "T* y"}.
struct kernel_signature {
  std::string shape{};  // "activation_shape"
  std::vector<std::string> parameters{};
  bool by_lanes = false;  // it has a second template parameter, which is shape.lanes
};

}  // namespace dsl::cu::TYPENET_MODE

namespace dsl::cu::kernels::detail::TYPENET_MODE {

inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

inline std::string trimmed(std::string_view text) {
  std::string out;
  for (char const c : text) {
    bool const space = c == ' ' || c == '\n';
    if (!space)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::TYPENET_MODE {

/// Looks up `KERNEL void function(shape s, ...)` in the kernels' text, the only place that lists parameters. Throws
/// executor_error if there is no such kernel.
inline kernel_signature signature_of(std::string_view function) {
  std::string const head = "KERNEL void " + std::string(function) + "(";
  for (source_file const& file : kernel_sources()) {
    std::string_view text = file.text;
    std::size_t const at = text.find(head);
    if (at == std::string_view::npos) continue;
    kernel_signature s;
    s.by_lanes = text.substr(0, at).ends_with("template <class T, int L = 0>\n");
    text.remove_prefix(at + head.size());
    text = text.substr(0, text.find(')'));
    while (!text.empty()) {
      std::size_t const comma = std::min(text.find(','), text.size());
      s.parameters.push_back(kernels::detail::trimmed(text.substr(0, comma)));
      text.remove_prefix(std::min(comma + 1, text.size()));
    }
    s.shape = s.parameters.front().substr(0, s.parameters.front().find(' '));
    s.parameters.erase(s.parameters.begin());
    return s;
  }
  throw executor_error("cuda: there is no kernel " + std::string(function) + "; please report the network");
}

/// Returns a number as both C++ and the simulated device read it: 64, -1, 0x1p-3f, independent of the locale.
inline std::string text_of(constant const& c) {
  if (!c.is_float) return std::to_string(c.integer);
  char digits[32];
  char* const end =
      std::to_chars(digits, digits + sizeof digits, static_cast<double>(c.real), std::chars_format::hex).ptr;
  std::string text(digits, end);
  text.insert(digits[0] == '-' ? 1U : 0U, "0x");
  return text + "f";
}

/// Returns the __global__ function for a spec, preceded by a comment with the same content for a simulated device:
///   // dsl-kernel k7 sum bf16 64 96 8 1 0 96 0 96 0 0 0 ...
///   static_assert(sizeof(sum_shape) == 92);
///   extern "C" __global__ void __launch_bounds__(256) k7(sum_inputs<bf16> in, bf16* y) {
///     constexpr sum_shape shape{64, 96, 8, 1, 0, 96, 0, 96, 0, 0, 0, ...};
///     sum<bf16, shape.lanes>(shape, in, y);
///   }
inline std::string wrapper_text(any_kernel const& spec, std::string const& name) {
  kernel_signature const signature = signature_of(spec.function);
  std::string const function(spec.function);
  std::string const t = name_of(spec.storage);
  std::string parameters;
  std::string names;
  for (std::string const& p : signature.parameters) {
    if (!parameters.empty()) parameters += ", ";
    for (std::size_t i = 0; i < p.size(); ++i) {
      bool const whole_word = p[i] == 'T' && (i == 0 || !kernels::detail::is_letter(p[i - 1])) &&
                              (i + 1 == p.size() || !kernels::detail::is_letter(p[i + 1]));
      parameters += whole_word ? t : std::string(1, p[i]);
    }
    names += ", " + p.substr(p.rfind(' ') + 1);
  }
  std::string line = "// dsl-kernel " + name + " " + function + " " + t;
  std::string literal;
  for (constant const& c : spec.constants) {
    line += " " + text_of(c);
    literal += (literal.empty() ? "" : ", ") + text_of(c);
  }
  std::string const bytes = std::to_string(4 * spec.constants.size());
  return line + "\nstatic_assert(sizeof(" + signature.shape + ") == " + bytes + ");\nextern \"C\" __global__ void " +
         "__launch_bounds__(" + std::to_string(spec.threads) + ") " + name + "(" + parameters + ") {\n  constexpr " +
         signature.shape + " shape{" + literal + "};\n  " + function + "<" + t +
         (signature.by_lanes ? ", shape.lanes" : "") + ">(shape" + names + ");\n}\n";
}

/// Returns a program with one function per spec: k<first>, k<first + 1>, and so on. Compiler messages name the .cuh
/// files.
inline std::string program_text(std::span<any_kernel const> specs, int first = 0) {
  std::string text;
  for (source_file const& file : kernel_sources()) text += "#line 1 \"" + std::string(file.name) + "\"" + file.text;
  text += "#line 1 \"wrappers\"\nusing namespace dsl_kernels;\n";
  for (std::size_t i = 0; i < specs.size(); ++i)
    text += wrapper_text(specs[i], "k" + std::to_string(static_cast<std::size_t>(first) + i));
  return text;
}

}  // namespace dsl::cu::TYPENET_MODE
