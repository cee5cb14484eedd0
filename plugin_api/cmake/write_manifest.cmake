# Writes NAME.plugin.toml after NAME.so is linked. In: LIBRARY MANIFEST HEADER ARCH KIND CPU_FEATURES (a list).
file(READ ${HEADER} header)
string(REGEX MATCH "MOTLEY_ABI_MAJOR ([0-9]+)u" _ "${header}")
set(major ${CMAKE_MATCH_1})
string(REGEX MATCH "MOTLEY_ABI_MINOR ([0-9]+)u" _ "${header}")
set(minor ${CMAKE_MATCH_1})
if("${major}" STREQUAL "" OR "${minor}" STREQUAL "")
  message(FATAL_ERROR "${HEADER}: MOTLEY_ABI_MAJOR and MOTLEY_ABI_MINOR not found")
endif()
file(SHA256 ${LIBRARY} sha256)
get_filename_component(library ${LIBRARY} NAME)
set(features "")
foreach(feature IN LISTS CPU_FEATURES)
  list(APPEND features "\"${feature}\"")
endforeach()
list(JOIN features ", " features)
file(WRITE ${MANIFEST}.new
  "library = \"${library}\"\n"
  "abi = \"${major}.${minor}\"\n"
  "arch = \"${ARCH}\"\n"
  "cpu_features = [${features}]\n"
  "kind = \"${KIND}\"\n"
  "sha256 = \"${sha256}\"\n")
file(RENAME ${MANIFEST}.new ${MANIFEST})
