// SPDX-License-Identifier: MIT
// Tests the double of NCCL itself: what it must refuse and what it must detect.
#include "support/catch.hpp"

#include "cuda/nccl_ranks.hpp"

#include <atomic>

using Catch::Contains;
using dsl_test::on_ranks;
using dsl_test::rank_floats;
using dsl_test::simulated_device;
using dsl_test::simulated_nccl;
using namespace std::chrono_literals;

namespace {

ncclConfig_t not_blocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}
ncclUniqueId new_id(simulated_nccl const& n) {
  ncclUniqueId id;
  n.nccl()(n.nccl().ncclGetUniqueId, &id);
  return id;
}
/// Polls until nothing is in progress.
ncclResult_t settle(simulated_nccl const& n, ncclComm_t c, int* questions = nullptr) {
  ncclResult_t r = ncclInProgress;
  for (int i = 0; i < 100'000 && r == ncclInProgress; ++i) {
    if (n.nccl().ncclCommGetAsyncError.function(c, &r) != ncclSuccess) return ncclNumResults;
    if (questions) ++*questions;
    if (i > 100) std::this_thread::sleep_for(100us);
  }
  return r;
}
ncclComm_t start(simulated_nccl const& n, ncclUniqueId const& id, int rank, int ranks) {
  ncclComm_t c = nullptr;
  ncclConfig_t config = not_blocking();
  n.nccl().ncclCommInitRankConfig.function(&c, ranks, id, rank, &config);
  settle(n, c);
  return c;
}
ncclResult_t sum(simulated_nccl const& n, ncclComm_t c, rank_floats const& x, cudaStream_t s) {
  return n.nccl().ncclAllReduce.function(x.on_device(), x.on_device(), 10, ncclFloat32, ncclSum, c, s);
}
void end(simulated_nccl const& n, ncclComm_t c) {
  n.nccl().ncclCommFinalize.function(c);
  settle(n, c);
  n.nccl().ncclCommDestroy.function(c);
}

}  // namespace

TEST_CASE("simulated NCCL: nothing is queued before the launch is over, and until then nothing else is taken") {
  simulated_device device;
  simulated_nccl nccl(device);
  {
    rank_floats x(nccl.api(), 10);
    x.fill(0, 0);
    ncclComm_t c = nullptr;
    ncclConfig_t config = not_blocking();
    CHECK(nccl.nccl().ncclCommInitRankConfig.function(&c, 1, new_id(nccl), 0, &config) == ncclInProgress);
    CHECK(settle(nccl, c) == ncclSuccess);
    CHECK(sum(nccl, c, x, x.s.get()) == ncclInProgress);
    CHECK(nccl.api().cudaStreamQuery.function(x.s.get()) == cudaErrorNotReady);  // the memory is still being zeroed
    x.s.wait();
    CHECK(nccl.done() == 0);
    int questions = 0;
    CHECK(settle(nccl, c, &questions) == ncclSuccess);
    CHECK(questions > 1);
    x.s.wait();
    CHECK(nccl.done() == 1);
    CHECK(sum(nccl, c, x, x.s.get()) == ncclInProgress);
    CHECK(sum(nccl, c, x, x.s.get()) == ncclInvalidArgument);  // without polling
    CHECK_THAT(nccl.nccl().ncclGetLastError.function(c), Contains("before the previous operation returned"));
    CHECK(settle(nccl, c) == ncclInvalidArgument);
    nccl.nccl()(nccl.nccl().ncclCommAbort, c);
  }
  CHECK(device.report() == "");
}

TEST_CASE("simulated NCCL refuses what the library refuses") {
  simulated_device device{{.devices = 2}};
  simulated_nccl nccl(device);
  ncclComm_t c = nullptr;
  ncclConfig_t config{}, good = not_blocking();
  auto const init = [&](int ranks, int rank, ncclConfig_t* with) {
    return nccl.nccl().ncclCommInitRankConfig.function(&c, ranks, new_id(nccl), rank, with);
  };
  CHECK(init(1, 0, &config) == ncclInvalidArgument);
  CHECK(init(1, 1, &good) == ncclInvalidArgument);
  CHECK(init(0, 0, &good) == ncclInvalidArgument);
  CHECK(c == nullptr);
  config = NCCL_CONFIG_INITIALIZER;
  CHECK(init(1, 0, &config) == ncclInvalidUsage);
  CHECK(device.take_misuses().size() == 1);
  {
    rank_floats x(nccl.api(), 10);
    auto const refused = [&](void const* from, void* to, std::size_t count, ncclDataType_t type, cudaStream_t s) {
      c = start(nccl, new_id(nccl), 0, 1);
      ncclResult_t const r = nccl.nccl().ncclAllReduce.function(from, to, count, type, ncclSum, c, s);
      nccl.nccl()(nccl.nccl().ncclCommAbort, c);
      return r;
    };
    float* const d = x.on_device();
    CHECK(refused(d, d, 10, ncclFloat32, x.s.get()) == ncclInProgress);
    CHECK(refused(d, d, 11, ncclFloat32, x.s.get()) == ncclInvalidArgument);
    CHECK(refused(x.on_host(), d, 10, ncclFloat32, x.s.get()) == ncclInvalidArgument);
    auto const gathers = [&](float* from, int ranks) {
      c = start(nccl, new_id(nccl), 0, 1);
      ncclResult_t const r = nccl.nccl().ncclAllGather.function(
          from, d, std::size_t{10} * static_cast<std::size_t>(ranks), ncclFloat32, c, x.s.get());
      nccl.nccl()(nccl.nccl().ncclCommAbort, c);
      return r;
    };
    CHECK(gathers(d, 1) == ncclInProgress);
    CHECK(gathers(d, 2) == ncclInvalidArgument);
    CHECK(device.take_misuses().empty());
    CHECK(refused(d, d, 10, ncclFloat64, x.s.get()) == ncclInvalidArgument);
    CHECK(device.take_misuses().size() == 1);
    nccl.api()(nccl.api().cudaSetDevice, 1);
    {
      rank_floats other(nccl.api(), 10);
      nccl.api()(nccl.api().cudaSetDevice, 0);
      CHECK(refused(d, d, 10, ncclFloat32, other.s.get()) == ncclUnhandledCudaError);
      CHECK(refused(other.on_device(), d, 10, ncclFloat32, x.s.get()) == ncclInvalidArgument);
    }
  }
  CHECK(nccl.nccl().ncclCommAbort.function(c) == ncclInvalidArgument);  // twice
  CHECK(device.take_misuses() == std::vector<std::string>{"ncclCommAbort: a handle that was destroyed or never made"});
  CHECK(device.report() == "");
}

TEST_CASE("simulated NCCL: a recording that ends before the launch is over") {
  simulated_device device;
  simulated_nccl nccl(device);
  {
    rank_floats x(nccl.api(), 10);
    ncclComm_t const c = start(nccl, new_id(nccl), 0, 1);
    dsl::cu::replay const step(nccl.api(), x.s.get(), [&] { sum(nccl, c, x, x.s.get()); });
    CHECK(settle(nccl, c) == ncclUnhandledCudaError);
    nccl.nccl()(nccl.nccl().ncclCommAbort, c);
  }
  CHECK(device.take_misuses().size() == 1);
  CHECK(device.report() == "");
}

TEST_CASE("simulated NCCL: a communicator that nobody ended is a leak; a graph keeps one alive") {
  simulated_device device;
  {
    simulated_nccl nccl(device, {.patience = 50ms});
    rank_floats x(nccl.api(), 10);
    ncclComm_t const c = start(nccl, new_id(nccl), 0, 1);
    CHECK_THAT(device.report(), Contains("leak: communicator #"));
    {
      dsl::cu::replay const step(nccl.api(), x.s.get(), [&] {
        sum(nccl, c, x, x.s.get());
        settle(nccl, c);
      });
      CHECK(nccl.nccl().ncclCommAbort.function(c) == ncclInternalError);
      CHECK(device.take_misuses() == std::vector<std::string>{"ncclCommAbort: hangs: a graph has its collectives"});
    }
    nccl.nccl()(nccl.nccl().ncclCommAbort, c);
  }
  CHECK(device.report() == "");
}

TEST_CASE("simulated NCCL: what waits for ever on a GPU is reported: streams, frees, not other devices'") {
  simulated_device device{{.devices = 2}};
  simulated_nccl nccl(device, {.patience = 100ms});
  ncclUniqueId const id = new_id(nccl);
  std::atomic<bool> over{false};
  auto const thrown = on_ranks(2, [&](int r) {
    auto x = std::make_optional<rank_floats>(nccl.api(), 10);
    ncclComm_t const c = start(nccl, id, r, 2);
    sum(nccl, c, *x, x->s.get());  // connects the ranks
    settle(nccl, c);
    x->s.wait();
    if (r == 0) {
      sum(nccl, c, *x, x->s.get());
      settle(nccl, c);
      cudaError_t const waited = nccl.api().cudaStreamSynchronize.function(x->s.get());
      if (waited != cudaErrorLaunchTimeout) throw dsl::error("synchronized without the other rank");
      nccl.nccl().ncclCommAbort.function(c);
      over = true;
      return;
    }
    void* p = nullptr;
    nccl.api()(nccl.api().cudaMalloc, &p, std::size_t{100});
    nccl.api()(nccl.api().cudaFree, p);  // this device has no work to wait for
    while (!over) std::this_thread::yield();
    if (settle(nccl, c) != ncclRemoteError) throw dsl::error("the abort wasn't heard");
    nccl.nccl().ncclCommAbort.function(c);
  });
  CHECK(thrown == std::vector<std::string>{"", ""});
  CHECK(device.take_misuses() ==
        std::vector<std::string>{"cudaStreamSynchronize: hangs: collective 1 (ncclAllReduce of 10) waits for rank 1"});
  CHECK(device.report() == "");
}

TEST_CASE("simulated NCCL: CUDA's own waits let the other rank come in") {
  simulated_device device{{.devices = 2}};
  simulated_nccl nccl(device, {.patience = 20s});
  ncclUniqueId const id = new_id(nccl);
  std::vector<std::vector<float>> got(2);
  auto const thrown = on_ranks(2, [&](int r) {
    dsl::cu::api const& a = nccl.api();
    rank_floats x(a, 10);
    ncclComm_t const c = start(nccl, id, r, 2);
    cudaEvent_t e = nullptr;
    a(a.cudaEventCreateWithFlags, &e, unsigned{cudaEventDisableTiming});
    for (int step = 0; step < 4; ++step) {
      x.fill(r, step);
      x.to_device(x.s.get());
      if (step % 2 == r) std::this_thread::sleep_for(5ms);
      sum(nccl, c, x, x.s.get());
      settle(nccl, c);
      if (step == 0) x.s.wait();
      a(a.cudaEventRecord, e, x.s.get());
      if (step == 1) a(a.cudaEventSynchronize, e);
      std::vector<float> back(10);  // pageable memory: the copy waits
      a(a.cudaMemcpyAsync, static_cast<void*>(back.data()), static_cast<void const*>(x.on_device()), x.bytes(),
        cudaMemcpyDeviceToHost, x.s.get());
      got[static_cast<std::size_t>(r)].insert(got[static_cast<std::size_t>(r)].end(), back.begin(), back.end());
    }
    a(a.cudaEventDestroy, e);
    end(nccl, c);
  });
  CHECK(thrown == std::vector<std::string>{"", ""});
  CHECK(got[0].size() == 40);
  CHECK(got[0] == got[1]);
  for (long long i = 0; i < 40; ++i) {
    int const step = static_cast<int>(i / 10);
    CHECK(got[0][static_cast<std::size_t>(i)] ==
          rank_floats::value(0, step, i % 10) + rank_floats::value(1, step, i % 10));
  }
  CHECK(device.report() == "");
}

TEST_CASE("simulated NCCL: a graph that its first launch would load is a misuse") {
  bool const uploads = GENERATE(false, true);
  bool const waits = GENERATE(false, true);
  simulated_device device;
  simulated_nccl nccl(device);
  {
    dsl::cu::api const& a = nccl.api();
    rank_floats x(a, 10);
    x.s.wait();
    ncclComm_t const c = start(nccl, new_id(nccl), 0, 1);
    cudaGraph_t recorded = nullptr;
    cudaGraphExec_t step = nullptr;
    a(a.cudaStreamBeginCapture, x.s.get(), cudaStreamCaptureModeThreadLocal);
    sum(nccl, c, x, x.s.get());
    settle(nccl, c);
    a(a.cudaStreamEndCapture, x.s.get(), &recorded);
    a(a.cudaGraphInstantiate, &step, recorded, cudaGraphInstantiateFlagUseNodePriority);
    if (uploads) a(a.cudaGraphUpload, step, x.s.get());
    if (waits) x.s.wait();
    a(a.cudaGraphLaunch, step, x.s.get());
    x.s.wait();
    a(a.cudaGraphExecDestroy, step);
    a(a.cudaGraphDestroy, recorded);
    end(nccl, c);
  }
  CHECK(device.take_misuses().size() == (uploads && waits ? 0 : 1));
  CHECK(device.report() == "");
}

TEST_CASE("simulated NCCL: faults strike its calls as all others") {
  simulated_device device;
  simulated_nccl nccl(device);
  int version = 0;
  device.fail_call("ncclGetVersion", 2, ncclSystemError);
  CHECK(nccl.nccl().ncclGetVersion.function(&version) == ncclSuccess);
  CHECK(version == NCCL_VERSION_CODE);
  CHECK(nccl.nccl().ncclGetVersion.function(&version) == ncclSystemError);
  device.fail_call(1);
  CHECK_THROWS_WITH(make_nccl_id(nccl.nccl()), Contains("nccl: ncclGetUniqueId failed: internal error"));
  CHECK(device.calls("ncclGetVersion") == 2);
  CHECK(device.report() == "");
}
