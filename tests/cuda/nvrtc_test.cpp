// SPDX-License-Identifier: MIT
// Tests the real NVRTC, which needs no GPU and no driver, with every kernel at every shape of MiniGoogLeNet; also the
// cache of compiled programs, and the messages of compile errors.
#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/dsl.hpp>
#include <dsl/executors/cuda/recording.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include <sys/stat.h>

#include "operations/all.hpp"
#include "support/catch.hpp"
#include "support/extent.hpp"
#include "support/kernels_of_plan.hpp"
#include "support/temporary_directory.hpp"

using namespace dsl::cu;

namespace {

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

/// Takes the place of a recording: adds the kernels that a step of an operation launches on a sample.
struct launches_of_sample {
  launches_of_sample(dsl_test::kernels_of_plan& all, dsl::test::sample const& s, storage t)
      : type(t), all_(all), of_(s.of) {
    auto const tensor = [](dsl::shape const& x) { return tensor_at{nullptr, {x.channels}, x, 64 * x.area()}; };
    at.from = tensor(s.in[0]), at.to = tensor(s.out);
    parts.graph.nodes = &of_;
  }
  launches_of_sample(launches_of_sample const&) = delete;
  launches_of_sample& operator=(launches_of_sample const&) = delete;
  ~launches_of_sample() = default;

  struct {
    tensor_at from{}, to{};
    tensor_at read(dsl::step const&, dsl::content what, int = 0) const {
      return what == dsl::content::gradient ? to : from;
    }
    tensor_at written(dsl::step const&, dsl::content what) const { return what == dsl::content::gradient ? from : to; }
    bool accumulates(dsl::step const&) const { return true; }
  } at;
  struct {
    dsl::graph_view graph{};
  } parts;
  storage type;
  std::string last{};  // the name of the last kernel
  int batch() const { return 64; }
  template <class... A>
  void launch(kernel_spec<A...> const& spec, std::type_identity_t<A>...) {
    all_.add(spec), last = spec.function;
  }

 private:
  dsl_test::kernels_of_plan& all_;
  dsl::node of_;
};

/// Batch 64, as in the recipe, and 16, the rest of 50,000 pictures; then the kernels that this network does not need.
dsl_test::kernels_of_plan specs_of(storage t, bool direct_convolutions) {
  dsl_test::kernels_of_plan all(model::view(), t);
  for (int const batch : {64, 16}) {
    all.add_plan(dsl::mode::training, batch, direct_convolutions && batch == 16);
    all.add_plan(dsl::mode::evaluation, batch, false);
  }
  slice const place{48, 16};
  for (int i = 0; i < static_cast<int>(std::size(dsl::operations::activations)); ++i) {
    auto const f = static_cast<dsl::function>(i);
    all.add(kernels::activation_forward(t, 640, 16, f, 0.1, place, place));
    all.add(kernels::activation_backward(t, 640, 7, f, 0.1, place, place, place, true));
  }
  kernels::batch_norm_layer const layers[] = {{16, {16}, place, {16}}, {7, {7}, place, {7}, true}};
  all.add(kernels::batch_norm_inference(t, 640, layers));
  all.add(kernels::frozen_batch_norm_backward(t, 640, 7, 1e-3, place, place, true));
  for (auto const& g : {kernels::groups_of_samples(64, {96, 4, 4}, 32), kernels::groups_of_samples(64, {96, 4, 4}, 3),
                        kernels::groups_of_pixels(64, {96, 4, 4}), kernels::groups_of_pixels(64, {7, 1, 1})}) {
    all.add(kernels::group_norm_forward(t, g, 1e-5, {96}, {96}));
    all.add(kernels::group_norm_means(t, g, 1e-5, {96}, {112, 16}));
    all.add(kernels::group_norm_backward(t, g, {96}, {112, 16}, {96}, true));
  }
  for (int const heads : {4, 16}) {
    all.add(kernels::head_norm_forward(t, 640, 96, heads, {96}, {112, 16}));
    all.add(kernels::head_norm_backward(t, 640, 96, heads, {96}, {112, 16}, {96}, true));
  }
  for (int const channels : {96, 7}) {
    kernels::local_response const how{5, 1e-4, 0.75, 1};
    all.add(kernels::local_response_norm_forward(t, 640, channels, how, {96}, {112, 16}));
    all.add(kernels::local_response_norm_backward(t, 640, channels, how, {96}, {112, 16}, {96}, true));
  }
  for (dsl::shape const& s : {dsl::shape{96, 4, 4}, dsl::shape{7, 9, 8}}) {
    int const c = s.channels;
    kernels::factor const same{{c}}, pixel{{c}, false, true}, channel{{5, 3}, true, false}, number{{1}, true, true};
    for (kernels::factor const& f : {same, pixel, channel, number}) {
      all.add(kernels::multiply(t, 64, s, same, f, {c}, true));
      all.add(kernels::multiply_backward_pixels(t, 64, s, {c}, f, {c}, true));
      for (bool const one_pixel : {false, true})
        all.add(kernels::multiply_backward_channels(t, 64, s, one_pixel, {c}, f, {1}, false));
    }
    all.add(kernels::channel_scale(t, 640, c, {c}, {c}, true));
    all.add(kernels::channel_scale_backward(t, 640, c, {c}, {c}, {c}, true));
    all.add(kernels::stochastic_depth(t, 64, s, 0.25, 3, {c}, {c}, true));
    all.add(kernels::softmax_forward(t, 64 * s.area(), c, {c}, {c}));
    all.add(kernels::softmax_backward(t, 64 * s.area(), c, {c}, {c}, {c}, true));
  }
  all.add(kernels::sum(t, 640, 16, std::vector<slice>(8, place), place, true));
  all.add(kernels::reshape(t, 64, {16, 5, 2}, {160, 1, 1}, place, {160}, true));
  all.add(kernels::channel_sums(t, 640, 16, place));
  all.add(kernels::widen(t, 4096));
  all.add(kernels::shifted_copy(t, 64, {16, 9, 8}, {16, 11, 10}, {.top = 1, .left = 1}, place, {16}, false));
  all.add(kernels::shifted_copy(t, 64, {7, 9, 8}, {16, 9, 8}, {.front = 3}, {7}, place, true));
  for (bool const bilinear : {false, true}) {
    all.add(kernels::upsample2d_forward(t, 64, {16, 9, 8}, {16, 18, 16}, bilinear, place, {16}));
    all.add(kernels::upsample2d_backward(t, 64, {7, 9, 8}, {7, 27, 8}, bilinear, {7}, place, true));
  }
  for (int const channels : {16, 7}) {
    all.add(kernels::class_token(t, 64, {channels, 8, 8}, {channels}, {channels}));
    all.add(kernels::position_embedding(t, 64, {channels, 8, 8}, {channels}, {channels}));
    all.add(kernels::sample_sums(t, 64, {channels, 8, 8}, {channels}));
  }
  dsl::test::for_each_fixture([&]<dsl::op Kind>() {
    if constexpr (requires { own_kernels<Kind>::text; })
      for (dsl::test::sample const& s : dsl::test::fixture<Kind>::samples()) {
        launches_of_sample r{all, s, t};
        own_kernels<Kind>::forward(r, {});
        REQUIRE(r.last == own_kernels<Kind>::forward_kernel);
        std::swap(r.at.from, r.at.to);
        own_kernels<Kind>::backward(r, {});
        REQUIRE(r.last == own_kernels<Kind>::backward_kernel);
      }
  });
  for (int const channels : {16, 7}) all.add(kernels::channel_shuffle(t, 640, channels, 2, place, {channels}, true));
  dsl::window const w{3, 3, 2, 1, 1};
  all.add(kernels::convolution_forward(t, 64, {3, 9, 9}, {16, 5, 5}, w, true));
  all.add(kernels::convolution_backward_data(t, 64, {16, 9, 9}, {16, 5, 5}, w, true));
  all.add(kernels::convolution_backward_weights(t, 64, {3, 9, 9}, {16, 5, 5}, w));
  dsl::window const spread{3, 3, 2, 2, 1, 1, 2, 1};
  for (int const groups : {2, 16}) {
    all.add(kernels::convolution_forward(t, 64, {16, 9, 9}, {16, 5, 9}, spread, false, groups));
    all.add(kernels::convolution_backward_data(t, 64, {16, 9, 9}, {16, 5, 9}, spread, true, groups));
    all.add(kernels::convolution_backward_weights(t, 64, {16, 9, 9}, {16, 5, 9}, spread, groups));
  }
  all.add(kernels::softmax_backward(t, 64, 10, {10}, {10}, {10}, true));
  dsl::augmentation const augmentations[] = {
      dsl::shift_and_flip{.interpolation = dsl::interpolation::bilinear},
      dsl::in_order{dsl::random_crop{.outside = dsl::outside::mirror}, dsl::random_flip{}, dsl::cutout{}}};
  for (dsl::augmentation const& a : augmentations) {
    dsl::augmentation_numbers numbers;
    REQUIRE(a.describe(numbers));
    all.add(kernels::gather_pictures(t, 64, {3, 32, 32}, numbers));
  }
  all.add(kernels::update(t, {.momentum = 0.9, .weight_decay = 1e-4, .nesterov = true}, 1023, {}));
  all.add(kernels::update_by_parts(t, dsl::adamw{.clip = {.norm = 1}}.rule(), 4096, {.copies = true, .staged = true}));
  all.add(kernels::loss(t, dsl::loss::categorical_crossentropy, false, 64, 64, {10, 1, 1}, {10}, {10}, true, 0.1));
  return all;
}

std::string read_file(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_file(std::string const& path, std::string const& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string small_program() { return program_text(std::vector<any_kernel>{kernels::narrow(storage::bf16, 64)}); }

}  // namespace

TEST_CASE("NVRTC compiles every kernel at every shape of MiniGoogLeNet", "[nvrtc]") {
  auto const t = GENERATE(storage::bf16, storage::f32);
  std::string const architecture = GENERATE("sm_80", "sm_90a", "sm_100");
  // Otherwise each storage, and two architectures, on which the texts do not depend.
  bool const usual = architecture == (t == storage::bf16 ? "sm_90a" : "sm_80");
  if (!usual && !dsl::test::everything()) return;
  std::vector<any_kernel> const specs = specs_of(t, architecture == "sm_90a").all();

  INFO(specs.size() << " kernels in " << name_of(t) << " for " << architecture);
  std::string const code = compile(api{}, program_text(specs), architecture);
  CHECK(code.substr(0, 4) == "\177ELF");
  for (std::size_t k = 0; k < specs.size(); ++k)
    CHECK(code.find("\0.text.k" + std::to_string(k) + '\0') != std::string::npos);
}

TEST_CASE("a launch takes the arguments that the kernel's text lists", "[nvrtc]") {
  std::string_view const head = "\nKERNEL void ";
  std::set<std::string> listed, typed = specs_of(storage::bf16, true).arguments();
  for (source_file const& file : kernel_sources())
    for (std::string_view text = file.text; text.find(head) != std::string_view::npos;) {
      text.remove_prefix(text.find(head) + head.size());
      std::string_view const function = text.substr(0, text.find('('));
      std::string all(function);
      for (std::string const& p : signature_of(function).parameters) all += ", " + p.substr(0, p.rfind(' '));
      listed.insert(std::move(all));
    }
  std::vector<std::string> different;
  std::set_symmetric_difference(listed.begin(), listed.end(), typed.begin(), typed.end(),
                                std::back_inserter(different));
  CHECK(different == std::vector<std::string>{});
}

// ---- a launch with a wrong argument does not compile ----------------------------------------------------------------
template <class Spec, class... Given>
concept launches = requires(kernel_library& l, Spec spec, Given... given) { l.launch(l.add(spec), nullptr, given...); };
template <class Spec, class... Given>
concept records = requires(recording& r, Spec spec, Given... given) { r.launch(spec, given...); };

using dense = decltype(kernels::dense_forward(storage::f32, 1, 1, 1, {}, {}));  // x, kernel, bias, y
static_assert(launches<dense, element*, element const*, float*, element*>);
static_assert(records<dense, element*, element const*, float*, element*>);
static_assert(records<dense, element*, element const*, std::nullptr_t, element*>);
static_assert(!launches<dense, element*, element*, float*>);                      // too few
static_assert(!launches<dense, element*, element*, float*, element*, element*>);  // too many
static_assert(!records<dense, element*, element*, float*> && !records<dense, element*, element*>);
static_assert(!records<dense, element*, element*, float*, element*, element*>);
static_assert(!launches<dense, element*, element*, element*, element*>);  // a tensor as floats
static_assert(!records<dense, element*, element*, element*, element*>);
static_assert(!records<dense, float*, element*, float*, element*>);  // floats as a tensor
static_assert(!records<dense, void*, element*, float*, element*>);
static_assert(!records<dense, element*, element*, int*, element*>);          // a table as floats
static_assert(!records<dense, element*, element*, float*, element const*>);  // not to be written
static_assert(!launches<dense, element*, element*, float*, element const*>);
static_assert(!records<dense, element*, element*, kernels::sum_inputs, element*>);

using loss = decltype(kernels::loss(storage::f32, {}, true, 1, 1, {}, {}, {}, true));  // its blocks communicate
static_assert(records<loss, element*, int*, double*, element*>);
static_assert(!records<loss, element*, float*, double*, element*>);
static_assert(!records<loss, element*, int*, double*>);
static_assert(!launches<loss, element*, int*, double*, element*>);
static_assert(launches<loss, element*, int*, double*, element*, double*, unsigned*>);
static_assert(!launches<loss, element*, int*, double*, element*, float*, unsigned*>);

using pool = decltype(kernels::max_pool2d_forward(storage::f32, 1, {}, {}, {}, {}, {}, true));
static_assert(records<pool, element*, element*, window_position*>);
static_assert(!records<pool, element*, element*, unsigned char*> && !records<pool, element*, element*, element*>);

// A kernel's arguments are those of the function that makes its spec.
static_assert(!std::is_constructible_v<kernel_spec<float const*>, dense> && !std::is_constructible_v<dense, loss>);
static_assert(std::is_constructible_v<dense, any_kernel>);

TEST_CASE("equal specs share a kernel, and a launch waits for its kernel", "[nvrtc]") {
  api const a;
  kernel_library library(a, "");
  auto const first = library.add(kernels::narrow(storage::bf16, 64));
  CHECK(library.add(kernels::narrow(storage::f32, 64)) != first);
  CHECK(library.add(kernels::narrow(storage::bf16, 64)) == first);
  CHECK(library.size() == 2);
  CHECK_THROWS_AS(library.launch(first, nullptr, nullptr, nullptr), dsl::executor_error);  // not built yet
  dsl::cu::kernels::batch_norm_layer const layer{96, {96}, {96}, {96}};
  library.add(kernels::batch_norm_statistics(storage::bf16, 65'536, {&layer, 1}, false));
  CHECK(library.scratch_bytes() > 0);
  CHECK(library.counters() == 2);  // one for each tile of channels
}

TEST_CASE("a compiled program is kept, and found again", "[nvrtc]") {
  api const a;
  dsl::test::temporary_directory const folder;
  std::string const cache = folder / "made/on/demand";
  std::string const text = small_program();
  cubin const fresh = compile_cached(a, text, "sm_90a", cache);
  CHECK_FALSE(fresh.from_cache);
  cubin const again = compile_cached(a, text, "sm_90a", cache);
  CHECK(again.from_cache);
  CHECK(again.code == fresh.code);
  CHECK_FALSE(compile_cached(a, text + "\n", "sm_90a", cache).from_cache);  // another text
  CHECK_FALSE(compile_cached(a, text, "sm_80", cache).from_cache);          // another architecture
  CHECK(compile_cached(a, text, "sm_90a", cache).from_cache);
  CHECK_FALSE(compile_cached(a, text, "sm_90a", "").from_cache);
}

TEST_CASE("a broken or foreign file of the cache is ignored and written anew", "[nvrtc]") {
  api const a;
  dsl::test::temporary_directory const folder;
  std::string const text = small_program();
  cubin const good = compile_cached(a, text, "sm_90a", folder.path);
  int major = 0, minor = 0;
  nvrtcVersion(&major, &minor);
  std::string const path = folder / cubin_file("", text, "sm_90a", major, minor).name();
  std::string const bytes = read_file(path);
  REQUIRE(bytes.size() > good.code.size());
  std::string flipped = bytes;
  flipped[bytes.size() - 100] = static_cast<char>(flipped[bytes.size() - 100] ^ 1);
  std::string other = bytes;
  other[20] = other[20] == 'a' ? 'b' : 'a';  // the key of another program
  for (std::string const& broken : {std::string(), std::string("hello"), bytes.substr(0, bytes.size() / 2), flipped,
                                    other, bytes + "x", good.code, std::string(300, '\n')}) {
    write_file(path, broken);
    cubin const c = compile_cached(a, text, "sm_90a", folder.path);
    CHECK_FALSE(c.from_cache);
    CHECK(c.code == good.code);
    CHECK(read_file(path) == bytes);
  }
  CHECK(compile_cached(a, text, "sm_90a", folder.path).from_cache);
}

TEST_CASE("a cache that can't be written to is no error", "[nvrtc]") {
  api const a;
  dsl::test::temporary_directory const folder;
  write_file(folder / "file", "in the way");
  for (std::string const& cache : {folder / "file/below", std::string("/proc/nowhere")}) {
    CHECK_FALSE(compile_cached(a, small_program(), "sm_90a", cache).code.empty());
    CHECK_FALSE(compile_cached(a, small_program(), "sm_90a", cache).from_cache);
  }
}

TEST_CASE("what the compiler says is in the error", "[nvrtc]") {
  api const a;
  auto const message_of = [&](std::string const& text, std::string const& architecture) -> std::string {
    try {
      compile(a, text, architecture);
    } catch (dsl::executor_error const& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  any_kernel broken = kernels::narrow(storage::bf16, 64);
  broken.constants.push_back(7);  // does not fit its shape
  std::string const found = message_of(program_text(std::vector{broken}), "sm_90a");
  CHECK(found.find("nvrtcCompileProgram failed for sm_90a") != std::string::npos);
  CHECK(found.find("wrappers(") != std::string::npos);
  CHECK(found.find("static assertion failed") != std::string::npos);
  CHECK(message_of(small_program(), "sm_12345").find("gpu-architecture") != std::string::npos);
  dsl::test::temporary_directory const folder;
  CHECK_THROWS_AS(compile_cached(a, "not C++", "sm_90a", folder.path), dsl::executor_error);
  CHECK(folder.empty());
}
