// SPDX-License-Identifier: MIT
// Trains a small GPT to write text, byte by byte: gpt [FILE]. The GPT learns the first nine tenths of FILE and is
// tested on the rest. Without a file, it learns sentences of a small grammar. Their perplexity under the grammar itself
// is known; no model can have a lower one.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <dsl/data/tokens.hpp>
#include <dsl/data/vocabulary.hpp>
#include <dsl/dsl.hpp>
#include <dsl/models/gpt.hpp>

namespace {
constexpr int length = 32, bytes = 256;
using model = dsl::network<dsl::token_numbers<length>, dsl::models::gpt<bytes, /*depth=*/2, /*width=*/32, /*heads=*/2>>;

/// Writes sentences such as "many old dogs that see a bird sleep.": every verb agrees in number with its subject, which
/// may be many words before it.
struct writer {
  std::mt19937 random;
  std::string text{};
  double nats = 0;  // the negative logarithm of the text's probability

  unsigned draw(std::size_t choices) {
    nats += std::log(static_cast<double>(choices));
    return static_cast<unsigned>(random() % choices);
  }
  void word(std::vector<char const*> const& words, char const* ending = "") {
    text += text.empty() || text.back() == '\n' ? "" : " ";
    text += words[draw(words.size())] + std::string(ending);
  }
  void noun(bool many, bool may_explain) {
    word(many ? std::vector{"the", "many", "some"} : std::vector{"the", "a", "every"});
    if (draw(3) == 0) word({"old", "small"});
    word({"dog", "cat", "bird"}, many ? "s" : "");
    if (!may_explain || draw(3) > 0) return;
    text += " that";
    verb_with_object(many);
  }
  void verb_with_object(bool many) {
    word({"see", "hear"}, many ? "" : "s");
    noun(draw(2) == 0, false);
  }
  void sentence() {
    bool const many = draw(2) == 0;
    noun(many, true);
    if (draw(2) == 0)
      word({"sleep", "sing"}, many ? "" : "s");
    else
      verb_with_object(many);
    text += ".\n";
  }
};
writer write(std::size_t size, unsigned seed) {
  writer w{.random = std::mt19937(seed)};
  while (w.text.size() < size) w.sentence();
  return w;
}

/// Returns a text continued by `count` bytes, each drawn with the probability that the model gives it.
std::string continued(dsl::trainer& trained, std::string text, int count) {
  std::mt19937 random(3);
  std::vector<float> tokens(length), all(bytes * length);
  for (; count > 0; --count) {
    std::size_t const known = text.size() < length ? text.size() : length, from = text.size() - known;
    for (std::size_t i = 0; i < length; ++i)  // the zeros after the text do not matter: no token depends on later ones
      tokens[i] = i < known ? static_cast<float>(static_cast<unsigned char>(text[from + i])) : 0;
    trained.predict_on_batch(tokens, all);
    double rest = static_cast<double>(random()) * 0x1p-32;
    std::size_t next = 0;
    for (; next + 1 < bytes; ++next)
      if (rest -= static_cast<double>(all[next * length + known - 1]); rest < 0) break;
    text += static_cast<char>(static_cast<unsigned char>(next));
  }
  return text;
}

/// Returns the share of a text's words that occur in another text. The last word, which may be incomplete, does not
/// count.
double known_words(std::string_view text, std::string_view other) {
  auto const words = [](std::string_view from) {
    std::vector<std::string> all(1);
    for (char const c : from)
      if (c == ' ' || c == '\n' || c == '.')
        all.emplace_back();
      else
        all.back() += c;
    all.pop_back();
    return all;
  };
  std::vector<std::string> const known = words(other), found = words(text);
  std::set<std::string> const lexicon(known.begin(), known.end());
  double right = 0;
  for (std::string const& one : found) right += lexicon.contains(one) ? 1 : 0;
  return found.empty() ? 0 : right / static_cast<double>(found.size());
}

}  // namespace

int main(int argc, char** argv) try {
  writer const written = write(20'000, 1), other = write(4'000, 2);
  std::string learnt = written.text, held_out = other.text;
  if (argc > 1) {
    std::string const all = dsl::read_text(argv[1]);
    learnt = all.substr(0, all.size() / 10 * 9), held_out = all.substr(learnt.size());
  }
  dsl::dataset const train = dsl::next_tokens(dsl::byte_tokens(learnt), bytes, {.length = length});
  dsl::dataset const test = dsl::next_tokens(dsl::byte_tokens(held_out), bytes, {.length = length});
  dsl::trainer trainer = dsl::compile<model>(dsl::native{}, dsl::adam{.learning_rate = 4e-3});
  int const epochs = 4;
  double perplexity = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    double const loss =
        trainer.fit(train, {.epochs = epoch, .batch_size = 8, .initial_epoch = epoch - 1}).epochs[0].train.loss;
    perplexity = std::exp(trainer.evaluate(test, 16).loss);
    std::printf("epoch %d: perplexity %.3f, of held-out text %.3f\n", epoch, std::exp(loss), perplexity);
  }
  std::string const sample = continued(trainer, "the ", 200);
  std::printf("\n%s\n\n", sample.c_str());
  if (argc > 1) return 0;
  double const words = known_words(sample, learnt);
  std::printf("perplexity of held-out text: %.3f; of the grammar itself: %.3f\n", perplexity,
              std::exp(other.nats / static_cast<double>(other.text.size())));
  std::printf("%.0f %% of the words above are words of the grammar\n", 100 * words);
  return perplexity < 3 && words > 0.6 ? 0 : 1;
} catch (dsl::error const& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
