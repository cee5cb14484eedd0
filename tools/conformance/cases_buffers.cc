// L1: devices, buffers, imports, copies.
#include <atomic>
#include <set>

#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

class L1_Devices : public OnTarget {};
class L1_Buffers : public OnTarget {
 protected:
  // 0, 1, 2, ... as bytes.
  static std::vector<uint8_t> Ramp(size_t count) {
    std::vector<uint8_t> bytes(count);
    for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + 1);
    return bytes;
  }
};

TEST_F(L1_Devices, P20_ThereIsOneAtLeast) {
  uint32_t count = 0;
  ASSERT_EQ(api->devices(client.instance, nullptr, 0, &count), MOTLEY_OK);
  ASSERT_GE(count, 1u);
  std::vector<motley_device*> some(count + 1, nullptr);
  uint32_t again = 0;
  ASSERT_EQ(api->devices(client.instance, some.data(), 1, &again), MOTLEY_OK);
  EXPECT_EQ(again, count);
  EXPECT_NE(some[0], nullptr);
  EXPECT_EQ(some[1], nullptr) << "there was room for one";
}

TEST_F(L1_Devices, P21_TheySayWhatTheyAre) {
  std::set<std::string> names;
  for (size_t i = 0; i < client.devices.size(); ++i) {
    const motley_device_info info = client.Info(i);
    EXPECT_GE(info.kind, MOTLEY_DEVICE_CPU);
    EXPECT_LE(info.kind, MOTLEY_DEVICE_TEST);
    ASSERT_GT(info.name.size, 0u);
    EXPECT_TRUE(names.insert(std::string(info.name.data, info.name.size)).second)
        << "two devices of one name";
    EXPECT_GT(info.pool.size, 0u);
    EXPECT_GT(info.alignment, 0u);
    EXPECT_LE(info.alignment, 256u);
    EXPECT_EQ(info.alignment & (info.alignment - 1), 0u);
    EXPECT_EQ(info.features & ~(MOTLEY_FEATURE_DEVICE_SYNC | MOTLEY_FEATURE_ROW_INVARIANT), 0u);
    EXPECT_GE(info.mem_bytes_per_s, 0);
    EXPECT_LE(info.max_alloc, info.memory_bytes);
  }
}

TEST_F(L1_Devices, P22_TheyKnowTheirMemory) {
  uint64_t total = 0, free_bytes = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(api->device_memory(device, &total, &free_bytes, &err), MOTLEY_OK) << err.Text();
    EXPECT_GT(total, 0u);
    EXPECT_LE(free_bytes, total);
  }
}

TEST_F(L1_Buffers, P24_WhatIsWrittenIsRead) {
  const motley_slice all = session.Alloc(4099);
  const std::vector<uint8_t> bytes = Ramp(4099);
  session.Write(all, bytes.data());
  EXPECT_EQ(session.Download<uint8_t>(all), bytes);
  const std::vector<uint8_t> part = {9, 8, 7};
  for (const uint64_t at : {0u, 1u, 255u, 4096u}) {
    std::vector<uint8_t> expected = session.Download<uint8_t>(all);
    session.Write({all.buffer, at, 3}, part.data());
    std::copy(part.begin(), part.end(), expected.begin() + static_cast<int64_t>(at));
    EXPECT_EQ(session.Download<uint8_t>(all), expected) << "at " << at;
  }
  session.Write({all.buffer, 7, 0}, nullptr);  // nothing, but in order
}

TEST_F(L1_Buffers, P25_P36_SlicesOutsideTheirBufferAreRefused) {
  const motley_slice good = session.Alloc(64);
  const std::vector<uint8_t> bytes = Ramp(64);
  session.Write(good, bytes.data());
  std::vector<uint8_t> room(128, 3);
  motley_fence* fence = nullptr;
  ASSERT_EQ(api->fence_create(client.instance, 0, &fence, &err), MOTLEY_OK);
  const motley_point point = {fence, 1};
  const motley_sync sync = {{nullptr, 0, sizeof point, 0}, {&point, 1, sizeof point, 0}};
  for (const motley_slice bad : {motley_slice{good.buffer, 0, 65}, motley_slice{good.buffer, 1, 64},
                                 motley_slice{good.buffer, 65, 0}, motley_slice{good.buffer, ~0ull, 1},
                                 motley_slice{good.buffer, 8, ~0ull}, motley_slice{nullptr, 0, 4}}) {
    EXPECT_EQ(api->write(session.queue, bad, room.data(), &sync, &err), MOTLEY_INVALID_ARGUMENT)
        << bad.offset << " " << bad.bytes;
    EXPECT_EQ(api->read(session.queue, room.data(), bad, &sync, &err), MOTLEY_INVALID_ARGUMENT)
        << bad.offset << " " << bad.bytes;
    EXPECT_EQ(api->copy(session.queue, good, bad, &sync, &err), MOTLEY_INVALID_ARGUMENT)
        << bad.offset << " " << bad.bytes;
  }
  EXPECT_EQ(session.Download<uint8_t>(good), bytes);
  EXPECT_EQ(room, std::vector<uint8_t>(128, 3));
  uint64_t value = 7;
  EXPECT_EQ(api->fence_query(fence, &value, &err), MOTLEY_OK) << err.Text();
  EXPECT_EQ(value, 0u) << "a refused call signals nothing";
  api->fence_destroy(fence);
}

TEST_F(L1_Buffers, P26_CopiesMoveBytesOfOneSize) {
  const motley_slice a = session.Upload(Ramp(100)), b = session.Upload(std::vector<uint8_t>(120, 5));
  ASSERT_EQ(api->copy(session.queue, {b.buffer, 10, 50}, {a.buffer, 3, 50}, session.Next(), &err), MOTLEY_OK)
      << err.Text();
  ASSERT_EQ(session.Wait(), MOTLEY_OK);
  std::vector<uint8_t> expected(120, 5);
  const std::vector<uint8_t> from = Ramp(100);
  std::copy(from.begin() + 3, from.begin() + 53, expected.begin() + 10);
  EXPECT_EQ(session.Download<uint8_t>(b), expected);
  EXPECT_EQ(api->copy(session.queue, {b.buffer, 0, 40}, {a.buffer, 0, 41}, nullptr, &err),
            MOTLEY_INVALID_ARGUMENT);
}

TEST_F(L1_Buffers, P27_MappedWhereThatIsFree) {
  const bool sync = Has(MOTLEY_FEATURE_DEVICE_SYNC);
  const motley_slice host = session.Alloc(64, MOTLEY_USAGE_HOST), work = session.Alloc(64);
  const std::vector<uint8_t> bytes = Ramp(64);
  for (const motley_slice& slice : {host, work}) {
    session.Write(slice, bytes.data());
    void* mapped = nullptr;
    const motley_status status = api->buffer_map(slice.buffer, 8, 16, &mapped, &err);
    if (status == MOTLEY_UNIMPLEMENTED && (!sync || slice.buffer == host.buffer)) {
      EXPECT_FALSE(sync && slice.buffer == work.buffer);
      continue;
    }
    ASSERT_EQ(status, MOTLEY_OK) << err.Text();
    EXPECT_TRUE(sync || slice.buffer == host.buffer) << "a hidden copy";
    EXPECT_EQ(std::memcmp(mapped, bytes.data() + 8, 16), 0);
    api->buffer_unmap(slice.buffer);
  }
}

// Counts how often it was released.
struct CountedRange {
  std::atomic<int> released{0};
  motley_range range{};
  explicit CountedRange(const std::vector<uint8_t>& bytes) {
    range.size = sizeof range;
    range.base = bytes.data();
    range.bytes = bytes.size();
    range.fd = -1;
    range.arg = &released;
    range.released = [](void* arg) { ++*static_cast<std::atomic<int>*>(arg); };
  }
};

TEST_F(L1_Buffers, P28_P29_ImportsAreReadOnlyAndReleasedOnce) {
  const std::vector<uint8_t> bytes = Ramp(256);
  CountedRange counted(bytes);
  motley_buffer* buffer = nullptr;
  const motley_status status = api->buffer_import(device, &counted.range, &buffer, &err);
  if (status == MOTLEY_UNIMPLEMENTED) {
    EXPECT_EQ(counted.released, 1) << "also where it is refused";
    return;
  }
  ASSERT_EQ(status, MOTLEY_OK) << err.Text();
  EXPECT_EQ(counted.released, 0);
  EXPECT_EQ(session.Download<uint8_t>({buffer, 0, 256}), bytes);
  const uint8_t one = 1;
  EXPECT_EQ(api->write(session.queue, {buffer, 0, 1}, &one, nullptr, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(session.Download<uint8_t>({buffer, 0, 256}), bytes);
  api->buffer_free(buffer);
  EXPECT_EQ(counted.released, 1);

  CountedRange broken(bytes);
  broken.range.reserved = 1;
  EXPECT_EQ(api->buffer_import(device, &broken.range, &buffer, &err), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(broken.released, 1);
}

TEST_F(L1_Buffers, P29_AWeightsRangeIsReleasedOnce) {
  const std::vector<uint8_t> bytes = Ramp(32);
  CountedRange counted(bytes);
  motley_part part{};
  part.role = MOTLEY_PART_DATA;
  part.dtype = kF32;
  part.expert = -1;
  part.rank = 1;
  part.dims[0] = 8;
  part.src = counted.range;
  motley_weight weight{};
  weight.size = sizeof weight;
  weight.format = kF32;
  weight.rank = 1;
  weight.dims[0] = 8;
  weight.parts = {&part, 1, sizeof part, 0};
  const motley_slice dst = session.Alloc(32, MOTLEY_USAGE_WEIGHTS);
  const auto load = [&](uint32_t layout) {
    return api->weight_load(session.queue, &weight, layout, ~0u, dst, session.Next(), &err);
  };
  ASSERT_EQ(load(MOTLEY_LAYOUT_F32), MOTLEY_OK) << err.Text();
  ASSERT_EQ(session.Wait(), MOTLEY_OK);
  EXPECT_EQ(counted.released, 1);
  EXPECT_NE(load(0xfffffff0u), MOTLEY_OK) << "no such layout";
  EXPECT_EQ(counted.released, 2);
}

}  // namespace
}  // namespace motley::conformance
