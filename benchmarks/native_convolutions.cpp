// SPDX-License-Identifier: MIT
// Compares the convolutions of the native executor with oneDNN's, shape by shape, alternately in one process:
//   native_convolutions [resnet50|mobilenet_v2|efficientnet_b0|resnext50|all] [batch] [threads] [rounds]
// The shapes are the 1x1, depthwise and grouped convolutions of these networks. oneDNN computes each of them in three
// layouts (NCHW, NHWC, channel blocks), directly and, where it can, with Winograd; the fastest one in a round counts.
// Kernels are packed beforehand on both sides. Prints a Markdown table: for the forward pass, the data gradient and the
// kernel's gradient, the median over the rounds of the ratio oneDNN / native of processor time, and native's
// milliseconds. With more than one thread, the time includes that of oneDNN's waiting threads. To make oneDNN use the
// same instruction set as native, set ONEDNN_MAX_CPU_ISA and TYPENET_MAX_ISA.
#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/executors/onednn.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

namespace {

using dsl::action;

struct layer {
  char const* network;
  int channels, size, filters, kernel, stride, groups;
};

constexpr layer layers[] = {
    {"resnet50", 64, 56, 64, 1, 1, 1},
    {"resnet50", 64, 56, 256, 1, 1, 1},
    {"resnet50", 256, 56, 64, 1, 1, 1},
    {"resnet50", 256, 56, 128, 1, 1, 1},
    {"resnet50", 256, 56, 512, 1, 2, 1},
    {"resnet50", 128, 28, 512, 1, 1, 1},
    {"resnet50", 512, 28, 128, 1, 1, 1},
    {"resnet50", 512, 28, 1024, 1, 2, 1},
    {"resnet50", 256, 14, 1024, 1, 1, 1},
    {"resnet50", 1024, 14, 256, 1, 1, 1},
    {"resnet50", 1024, 14, 2048, 1, 2, 1},
    {"resnet50", 512, 7, 2048, 1, 1, 1},
    {"resnet50", 2048, 7, 512, 1, 1, 1},
    {"mobilenet_v2", 32, 112, 32, 3, 1, 32},
    {"mobilenet_v2", 32, 112, 16, 1, 1, 1},
    {"mobilenet_v2", 16, 112, 96, 1, 1, 1},
    {"mobilenet_v2", 96, 112, 96, 3, 2, 96},
    {"mobilenet_v2", 96, 56, 24, 1, 1, 1},
    {"mobilenet_v2", 144, 56, 144, 3, 1, 144},
    {"mobilenet_v2", 144, 56, 144, 3, 2, 144},
    {"mobilenet_v2", 192, 28, 192, 3, 1, 192},
    {"mobilenet_v2", 192, 28, 192, 3, 2, 192},
    {"mobilenet_v2", 384, 14, 384, 3, 1, 384},
    {"mobilenet_v2", 64, 14, 384, 1, 1, 1},
    {"mobilenet_v2", 576, 14, 576, 3, 2, 576},
    {"mobilenet_v2", 960, 7, 960, 3, 1, 960},
    {"mobilenet_v2", 960, 7, 160, 1, 1, 1},
    {"mobilenet_v2", 320, 7, 1280, 1, 1, 1},
    {"efficientnet_b0", 96, 112, 96, 3, 2, 96},
    {"efficientnet_b0", 144, 56, 144, 5, 2, 144},
    {"efficientnet_b0", 240, 28, 240, 5, 1, 240},
    {"efficientnet_b0", 240, 28, 240, 3, 2, 240},
    {"efficientnet_b0", 480, 14, 480, 5, 1, 480},
    {"efficientnet_b0", 672, 14, 672, 5, 2, 672},
    {"efficientnet_b0", 1152, 7, 1152, 5, 1, 1152},
    {"efficientnet_b0", 1152, 7, 192, 1, 1, 1},
    {"efficientnet_b0", 192, 7, 1152, 1, 1, 1},
    {"resnext50", 128, 56, 128, 3, 1, 32},
    {"resnext50", 256, 56, 256, 3, 2, 32},
    {"resnext50", 256, 28, 256, 3, 1, 32},
    {"resnext50", 512, 14, 512, 3, 1, 32},
    {"resnext50", 1024, 7, 1024, 3, 1, 32},
};

double seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
/// Returns the least time of three calls, after one call that is not timed. Before them there is a pause, in which the
/// other library's threads fall asleep.
template <class F>
double least_of(F const& call) {
  timespec const pause{0, 20'000'000};
  nanosleep(&pause, nullptr);
  double least = 0;
  for (int i = 0; i < 4; ++i) {
    double const begin = seconds();
    call();
    double const took = seconds() - begin;
    if (i == 1 || (i > 1 && took < least)) least = took;
  }
  return least;
}

dsl::shape input_of(layer const& l) { return {l.channels, l.size, l.size}; }
dsl::shape output_of(layer const& l) {
  int const size = (l.size - 1) / l.stride + 1;
  return {l.filters, size, size};
}
/// Random numbers of magnitude up to 1, aligned like an engine's memory.
class numbers {
 public:
  explicit numbers(long long count) : memory_(new dsl::host::memory_block(4 * count)) {
    dsl::detail::random_stream random(1, dsl::detail::purpose::user, 0);
    for (long long i = 0; i < count; ++i) data()[i] = random.uniform(-1, 1);
  }
  float* data() const { return reinterpret_cast<float*>(memory_->data()); }

 private:
  std::unique_ptr<dsl::host::memory_block> memory_;
};

/// Runs a pass of a convolution on the native executor, with the kernel packed once.
class native_pass {
 public:
  native_pass(layer const& l, int batch, action what, int threads)
      : at_(dsl::host::widest(), threads),
        convolutions_({}, at_, true, {&version_, &version_}, kernels_),
        x_(numbers(batch * padded(l.channels) * input_of(l).area())),
        y_(numbers(batch * padded(l.filters) * output_of(l).area())),
        kernel_(numbers(1LL * l.filters * l.channels / l.groups * l.kernel * l.kernel)) {
    int const before = l.kernel / 2;
    node_ = {.kind = dsl::op::conv2d, .window = {l.kernel, l.kernel, l.stride, before, before}, .groups = l.groups};
    step_.what = what;
    bound_.step = &step_;
    bound_.node = &node_;
    dsl::view<float> const x = view_of(x_, input_of(l), batch), y = view_of(y_, output_of(l), batch);
    bound_.x = dsl::plain::read_only(x);
    bound_.dy = dsl::plain::read_only(y);
    bound_.to = what == action::forward ? y : x;
    bound_.parameters[static_cast<int>(dsl::role::kernel)] = kernel_.data();
    bound_.gradients[static_cast<int>(dsl::role::kernel)] = kernel_.data();
    task_ = convolutions_.build(bound_, false);
  }
  native_pass(native_pass const&) = delete;
  native_pass& operator=(native_pass const&) = delete;

  double run() const { return least_of(task_); }

 private:
  long long padded(int channels) const { return 1LL * dsl::native_cpu::blocks_of(channels, at_.lanes()) * at_.lanes(); }
  dsl::view<float> view_of(numbers const& v, dsl::shape const& s, int batch) const {
    return {v.data(), s, batch, at_.lanes(), static_cast<int>(padded(s.channels)), 0};
  }

  dsl::native_cpu::cpu_device at_;
  std::uint64_t version_ = 1;
  dsl::detail::chain<dsl::native_cpu::packed_kernel> kernels_{};
  dsl::native_cpu::convolutions convolutions_;
  numbers x_, y_, kernel_;
  dsl::node node_{};
  dsl::step step_{};
  dsl::host::bound_step<float> bound_{};
  dsl::host::task task_{};
};

/// Returns a layout of any rank.
dsl::dnn::layout make_layout(std::vector<dnnl_dim_t> const& d, dnnl_format_tag_t tag) {
  int const rank = static_cast<int>(d.size());
#if DNNL_VERSION_MAJOR >= 3
  dnnl_memory_desc_t made = nullptr;
  dsl::dnn::check(dnnl_memory_desc_create_with_tag(&made, rank, d.data(), dnnl_f32, tag), "create_with_tag");
  dsl::dnn::layout const copy(made);
  dnnl_memory_desc_destroy(made);
  return copy;
#else
  dnnl_memory_desc_t made;
  dsl::dnn::check(dnnl_memory_desc_init_by_tag(&made, rank, d.data(), dnnl_f32, tag), "init_by_tag");
  return dsl::dnn::layout(&made);
#endif
}

/// Runs the same pass on oneDNN, in every layout for which oneDNN has a kernel.
class onednn_pass {
 public:
  onednn_pass(layer const& l, int batch, action what) {
    for (dnnl_format_tag_t tag : {dnnl_abcd, dnnl_acdb, dsl::dnn::preferred_block() == 16 ? dnnl_aBcd16b : dnnl_aBcd8b})
      add(l, batch, what, tag);
  }

  /// Returns the time of the fastest layout.
  double run() const {
    double least = 0;
    for (variant const& v : variants_) {
      double const took = least_of([&] { v.call(device_); });
      if (least == 0 || took < least) least = took;
    }
    return least;
  }

 private:
  struct variant {
    numbers x, y, kernel;
    dsl::dnn::primitive_call call;
  };

  void add(layer const& l, int batch, action what, dnnl_format_tag_t tag) {
    namespace dnn = dsl::dnn;
    dsl::shape const in = input_of(l), out = output_of(l);
    dnn::layout const x = make_layout({batch, in.channels, in.height, in.width}, tag);
    dnn::layout const y = make_layout({batch, out.channels, out.height, out.width}, tag);
    dnn::layout const kernel =
        l.groups > 1 ? make_layout({l.groups, l.filters / l.groups, l.channels / l.groups, l.kernel, l.kernel},
                                   dnnl_format_tag_any)
                     : make_layout({l.filters, l.channels, l.kernel, l.kernel}, dnnl_format_tag_any);
    bool const data = what == action::backward_data, weights = what == action::backward_weights;
    dnn::convolution c{.which = data      ? dnn::pass::backward_data
                                : weights ? dnn::pass::backward_weights
                                          : dnn::pass::forward_inference,
                       .x = &x,
                       .kernel = &kernel,
                       .y = &y};
    for (int i : {0, 1}) {
      c.stride[i] = l.stride, c.before[i] = l.kernel / 2;
      c.behind[i] = (out.height - 1) * l.stride + l.kernel - in.height - l.kernel / 2;
      if (c.behind[i] < 0) c.behind[i] = 0;
    }
    dnn::description_handle const found = dnn::describe(device_.engine(), c, dnnl_convolution_direct);
    if (std::string(dnn::implementation(found)).starts_with("ref")) return;
    dnn::layout const packed = dnn::query(found, weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
    variant v{numbers(static_cast<long long>(x.bytes() / 4)), numbers(static_cast<long long>(y.bytes() / 4)),
              numbers(static_cast<long long>(packed.bytes() / 4)), dnn::primitive_call(found)};
    v.call.argument(data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, device_, x, v.x.data());
    v.call.argument(data || weights ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST, device_, y, v.y.data());
    v.call.argument(weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, device_, packed, v.kernel.data());
    dnn::layout const scratch = dnn::query(found, dnnl_query_scratchpad_md);
    if (scratch.bytes() > 0) v.call.argument(DNNL_ARG_SCRATCHPAD, device_.scratch(scratch));
    variants_.push_back(std::move(v));
  }

  dsl::dnn::device device_;
  std::vector<variant> variants_;
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  auto const number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  std::string const which = argc > 1 ? argv[1] : "all";
  int const batch = number(2, 16), threads = number(3, 1), rounds = number(4, 5);
  dsl::dnn::thread_count const onednn_threads(threads);
  std::printf("batch %d, %d threads, native with %s, oneDNN %s\n\n", batch, threads,
              dsl::host::name_of(dsl::host::widest()), DNNL_VERSION_MAJOR >= 3 ? "3" : "2");
  std::printf("| | convolution | forward | data | kernel | native, ms |\n|---|---|--:|--:|--:|--:|\n");
  std::vector<double> all;
  for (layer const& l : layers) {
    if (which != "all" && which != l.network) continue;
    std::printf("| %s | %dx%dx%d -> %d, %dx%d%s%s |", l.network, l.channels, l.size, l.size, l.filters, l.kernel,
                l.kernel, l.stride > 1 ? ", stride 2" : "",
                l.groups == 1            ? ""
                : l.groups == l.channels ? ", depthwise"
                                         : (", " + std::to_string(l.groups) + " groups").c_str());
    std::string times;
    for (action const what : {action::forward, action::backward_data, action::backward_weights}) {
      native_pass const ours(l, batch, what, threads);
      onednn_pass const theirs(l, batch, what);
      std::vector<double> ratios, least;
      for (int r = 0; r < rounds; ++r) {
        double const mine = ours.run(), other = theirs.run();
        ratios.push_back(other / mine);
        least.push_back(mine);
      }
      all.push_back(median(ratios));
      std::printf(" %.2f |", all.back());
      char text[32];
      std::snprintf(text, sizeof text, "%s%.2f", times.empty() ? "" : ", ",
                    1e3 * *std::min_element(least.begin(), least.end()));
      times += text;
    }
    std::printf(" %s |\n", times.c_str());
    std::fflush(stdout);
  }
  double sum = 0, worst = all.empty() ? 0 : all.front();
  for (double r : all) sum += r, worst = std::min(worst, r);
  if (!all.empty()) std::printf("\nmean %.2f, least %.2f\n", sum / static_cast<double>(all.size()), worst);
}
