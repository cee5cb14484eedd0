#pragma once

#include "core/graph/part.h"
