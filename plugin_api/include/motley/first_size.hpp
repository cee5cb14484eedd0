// How a struct of the ABI grows: what every partner of this major brings of it, and what may be missing.
//
// From 1.0 on a minor appends fields to structs. A partner of an older minor has a shorter struct; what it lacks
// reads as 0. The size in the first minor is what must be there at least. When fields are appended to a struct, it
// gets a line below, with the offset of the first of them:
//   template <> inline constexpr uint32_t kFirstSize<motley_bind> = offsetof(motley_bind, first_new_field);
// C++20, for both sides.
#pragma once

#include <motley/plugin.h>

namespace motley {

template <class T>
inline constexpr uint32_t kFirstSize = sizeof(T);

}  // namespace motley
