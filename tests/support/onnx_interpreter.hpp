// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/io/onnx/library.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

// Computes an ONNX file of float operators from the operators' specification alone (opset 17), with row-major tensors
// and plain loops in double. It knows nothing of typenet.

namespace dsl::test {

namespace pb = dsl::detail::onnx_messages;

struct onnx_tensor {
  std::vector<long long> dims{};
  std::vector<double> values{};

  long long dim(std::size_t i) const { return i < dims.size() ? dims[i] : 1; }
  /// Returns the product of all dimensions from this one on.
  long long size(std::size_t from = 0) const {
    long long all = 1;
    for (std::size_t i = from; i < dims.size(); ++i) all *= dims[i];
    return all;
  }
};

class onnx_interpreter {
 public:
  explicit onnx_interpreter(pb::ModelProto const& model) : graph_(model.graph()) {
    for (pb::TensorProto const& t : graph_.initializer()) {
      onnx_tensor& to = known_[t.name()];
      to.dims.assign(t.dims().begin(), t.dims().end());
      std::string const& raw = t.raw_data();
      bool const real = t.data_type() == pb::TensorProto::FLOAT;
      require((real || t.data_type() == pb::TensorProto::INT64) && raw.size() % (real ? 4 : 8) == 0, "initializer");
      for (std::size_t i = 0; i < raw.size(); i += real ? 4 : 8) {
        float number = 0;
        std::int64_t integer = 0;
        real ? std::memcpy(&number, &raw[i], 4) : std::memcpy(&integer, &raw[i], 8);
        to.values.push_back(real ? static_cast<double>(number) : static_cast<double>(integer));
      }
      require(to.size() == static_cast<long long>(to.values.size()), "initializer's shape");
    }
  }

  /// The graph's only output, or one of several, for `batch` samples of its first input, and of the further ones by
  /// their names.
  onnx_tensor run(std::vector<float> const& input, int batch,
                  std::map<std::string, std::vector<float>> const& further = {}, int output = -1) {
    require(graph_.input_size() == 1 + static_cast<int>(further.size()) &&
                (output < 0 ? graph_.output_size() == 1 : output < graph_.output_size()),
            "inputs, one output");
    for (int i = 0; i < graph_.input_size(); ++i) {
      std::vector<float> const& numbers = i == 0 ? input : further.at(graph_.input(i).name());
      onnx_tensor& x = known_[graph_.input(i).name()];
      x.dims.clear();
      for (auto const& d : graph_.input(i).type().tensor_type().shape().dim())
        x.dims.push_back(d.has_dim_param() ? batch : d.dim_value());
      x.values.assign(numbers.begin(), numbers.end());
      require(x.size() == static_cast<long long>(numbers.size()), "input's shape");
    }
    for (pb::NodeProto const& n : graph_.node()) {
      require(n.output_size() == 1 && known_.count(n.output(0)) == 0, "a value is made twice: " + n.output(0));
      onnx_tensor made = compute(n);
      require(made.size() == static_cast<long long>(made.values.size()), n.name());
      known_[n.output(0)] = made;
    }
    onnx_tensor const result = known_.at(graph_.output(output < 0 ? 0 : output).name());
    for (pb::NodeProto const& n : graph_.node()) known_.erase(n.output(0));
    return result;
  }

 private:
  static void require(bool holds, std::string const& what) {
    if (!holds) throw std::runtime_error("onnx_interpreter: " + what);
  }
  static pb::AttributeProto const* find(pb::NodeProto const& n, char const* name) {
    for (pb::AttributeProto const& a : n.attribute())
      if (a.name() == name) return &a;
    return nullptr;
  }
  static double real(pb::NodeProto const& n, char const* name, double otherwise) {
    auto const* a = find(n, name);
    return a ? static_cast<double>(a->f()) : otherwise;
  }
  static long long integer(pb::NodeProto const& n, char const* name, long long otherwise) {
    auto const* a = find(n, name);
    return a ? a->i() : otherwise;
  }
  static std::vector<long long> integers(pb::NodeProto const& n, char const* name, std::vector<long long> otherwise) {
    auto const* a = find(n, name);
    return a ? std::vector<long long>(a->ints().begin(), a->ints().end()) : otherwise;
  }

  /// Combines with multidirectional broadcasting: dimensions are matched from the last one, and may be 1 or missing
  /// in one operand.
  template <class F>
  static onnx_tensor combined(onnx_tensor const& a, onnx_tensor const& b, F f) {
    std::size_t const rank = std::max(a.dims.size(), b.dims.size());
    auto const dim = [&](onnx_tensor const& t, std::size_t i) {
      std::size_t const missing = rank - t.dims.size();
      return i < missing ? 1 : t.dims[i - missing];
    };
    onnx_tensor y;
    for (std::size_t i = 0; i < rank; ++i) {
      require(dim(a, i) == dim(b, i) || dim(a, i) == 1 || dim(b, i) == 1, "operands of different shapes");
      y.dims.push_back(std::max(dim(a, i), dim(b, i)));
    }
    auto const value = [&](onnx_tensor const& t, long long at) {
      long long place = 0, step = 1;
      for (std::size_t i = rank; i-- > 0; at /= y.dims[i]) {
        if (dim(t, i) > 1) place += at % y.dims[i] * step;
        step *= dim(t, i);
      }
      return t.values[static_cast<std::size_t>(place)];
    };
    for (long long i = 0; i < y.size(); ++i) y.values.push_back(f(value(a, i), value(b, i)));
    return y;
  }

  static onnx_tensor between_depth_and_space(pb::NodeProto const& n, onnx_tensor const& x) {
    bool const to_space = n.op_type() == "DepthToSpace";
    long long const side = integer(n, "blocksize", 0), squares = side * side;
    bool const by_column = to_space && text(n, "mode") != "CRD";
    require(x.dims.size() == 4 && side > 0, n.op_type());
    onnx_tensor y{x.dims, std::vector<double>(x.values.size())};
    y.dims = to_space ? std::vector<long long>{x.dims[0], x.dims[1] / squares, x.dims[2] * side, x.dims[3] * side}
                      : std::vector<long long>{x.dims[0], x.dims[1] * squares, x.dims[2] / side, x.dims[3] / side};
    onnx_tensor const &space = to_space ? y : x, &depth = to_space ? x : y;
    for (long long s = 0; s < space.dims[0]; ++s)
      for (long long c = 0; c < space.dims[1]; ++c)
        for (long long row = 0; row < space.dims[2]; ++row)
          for (long long column = 0; column < space.dims[3]; ++column) {
            long long const part = row % side * side + column % side;
            long long const channel = by_column || !to_space ? part * space.dims[1] + c : c * squares + part;
            auto const at =
                static_cast<std::size_t>(((s * space.dims[1] + c) * space.dims[2] + row) * space.dims[3] + column);
            auto const deep = static_cast<std::size_t>(
                ((s * depth.dims[1] + channel) * depth.dims[2] + row / side) * depth.dims[3] + column / side);
            y.values[to_space ? at : deep] = x.values[to_space ? deep : at];
          }
    return y;
  }
  static onnx_tensor transpose(pb::NodeProto const& n, onnx_tensor const& x) {
    std::vector<long long> const perm = integers(n, "perm", {});
    require(perm.size() == x.dims.size(), "perm");
    onnx_tensor y;
    for (long long from : perm) y.dims.push_back(x.dims.at(static_cast<std::size_t>(from)));
    for (long long i = 0; i < x.size(); ++i) {
      std::vector<long long> at(perm.size());  // in x
      long long rest = i;
      for (std::size_t k = perm.size(); k-- > 0; rest /= y.dims[k])
        at[static_cast<std::size_t>(perm[k])] = rest % y.dims[k];
      long long place = 0;
      for (std::size_t k = 0; k < at.size(); ++k) place = place * x.dims[k] + at[k];
      y.values.push_back(x.values[static_cast<std::size_t>(place)]);
    }
    return y;
  }

  /// Puts zeros around x: for each axis the number before it, then for each axis the number behind it.
  static onnx_tensor pad(pb::NodeProto const& n, onnx_tensor const& x, std::vector<double> const& pads) {
    std::size_t const rank = x.dims.size();
    require(find(n, "mode") == nullptr && pads.size() == 2 * rank, "Pad");
    onnx_tensor y;
    for (std::size_t k = 0; k < rank; ++k)
      y.dims.push_back(x.dims[k] + static_cast<long long>(pads[k] + pads[rank + k]));
    y.values.assign(static_cast<std::size_t>(y.size()), 0);
    for (long long i = 0; i < x.size(); ++i) {
      long long rest = i, place = 0, step = 1;
      for (std::size_t k = rank; k-- > 0; rest /= x.dims[k]) {
        place += (rest % x.dims[k] + static_cast<long long>(pads[k])) * step;
        step *= y.dims[k];
      }
      y.values[static_cast<std::size_t>(place)] = x.values[static_cast<std::size_t>(i)];
    }
    return y;
  }

  onnx_tensor compute(pb::NodeProto const& n) const {
    std::string const& type = n.op_type();
    std::vector<onnx_tensor const*> in;
    for (std::string const& name : n.input()) in.push_back(name.empty() ? nullptr : &known_.at(name));
    onnx_tensor const& x = *in.at(0);
    auto const each = [&](auto f) {
      onnx_tensor y = x;
      for (double& v : y.values) v = f(v);
      return y;
    };
    if (type == "Relu") return each([](double v) { return v > 0 ? v : 0; });
    if (type == "LeakyRelu") return each([a = real(n, "alpha", 0.01)](double v) { return v < 0 ? a * v : v; });
    if (type == "Elu") return each([a = real(n, "alpha", 1)](double v) { return v < 0 ? a * (std::exp(v) - 1) : v; });
    if (type == "Sigmoid") return each([](double v) { return 1 / (1 + std::exp(-v)); });
    if (type == "HardSigmoid")
      return each([a = real(n, "alpha", 0.2), b = real(n, "beta", 0.5)](double v) {
        return std::fmax(0, std::fmin(1, a * v + b));
      });
    if (type == "HardSwish") return each([](double v) { return v * std::fmax(0, std::fmin(1, v / 6 + 0.5)); });
    if (type == "Clip")
      return each([least = in.at(1)->values.at(0), most = in.at(2)->values.at(0)](double v) {
        return std::fmin(most, std::fmax(least, v));
      });
    if (type == "Tanh") return each([](double v) { return std::tanh(v); });
    if (type == "Erf") return each([](double v) { return std::erf(v); });
    if (type == "Softplus") return each([](double v) { return std::log(std::exp(v) + 1); });
    if (type == "Sqrt") return each([](double v) { return std::sqrt(v); });
    if (type == "Identity") return x;
    if (type == "ReduceMean") {
      std::size_t const size = static_cast<std::size_t>(x.dims.back());
      require(n.attribute_size() == 2 && n.attribute(0).ints_size() == 1 && n.attribute(0).ints(0) == -1, type);
      onnx_tensor y{x.dims, {}};
      y.dims.back() = 1;
      for (std::size_t at = 0; at < x.values.size(); at += size) {
        double sum = 0;
        for (std::size_t i = 0; i < size; ++i) sum += x.values[at + i];
        y.values.push_back(sum / static_cast<double>(size));
      }
      return y;
    }
    if (type == "DepthToSpace" || type == "SpaceToDepth") return between_depth_and_space(n, x);
    if (type == "Flatten") {
      require(integer(n, "axis", 1) == 1, "Flatten");
      return {{x.dim(0), x.size(1)}, x.values};
    }
    if (type == "Unsqueeze") {
      require(x.dims.size() == 2 && in.at(1)->values == std::vector<double>{2, 3}, "Unsqueeze");
      return {{x.dim(0), x.dim(1), 1, 1}, x.values};
    }
    if (type == "Sub") return combined(x, *in.at(1), [](double a, double b) { return a - b; });
    if (type == "Div") return combined(x, *in.at(1), [](double a, double b) { return a / b; });
    if (type == "Mul") return combined(x, *in.at(1), [](double a, double b) { return a * b; });
    if (type == "Add" || type == "Sum") {
      onnx_tensor y = x;
      require(type == "Sum" || in.size() == 2, type);
      for (std::size_t k = 1; k < in.size(); ++k) y = combined(y, *in[k], [](double a, double b) { return a + b; });
      return y;
    }
    if (type == "Transpose") return transpose(n, x);
    if (type == "LayerNormalization") {
      require(integer(n, "axis", -1) == -1 && in.size() == 3, "LayerNormalization");
      onnx_tensor y = x;
      auto const size = static_cast<std::size_t>(x.dims.back());
      for (std::size_t at = 0; at < y.values.size(); at += size) {
        double mean = 0, variance = 0;
        for (std::size_t i = 0; i < size; ++i) mean += x.values[at + i] / static_cast<double>(size);
        for (std::size_t i = 0; i < size; ++i)
          variance += (x.values[at + i] - mean) * (x.values[at + i] - mean) / static_cast<double>(size);
        for (std::size_t i = 0; i < size; ++i)
          y.values[at + i] =
              (x.values[at + i] - mean) / std::sqrt(variance + real(n, "epsilon", 1e-5)) * in.at(1)->values.at(i) +
              in.at(2)->values.at(i);
      }
      return y;
    }
    if (type == "Reshape") {
      onnx_tensor y{{}, x.values};
      std::vector<double> const& wanted = in.at(1)->values;
      for (std::size_t i = 0; i < wanted.size(); ++i)
        y.dims.push_back(wanted[i] == 0 ? x.dims.at(i) : static_cast<long long>(wanted[i]));
      require(y.size() == x.size(), "Reshape");
      return y;
    }
    if (type == "InstanceNormalization") {
      onnx_tensor y = x;
      auto const size = static_cast<std::size_t>(x.size(2)), channels = static_cast<std::size_t>(x.dim(1));
      for (std::size_t at = 0; at < x.values.size(); at += size) {
        double mean = 0, variance = 0;
        for (std::size_t i = 0; i < size; ++i) mean += x.values[at + i] / static_cast<double>(size);
        for (std::size_t i = 0; i < size; ++i)
          variance += (x.values[at + i] - mean) * (x.values[at + i] - mean) / static_cast<double>(size);
        for (std::size_t i = 0; i < size; ++i)
          y.values[at + i] = (x.values[at + i] - mean) / std::sqrt(variance + real(n, "epsilon", 1e-5)) *
                                 in.at(1)->values.at(at / size % channels) +
                             in.at(2)->values.at(at / size % channels);
      }
      return y;
    }
    if (type == "LRN") {  // the channels c - (size - 1) / 2 ... c + size / 2, rounded down
      long long const size = integer(n, "size", 0);
      onnx_tensor y = x;
      for (long long i = 0; i < x.size(); ++i) {
        long long const c = i / x.size(2) % x.dim(1);
        double squares = 0;
        for (long long k = c - (size - 1) / 2; k <= c + size / 2; ++k)
          if (k >= 0 && k < x.dim(1)) squares += std::pow(x.values[at(i + (k - c) * x.size(2))], 2);
        y.values[at(i)] /= std::pow(real(n, "bias", 1) + real(n, "alpha", 1e-4) / static_cast<double>(size) * squares,
                                    real(n, "beta", 0.75));
      }
      return y;
    }
    if (type == "Conv") return convolve(n, x, *in.at(1), in.size() > 2 ? in[2] : nullptr);
    if (type == "ConvTranspose") return spread(n, x, *in.at(1), in.size() > 2 ? in[2] : nullptr);
    if (type == "BatchNormalization") {
      onnx_tensor y = x;
      for (std::size_t i = 0; i < y.values.size(); ++i) {
        std::size_t const c = i / static_cast<std::size_t>(x.size(2)) % static_cast<std::size_t>(x.dim(1));
        y.values[i] = (x.values[i] - in.at(3)->values[c]) / std::sqrt(in.at(4)->values[c] + real(n, "epsilon", 1e-5)) *
                          in.at(1)->values[c] +
                      in.at(2)->values[c];
      }
      require(integer(n, "training_mode", 0) == 0, "training_mode");
      return y;
    }
    if (type == "MaxPool" || type == "AveragePool") return pool(n, x);
    if (type == "GlobalAveragePool") {
      onnx_tensor y{{x.dim(0), x.dim(1), 1, 1}, {}};
      auto const area = static_cast<std::size_t>(x.size(2));
      for (std::size_t i = 0; i < x.values.size(); i += area) {
        double sum = 0;
        for (std::size_t p = 0; p < area; ++p) sum += x.values[i + p];
        y.values.push_back(sum / static_cast<double>(area));
      }
      return y;
    }
    if (type == "Pad") {
      require(in.size() == 2, "Pad");
      return pad(n, x, in.at(1)->values);
    }
    if (type == "Slice") {
      require(in.size() == 4 && in.at(3)->values.size() == 1, "Slice");
      std::vector<double> some;
      for (double c = in.at(1)->values.at(0); c < in.at(2)->values.at(0); ++c) some.push_back(c);
      return gather(x, some, static_cast<std::size_t>(in.at(3)->values[0]));
    }
    if (type == "Cast") {
      require(integer(n, "to", 0) == pb::TensorProto::INT64, "Cast");
      return each([](double v) { return std::trunc(v); });
    }
    if (type == "Squeeze") {
      require(in.at(1)->values == std::vector<double>{1} && x.dim(1) == 1, "Squeeze");
      onnx_tensor y = x;
      y.dims.erase(y.dims.begin() + 1);
      return y;
    }
    if (type == "Shape") {
      require(integer(n, "end", 0) == 1, "Shape");
      return {{1}, {static_cast<double>(x.dim(0))}};
    }
    if (type == "Expand") {
      std::vector<double> const& wanted = in.at(1)->values;
      onnx_tensor zeros{{wanted.begin(), wanted.end()}, {}};
      zeros.values.assign(at(zeros.size()), 0);
      return combined(x, zeros, [](double a, double) { return a; });
    }
    if (type == "ConstantOfShape") {
      onnx_tensor y{{x.values.begin(), x.values.end()}, {}};
      float value = 0;
      std::string const& raw = find(n, "value")->t().raw_data();
      require(raw.size() == sizeof value, "ConstantOfShape");
      std::memcpy(&value, raw.data(), sizeof value);
      y.values.assign(at(y.size()), static_cast<double>(value));
      return y;
    }
    if (type == "Trilu") {  // the upper part
      require(integer(n, "upper", 1) == 1 && x.dims.size() == 2, "Trilu");
      onnx_tensor y = x;
      for (long long i = 0; i < y.size(); ++i)
        if (static_cast<double>(i % y.dims[1] - i / y.dims[1]) < in.at(1)->values.at(0)) y.values[at(i)] = 0;
      return y;
    }
    if (type == "MatMul") {
      onnx_tensor const& w = *in.at(1);
      require(x.dims.size() == 4 && w.dims.size() == 4 && x.dim(0) == w.dim(0) && x.dim(1) == w.dim(1) &&
                  x.dim(3) == w.dim(2),
              "MatMul");
      onnx_tensor y{{x.dim(0), x.dim(1), x.dim(2), w.dim(3)}, {}};
      for (long long m = 0; m < x.dim(0) * x.dim(1); ++m)
        for (long long r = 0; r < x.dim(2); ++r)
          for (long long c = 0; c < w.dim(3); ++c) {
            double sum = 0;
            for (long long k = 0; k < x.dim(3); ++k)
              sum += x.values[at((m * x.dim(2) + r) * x.dim(3) + k)] * w.values[at((m * w.dim(2) + k) * w.dim(3) + c)];
            y.values.push_back(sum);
          }
      return y;
    }
    if (type == "Gather" && integer(n, "axis", 0) == 0) {
      onnx_tensor y{in.at(1)->dims, {}};
      y.dims.insert(y.dims.end(), x.dims.begin() + 1, x.dims.end());
      for (double k : in.at(1)->values) {
        require(k >= 0 && k < static_cast<double>(x.dim(0)), "Gather");
        auto const from = x.values.begin() + static_cast<long long>(k) * x.size(1);
        y.values.insert(y.values.end(), from, from + x.size(1));
      }
      return y;
    }
    if (type == "Gather") {
      require(integer(n, "axis", 0) == 1 && in.at(1)->dims.size() == 1, "Gather of channels");
      return gather(x, in.at(1)->values);
    }
    if (type == "Resize") return resize(n, x, *in.at(2));
    if (type == "Concat") {
      std::size_t const axis = at(integer(n, "axis", 0));
      onnx_tensor y{x.dims, {}};
      y.dims.at(axis) = 0;
      for (onnx_tensor const* t : in) y.dims[axis] += t->dim(axis), require(t->dims.size() == x.dims.size(), "Concat");
      for (long long b = 0; b < x.size() / x.size(axis); ++b)
        for (onnx_tensor const* t : in)
          y.values.insert(y.values.end(), t->values.begin() + b * t->size(axis),
                          t->values.begin() + (b + 1) * t->size(axis));
      return y;
    }
    if (type == "Gemm") {
      onnx_tensor const &w = *in.at(1), &bias = *in.at(2);
      require(integer(n, "transB", 0) == 1 && integer(n, "transA", 0) == 0 && x.dims.size() == 2 &&
                  w.dim(1) == x.dim(1) && bias.dim(0) == w.dim(0) && !find(n, "alpha") && !find(n, "beta"),
              "Gemm");
      onnx_tensor y{{x.dim(0), w.dim(0)}, {}};
      for (long long b = 0; b < x.dim(0); ++b)
        for (long long o = 0; o < w.dim(0); ++o) {
          double sum = bias.values[at(o)];
          for (long long i = 0; i < x.dim(1); ++i)
            sum += x.values[at(b * x.dim(1) + i)] * w.values[at(o * x.dim(1) + i)];
          y.values.push_back(sum);
        }
      return y;
    }
    if (type == "Softmax" && x.dims.size() == 4 && integer(n, "axis", -1) == -1) {
      onnx_tensor y = x;
      std::size_t const size = at(x.dims.back());
      for (std::size_t from = 0; from < y.values.size(); from += size) {
        double sum = 0;
        for (std::size_t i = from; i < from + size; ++i) sum += y.values[i] = std::exp(x.values[i]);
        for (std::size_t i = from; i < from + size; ++i) y.values[i] /= sum;
      }
      return y;
    }
    if (type == "Softmax") {
      bool const last = x.dims.size() == 2 && integer(n, "axis", -1) == -1;
      require(last || integer(n, "axis", -1) == 1, "Softmax");
      onnx_tensor y = x;
      long long const area = x.size(2);
      for (long long i = 0; i < x.dim(0) * area; ++i) {
        long long const first = i / area * x.dim(1) * area + i % area;
        double sum = 0;
        for (long long c = 0; c < x.dim(1); ++c) sum += std::exp(x.values[at(first + c * area)]);
        for (long long c = 0; c < x.dim(1); ++c)
          y.values[at(first + c * area)] = std::exp(x.values[at(first + c * area)]) / sum;
      }
      return y;
    }
    throw std::runtime_error("onnx_interpreter: no operator " + type);
  }

  static std::size_t at(long long i) { return static_cast<std::size_t>(i); }

  struct windows {
    std::vector<long long> kernel, stride, pads, dilation;
    long long rows, columns;

    windows(pb::NodeProto const& n, onnx_tensor const& x, std::vector<long long> const& size)
        : kernel(integers(n, "kernel_shape", size)),
          stride(integers(n, "strides", {1, 1})),
          pads(integers(n, "pads", {0, 0, 0, 0})),
          dilation(integers(n, "dilations", {1, 1})),
          rows((x.dim(2) + pads.at(0) + pads.at(2) - (kernel.at(0) - 1) * dilation.at(0) - 1) / stride.at(0) + 1),
          columns((x.dim(3) + pads.at(1) + pads.at(3) - (kernel.at(1) - 1) * dilation.at(1) - 1) / stride.at(1) + 1) {
      require(x.dims.size() == 4 && kernel.size() == 2 && stride.size() == 2 && pads.size() == 4, "window");
      for (long long zeros : pads) require(zeros >= 0, "pads");
      for (char const* other : {"auto_pad", "ceil_mode"}) require(!find(n, other), other);
    }
    /// Calls f(input row, input column, place in the window) for every value inside the picture.
    template <class F>
    void each(onnx_tensor const& x, long long row, long long column, F f) const {
      for (long long i = 0; i < kernel[0]; ++i)
        for (long long j = 0; j < kernel[1]; ++j) {
          long long const r = row * stride[0] - pads[0] + i * dilation[0];
          long long const c = column * stride[1] - pads[1] + j * dilation[1];
          if (r >= 0 && c >= 0 && r < x.dim(2) && c < x.dim(3)) f(r, c, i * kernel[1] + j);
        }
    }
  };

  /// Each number of the input, times the kernel, is added to the output around its place.
  static onnx_tensor spread(pb::NodeProto const& n, onnx_tensor const& x, onnx_tensor const& w,
                            onnx_tensor const* bias) {
    long long const groups = integer(n, "group", 1), each_in = x.dim(1) / groups, each_out = w.dim(1);
    auto const stride = integers(n, "strides", {1, 1}), pads = integers(n, "pads", {0, 0, 0, 0});
    auto const more = integers(n, "output_padding", {0, 0}), dilation = integers(n, "dilations", {1, 1});
    require(w.dim(0) == x.dim(1) && !find(n, "auto_pad"), "ConvTranspose");
    onnx_tensor y{{x.dim(0), each_out * groups, 0, 0}, {}};
    for (std::size_t d : {0, 1})
      y.dims[2 + d] =
          (x.dim(2 + d) - 1) * stride[d] + more[d] + (w.dim(2 + d) - 1) * dilation[d] + 1 - pads[d] - pads[d + 2];
    y.values.resize(at(y.size()));
    for (long long i = 0; bias && i < y.size(); ++i) y.values[at(i)] = bias->values[at(i / y.size(2) % y.dim(1))];
    for (long long i = 0; i < x.size(); ++i) {
      long long const b = i / x.size(1), c = i / x.size(2) % x.dim(1);
      for (long long o = 0; o < each_out; ++o)
        for (long long k = 0; k < w.size(2); ++k) {
          long long const row = i / x.dim(3) % x.dim(2) * stride[0] + k / w.dim(3) * dilation[0] - pads[0];
          long long const column = i % x.dim(3) * stride[1] + k % w.dim(3) * dilation[1] - pads[1];
          if (row < 0 || column < 0 || row >= y.dim(2) || column >= y.dim(3)) continue;
          long long const to = b * y.dim(1) + c / each_in * each_out + o;
          y.values[at(to * y.size(2) + row * y.dim(3) + column)] +=
              x.values[at(i)] * w.values[at((c * each_out + o) * w.size(2) + k)];
        }
    }
    return y;
  }
  /// Some of the channels.
  static onnx_tensor gather(onnx_tensor const& x, std::vector<double> const& channels, std::size_t axis = 1) {
    onnx_tensor y{x.dims, {}};
    y.dims.at(axis) = static_cast<long long>(channels.size());
    long long const each = x.size(axis + 1);
    for (long long b = 0; b < x.size() / x.size(axis); ++b)
      for (double c : channels) {
        require(c >= 0 && c < static_cast<double>(x.dim(axis)), "channel");
        auto const from = x.values.begin() + b * x.size(axis) + static_cast<long long>(c) * each;
        y.values.insert(y.values.end(), from, from + each);
      }
    return y;
  }
  static std::string text(pb::NodeProto const& n, char const* name) {
    auto const* a = find(n, name);
    return a ? a->s() : "";
  }
  /// By the specification's formulas: where a place of the output lies in the input, and what is there.
  static onnx_tensor resize(pb::NodeProto const& n, onnx_tensor const& x, onnx_tensor const& scales) {
    bool const linear = text(n, "mode") == "linear";
    require(n.input(1).empty() && scales.dims == std::vector<long long>{4} && scales.values[0] == 1 &&
                scales.values[1] == 1 && x.dims.size() == 4,
            "Resize");
    require(linear ? text(n, "coordinate_transformation_mode") == "half_pixel"
                   : text(n, "coordinate_transformation_mode") == "asymmetric" && text(n, "nearest_mode") == "floor",
            "Resize's places");
    onnx_tensor y{x.dims, {}};
    for (std::size_t d : {2, 3})
      y.dims[d] = static_cast<long long>(std::floor(static_cast<double>(x.dims[d]) * scales.values[d]));
    auto const value = [&](long long plane, double row, double column) {
      auto const r = static_cast<long long>(std::fmax(0, std::fmin(row, static_cast<double>(x.dim(2) - 1))));
      auto const c = static_cast<long long>(std::fmax(0, std::fmin(column, static_cast<double>(x.dim(3) - 1))));
      return x.values[at(plane * x.size(2) + r * x.dim(3) + c)];
    };
    for (long long plane = 0; plane < x.dim(0) * x.dim(1); ++plane)
      for (long long i = 0; i < y.dim(2); ++i)
        for (long long j = 0; j < y.dim(3); ++j) {
          auto const place = [&](long long to, double scale) {
            return linear ? (static_cast<double>(to) + 0.5) / scale - 0.5 : std::floor(static_cast<double>(to) / scale);
          };
          double const row = place(i, scales.values[2]), column = place(j, scales.values[3]);
          double const r = std::floor(row), c = std::floor(column), below = row - r, right = column - c;
          y.values.push_back((1 - below) * ((1 - right) * value(plane, r, c) + right * value(plane, r, c + 1)) +
                             below * ((1 - right) * value(plane, r + 1, c) + right * value(plane, r + 1, c + 1)));
        }
    return y;
  }

  static onnx_tensor convolve(pb::NodeProto const& n, onnx_tensor const& x, onnx_tensor const& w,
                              onnx_tensor const* bias) {
    long long const groups = integer(n, "group", 1), each_in = w.dim(1), each_out = w.dim(0) / groups;
    require(w.dims.size() == 4 && groups * each_in == x.dim(1) && groups * each_out == w.dim(0) &&
                (!bias || bias->dim(0) == w.dim(0)),
            "Conv");
    windows const all(n, x, {w.dim(2), w.dim(3)});
    require(all.kernel[0] == w.dim(2) && all.kernel[1] == w.dim(3), "kernel_shape");
    onnx_tensor y{{x.dim(0), w.dim(0), all.rows, all.columns}, {}};
    for (long long b = 0; b < x.dim(0); ++b)
      for (long long o = 0; o < w.dim(0); ++o)
        for (long long row = 0; row < all.rows; ++row)
          for (long long column = 0; column < all.columns; ++column) {
            double sum = bias ? bias->values[at(o)] : 0;
            for (long long i = 0; i < each_in; ++i)
              all.each(x, row, column, [&](long long r, long long c, long long place) {
                sum += x.values[at((b * x.dim(1) + o / each_out * each_in + i) * x.size(2) + r * x.dim(3) + c)] *
                       w.values[at((o * each_in + i) * w.size(2) + place)];
              });
            y.values.push_back(sum);
          }
    return y;
  }

  static onnx_tensor pool(pb::NodeProto const& n, onnx_tensor const& x) {
    windows const all(n, x, {});
    bool const mean = n.op_type() == "AveragePool";
    bool const counts_padding = integer(n, "count_include_pad", 0) == 1;
    onnx_tensor y{{x.dim(0), x.dim(1), all.rows, all.columns}, {}};
    for (long long plane = 0; plane < x.dim(0) * x.dim(1); ++plane)
      for (long long row = 0; row < all.rows; ++row)
        for (long long column = 0; column < all.columns; ++column) {
          double sum = 0, largest = -INFINITY, count = 0;
          all.each(x, row, column, [&](long long r, long long c, long long) {
            double const v = x.values[at(plane * x.size(2) + r * x.dim(3) + c)];
            sum += v, count += 1, largest = v > largest ? v : largest;
          });
          if (counts_padding) count = static_cast<double>(all.kernel[0] * all.kernel[1]);
          y.values.push_back(mean ? sum / count : largest);
        }
    return y;
  }

  pb::GraphProto const& graph_;
  std::map<std::string, onnx_tensor> known_;
};

}  // namespace dsl::test
