// SPDX-License-Identifier: MIT
// What frameworks_test.py asks: loads weights of a convention, writes them in both, and predicts; or reads any file and
// writes it again.
//   weights small|minigooglenet reference|direct|winograd torch|keras IN PICTURES OUT_TORCH OUT_KERAS PROBABILITIES
//   weights copy IN OUT
#include <dsl/dsl.hpp>
#include <dsl/io/safetensors.hpp>
#ifdef TYPENET_HAS_ONEDNN
#include <dsl/executors/onednn.hpp>
#endif

#include <cstdio>

namespace {

using small = dsl::network<dsl::image<2, 4, 4>, dsl::conv_module<3, 3>, dsl::inception_module<2, 3>, dsl::flatten,
                           dsl::batch_norm<>, dsl::dense<6>, dsl::relu, dsl::dense<3>, dsl::softmax>;
using minigooglenet = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

template <class Network>
dsl::trainer made(std::string const& how) {
  dsl::sgd const optimizer{.learning_rate = 0.1};
#ifdef TYPENET_HAS_ONEDNN
  if (how != "reference")
    return dsl::compile<Network>(dsl::onednn{.threads = 1, .winograd = how == "winograd"}, optimizer);
#endif
  if (how != "reference") throw dsl::option_error("weights: " + how + " needs oneDNN");
  return dsl::compile<Network>(dsl::reference{}, optimizer);
}

template <class Network>
void run(char** word) {
  dsl::trainer t = made<Network>(word[2]);
  std::string const from = word[3];
  dsl::loaded_weights const found = dsl::load_safetensors(
      t, word[4], {.naming = {from == "torch" ? dsl::weight_convention::torch : dsl::weight_convention::keras}});
  dsl::weights_options out{.batches_tracked = found.batches_tracked};
  dsl::save_safetensors(t, word[6], out);
  out.naming.convention = dsl::weight_convention::keras;
  dsl::save_safetensors(t, word[7], out);

  dsl::safetensors::file const file(word[5]);
  dsl::safetensors::tensor const& pictures = *file.find("pictures");  // (n, channels, height, width)
  std::vector<float> numbers(file.bytes(pictures).size() / sizeof(float));
  dsl::safetensors::read_floats(pictures.type, file.bytes(pictures), numbers.data());
  auto const classes = static_cast<std::uint64_t>(Network::output.size());
  std::vector<float> probabilities(pictures.shape[0] * classes);
  t.predict_on_batch(numbers.data(), static_cast<int>(pictures.shape[0]), probabilities.data());
  dsl::safetensors::write(
      word[8], {{"probabilities",
                 dsl::safetensors::dtype::f32,
                 {pictures.shape[0], classes},
                 {reinterpret_cast<char const*>(probabilities.data()), probabilities.size() * sizeof(float)}}});
}

void copy(char const* from, char const* to) {
  dsl::safetensors::file const file(from);
  std::vector<dsl::safetensors::source> all;
  for (dsl::safetensors::tensor const& t : file.tensors()) all.push_back({t.name, t.type, t.shape, file.bytes(t)});
  dsl::safetensors::write(to, all, file.metadata());
}

}  // namespace

int main(int count, char** word) {
  bool const copies = count == 4 && std::string(word[1]) == "copy";
  if (count != 9 && !copies) {
    std::fprintf(stderr,
                 "usage: weights NETWORK EXECUTOR CONVENTION IN PICTURES OUT_TORCH OUT_KERAS PROBABILITIES\n"
                 "       weights copy IN OUT\n");
    return 2;
  }
  try {
    if (copies)
      copy(word[2], word[3]);
    else
      std::string(word[1]) == "small" ? run<small>(word) : run<minigooglenet>(word);
  } catch (dsl::error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
