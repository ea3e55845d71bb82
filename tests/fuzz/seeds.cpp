// SPDX-License-Identifier: MIT
#ifdef TYPENET_HAS_ONNX
#include <dsl/io/onnx.hpp>
#include <dsl/io/onnx/library.hpp>  // before <cmath>, which has a macro DOMAIN
#endif

#include <dsl/dsl.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/classes_file.hpp>
#include <dsl/io/event_records.hpp>
#include <dsl/io/safetensors.hpp>
#ifdef TYPENET_HAS_CUDA
#include <dsl/executors/cuda/nvrtc.hpp>
#include <dsl/executors/cuda/plan_cache.hpp>
#endif

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/state_network.hpp"
#include "support/picture_files.hpp"
#include "support/temporary_directory.hpp"

// Writes the corpora: fuzz_seeds tests/fuzz/corpus. Files that a fuzzer has found are beside them.

namespace {

using namespace dsl;

std::filesystem::path root;

void seed(char const* target, char const* name, std::string const& bytes) {
  std::filesystem::create_directories(root / target);
  std::ofstream(root / target / name, std::ios::binary) << bytes;
}

void states() {
  std::vector<std::uint8_t> pixels(8 * 4);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37 % 251);
  dataset const data = in_memory_dataset({1, 2, 2}, 2, std::move(pixels), {0, 1, 0, 1, 0, 1, 0, 1});
  struct keeper : callback {
    std::string& after;
    explicit keeper(std::string& to) : after(to) {}
    void on_backup(fit_run& run) override { after = checkpoint(run); }
  };
  std::string run;
  std::vector<callback_handle> callbacks = fuzz::small_callbacks();
  callbacks.emplace_back(keeper{run});
  trainer& t = fuzz::small_trainer();
  history const past =
      t.fit(data, {.epochs = 2, .batch_size = 4, .validation = &data, .callbacks = std::move(callbacks)});
  seed("state", "good_after_epoch", "f" + checkpoint(t, past));
  seed("state", "good_with_callbacks", "f" + run);
  seed("state", "good_without_epochs", "f" + checkpoint(t, {}, 0.01));
  seed("state", "bad_checksum", "r" + run.substr(0, run.size() - 1) + "?");
  seed("state", "bad_cut", "r" + run.substr(0, 100));
}

void tables() {
  seed("csv", "good_values", "id,a,b,y\n1,0.5,-2e3,7\n2,.25,1e-3,8\r\n\n3,1,2,3\n");
  seed("csv", "good_classes", "a,\"y\"\n1,\"x \"\"z\"\"\"\n2,b\n");
  seed("csv", "good_bare", "1;2;3\n4;5;6\n");
  seed("csv", "bad_quote", "a,y\n1,\"2\n");
  seed("csv", "bad_ragged", "a,y\n1,2,3\n");
  seed("csv", "bad_number", "a,y\nnan,1\n");
}

std::string npy_file(std::string const& type, std::string const& dims, std::string const& numbers) {
  std::string text = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + dims + ", }";
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(text.size()) + '\0' + text + numbers;
}

void arrays() {
  seed("npy", "good_floats", npy_file("<f4", "(2, 3)", std::string(24, '\0')));
  seed("npy", "good_doubles", npy_file("<f8", "(2,)", std::string(16, '\1')));
  seed("npy", "good_bytes", npy_file("|u1", "(1, 3, 2, 2)", "abcdefghijkl"));
  seed("npy", "good_labels", npy_file("<i8", "(2, 1)", std::string(16, '\0')));
  seed("npy", "bad_count", npy_file("<f4", "(2, 4)", std::string(24, '\0')));
  seed("npy", "bad_order", npy_file(">f4", "(2, 3)", std::string(24, '\0')));
}

void pictures() {
  rgb_picture const p = test::drawn(6, 5, 1);
  seed("pictures", "good_png", test::png(p));
  seed("pictures", "good_interlaced_png", test::png(p, {.interlaced = true}));
  seed("pictures", "good_palette_png",
       test::raw_png(4, 2, 4, PNG_COLOR_TYPE_PALETTE, {0x01, 0x10, 0x11, 0x00}, {{{1, 2, 3}}, {{200, 100, 50}}}));
  seed("pictures", "good_grey_png", test::raw_png(2, 2, 16, PNG_COLOR_TYPE_GRAY, {1, 2, 3, 4, 5, 6, 7, 8}));
  seed("pictures", "good_jpeg", test::jpeg(p, {.grey = true, .quality = 40}));
  seed("pictures", "good_progressive_jpeg", test::jpeg(p, {.progressive = true, .quality = 40}));
  seed("pictures", "good_turned_jpeg", test::jpeg(p, {.grey = true, .quality = 40, .app1 = {test::exif(6)}}));
  seed("pictures", "bad_huge_png", test::with_png_size(test::png(p), 1u << 30, 1u << 30));
  seed("pictures", "bad_cut_jpeg", test::jpeg(p).substr(0, 300));
}

void tensors() {
  std::string const numbers(24, '\1');
  namespace st = dsl::safetensors;
  seed("safetensors", "good_two",
       st::serialize({{.name = "0.weight", .type = st::dtype::f32, .shape = {2, 2}, .bytes = numbers.substr(0, 16)},
                      {.name = "0.bias", .type = st::dtype::f16, .shape = {2}, .bytes = numbers.substr(0, 4)}},
                     {{"format", "pt"}}));
  seed("safetensors", "good_none", st::serialize({}));
  std::string const header = R"({"a":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]}, "\u00e9":)"
                             R"({"dtype":"U8","shape":[],"data_offsets":[4,5]}})";
  std::string const size{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
  seed("safetensors", "good_escapes", size + header + "12345");
  seed("safetensors", "bad_gap", size + header + "123456");
  seed("safetensors", "bad_length", std::string(8, '\x7f') + header);
}

void events() {
  std::string const all = detail::first_records(1.7e9) +
                          detail::scalars_record(1.7e9, 2, {{"epoch_loss", 0.5}, {"epoch_acc", 0.25}}) +
                          detail::scalars_record(1.7e9, 9, {{"batch_loss", 0.5}});
  seed("events", "good_file", all);
  std::string const record = detail::scalars_record(1.7e9, 2, {{"epoch_loss", 0.5}});
  seed("events", "good_record", record.substr(12, record.size() - 16));
  seed("events", "bad_later", detail::scalars_record(1.7e9, 900, {{"epoch_loss", 0.5}}));
  seed("events", "bad_beginning", detail::first_records(1.7e9));
}

std::string contents(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

#ifdef TYPENET_HAS_CUDA
void cached_plans() {
  cu::backend::stored_plan plan{.facts = {.engine = 22, .numerical_notes = 9, .workspace = 4096}};
  plan.facts.knobs = {{.type = 2, .value = 16}, {.type = 13, .value = 0}};
  plan.json = "{\"engine\": 22}";
  std::string const text = cu::backend::to_text("a device; a convolution; first", plan);
  seed("plan_cache", "good_plan", "f" + text);
  seed("plan_cache", "good_sum", "r" + text);
  seed("plan_cache", "bad_sum", "r" + text.substr(0, text.size() - 2) + "\n");
  seed("plan_cache", "bad_convolution", "f" + cu::backend::to_text("a device; another; first", plan));
  seed("plan_cache", "good_trials", "rtypenet trials 1\n4711 a machine: engine 2, knobs\n0: engine 1, knobs 2=16\n");
  test::temporary_directory const here;
  cu::cubin_file const kernels(here.path.string(), "a program", "sm_80", 13, 0);
  kernels.write("code");
  seed("plan_cache", "good_kernels", "r" + contents(here / kernels.name()));
  seed("plan_cache", "bad_kernels", "r" + contents(here / kernels.name()) + "s");
}
#endif

void command_lines() {
  seed("command_line", "good_demo",
       "--output\nplot.png\n--synthetic\n--epochs\n4\n--batch-size\n32\n--bn-momentum\n0.9");
  seed(
      "command_line", "good_long",
      "-o\nplot.svg\n--synthetic\n--gpus\n2\n--merge\nall_reduce\n--schedule\none_cycle\n--swa\n2\n--ema\n0.9\n--"
      "augment\n"
      "crop_flip_cutout\n--cutout-epochs\n3\n--crop-border\nedge\n--best\nbest-{epoch:02d}\n--csv\nlog.csv\n--seed\n7");
  seed("command_line", "good_adam", "-o\na.png\n--synthetic\n--optimizer\nadamw\n--weight-decay\n1e-4\n--clip-norm\n1");
  seed("command_line", "bad_number", "--output\nplot.png\n--epochs\n0x10");
  seed("command_line", "bad_names",
       "--output\nplot.png\n--synthetic\n--csv\n./plot.png.history.csv\n--weights\nplot.png");
  seed("command_line", "bad_word", "--help");
}

/// Bytes that options() reads one by one.
void numbers_of_options() {
  auto const bytes = [](std::initializer_list<int> all) {
    std::string text = "o";
    for (int b : all) text += static_cast<char>(b);
    return text;
  };
  // sgd with a momentum; the mean squared error, seed 5, verified; on reference
  std::string const compiled = bytes({0, 0, 1, 0, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 1, 1});
  // three epochs, batches of 2; poly_decay, early_stopping, an average, all options of the loader
  std::string const fitted =
      bytes({3, 1, 1, 1, 0, 2, 5, 1, 0, 3, 0, 1, 3, 1, 3, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1}).substr(1);
  seed("options", "good_training", compiled + fitted);
  seed("options", "good_native", compiled.substr(0, compiled.size() - 1) + bytes({0, 0}).substr(1) + fitted);
  seed("options", "bad_epochs", compiled);
  seed("options", "bad_momentum", bytes({0, 0, 9}));
  using namespace std::literals;
  seed("options", "good_rank", "e1\0002\0\0\0\0\0\0avx2"s);
  seed("options", "bad_isa", "e1\0002\0\0\0\0\0\0avx3"s);
}

/// Two networks, whose choices are bytes in no order: of the first the plan is checked, of the second the numbers.
void graphs() {
  for (int start : {0, 99}) {
    std::string bytes(1, static_cast<char>(start));
    for (int i = 1; i < 150; ++i) bytes += static_cast<char>(i * i * 37 % 251);
    seed("graphs", start == 0 ? "good_plan" : "good_numbers", bytes);
  }
}

void others() {
  std::string records;
  for (int i = 0; i < 1; ++i) records += std::string(1, static_cast<char>(i + 3)) + std::string(3072, '\x40');
  seed("cifar", "good_record", records);
  seed("cifar", "bad_label", '\x0a' + records.substr(1));
  seed("cifar", "bad_size", records.substr(0, 200));

  std::filesystem::create_directories(root / "classes");
  write_classes({.sample = {1, 1, 2}, .names = {"cat", "d\xc3\xb6g"}, .mean = {0.5f, 17.25f}},
                (root / "classes/good_mean").string());
  write_classes({.sample = {3, 32, 32}, .names = {"a"}, .mean = {}}, (root / "classes/good_names").string());
  seed("classes", "bad_text", "picture 3 32 32\n");

  seed("text", "good_letters", "to be, or\nnot");
  seed("text", "good_characters", "d\xc3\xb6g \xe2\x80\x94 \xf0\x9f\x90\x95\n");
  seed("text", "bad_empty", "");
  seed("text", "bad_latin", "d\xf6g");
  seed("text", "bad_cut", "d\xc3");

  seed("pattern", "good_epoch", "best/w.{epoch:02d}-{val_loss:.2f}.state");
  seed("pattern", "good_plain", "w{{}}");
  seed("pattern", "bad_name", "w{lost}");
  seed("pattern", "bad_width", "w{epoch:999999999d}");
  seed("pattern", "bad_brace", "w{epoch");
}

#ifdef TYPENET_HAS_KERAS_H5
/// The bytes say how the tree begins, the options of the load, how HDF5 writes (four), and then the changes.
void trees() {
  auto const tree = [](char const* name, std::initializer_list<int> all) {
    std::string bytes;
    for (int b : all) bytes += static_cast<char>(b);
    seed("keras_h5", name, bytes);
  };
  // of the names, 2 is the variables of conv2d, 17 its kernel, 24 the bias of dense, 240 to 245 are others
  tree("good_saved", {1, 0, 0, 0, 0, 0});
  tree("good_activation", {1, 1, 0, 0, 0, 0, 7, 240, 0, 0, 0, 0});
  tree("good_latest_format", {1, 0, 1, 1, 1, 1, 1, 0, 1});
  // float16; bfloat16 in an opaque type, with the attribute that says so
  tree("good_halves",
       {1, 0, 0, 0, 0, 0, 8, 17, 1, 3, 1, 4, 7, 0, 0, 5, 8, 24, 1, 6, 1, 4, 7, 0, 0, 9, 9, 24, 8, 1, 0, 0, 1, 0, 1, 0});
  tree("good_lenient", {1, 4, 0, 0, 0, 0, 0, 24});
  tree("good_mismatch", {1, 8, 0, 0, 0, 0, 8, 24, 1, 0, 0, 7, 0, 0, 3});
  tree("good_only", {1, 16, 0, 0, 0, 0, 0, 0, 24});
  tree("good_unused", {1, 32, 0, 0, 0, 0, 0, 6, 17, 242, 0});
  tree("good_committed_type", {1, 0, 0, 0, 0, 0, 10, 244, 0, 0});
  tree("good_hard_link", {1, 0, 0, 0, 0, 0, 1, 17, 244, 2, 244, 17});
  tree("bad_activations", {1, 1, 0, 0, 0, 0});
  tree("bad_missing", {1, 0, 0, 0, 0, 0, 0, 24});
  tree("bad_unexpected", {1, 0, 0, 0, 0, 0, 6, 17, 242, 0});
  tree("bad_shape", {1, 0, 0, 0, 0, 0, 8, 24, 1, 0, 0, 7, 0, 0, 3});
  tree("bad_integers", {1, 0, 0, 0, 0, 0, 8, 24, 1, 7, 1, 4, 7, 0, 0, 3});
  tree("bad_unwritten", {1, 0, 0, 0, 0, 0, 8, 24, 1, 0, 4, 7, 0, 1});
  tree("bad_chunks", {1, 0, 0, 0, 0, 0, 8, 24, 1, 0, 4, 1, 1, 1, 1, 0, 0, 3});
  tree("bad_soft_link", {1, 0, 0, 0, 0, 0, 1, 17, 244, 3, 244, 17, 0});
  tree("bad_external_link", {1, 0, 0, 0, 0, 0, 0, 17, 4, 17, 17});
  tree("bad_own_link", {1, 0, 0, 0, 0, 0, 5, 17, 1, 'x', 0});
  tree("bad_group", {1, 0, 0, 0, 0, 0, 7, 17, 1, 0, 0, 2});
  tree("bad_cycle", {1, 0, 0, 0, 0, 0, 2, 0, 252, 'l', 'a', 'y', 'e', 'r', 's', '/', 'a', 0});
  tree("good_two_ways", {1, 0, 0, 0, 0, 0, 7, 241, 0, 0, 0, 0, 11, 241, 11, 241, 11, 241});
  tree("bad_two_ways", {1, 0, 0, 0, 0, 0, 11, 2, 11, 2});
}
#endif

#ifdef TYPENET_HAS_ONNX
void networks() {
  auto const bytes_of = []<class Network>(Network*) {
    return serialize_onnx(*reference<>{}.make_engine(Network::view(), {.loss = loss::mean_squared_error}));
  };
  using chain = network<image<2, 4, 4>, conv2d<2, 3, stride<2>>, batch_norm<>, gelu, flatten, dense<2>, softmax>;
  using branches =
      network<image<2, 4, 4>, residual<conv2d<2, 1>, relu>, concat<max_pool2d<2>, avg_pool2d<2>>,
              channel_split<identity, layer_norm<>>, channel_shuffle<2>, multiply<identity, global_avg_pool2d>>;
  std::string const sound = bytes_of(static_cast<chain*>(nullptr));
  seed("onnx", "good_chain", sound);
  seed("onnx", "good_branches", bytes_of(static_cast<branches*>(nullptr)));
  seed("onnx", "bad_text", "onnx");
  seed("onnx", "bad_cut", sound.substr(0, sound.size() / 2));
  // Operators with too few operands, or whose first one is a weight.
  auto const with = [](char const* type, std::vector<std::string> const& in) {
    detail::onnx_messages::ModelProto file;
    file.set_ir_version(8);
    file.add_opset_import()->set_version(17);
    auto& graph = *file.mutable_graph();
    auto& input = *graph.add_input();
    input.set_name("x");
    auto& type_of_input = *input.mutable_type()->mutable_tensor_type();
    type_of_input.set_elem_type(detail::onnx_messages::TensorProto::FLOAT);
    for (int const size : {1, 3}) type_of_input.mutable_shape()->add_dim()->set_dim_value(size);
    auto& weight = *graph.add_initializer();
    weight.set_name("w");
    weight.set_data_type(detail::onnx_messages::TensorProto::FLOAT);
    weight.add_dims(1);
    weight.add_float_data(2);
    auto& first = *graph.add_node();
    first.set_op_type(type);
    for (std::string const& name : in) first.add_input(name);
    first.add_output("a");
    auto& second = *graph.add_node();
    second.set_op_type("Add");
    second.add_input("x"), second.add_input("a"), second.add_output("y");
    graph.add_output()->set_name("y");
    return file.SerializeAsString();
  };
  seed("onnx", "bad_no_operand", with("Identity", {}));
  seed("onnx", "bad_weight_first", with("Identity", {"w", "x"}));
  seed("onnx", "bad_surplus", with("LeakyRelu", {"w", "x"}));
}
#endif

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::puts("usage: fuzz_seeds FOLDER"), 2;
  root = argv[1];
  states(), tables(), arrays(), pictures(), tensors(), events(), command_lines(), numbers_of_options(), graphs(),
      others();
#ifdef TYPENET_HAS_CUDA
  cached_plans();
#endif
#ifdef TYPENET_HAS_KERAS_H5
  trees();
#endif
#ifdef TYPENET_HAS_ONNX
  networks();
#endif
}
