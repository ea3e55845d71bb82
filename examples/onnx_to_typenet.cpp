// SPDX-License-Identifier: MIT
// Turns a network of another framework, as an .onnx file, into a header with its type and a .safetensors file with its
// weights:
//   onnx_to_typenet resnet18.onnx > resnet18.hpp
//   onnx_to_typenet resnet18.onnx resnet18.safetensors --input 3x224x224 --namespace resnet > resnet18.hpp
// The header needs only typenet, and defines resnet18::model. A program loads the weights by their names:
//   dsl::predictor net = dsl::make_predictor<resnet18::model>(dsl::native{});
//   dsl::load_safetensors(net, "resnet18.safetensors");
// docs/from_pytorch.md describes all steps from PyTorch to such a program.
#include <dsl/io/onnx_import.hpp>
#include <dsl/io/safetensors.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

struct options {
  std::string model, weights, name;
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
    bool const is_option = word == "--input" || word == "--namespace";
    if (is_option && i + 1 == words.size()) throw dsl::option_error(word + ": it must have a value; found none");
    if (word == "--input")
      o.read.input = shape_of(words[++i]);
    else if (word == "--namespace")
      o.name = words[++i];
    else if (word.starts_with("--"))
      throw dsl::option_error(word + ": there is no such option; there are --input and --namespace");
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
  dsl::safetensors::text_by_name metadata{{"format", "pt"}};
  dsl::normalization const by = net.normalization();  // of a file that save_onnx wrote with .normalize
  if (!by.empty())
    for (auto& entry : dsl::normalization_metadata(g, by)) metadata.push_back(std::move(entry));
  dsl::safetensors::write(path, std::move(all), std::move(metadata));
}

}  // namespace

int main(int count, char** word) {
  std::vector<std::string> const words(word + 1, word + count);
  if (words.empty() || words[0] == "--help") {
    std::fprintf(
        stderr,
        "usage: %s MODEL.onnx [WEIGHTS.safetensors] [--input 3x224x224] [--namespace NAME] > MODEL.hpp\n"
        "Writes the network of an ONNX file as a C++ header to the standard output, and its weights to WEIGHTS, or\n"
        "to MODEL.safetensors in this folder if WEIGHTS is not given. --input is the shape of a sample, which is\n"
        "needed if the file does not fix it; --namespace is the namespace of the header.\n",
        word[0]);
    return 2;
  }
  try {
    options const o = options_of(words);
    std::unique_ptr<dsl::imported_network> const net = dsl::import_onnx(o.model, o.read);
    std::string const header = net->header(o.name);
    write_weights(*net, o.weights);
    std::fwrite(header.data(), 1, header.size(), stdout);
    if (std::fflush(stdout) != 0) throw dsl::file_error("the header cannot be written to the standard output");
  } catch (std::exception const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
