#pragma once

#include "device.h"

namespace motley::async_device {

extern const motley_compute kTable;

}  // namespace motley::async_device
