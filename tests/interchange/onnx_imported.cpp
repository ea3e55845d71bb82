// SPDX-License-Identifier: MIT
// What onnx_import_test.py asks: what typenet predicts with the network of an ONNX file.
//   onnx_imported FILE.onnx INPUT OUTPUT
// INPUT and OUTPUT are floats of one batch after the other. Prints the fingerprint of the graph, that of its
// frozen layers, and the number of parameters.
#include <dsl/io/onnx_import.hpp>

#include <dsl/dsl.hpp>
#include <dsl/training/fingerprint.hpp>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

int main(int count, char** word) {
  if (count != 4) {
    std::fprintf(stderr, "usage: onnx_imported FILE.onnx INPUT OUTPUT\n");
    return 2;
  }
  try {
    std::unique_ptr<dsl::imported_network> const net = dsl::import_onnx(word[1]);
    dsl::graph_view const g = net->view();
    dsl::trainer t(dsl::native{}.make_engine(g, {.loss = dsl::loss::mean_squared_error}), 0.01);
    for (int k = 0; k < g.size.parameters; ++k) t.engine().write_parameter(k, net->weights(k).data());
    std::ifstream in(word[2], std::ios::binary);
    std::string const bytes{std::istreambuf_iterator<char>(in), {}};
    std::vector<float> x(bytes.size() / sizeof(float));
    std::memcpy(x.data(), bytes.data(), x.size() * sizeof(float));
    auto const batch = static_cast<int>(static_cast<long long>(x.size()) / g.shape_of(0).size());
    std::vector<float> y(static_cast<std::size_t>(batch * g.shape_of(g.result()).size()));
    t.predict_on_batch(x.data(), batch, y.data());
    std::ofstream out(word[3], std::ios::binary);
    out.write(reinterpret_cast<char const*>(y.data()), static_cast<std::streamsize>(y.size() * sizeof(float)));
    if (!out.flush()) throw dsl::file_error(std::string("cannot write ") + word[3]);
    std::printf("%016" PRIx64 " %016" PRIx64 " %lld\n", dsl::detail::fingerprint_of(g),
                dsl::detail::fingerprint_of_frozen(g), dsl::parameter_count(g));
  } catch (std::exception const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
