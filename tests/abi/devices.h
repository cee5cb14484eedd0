// The devices on which the tests of ops run.
#pragma once

#include <ostream>
#include <string>

#include "tests/abi/plugin_client.h"

namespace motley::abi_test {

struct DeviceCase {
  const char* name;
  const char* path;
  size_t device;
  OptionMap options;
};
inline std::ostream& operator<<(std::ostream& out, const DeviceCase& c) {
  return out << c.name;
}

// ref, ref with a team, and both devices of async_device (unlike page layouts), with delays.
std::vector<DeviceCase> AllDevices();

// These and cpu_avx512 with each set of kernels that this CPU has: for tests that ask before they compute.
std::vector<DeviceCase> EveryDevice();
// Whether the device computes by the reference's own code, and so must support all that there is.
inline bool IsReference(const DeviceCase& c) { return std::string_view(c.name).substr(0, 3) != "cpu"; }

class OnDevice : public testing::TestWithParam<DeviceCase> {
 protected:
  Client client{GetParam().path, GetParam().options};
  Session session{client, GetParam().device};
};

// Rows of the field failures; instantiated in devices.cc for every device.
class FieldFailure : public OnDevice {};

inline std::string DeviceName(const testing::TestParamInfo<DeviceCase>& info) {
  return info.param.name;
}

}  // namespace motley::abi_test
