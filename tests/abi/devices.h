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
