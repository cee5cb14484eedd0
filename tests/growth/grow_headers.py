#!/usr/bin/env python3
"""Makes the headers of a synthetic ABI 1.MINOR from those of today, for tests of growth.

  grow_headers.py INCLUDE OUT MINOR

1.0 is today's ABI under another number. 1.1 has a field appended to every struct that may grow, a function appended to
the compute table, one more interface and one more op, with nothing else changed: what a next minor may do.
"""

import pathlib
import re
import shutil
import sys

# What starts with `size`, or stands in spans with a stride, and is embedded nowhere by value.
GROWING = ["motley_error", "motley_value", "motley_option", "motley_host", "motley_rate", "motley_device_info",
           "motley_part", "motley_weight", "motley_weight_plan", "motley_kv_desc", "motley_kv_plan", "motley_dim",
           "motley_tensor", "motley_node", "motley_graph", "motley_verdict", "motley_program_info", "motley_bind",
           "motley_compute", "motley_plugin"]

NEW_OP = """
MOTLEY_OP(NEXT_SCALE, 1000, 1, "next_scale", "y = 2 x")
  MOTLEY_OP_IN(x, "T, K", F32)
  MOTLEY_OP_OUT(y, "T, K", F32)
MOTLEY_OP_END()

"""


def main():
    include, out, minor = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(include / "motley", out / "motley")
    header = out / "motley/plugin.h"
    text = renumber(header.read_text(), minor)
    if minor > 0:
        text = grow(text)
        op_table = out / "motley/op_table.inc"
        op_table.write_text(replace_once(op_table.read_text(), r"(?=\n#undef MOTLEY_OP\b)", NEW_OP))
        sizes = out / "motley/first_size.hpp"
        lines = "".join(f"template <> inline constexpr uint32_t kFirstSize<{name}> = offsetof({name}, grown);\n"
                        for name in GROWING)
        sizes.write_text(replace_once(sizes.read_text(), r"(?=\n}  // namespace motley)", lines))
    header.write_text(text)


def renumber(text, minor):
    text = replace_once(text, r"#define MOTLEY_ABI_MAJOR \d+u", "#define MOTLEY_ABI_MAJOR 1u")
    return replace_once(text, r"#define MOTLEY_ABI_MINOR \d+u", f"#define MOTLEY_ABI_MINOR {minor}u")


def grow(text):
    for name in GROWING:
        field = "motley_status (*grown)(motley_device*);" if name == "motley_compute" else "uint64_t grown;"
        text = replace_once(text, "} " + name + ";", f"\n  {field}\n}} {name};")
        # Its size is another now; the offsets of what was there before must hold, and stay checked.
        text = re.sub(rf"sizeof\({name}\) == \d+( && )?", "", text)
    text = re.sub(r" && \);", ");", text)
    text = re.sub(r"MOTLEY_CHECK\(\);\n", "", text)
    return replace_once(text, r"(?=#define MOTLEY_IFACE_KV )",
                        "#define MOTLEY_IFACE_NEXT 100u\n"
                        "typedef struct motley_next { uint32_t size, version; } motley_next;\n")


def replace_once(text, pattern, by):
    text, count = re.subn(pattern, lambda match: by, text)
    if count != 1:
        sys.exit(f"grow_headers.py: {pattern!r} is there {count} times, must be once: has the header changed?")
    return text


if __name__ == "__main__":
    main()
