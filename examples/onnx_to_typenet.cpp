// SPDX-License-Identifier: MIT
// Turns a network of another framework, as an .onnx file, into a header with its type and a .safetensors file with its
// weights:
//   onnx_to_typenet resnet18.onnx > resnet18.hpp
//   onnx_to_typenet resnet18.onnx resnet18.safetensors --input 3x224x224 --namespace resnet > resnet18.hpp
// The header needs only typenet, and defines resnet18::model. A program loads the weights by their names:
//   dsl::predictor net = dsl::make_predictor<resnet18::model>(dsl::native{});
//   dsl::load_safetensors(net, "resnet18.safetensors");
// docs/from_pytorch.md describes all steps from PyTorch to such a program.
#include <dsl/detail/shell_word.hpp>
#include <dsl/io/onnx_import.hpp>
#include <dsl/io/safetensors.hpp>

#include "refuse_existing.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

/// The metadata of the files that this program writes, and may thus replace.
constexpr char const *mark = "written_by", *own_name = "onnx_to_typenet";

struct options {
  std::string model, weights, name;
  bool force = false, check = false;
#ifdef TYPENET_INCLUDE  // by CMake
  std::string include = TYPENET_INCLUDE;
#else
  std::string include{};
#endif
  dsl::onnx_import_options read{};
};

/// Converts a text such as 3x224x224 to a shape.
dsl::shape shape_of(std::string const& text) {
  dsl::shape s{0, 0, 0};
  char rest = 0;
  int const found = std::sscanf(text.c_str(), "%9dx%9dx%9d%c", &s.channels, &s.height, &s.width, &rest);
  if (found == 1) s.height = s.width = 1;
  if ((found != 1 && found != 3) || s.channels < 1 || s.height < 1 || s.width < 1 ||
      text.find_first_not_of("0123456789x") != std::string::npos)
    throw dsl::option_error("--input: it must be CHANNELSxHEIGHTxWIDTH, or the number of features; found \"" + text +
                            "\"; give one like 3x224x224");
  return s;
}

options options_of(std::vector<std::string> const& words) {
  options o;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string const& word = words[i];
    bool const is_option = word == "--input" || word == "--namespace" || word == "--include";
    if (is_option && i + 1 == words.size()) throw dsl::option_error(word + ": it must have a value; found none");
    if (word == "--input")
      o.read.input = shape_of(words[++i]);
    else if (word == "--namespace")
      o.name = words[++i];
    else if (word == "--include")
      o.include = words[++i];
    else if (word == "--force")
      o.force = true;
    else if (word == "--check")
      o.check = true;
    else if (word.starts_with("--"))
      throw dsl::option_error(word +
                              ": there is no such option; there are --input, --namespace, --force, --check and "
                              "--include");
    else if (o.model.empty())
      o.model = word;
    else if (o.weights.empty())
      o.weights = word;
    else
      throw dsl::option_error(word +
                              ": there may be only two files, the .onnx file and the .safetensors file; leave it out");
  }
  namespace fs = std::filesystem;
  if (o.name.empty()) o.name = fs::path(o.model).stem().string();
  if (o.weights.empty()) o.weights = fs::path(o.model).stem().string() + ".safetensors";
  std::error_code unknown;  // for a file that does not exist
  if (fs::equivalent(o.model, o.weights, unknown))
    throw dsl::option_error("the weights must not replace the .onnx file; found " + o.model +
                            " for both; give another name");
  return o;
}

/// Whether this program wrote a file.
bool is_own(std::string const& path) {
  try {
    dsl::safetensors::file const file(path);
    for (auto const& [key, text] : file.metadata())
      if (key == mark && text == own_name) return true;
  } catch (dsl::error const&) {  // it is no .safetensors file
  }
  return false;
}

void write_weights(dsl::imported_network const& net, std::string const& path) {
  dsl::graph_view const g = net.view();
  std::vector<dsl::safetensors::source> all;
  for (int k = 0; k < g.size.parameters; ++k) {
    dsl::parameter const& p = g.parameters[k];
    std::vector<float> const& values = net.weights(k);
    all.push_back({net.weight_names()[static_cast<std::size_t>(k)],
                   dsl::safetensors::dtype::f32,
                   {p.dims, p.dims + p.rank},
                   {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(float)}});
  }
  dsl::safetensors::text_by_name metadata{{"format", "pt"}, {mark, own_name}};
  dsl::normalization const by = net.normalization();  // of a file that save_onnx wrote with .normalize
  if (!by.empty())
    for (auto& entry : dsl::normalization_metadata(g, by)) metadata.push_back(std::move(entry));
  dsl::safetensors::write(path, std::move(all), std::move(metadata));
}

/// Compiles a header as programs do that include it with the headers of the C library, but generates no code. Throws
/// error with the compiler's first error.
void check(std::string const& header, std::string const& include) {
  std::string source =
      "#include <dsl/dsl.hpp>\n#include <dsl/training/predictor.hpp>\n#include <cmath>\n#include <csignal>\n#include "
      "<cstdio>\n#include <cstdlib>\n#include "
      "<cstring>\n#include <ctime>\n#include <cwchar>\n#include <unistd.h>\n#line 1 \"the header\"\n";
  std::size_t const name = header.find("\nnamespace ") + std::string_view("\nnamespace ").size();
  source += header + "auto made = dsl::make_predictor<" + header.substr(name, header.find(' ', name) - name) +
            "::model>(dsl::native{});\n";
  std::FILE* const file = std::tmpfile();
  bool const is_written = file && std::fwrite(source.data(), 1, source.size(), file) == source.size() &&
                          std::fflush(file) == 0 && std::fseek(file, 0, SEEK_SET) == 0 &&
                          ::dup2(::fileno(file), STDIN_FILENO) == STDIN_FILENO;
  std::string command =
      "LC_ALL=C ${CXX:-$(command -v g++ || command -v clang++ || echo c++)} -std=gnu++20 -DTYPENET_COMPILED -w "
      "-fsyntax-only ";
  if (!include.empty()) command += "-I" + dsl::detail::shell_word(include) + " ";
  std::FILE* const compiler = is_written ? ::popen((command + "-x c++ - 2>&1").c_str(), "r") : nullptr;
  if (!compiler) throw dsl::error("--check: the compiler cannot be started, or the temporary folder is full");
  std::string first, line;
  for (int c; (c = std::fgetc(compiler)) != EOF;) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    bool const is_error = line.find("error") != std::string::npos;
    if (first.empty() || (is_error && first.find("error") == std::string::npos)) first = line;
    line.clear();
  }
  if (::pclose(compiler) == 0) return;
  throw dsl::error("--check: the header must compile; found " + (first.empty() ? "no compiler; set CXX" : first) +
                   (include.empty() ? "; if the compiler does not find typenet, give --include FOLDER" : ""));
}

}  // namespace

int main(int count, char** word) {
  std::vector<std::string> const words(word + 1, word + count);
  if (words.empty() || words[0] == "--help") {
    std::fprintf(
        stderr,
        "usage: %s MODEL.onnx [WEIGHTS.safetensors] [--input 3x224x224] [--namespace NAME] [--force] [--check]\n"
        "           [--include FOLDER] > MODEL.hpp\n"
        "Writes the network of an ONNX file as a C++ header to the standard output, and its weights to WEIGHTS, or\n"
        "to MODEL.safetensors in this folder if WEIGHTS is not given. --input is the shape of a sample, which is\n"
        "needed if the file does not fix it; --namespace is the namespace of the header. A file of the weights' name\n"
        "is replaced only if its metadata says that this program wrote it, or with --force. --check compiles what was\n"
        "written with $CXX, g++ or clang++, and fails with the first error; --include is the folder that contains\n"
        "dsl/dsl.hpp.\n",
        word[0]);
    return 2;
  }
  try {
    options const o = options_of(words);
    if (!o.force && !is_own(o.weights)) refuse_existing(o.weights);
    std::unique_ptr<dsl::imported_network> const net = dsl::import_onnx(o.model, o.read);
    std::string const header = net->header(o.name);
    write_weights(*net, o.weights);
    std::fwrite(header.data(), 1, header.size(), stdout);
    if (std::fflush(stdout) != 0) throw dsl::file_error("the header cannot be written to the standard output");
    if (o.check) check(header, o.include);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
