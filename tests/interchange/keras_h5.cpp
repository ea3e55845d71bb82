// SPDX-License-Identifier: MIT
// What keras_h5_test.py asks: loads weights that Keras saved, writes them again, and predicts.
//   keras_h5 NETWORK EXECUTOR IN OUT PICTURES PROBABILITIES [GROUP...]
// PICTURES and PROBABILITIES are floats and nothing else.
#include <dsl/dsl.hpp>
#include <dsl/io/keras_h5.hpp>
#include <dsl/models.hpp>
#ifdef TYPENET_HAS_ONEDNN
#include <dsl/executors/onednn.hpp>
#endif

#include <cstdio>

namespace {

template <class... Layers>
using small_picture = dsl::network<dsl::image<2, 4, 4>, Layers..., dsl::softmax>;
using small = small_picture<dsl::conv_module<3, 3>, dsl::inception_module<2, 3>, dsl::flatten, dsl::batch_norm<>,
                            dsl::dense<6>, dsl::relu, dsl::dense<3>>;
using one = dsl::conv2d<2, 1>;
using uneven = small_picture<dsl::concat<one, dsl::sequential<one, dsl::relu, one>>, dsl::flatten, dsl::dense<3>>;
using fused = small_picture<dsl::concat<one, dsl::sequential<one, dsl::relu>>, dsl::flatten, dsl::dense<3>>;
using minigooglenet = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
using mobilenet = dsl::network<dsl::image<3, 32, 32>, dsl::models::mobilenet<10>>;

template <class Network>
dsl::trainer made(std::string const& how) {
  dsl::sgd const optimizer{.learning_rate = 0.1};
#ifdef TYPENET_HAS_ONEDNN
  if (how != "reference")
    return dsl::compile<Network>(dsl::onednn{.threads = 1, .winograd = how == "winograd"}, optimizer);
#endif
  if (how != "reference") throw dsl::option_error("keras_h5: " + how + " needs oneDNN");
  return dsl::compile<Network>(dsl::reference{}, optimizer);
}

std::vector<float> floats(char const* path) {
  std::vector<float> all;
  std::FILE* const file = std::fopen(path, "rb");
  if (!file) throw dsl::file_error(std::string("keras_h5: can't read ") + path);
  for (float f = 0; std::fread(&f, sizeof f, 1, file) == 1;) all.push_back(f);
  std::fclose(file);
  return all;
}

template <class Network>
void run(char** word, dsl::keras_h5_options const& options) {
  dsl::trainer t = made<Network>(word[2]);
  dsl::load_keras_h5(t, word[3], options);
  dsl::save_keras_h5(t, word[4], options);
  std::vector<float> const pictures = floats(word[5]);
  std::size_t const count = pictures.size() / static_cast<std::size_t>(Network::input.size());
  std::vector<float> probabilities(count * static_cast<std::size_t>(Network::output.size()));
  t.predict_on_batch(pictures.data(), static_cast<int>(count), probabilities.data());
  dsl::atomic_file to(word[6], "probabilities");
  to.write({reinterpret_cast<char const*>(probabilities.data()), probabilities.size() * sizeof(float)});
  to.commit();
}

}  // namespace

int main(int count, char** word) {
  if (count < 7) {
    std::fprintf(stderr, "usage: keras_h5 NETWORK EXECUTOR IN OUT PICTURES PROBABILITIES [GROUP...]\n");
    return 2;
  }
  try {
    std::string const network = word[1];
    dsl::keras_h5_options const options{.groups = {word + 7, word + count}, .fused_activations = network == "fused"};
    if (network == "minigooglenet")
      run<minigooglenet>(word, options);
    else if (network == "mobilenet")
      run<mobilenet>(word, options);
    else if (network == "uneven")
      run<uneven>(word, options);
    else if (network == "fused")
      run<fused>(word, options);
    else
      run<small>(word, options);
  } catch (dsl::error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
