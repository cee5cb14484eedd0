// A plugin's tables and answers as the host sees them: sizes, counts, strides, codes, numbers and reserved
// fields come from the fuzzer, through a real library. The host must refuse or use them, and never crash.
//
// What a host cannot know is left right: a pointer that is not NULL can be read as far as the length beside
// it says, and a function that is not NULL can be called.
#include <dlfcn.h>
#include <motley/plugin.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "core/backend/device.h"
#include "core/backend/instance.h"
#include "core/backend/library.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace motley::fuzz {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

FuzzBytes* bytes = nullptr;  // of the input at work, for the functions of the table

constexpr char kText[] = "fuzz-0_name with \x01 odd \xff bytes, long enough for what is asked of it";

// A text: right, empty, NULL with a length, or of a length that nobody believes.
motley_str Text() {
  switch (bytes->Choose(8)) {
    case 0: return {nullptr, 0};
    case 1: return {nullptr, bytes->Take<uint64_t>()};
    case 2: return {kText, 1ull << 40};
    case 3: return {kText, bytes->Choose(sizeof kText)};
    default: return {kText, 4};  // "fuzz"
  }
}
motley_str Digit() {
  return bytes->Choose(4) == 0 ? Text() : motley_str{kText + 5, 1};
}

// Mostly what is right, else anything.
template <typename T>
T Mostly(T right) {
  return bytes->Choose(8) == 0 ? bytes->Take<T>() : right;
}

// Elements of a span: as many as there are, or a count and stride that a host must not believe.
template <typename T>
motley_span Elements(std::vector<T>& values) {
  motley_span span = {values.data(), values.size(), sizeof(T), 0};
  switch (bytes->Choose(8)) {
    case 0: span.data = nullptr; break;
    case 1: span.count = (1ull << 20) + 1 + bytes->Take<uint64_t>() / 2; break;
    case 2: span.stride = bytes->Choose(sizeof(T)); break;
    case 3: span.reserved = bytes->Take<uint32_t>(); break;
    case 4:  // one byte off
      if (values.empty()) break;
      span.data = reinterpret_cast<const char*>(values.data()) + 1;
      span.count = values.size() - 1;
      break;
    default: break;
  }
  return span;
}

motley_status Code() {
  return Mostly<motley_status>(MOTLEY_OK);
}
motley_status Error(motley_error* error) {
  const motley_status code = Code();
  if (code != MOTLEY_OK && error != nullptr) {
    for (char& c : error->text) c = static_cast<char>(bytes->Take<uint8_t>());  // perhaps without an end
    error->code = bytes->Take<int32_t>();
    error->bytes_short = bytes->Take<uint64_t>();
    error->node = bytes->Take<int64_t>();
  }
  if (bytes->Choose(64) == 1) throw 42;
  return code;
}

char instance_memory, device_memory[4], handle_memory;
std::vector<motley_rate> rates;

motley_status Open(const motley_host* host, motley_span, motley_instance** out, motley_error* error) {
  host->log(host->self, bytes->Choose(3), Text(), {kText, 8});  // below errors: a log of them fills a disk
  *out = bytes->Choose(8) == 0 ? nullptr : reinterpret_cast<motley_instance*>(&instance_memory);
  return Error(error);
}
motley_status Close(motley_instance*, motley_error* error) {
  return Error(error);
}

motley_status Devices(motley_instance*, motley_device** out, uint32_t capacity, uint32_t* count) {
  *count = bytes->Choose(4) == 0 ? bytes->Take<uint32_t>() : 1 + bytes->Choose(3);
  for (uint32_t i = 0; i < *count && i < capacity; ++i)
    out[i] = bytes->Choose(16) == 1 ? nullptr : reinterpret_cast<motley_device*>(&device_memory[i % 4]);
  return Code();
}

motley_status DeviceInfo(motley_device*, motley_device_info* info, motley_error* error) {
  info->kind = Mostly<uint32_t>(MOTLEY_DEVICE_CPU);
  info->ordinal = bytes->Take<uint32_t>();
  info->numa_node = bytes->Take<int32_t>();
  info->name = Digit(), info->arch = Text(), info->pool = Text();
  info->memory_bytes = bytes->Take<uint64_t>(), info->max_alloc = bytes->Take<uint64_t>();
  info->alignment = Mostly<uint64_t>(64);
  info->mem_bytes_per_s = Mostly<double>(1e9), info->link_bytes_per_s = Mostly<double>(0);
  rates.resize(bytes->Choose(3));
  for (motley_rate& rate : rates)
    rate = {Mostly<uint32_t>(MOTLEY_MATH_F32), Mostly<uint32_t>(0), Mostly<double>(1e12)};
  info->rates = Elements(rates);
  info->features = Mostly<uint64_t>(MOTLEY_FEATURE_DEVICE_SYNC);
  return Error(error);
}

motley_status DeviceMemory(motley_device*, uint64_t* total, uint64_t* free_bytes, motley_error* error) {
  *total = bytes->Take<uint64_t>(), *free_bytes = bytes->Take<uint64_t>();
  return Error(error);
}

template <typename T>
motley_status Handle(T** out, motley_error* error) {
  *out = bytes->Choose(8) == 0 ? nullptr : reinterpret_cast<T*>(&handle_memory);
  return Error(error);
}
motley_status BufferAlloc(motley_device*, uint64_t, uint32_t, motley_buffer** out, motley_error* e) {
  return Handle(out, e);
}
motley_status BufferMap(motley_buffer*, uint64_t, uint64_t, void** out, motley_error* e) {
  return Handle(out, e);
}
motley_status QueueCreate(motley_device*, uint32_t, motley_queue** out, motley_error* e) {
  return Handle(out, e);
}
motley_status FenceCreate(motley_instance*, uint64_t, motley_fence** out, motley_error* e) {
  return Handle(out, e);
}
motley_status FenceQuery(motley_fence*, uint64_t* value, motley_error* e) {
  *value = bytes->Take<uint64_t>();
  return Error(e);
}
motley_status FenceWait(motley_fence*, uint64_t, uint64_t, motley_error* e) {
  return Error(e);
}
motley_status Compile(motley_device*, const motley_graph*, motley_span, motley_program** out,
                      motley_error* e) {
  return Handle(out, e);
}

motley_status WeightPlan(motley_device*, const motley_weight*, uint32_t layout, motley_weight_plan* plan,
                         motley_error* e) {
  *plan = {plan->size,
           Mostly(layout),
           bytes->Take<uint32_t>(),
           Mostly<uint32_t>(0),
           bytes->Take<uint64_t>(),
           Mostly<uint64_t>(64),
           bytes->Take<uint64_t>(),
           bytes->Take<uint64_t>()};
  return Error(e);
}
motley_status KvPlan(motley_device*, const motley_kv_desc*, motley_kv_plan* plan, motley_error* e) {
  *plan = {plan->size,          bytes->Take<uint32_t>(), bytes->Take<uint32_t>(),
           Mostly<uint32_t>(0), bytes->Take<uint64_t>(), Mostly<uint64_t>(64)};
  return Error(e);
}
motley_status Supports(motley_device*, const motley_graph*, const int64_t*, uint64_t, motley_span out,
                       motley_error* e) {
  for (uint64_t i = 0; i < out.count; ++i) {
    motley_verdict& v = static_cast<motley_verdict*>(const_cast<void*>(out.data))[i];
    v.ok = Mostly<uint32_t>(bytes->Choose(2)), v.reason = bytes->Take<uint32_t>();
    v.math = Mostly<uint32_t>(1), v.reserved = Mostly<uint32_t>(0);
    v.seconds = Mostly<double>(0), v.workspace = bytes->Take<uint64_t>(),
    v.read_bytes = bytes->Take<uint64_t>();
    for (uint32_t& layout : v.layouts) layout = bytes->Take<uint32_t>();
    if (bytes->Choose(2) == 1) {
      for (char& c : v.text) c = static_cast<char>(bytes->Take<uint8_t>());
    }
  }
  return Error(e);
}
motley_status ProgramInfo(motley_program*, motley_program_info* info, motley_error* e) {
  info->kernels = bytes->Take<uint32_t>(), info->workspace = bytes->Take<uint64_t>();
  info->alignment = Mostly<uint64_t>(64), info->captures = bytes->Take<uint64_t>(), info->notes = Text();
  return Error(e);
}

// What the host asks of a device below is filled in; the others are never called, and must only be there.
motley_compute Compute() {
  motley_compute t{};
  const auto fill = [](auto*& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        reinterpret_cast<void (*)()>(+[]() -> motley_status { std::abort(); }));
  };
  fill(t.buffer_import), fill(t.queue_flush), fill(t.fence_signal), fill(t.fence_poison), fill(t.copy),
      fill(t.write);
  fill(t.read), fill(t.weight_load), fill(t.execute);
  t.size = Mostly<uint32_t>(sizeof t), t.version = Mostly<uint32_t>(1);
  t.devices = Devices, t.device_info = DeviceInfo, t.device_memory = DeviceMemory,
  t.buffer_alloc = BufferAlloc;
  t.buffer_map = BufferMap, t.queue_create = QueueCreate, t.fence_create = FenceCreate,
  t.fence_query = FenceQuery;
  t.fence_wait = FenceWait, t.weight_plan = WeightPlan, t.kv_plan = KvPlan, t.supports = Supports,
  t.compile = Compile;
  t.program_info = ProgramInfo;
  t.buffer_unmap = [](motley_buffer*) {}, t.buffer_free = [](motley_buffer*) {},
  t.queue_destroy = [](motley_queue*) {};
  t.fence_destroy = [](motley_fence*) {}, t.program_destroy = [](motley_program*) {};
  if (bytes->Choose(8) == 0) {  // one function is missing
    const size_t at = 8 + 8 * (bytes->Take<uint8_t>() % ((sizeof t - 8) / 8));
    std::memset(reinterpret_cast<char*>(&t) + at, 0, 8);
  }
  return t;
}

motley_status GetInterface(motley_instance*, uint32_t, uint32_t, const void** out) {
  static motley_compute table;
  table = Compute();
  *out = bytes->Choose(16) == 1 ? nullptr : &table;
  return Code();
}

std::vector<motley_option> options;

// The schema in a block that ends where its elements do, so that a read too far is seen.
motley_plugin Table() {
  options.resize(bytes->Choose(3));
  options.shrink_to_fit();
  for (motley_option& option : options) {
    option = {Text(), Text(), Text(), Text(), Mostly<uint32_t>(1 + bytes->Choose(5)), Mostly<uint32_t>(0)};
    if (bytes->Choose(4) == 1) option.allowed = {"1..16", 5}, option.fallback = {"2", 1};
  }
  motley_plugin t{};
  t.size = Mostly<uint32_t>(sizeof t);
  t.abi_major = Mostly(MOTLEY_ABI_MAJOR), t.abi_minor = Mostly(MOTLEY_ABI_MINOR),
  t.flags = Mostly<uint32_t>(0);
  t.name = Text(), t.version = Text(), t.vendor = Text(), t.build = Text();
  t.options = Elements(options);
  t.open = bytes->Choose(16) == 1 ? nullptr : Open;
  t.close = bytes->Choose(16) == 1 ? nullptr : Close;
  t.get_interface = bytes->Choose(16) == 1 ? nullptr : GetInterface;
  return t;
}

const motley_plugin** Slot() {
  static void* library = dlopen(MOTLEY_TABLE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  Require(library != nullptr);
  static void* slot = dlsym(library, "motley_fuzz_table");
  Require(slot != nullptr);
  return static_cast<const motley_plugin**>(slot);
}

bool IsPowerOfTwo(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

void AskDevice(const Device& device) {
  const struct DeviceInfo& info = device.info();
  Require(info.kind >= DeviceKind::kCpu && info.kind <= DeviceKind::kTest && !info.pool.empty());
  Require(IsPowerOfTwo(info.alignment) && info.alignment <= 256 && info.mem_bytes_per_s >= 0);
  if (const auto memory = device.Memory(); memory.ok()) Require(memory->free_bytes <= memory->total_bytes);
  motley_weight weight{};
  weight.size = sizeof weight;
  if (const auto plan = device.PlanWeight(weight, 5); plan.ok())
    Require(plan->layout == 5 && IsPowerOfTwo(plan->alignment));
  motley_kv_desc desc{};
  desc.size = sizeof desc;
  if (const auto plan = device.PlanKv(desc); plan.ok())
    Require(plan->page_bytes > 0 && IsPowerOfTwo(plan->alignment));
  const motley_node nodes[3] = {};
  motley_graph graph{};
  graph.size = sizeof graph, graph.nodes = {nodes, 3, sizeof(motley_node), 0};
  if (const auto verdicts = device.Supports(graph, {}); verdicts.ok()) {
    Require(verdicts->size() == 3);
    for (const motley_verdict& v : *verdicts) Require(v.ok == 1 || (v.reason != 0 && v.text[0] != '\0'));
  }
  if (const auto program = device.Compile(graph); program.ok()) {
    if (const auto program_info = program->Info(); program_info.ok())
      Require(IsPowerOfTwo(program_info->alignment));
  }
  if (auto buffer = device.AllocBuffer(16, Usage::kWork); buffer.ok()) {
    if (buffer->Map(0, 16).ok()) buffer->Unmap();
  }
  const auto queue = device.CreateQueue();
  if (const auto fence = device.CreateFence(); fence.ok()) {
    (void)fence->Query().ok();
    (void)fence->Wait(1, 0).ok();
  }
}

void AskPlugin(Host& host, Logger& logger) {
  StatusOr<std::shared_ptr<Library>> library = Library::Load(MOTLEY_TABLE_PLUGIN);
  if (!library.ok()) return Require(!library.status().message().empty());
  (*library)->Pin();
  Require((*library)->name() == "fuzz" || !(*library)->name().empty());
  const auto values = ResolveOptions((*library)->name(), (*library)->options(), {});
  if (!values.ok()) return;
  const auto instance = Instance::Open(*std::move(library), *values, host, logger);
  if (!instance.ok()) return Require(!instance.status().message().empty());
  const auto handles = (*instance)->Devices();
  if (!handles.ok()) return;
  for (size_t i = 0; i < handles->size() && i < 4; ++i) {
    if (const auto device = Device::Make(*instance, (*handles)[i]); device.ok()) AskDevice(**device);
  }
}

}  // namespace
}  // namespace motley::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace motley;
  static Logger logger(LogLevel::kError);
  static std::unique_ptr<Host> host;
  static int inputs = 0;
  if (inputs++ % 1024 == 0)
    host = std::make_unique<Host>(logger, HostOptions{.threads = 1});  // it keeps a lease an open
  fuzz::FuzzBytes input(data, size);
  fuzz::bytes = &input;
  const motley_plugin table = fuzz::Table();
  *fuzz::Slot() = input.Choose(32) == 1 ? nullptr : &table;
  fuzz::AskPlugin(*host, logger);
  *fuzz::Slot() = nullptr;
  return 0;
}
