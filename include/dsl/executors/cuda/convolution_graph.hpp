// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/convolution.hpp>
#include <dsl/executors/cuda/cudnn.hpp>

#include <cstdint>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// The tensors of a convolution on the device, aligned to 16 bytes: whole buffers, except that `output` may be a slice.
/// The pass decides which of them are read and which one is written. In backward_data, `input` and `output` are
/// gradients, and `input` is written. In backward_weights, `output` and `kernel` are gradients, and `kernel` is
/// written. `bias` has out_channels floats, and is only for forward_inference.
struct convolution_tensors {
  void* input = nullptr;
  void* kernel = nullptr;
  void* bias = nullptr;
  void* output = nullptr;
};

}  // namespace dsl::cu::TYPENET_MODE

namespace dsl::cu::backend::TYPENET_MODE {

// The ids by which a plan finds its tensors in convolution_tensors.
enum tensor_id : std::int64_t { input_id = 1, kernel_id, bias_id, output_id, first_virtual_id };

constexpr cudnnDataType_t storage_of(convolution_precision p) {
  return p == convolution_precision::bf16   ? CUDNN_DATA_BFLOAT16
         : p == convolution_precision::fp16 ? CUDNN_DATA_HALF
                                            : CUDNN_DATA_FLOAT;
}

/// cuDNN's graph of operations for one pass, with the objects that it refers to.
class convolution_graph {
 public:
  convolution_graph(plan_target const& on, convolution const& c, convolution_options const& o)
      : api_(&on.calls()), window_(window_of(c, o)), graph_(*api_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "a graph") {
    tensors_.reserve(6);  // so that they are not moved: operations point to them
    cudnnDataType_t const type = storage_of(o.precision);
    backend_descriptor const& input = tensor(input_id, type, c.batch, c.in_channels, c.in_height, c.in_width);
    auto const output = [&](std::int64_t id, cudnnDataType_t t) -> backend_descriptor& {
      return tensor(id, t, c.batch, c.out_channels, c.out_height, c.out_width, id == output_id ? c.output_pitch : 0);
    };
    auto const kernel = [&](std::int64_t id, cudnnDataType_t t) -> backend_descriptor& {
      return tensor(id, t, c.out_channels, c.group_in_channels(), c.kernel_height, c.kernel_width);
    };
    switch (o.pass) {
      case convolution_pass::forward:
        convolve(forward_op, input, kernel(kernel_id, type), output(output_id, type), o.accumulate ? 1.0F : 0.0F);
        break;
      case convolution_pass::forward_inference: {
        // Values between the operations stay in registers, as floats.
        backend_descriptor const& sum = output(first_virtual_id, CUDNN_DATA_FLOAT);
        convolve(forward_op, input, kernel(kernel_id, type), sum);
        backend_descriptor const& bias = tensor(bias_id, CUDNN_DATA_FLOAT, 1, c.out_channels, 1, 1);
        backend_descriptor const& biased =
            o.relu ? output(first_virtual_id + 1, CUDNN_DATA_FLOAT) : output(output_id, type);
        pointwise(CUDNN_POINTWISE_ADD, sum, &bias, biased);
        if (o.relu) pointwise(CUDNN_POINTWISE_RELU_FWD, biased, nullptr, output(output_id, type));
        break;
      }
      case convolution_pass::backward_data:
        convolve(backward_data_op, input, kernel(kernel_id, type), output(output_id, type), o.accumulate ? 1.0F : 0.0F);
        break;
      case convolution_pass::backward_weights:
        // No engine writes floats from 16-bit factors, but one converts the sums before writing.
        if (o.float_gradient && type != CUDNN_DATA_FLOAT) {
          backend_descriptor const& sum = kernel(first_virtual_id, CUDNN_DATA_FLOAT);
          convolve(backward_weights_op, input, sum, output(output_id, type));
          pointwise(CUDNN_POINTWISE_IDENTITY, sum, nullptr, kernel(kernel_id, CUDNN_DATA_FLOAT));
        } else {
          convolve(backward_weights_op, input, kernel(kernel_id, type), output(output_id, type));
        }
        break;
    }
    on.prepare_graph(graph_);
    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
    status_ = graph_.try_finalize();
  }

  /// Returns the status with which cuDNN finalized the graph: an error if it does not support such a graph.
  cudnnStatus_t status() const { return status_; }
  backend_descriptor const& get() const { return graph_; }

 private:
  struct operation_names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t input, kernel, output, window, alpha, beta;
  };
  static constexpr operation_names forward_op{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  static constexpr operation_names backward_data_op{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  static constexpr operation_names backward_weights_op{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};

  // Returns a tensor. Dimensions are always in NCHW order; the strides express that channels are innermost. `pitch` is
  // the distance between pixels; if it is 0, the distance is c.
  backend_descriptor& tensor(std::int64_t id, cudnnDataType_t type, std::int64_t n, std::int64_t c, std::int64_t h,
                             std::int64_t w, std::int64_t pitch = 0) {
    if (pitch == 0) pitch = c;
    std::int64_t const dims[4] = {n, c, h, w};
    std::int64_t const strides[4] = {pitch * h * w, 1, w * pitch, pitch};
    backend_descriptor& d = tensors_.emplace_back(*api_, CUDNN_BACKEND_TENSOR_DESCRIPTOR, "a tensor");
    d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
    d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{tensor_alignment});
    d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims, 4);
    d.set(CUDNN_ATTR_TENSOR_STRIDES, strides, 4);
    d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, id >= first_virtual_id);
    d.finalize();
    return d;
  }

  backend_descriptor window_of(convolution const& c, convolution_options const& o) const {
    check(c, o);
    backend_descriptor d(*api_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, "a convolution");
    std::int64_t const strides[2] = {c.stride, c.columns().stride};
    std::int64_t const dilations[2] = {c.row_dilation, c.column_dilation};
    std::int64_t const before[2] = {c.pad_top, c.pad_left};
    std::int64_t const behind[2] = {c.pad_bottom, c.pad_right};
    d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    d.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
    d.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
    d.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides, 2);
    d.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilations, 2);
    d.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, before, 2);
    d.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, behind, 2);
    d.finalize();
    return d;
  }

  void convolve(operation_names const& names, backend_descriptor const& input, backend_descriptor const& kernel,
                backend_descriptor const& output, float beta = 0.0F) {
    backend_descriptor& d = operations_.emplace_back(*api_, names.type, "a convolution");
    d.set(names.window, window_);
    d.set(names.input, input);
    d.set(names.kernel, kernel);
    d.set(names.output, output);
    d.set(names.alpha, 1.0F);
    d.set(names.beta, beta);
    d.finalize();
  }

  void pointwise(cudnnPointwiseMode_t mode, backend_descriptor const& x, backend_descriptor const* b,
                 backend_descriptor const& y) {
    backend_descriptor& function = functions_.emplace_back(*api_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "a function");
    function.set(CUDNN_ATTR_POINTWISE_MODE, mode);
    function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    function.finalize();
    backend_descriptor& d =
        operations_.emplace_back(*api_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "a function's operation");
    d.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
    d.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b) d.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    d.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    d.finalize();
  }

  api const* api_;
  std::vector<backend_descriptor> tensors_;
  std::vector<backend_descriptor> functions_;
  std::vector<backend_descriptor> operations_;
  backend_descriptor window_;
  backend_descriptor graph_;
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
};

}  // namespace dsl::cu::backend::TYPENET_MODE
