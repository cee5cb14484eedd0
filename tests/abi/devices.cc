#include "tests/abi/devices.h"

namespace motley::abi_test {

std::vector<DeviceCase> AllDevices() {
  std::vector<DeviceCase> devices = {
      {"ref", MOTLEY_REF_PLUGIN, 0, {{"threads", int64_t{1}}}},
      {"ref_team", MOTLEY_REF_PLUGIN, 1, {{"threads", int64_t{3}}, {"devices", int64_t{2}}}},
  };
#ifdef MOTLEY_ASYNC_PLUGIN
  const OptionMap delays = {{"delay_us", int64_t{200}}, {"seed", int64_t{7}}};
  devices.push_back({"async_0", MOTLEY_ASYNC_PLUGIN, 0, delays});
  devices.push_back({"async_1", MOTLEY_ASYNC_PLUGIN, 1, delays});
#endif
  return devices;
}

std::vector<DeviceCase> EveryDevice() {
  std::vector<DeviceCase> devices = AllDevices();
#if defined(MOTLEY_CPU_PLUGIN) && defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    devices.push_back({"cpu_avx2", MOTLEY_CPU_PLUGIN, 0, {{"threads", int64_t{2}}, {"isa", std::string("avx2")}}});
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    devices.push_back({"cpu_auto", MOTLEY_CPU_PLUGIN, 0, {{"threads", int64_t{2}}}});
  }
#endif
  return devices;
}

INSTANTIATE_TEST_SUITE_P(Devices, FieldFailure, testing::ValuesIn(AllDevices()), DeviceName);

}  // namespace motley::abi_test
