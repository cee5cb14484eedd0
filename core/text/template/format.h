// Python's two ways to format: '%s' % values, and '{}'.format(values).
#pragma once

#include "core/text/template/value.h"

namespace motley::jinja {

Result FormatPercent(Interp& interp, const Value& format, const Value& values);
Result FormatBraces(Interp& interp, const Str& format, Arguments& args);

}  // namespace motley::jinja
