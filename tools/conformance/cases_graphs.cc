// Hosts that get it wrong, in the arguments of calls and in graphs: a plugin answers with a code and a text,
// and goes on.
#include <random>

#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

class L0_Arguments : public OnTarget {};
class L1_Arguments : public OnTarget {};
class L2_Graphs : public OnTarget {};
class L3_Binds : public OnTarget {};

// y = a + b.
TestGraph AddGraph() {
  TestGraph g;
  const uint32_t a = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 4}, 0, "a");
  const uint32_t b = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 4}, 0, "b");
  g.Node(Op::kADD, {a, b}, {g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 4}, 0, "y")});
  return g;
}

motley_span NoValues() {
  return {nullptr, 0, sizeof(motley_value), 0};
}

TEST_F(L0_Arguments, P7_AnUnknownInterfaceIsUnimplemented) {
  const void* table = &table;
  EXPECT_EQ(client.plugin->get_interface(client.instance, 77, 1, &table), MOTLEY_UNIMPLEMENTED);
  EXPECT_EQ(client.plugin->get_interface(client.instance, MOTLEY_IFACE_COMPUTE, 99, &table),
            MOTLEY_UNIMPLEMENTED);
  EXPECT_EQ(client.plugin->get_interface(client.instance, MOTLEY_IFACE_COMPUTE, 1, nullptr),
            MOTLEY_INVALID_ARGUMENT);
}

TEST_F(L1_Arguments, P23_NullArguments) {
  motley_buffer* buffer = nullptr;
  motley_queue* queue = nullptr;
  motley_fence* fence = nullptr;
  motley_program* program = nullptr;
  uint64_t value = 0;
  EXPECT_EQ(api->device_info(device, nullptr, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->device_info(nullptr, nullptr, nullptr), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->device_memory(device, nullptr, &value, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->buffer_alloc(device, 4, MOTLEY_USAGE_WORK, nullptr, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->buffer_alloc(device, 4, 9, &buffer, &err), MOTLEY_UNIMPLEMENTED);
  EXPECT_EQ(api->queue_create(nullptr, 0, &queue, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->fence_create(client.instance, 0, nullptr, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->fence_query(fence, &value, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->fence_wait(fence, 0, 0, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->fence_signal(fence, 0, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->compile(device, nullptr, NoValues(), &program, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->execute(session.queue, nullptr, nullptr, nullptr, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->weight_plan(device, nullptr, 0, nullptr, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->weight_load(session.queue, nullptr, 0, ~0u, {}, nullptr, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->kv_plan(device, nullptr, nullptr, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(api->write(session.queue, {}, nullptr, nullptr, &err), MOTLEY_INVALID_ARGUMENT);
  api->buffer_free(nullptr);
  api->queue_destroy(nullptr);
  api->fence_destroy(nullptr);
  api->program_destroy(nullptr);
}

TEST_F(L1_Arguments, P23_ShortStructsAndReservedFields) {
  motley_device_info info{};
  info.size = 16;
  EXPECT_EQ(api->device_info(device, &info, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_NE(std::string(err.text).find("16"), std::string::npos)
      << err.Text() << ": a refusal names the value";

  TestGraph g = AddGraph();
  motley_program* program = nullptr;
  g.Abi()->size = 24;
  motley_graph graph = *g.Abi();
  graph.size = 24;
  EXPECT_EQ(api->compile(device, &graph, NoValues(), &program, &err), MOTLEY_INVALID_ARGUMENT);
  graph = *g.Abi();
  graph.reserved = 1;
  EXPECT_EQ(api->compile(device, &graph, NoValues(), &program, &err), MOTLEY_INVALID_ARGUMENT);
  graph = *g.Abi();
  graph.tensors.reserved = 1;
  EXPECT_EQ(api->compile(device, &graph, NoValues(), &program, &err), MOTLEY_INVALID_ARGUMENT);
  graph = *g.Abi();
  graph.tensors.stride = 8;
  EXPECT_EQ(api->compile(device, &graph, NoValues(), &program, &err), MOTLEY_INVALID_ARGUMENT);

  program = session.Compile(g);
  motley_bind bind{};
  bind.size = 8;
  EXPECT_EQ(api->execute(session.queue, program, &bind, nullptr, &err), MOTLEY_INVALID_ARGUMENT);
  bind.size = sizeof bind;
  bind.reserved = 3;
  EXPECT_EQ(api->execute(session.queue, program, &bind, nullptr, &err), MOTLEY_INVALID_ARGUMENT);
  bind.reserved = 0;
  EXPECT_EQ(api->execute(session.queue, program, &bind, nullptr, &err), MOTLEY_INVALID_ARGUMENT) << "no dims";

  motley_kv_desc desc = {sizeof desc, MOTLEY_KV_GQA, kF32, 16, 1, 4, 4, 1};
  motley_kv_plan plan{};
  plan.size = sizeof plan;
  EXPECT_EQ(api->kv_plan(device, &desc, &plan, &err), MOTLEY_INVALID_ARGUMENT);
}

// A short motley_error gets as much as it has room for.
TEST_F(L0_Arguments, P9_AShortErrorIsNotOverrun) {
  struct {
    motley_error error;
    char behind[16];
  } room;
  std::memset(&room, 0x5a, sizeof room);
  room.error.size = 24;
  EXPECT_EQ(api->device_memory(device, nullptr, nullptr, &room.error), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(room.error.code, MOTLEY_INVALID_ARGUMENT);
  EXPECT_LT(strnlen(room.error.text, 16), 16u);
  const char* bytes = reinterpret_cast<const char*>(&room);
  for (size_t i = 24; i < sizeof room; ++i) ASSERT_EQ(bytes[i], 0x5a) << i;
  room.error.size = 0;
  EXPECT_EQ(api->device_memory(device, nullptr, nullptr, &room.error), MOTLEY_INVALID_ARGUMENT);
}

struct Unknown {
  const char* what;
  void (*change)(TestGraph*);
  motley_status code;
  const char* names = "";  // in the text
};

TEST_F(L2_Graphs, P40_UnknownAndBrokenGraphsAreRefusedByName) {
  static constexpr Unknown kCases[] = {
      {"op 999", [](TestGraph* g) { g->nodes[0].op = 999; }, MOTLEY_UNIMPLEMENTED, "999"},
      {"version 2", [](TestGraph* g) { g->nodes[0].version = 2; }, MOTLEY_UNIMPLEMENTED, "2"},
      {"format 5", [](TestGraph* g) { g->tensors[0].dtype = 5; }, MOTLEY_UNIMPLEMENTED, "5"},
      {"role 9", [](TestGraph* g) { g->tensors[1].role = 9; }, MOTLEY_UNIMPLEMENTED, "9"},
      {"rank 7", [](TestGraph* g) { g->tensors[1].rank = 7; }, MOTLEY_INVALID_ARGUMENT},
      {"rank -1", [](TestGraph* g) { g->tensors[1].rank = -1; }, MOTLEY_INVALID_ARGUMENT},
      {"dim 0 is 0", [](TestGraph* g) { g->tensors[1].dims[0] = 0; }, MOTLEY_INVALID_ARGUMENT},
      {"dim 0 is -99", [](TestGraph* g) { g->tensors[1].dims[0] = -99; }, MOTLEY_INVALID_ARGUMENT},
      {"62 bits", [](TestGraph* g) { g->tensors[1].dims[1] = 1ll << 61; }, MOTLEY_INVALID_ARGUMENT},
      {"stride 7", [](TestGraph* g) { g->tensors[1].strides[1] = 7; }, MOTLEY_UNIMPLEMENTED},
      {"K = 4, here 5", [](TestGraph* g) { g->tensors[1].dims[1] = 5; }, MOTLEY_INVALID_ARGUMENT},
      {"needs F32 data", [](TestGraph* g) { g->tensors[1].dtype = kI32; }, MOTLEY_INVALID_ARGUMENT},
      {"tensor 77", [](TestGraph* g) { g->refs[0] = 77; }, MOTLEY_INVALID_ARGUMENT},
      {"is missing", [](TestGraph* g) { g->refs[0] = MOTLEY_NO_TENSOR; }, MOTLEY_INVALID_ARGUMENT},
      {"outside graph.refs", [](TestGraph* g) { g->nodes[0].in = 0xfffffff0u; }, MOTLEY_INVALID_ARGUMENT},
      {"outside graph.refs", [](TestGraph* g) { g->nodes[0].out_count = 0xffffffffu; },
       MOTLEY_INVALID_ARGUMENT},
      {"outside graph.attrs", [](TestGraph* g) { g->nodes[0].attr_count = 1; }, MOTLEY_INVALID_ARGUMENT},
      {"nothing has written", [](TestGraph* g) { g->tensors[0].role = MOTLEY_ROLE_TEMP; },
       MOTLEY_INVALID_ARGUMENT},
      {"whose role is 1", [](TestGraph* g) { g->tensors[2].role = MOTLEY_ROLE_INPUT; },
       MOTLEY_INVALID_ARGUMENT},
      {"a second time", [](TestGraph* g) { g->nodes.push_back(g->nodes[0]); }, MOTLEY_INVALID_ARGUMENT},
      {"nothing writes", [](TestGraph* g) { g->nodes.clear(); }, MOTLEY_INVALID_ARGUMENT},
      {"graph.dims has 4", [](TestGraph* g) { g->dims.pop_back(); }, MOTLEY_INVALID_ARGUMENT},
      {"graph.dims[0]", [](TestGraph* g) { g->dims[0].max = -1; }, MOTLEY_INVALID_ARGUMENT},
  };
  for (const Unknown& c : kCases) {
    TestGraph g = AddGraph();
    c.change(&g);
    motley_program* program = nullptr;
    Error error;
    EXPECT_EQ(api->compile(device, g.Abi(), NoValues(), &program, &error), c.code)
        << c.what << ": " << error.Text();
    EXPECT_NE(std::string(error.text).find(c.names), std::string::npos) << c.what << ": " << error.Text();
    EXPECT_NE(error.text[0], 0) << c.what;
    EXPECT_EQ(program, nullptr);
  }
}

TEST_F(L2_Graphs, P41_UnknownAttributesAreRefusedByName) {
  for (const auto& [attrs, what] :
       std::vector<std::pair<std::vector<Attr>, std::string>>{{{{"eps", 1e-5}, {"epsilon", 1e-5}}, "epsilon"},
                                                              {{{"eps", int64_t{1}}}, "eps"},
                                                              {{{"eps", 1e-5}, {"eps", 1e-5}}, "eps"},
                                                              {{{"eps", std::nan("")}}, "eps"},
                                                              {{}, "eps"}}) {
    TestGraph g;
    const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 4}),
                   w = g.Tensor(MOTLEY_ROLE_WEIGHT, kF32, {4}, MOTLEY_LAYOUT_F32);
    g.Node(Op::kRMS_NORM, {x, w}, {g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 4})}, attrs);
    motley_program* program = nullptr;
    Error error;
    EXPECT_NE(api->compile(device, g.Abi(), NoValues(), &program, &error), MOTLEY_OK);
    EXPECT_NE(std::string(error.text).find(what), std::string::npos) << error.Text();
    EXPECT_EQ(error.node, 0);
  }
}

TEST_F(L2_Graphs, P42_VerdictsSayWhichNodeAndWhy) {
  TestGraph g = AddGraph();
  const uint32_t y2 = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 4}, 0, "y2");
  g.Node(static_cast<Op>(999), {0, 1}, {y2});
  const std::vector<int64_t> at = {1, 1, 0, 1, 2};
  std::vector<motley_verdict> verdicts(2);
  ASSERT_EQ(api->supports(device, g.Abi(), at.data(), at.size(),
                          {verdicts.data(), 2, sizeof(motley_verdict), 0}, &err),
            MOTLEY_OK)
      << err.Text();
  EXPECT_EQ(verdicts[0].ok, 1u);
  EXPECT_GE(verdicts[0].math, MOTLEY_MATH_F32);
  EXPECT_LE(verdicts[0].math, MOTLEY_MATH_FP4);
  EXPECT_EQ(verdicts[1].ok, 0u);
  EXPECT_EQ(verdicts[1].reason, static_cast<uint32_t>(MOTLEY_UNIMPLEMENTED));
  EXPECT_NE(std::string(verdicts[1].text).find("999"), std::string::npos) << verdicts[1].text;
  EXPECT_EQ(api->supports(device, g.Abi(), at.data(), at.size(),
                          {verdicts.data(), 1, sizeof(motley_verdict), 0}, &err),
            MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(
      api->supports(device, g.Abi(), at.data(), 3, {verdicts.data(), 2, sizeof(motley_verdict), 0}, &err),
      MOTLEY_INVALID_ARGUMENT);
}

// Random bytes over the arrays of a graph that is right: refused or compiled, never a crash (sanitizers look
// on).
TEST_F(L2_Graphs, P43_GarbageGraphsNeverCrash) {
  std::mt19937 random(static_cast<uint32_t>(TheTarget().seed));
  int refused = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    TestGraph g;
    const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 64});
    const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, kQ8_0, {8, 64});
    const uint32_t t = g.Tensor(MOTLEY_ROLE_TEMP, kF32, {kTokens, 8});
    const uint32_t n = g.Tensor(MOTLEY_ROLE_WEIGHT, kF32, {8}, MOTLEY_LAYOUT_F32);
    g.Node(Op::kLINEAR, {x, w, MOTLEY_NO_TENSOR}, {t});
    g.Node(Op::kRMS_NORM, {t, n}, {g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 8})}, {{"eps", 1e-5}});
    for (motley_tensor& tensor : g.tensors) tensor.name = {};
    for (motley_dim& dim : g.dims) dim.name = {};
    const auto spoil = [&](void* data, size_t bytes) {
      static_cast<uint8_t*>(data)[random() % bytes] = static_cast<uint8_t>(random());
    };
    // Not the strings' pointers: those the host owns.
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < changes; ++i) {
      switch (random() % 5) {
        case 0: spoil(&g.tensors[random() % g.tensors.size()], offsetof(motley_tensor, name)); break;
        case 1: spoil(&g.nodes[random() % g.nodes.size()], sizeof(motley_node)); break;
        case 2: spoil(&g.refs[random() % g.refs.size()], sizeof(uint32_t)); break;
        case 3: spoil(&g.dims[random() % g.dims.size()].min, 16); break;
        case 4: spoil(&g.attrs[0].type, 24); break;
      }
    }
    if (g.attrs[0].type == MOTLEY_TYPE_STR) continue;
    motley_program* program = nullptr;
    if (api->compile(device, g.Abi(), NoValues(), &program, &err) != MOTLEY_OK) {
      ++refused;
      EXPECT_EQ(program, nullptr);
    } else {
      api->program_destroy(program);
    }
    std::vector<motley_verdict> verdicts(g.nodes.size());
    const std::vector<int64_t> at = {1, 1, 0, 1, 2};
    static_cast<void>(api->supports(device, g.Abi(), at.data(), at.size(),
                                    {verdicts.data(), verdicts.size(), sizeof(motley_verdict), 0}, &err));
  }
  EXPECT_GT(refused, 2000);
}

TEST_F(L2_Graphs, P53_KvPagesThatItHasNotAreRefusedBeforeLoad) {
  motley_kv_plan plan{};
  plan.size = sizeof plan;
  const auto ask = [&](uint32_t kind, uint32_t dtype, uint32_t tokens) {
    const motley_kv_desc desc = {sizeof desc, kind, dtype, tokens, 3, 64, 64, 0};
    return api->kv_plan(device, &desc, &plan, &err);
  };
  if (ask(MOTLEY_KV_GQA, kF16, 17) == MOTLEY_UNIMPLEMENTED) MOTLEY_UNSUPPORTED(err.text);
  ASSERT_EQ(ask(MOTLEY_KV_GQA, kF16, 17), MOTLEY_OK) << err.Text();
  EXPECT_EQ(plan.page_bytes % plan.alignment % 64, 0u);
  EXPECT_GE(plan.page_bytes, 17u * 3 * 128 * 2);
  EXPECT_EQ(ask(MOTLEY_KV_MLA, kF16, 16), MOTLEY_UNIMPLEMENTED);
  EXPECT_EQ(ask(MOTLEY_KV_GQA, 12, 16), MOTLEY_UNIMPLEMENTED);
  EXPECT_NE(std::string(err.text).find("Q4_K"), std::string::npos) << err.Text();
  EXPECT_EQ(ask(MOTLEY_KV_GQA, 5, 16), MOTLEY_UNIMPLEMENTED) << "an unknown format";
  EXPECT_EQ(ask(MOTLEY_KV_GQA, kF16, 0), MOTLEY_INVALID_ARGUMENT);
}

TEST_F(L2_Graphs, P55_WeightsAreChecked) {
  const std::vector<uint8_t> bytes(34 * 4, 1);
  motley_part part{};
  motley_weight weight{};
  motley_weight_plan plan{};
  const auto reset = [&] {
    part = {};
    part.role = MOTLEY_PART_DATA;
    part.dtype = kQ8_0;
    part.expert = -1;
    part.rank = 2;
    part.dims[0] = 2;
    part.dims[1] = 64;
    part.src.size = sizeof(motley_range);
    part.src.base = bytes.data();
    part.src.bytes = bytes.size();
    part.src.fd = -1;
    weight = {};
    weight.size = sizeof weight;
    weight.format = kQ8_0;
    weight.rank = 2;
    weight.dims[0] = 2;
    weight.dims[1] = 64;
    weight.parts = {&part, 1, sizeof part, 0};
    weight.name = Str("blk.0.w");
    plan.size = sizeof plan;
  };
  TestGraph g;
  const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 64}),
                 w = g.Tensor(MOTLEY_ROLE_WEIGHT, kQ8_0, {2, 64});
  g.Node(Op::kLINEAR, {x, w, MOTLEY_NO_TENSOR}, {g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 2})});
  MOTLEY_SETTLE(g);
  const uint32_t best = g.tensors[w].layout;
  const auto ask = [&](uint32_t layout) {
    const motley_status status = api->weight_plan(device, &weight, layout, &plan, &err);
    if (status != MOTLEY_OK) {
      EXPECT_NE(std::string(err.text).find("blk.0.w"), std::string::npos) << err.Text();
    }
    return status;
  };
  reset();
  ASSERT_EQ(ask(best), MOTLEY_OK) << err.Text();
  EXPECT_EQ(ask(MOTLEY_LAYOUT_F32), MOTLEY_UNIMPLEMENTED);
  EXPECT_EQ(ask(0xfffffff0u), MOTLEY_UNIMPLEMENTED);
  weight.dims[1] = 63;
  EXPECT_EQ(ask(best), MOTLEY_INVALID_ARGUMENT) << "no whole blocks";
  reset();
  weight.dims[0] = 1ll << 62;
  EXPECT_EQ(ask(best), MOTLEY_INVALID_ARGUMENT) << "the size wraps";
  reset();
  part.src.bytes -= 1;
  EXPECT_EQ(ask(best), MOTLEY_INVALID_ARGUMENT);
  reset();
  weight.format = 4;
  EXPECT_EQ(ask(best), MOTLEY_UNIMPLEMENTED) << "an unknown format";
  reset();
  weight.shard_count = 2;
  EXPECT_EQ(ask(best), MOTLEY_UNIMPLEMENTED);
  reset();
  part.role = 99;
  EXPECT_EQ(ask(best), MOTLEY_UNIMPLEMENTED);
  reset();
  weight.parts.count = 0;
  EXPECT_EQ(ask(best), MOTLEY_UNIMPLEMENTED);
}

TEST_F(L3_Binds, P61_SlicesAndDimsThatDoNotFitAreRefused) {
  const motley_slice b = session.Alloc(32);
  TestGraph g = AddGraph();
  motley_program* program = session.Compile(g);
  const motley_slice room = session.Alloc(64 * 16);
  std::string text;
  EXPECT_EQ(session.Run(program, {room, room}, {1, 1, 0, 1, 2}, &text), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(session.Run(program, {room, room, b}, {64, 1, 0, 1, 2}, &text), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(session.Run(program, {room, room, motley_slice{}}, {1, 1, 0, 1, 2}, &text),
            MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(session.Run(program, {room, room, room}, {65, 1, 0, 1, 2}, &text), MOTLEY_INVALID_ARGUMENT);
  EXPECT_NE(text.find("65"), std::string::npos) << text << ": a refusal names the value";
  EXPECT_EQ(session.Run(program, {room, room, room}, {1, 1, 0, 1}, &text), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(session.Run(program, {room, room, room}, {64, 1, 0, 1, 2}, &text), MOTLEY_OK) << text;
}

}  // namespace
}  // namespace motley::conformance
