// L3: programs from step to step: dims, binds, queues, devices.
#include <cmath>
#include <thread>

#include "tools/conformance/random.h"
#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

constexpr int64_t kWidth = 8, kRoom = 64;

// y = a + b.
TestGraph AddGraph() {
  TestGraph g;
  const uint32_t a = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, kWidth}, 0, "a");
  const uint32_t b = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, kWidth}, 0, "b");
  g.Node(Op::kADD, {a, b}, {g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, kWidth}, 0, "y")});
  return g;
}

std::vector<float> Filled(float value) {
  return std::vector<float>(static_cast<size_t>(kRoom * kWidth), value);
}

class L3_Steps : public OnTarget {};

TEST_F(L3_Steps, P63_DimsChangeFromStepToStep) {
  TestGraph g = AddGraph();
  MOTLEY_SETTLE(g);
  motley_program* program = session.Compile(g);
  const motley_slice a = session.Upload(Filled(1)), b = session.Upload(Filled(2)),
                     y = session.Alloc(kRoom * kWidth * 4);
  for (const int64_t rows : {1, 64, 7, 0, 63, 2}) {
    session.Write(y, Filled(-7).data());
    std::string text;
    ASSERT_EQ(session.Run(program, {a, b, y}, {rows, 1, 0, 1, 2}, &text), MOTLEY_OK) << text;
    const std::vector<float> got = session.Download<float>(y);
    for (int64_t i = 0; i < kRoom * kWidth; ++i)
      ASSERT_EQ(got[static_cast<size_t>(i)], i < rows * kWidth ? 3.0f : -7.0f) << rows;
  }
}

TEST_F(L3_Steps, P62_ABindIdReplaysWithNewContents) {
  TestGraph g = AddGraph();
  MOTLEY_SETTLE(g);
  motley_program* program = session.Compile(g);
  const motley_slice b = session.Upload(Filled(1));
  const motley_slice a[2] = {session.Alloc(kRoom * kWidth * 4), session.Alloc(kRoom * kWidth * 4)};
  const motley_slice y[2] = {session.Alloc(kRoom * kWidth * 4), session.Alloc(kRoom * kWidth * 4)};
  const auto captures = [&] {
    motley_program_info info{};
    info.size = sizeof info;
    EXPECT_EQ(api->program_info(program, &info, &err), MOTLEY_OK) << err.Text();
    return info.captures;
  };
  uint64_t warm = 0;
  for (int step = 0; step < 12; ++step) {  // the host alternates two ids
    const size_t id = static_cast<size_t>(step % 2);
    session.Write(a[id], Filled(static_cast<float>(step)).data());
    std::string text;
    ASSERT_EQ(session.Run(program, {a[id], b, y[id]}, {5, 1, 0, 1, 2}, &text, 1 + id), MOTLEY_OK) << text;
    EXPECT_EQ(session.Download<float>(y[id])[0], static_cast<float>(step + 1));
    if (step == 3) warm = captures();
  }
  EXPECT_EQ(captures(), warm) << "captured again after warm-up";
}

TEST_F(L3_Steps, P60_ASegmentOfSeveralOps) {
  // y = rms_norm(x) W^T + x, through two TEMPs.
  TestGraph g;
  const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 32}, 0, "x");
  const uint32_t norm = g.Tensor(MOTLEY_ROLE_WEIGHT, kF32, {32}, MOTLEY_LAYOUT_F32, "norm");
  const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, kF32, {32, 32}, 0, "w");
  const uint32_t n = g.Tensor(MOTLEY_ROLE_TEMP, kF32, {kTokens, 32}, 0, "n");
  const uint32_t p = g.Tensor(MOTLEY_ROLE_TEMP, kF32, {kTokens, 32}, 0, "p");
  const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 32}, 0, "y");
  g.Node(Op::kRMS_NORM, {x, norm}, {n}, {{"eps", 1e-5}});
  g.Node(Op::kLINEAR, {n, w, MOTLEY_NO_TENSOR}, {p});
  g.Node(Op::kADD, {p, x}, {y});
  MOTLEY_SETTLE(g);
  const Random random("segment");
  std::vector<float> xs(kRoom * 32), ns(32), ws(32 * 32);
  int64_t drawn = 0;
  for (std::vector<float>* values : {&xs, &ns, &ws}) {
    for (float& v : *values) v = static_cast<float>(random.Unit(drawn++));
  }
  const auto bytes = [](const std::vector<float>& values) {
    std::vector<uint8_t> out(values.size() * sizeof(float));
    std::memcpy(out.data(), values.data(), out.size());
    return out;
  };
  const std::vector<uint8_t> norm_bytes = bytes(ns), weight_bytes = bytes(ws);
  motley_program* program = session.Compile(g);
  const motley_slice out = session.Alloc(kRoom * 32 * 4);
  std::string text;
  ASSERT_EQ(session.Run(program,
                        {session.Upload(xs),
                         session.LoadWeight(norm_bytes, kF32, {32}, MOTLEY_LAYOUT_F32),
                         session.LoadWeight(weight_bytes, kF32, {32, 32}, g.tensors[w].layout),
                         {},
                         {},
                         out},
                        {9, 1, 0, 1, 2}, &text),
            MOTLEY_OK)
      << text;
  const std::vector<float> got = session.Download<float>(out);
  for (size_t t = 0; t < 9; ++t) {
    double squares = 0;
    for (size_t k = 0; k < 32; ++k) squares += static_cast<double>(xs[t * 32 + k]) * xs[t * 32 + k];
    const double scale = 1 / std::sqrt(squares / 32 + 1e-5);
    for (size_t o = 0; o < 32; ++o) {
      double expected = xs[t * 32 + o];
      for (size_t k = 0; k < 32; ++k) expected += xs[t * 32 + k] * scale * ns[k] * ws[o * 32 + k];
      ASSERT_NEAR(got[t * 32 + o], expected, 2e-5) << t << ", " << o;
    }
  }
}

TEST_F(L3_Steps, P68_CopiesBetweenDevicesChainByFences) {
  if (client.devices.size() < 2) MOTLEY_UNSUPPORTED("it has one device");
  Session other(client, TheTarget().device == 0 ? 1 : 0);
  const std::vector<int32_t> values = {3, 1, 4, 1, 5, 9, 2, 6};
  const motley_slice here = session.Alloc(32), there = other.Alloc(32), back = session.Alloc(32);
  motley_fence* fence = nullptr;
  ASSERT_EQ(api->fence_create(client.instance, 0, &fence, &err), MOTLEY_OK);
  const bool sync = client.Sync(0) || client.Sync(1);
  const auto chain = [&](uint64_t wait, uint64_t signal, auto&& call) {
    const motley_point w = {fence, wait}, s = {fence, signal};
    const motley_sync points = {{&w, 1, sizeof w, 0}, {&s, 1, sizeof s, 0}};
    ASSERT_EQ(call(&points), MOTLEY_OK) << err.Text();
    if (!sync) return;
    ASSERT_EQ(api->fence_wait(fence, signal, 20'000'000'000ull, &err), MOTLEY_OK) << err.Text();
  };
  std::vector<int32_t> got(8);
  chain(0, 1, [&](const motley_sync* s) { return api->write(session.queue, here, values.data(), s, &err); });
  chain(1, 2, [&](const motley_sync* s) { return api->copy(other.queue, there, here, s, &err); });
  chain(2, 3, [&](const motley_sync* s) { return api->copy(session.queue, back, there, s, &err); });
  chain(3, 4, [&](const motley_sync* s) { return api->read(session.queue, got.data(), back, s, &err); });
  api->queue_flush(other.queue, &err);
  ASSERT_EQ(api->fence_wait(fence, 4, 20'000'000'000ull, &err), MOTLEY_OK) << err.Text();
  EXPECT_EQ(got, values);
  api->fence_destroy(fence);
}

TEST_F(L3_Steps, P70_AProgramRunsOnTwoQueuesAtOnce) {
  TestGraph g = AddGraph();
  MOTLEY_SETTLE(g);
  motley_program* program = session.Compile(g);
  motley_program_info info{};
  info.size = sizeof info;
  ASSERT_EQ(api->program_info(program, &info, &err), MOTLEY_OK);
  // Each thread adds its own number 300 times.
  const auto work = [&](float first) {
    Session mine(client, TheTarget().device);
    const motley_slice workspace = info.workspace ? mine.Alloc(info.workspace) : motley_slice{};
    motley_slice slices[3] = {mine.Upload(Filled(0)), mine.Upload(Filled(first)),
                              mine.Alloc(kRoom * kWidth * 4)};
    const int64_t dims[] = {kRoom, 1, 0, 1, 2};
    for (int i = 1; i <= 300; ++i) {
      motley_bind bind{};
      bind.size = sizeof bind;
      bind.slices = {slices, 3, sizeof(motley_slice), 0};
      bind.workspace = workspace;
      bind.dims = dims;
      bind.dim_count = 5;
      Error error;
      ASSERT_EQ(api->execute(mine.queue, program, &bind, mine.Next(), &error), MOTLEY_OK) << error.Text();
      ASSERT_EQ(mine.Wait(), MOTLEY_OK);
      std::swap(slices[0], slices[2]);
    }
    EXPECT_EQ(mine.Download<float>(slices[0]), Filled(300 * first));
  };
  std::thread other(work, 2.0f);
  work(1.0f);
  other.join();
}

TEST_F(L3_Steps, P63_PaddingIsNotRead) {
  TestGraph g = AddGraph();
  MOTLEY_SETTLE(g);
  motley_program* program = session.Compile(g);
  std::vector<float> a = Filled(std::nanf("")), b = Filled(std::nanf(""));
  for (int64_t i = 0; i < 3 * kWidth; ++i) a[static_cast<size_t>(i)] = b[static_cast<size_t>(i)] = 1;
  const motley_slice y = session.Upload(Filled(-7));
  std::string text;
  ASSERT_EQ(session.Run(program, {session.Upload(a), session.Upload(b), y}, {3, 1, 0, 1, 2}, &text),
            MOTLEY_OK)
      << text;
  const std::vector<float> got = session.Download<float>(y);
  for (int64_t i = 0; i < kRoom * kWidth; ++i)
    ASSERT_EQ(got[static_cast<size_t>(i)], i < 3 * kWidth ? 2.0f : -7.0f);
}

}  // namespace
}  // namespace motley::conformance
