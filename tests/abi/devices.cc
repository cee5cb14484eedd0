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

INSTANTIATE_TEST_SUITE_P(Devices, FieldFailure, testing::ValuesIn(AllDevices()), DeviceName);

}  // namespace motley::abi_test
