#include "core/backend/abi.h"

#include "core/base/units.h"

namespace motley {

std::string SpanText(const motley_span& span) {
  return "a span of " + std::to_string(span.count) + " elements, stride " + std::to_string(span.stride) +
         ", reserved " + std::to_string(span.reserved) + (span.data == nullptr ? ", data NULL" : "");
}

Status PluginError(std::string_view what, motley_status code, const motley_error& error) {
  // The text is the plugin's: it may lack its end.
  std::string text(error.text, strnlen(error.text, sizeof error.text));
  if (text.empty()) text = "no text given";
  std::string message = std::string(what) + ": " + text;
  if (code == MOTLEY_RESOURCE_EXHAUSTED && error.bytes_short > 0) {
    message += " (" + FormatSize(error.bytes_short) + " short)";
  }
  if (error.node >= 0) message += " (node " + std::to_string(error.node) + ")";
  if (code == 0 || CodeName(static_cast<Code>(code)) == "UNKNOWN") {
    return InternalError(message + " (returned " + std::to_string(code) + ", which is no code)");
  }
  return Status(static_cast<Code>(code), std::move(message));
}

Status PluginThrew(std::string_view what, const char* text) {
  return InternalError(std::string(what) + ": an exception came out of the plugin" +
                       (text != nullptr ? ": " + std::string(text) : "") +
                       "; no exception may cross the ABI");
}

}  // namespace motley
