# motley_add_plugin(NAME sources... [KIND cpu] [CPU_FEATURES avx512f ...] [OUTPUT_DIRECTORY dir])
#
# A backend plugin: NAME.so with one exported symbol (motley_plugin_query), and beside it the manifest
# NAME.plugin.toml, which the host reads before it opens the library. KIND: cpu, gpu, other, reference, test.
# CPU_FEATURES: what the host's CPU must have, in the names of /proc/cpuinfo; the library is not even opened
# elsewhere. Nothing is linked but what target_link_libraries() adds afterwards; drivers (libcuda, libamdhip64)
# are opened at run time, never linked.
#
# find_package(motley) brings it, or include() this file of a source tree. Where MOTLEY_PLUGIN_OUTPUT_DIRECTORY is not
# set, the plugin lands in ${CMAKE_BINARY_DIR}/lib/motley. `cmake --install` puts it into lib/motley of the prefix,
# unless it is a KIND test.
include_guard(GLOBAL)
set(MOTLEY_PLUGIN_CMAKE_DIRECTORY ${CMAKE_CURRENT_LIST_DIR})

function(motley_add_plugin name)
  cmake_parse_arguments(ARG "" "KIND;OUTPUT_DIRECTORY" "CPU_FEATURES" ${ARGN})
  if(NOT ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "motley_add_plugin(${name}): no sources")
  endif()
  if(NOT ARG_KIND)
    set(ARG_KIND other)
  endif()
  if(NOT ARG_KIND MATCHES "^(cpu|gpu|other|reference|test)$")
    message(FATAL_ERROR "motley_add_plugin(${name}): KIND ${ARG_KIND}: must be cpu, gpu, other, reference or test")
  endif()
  set(folder ${ARG_OUTPUT_DIRECTORY})
  if(NOT folder)
    set(folder ${MOTLEY_PLUGIN_OUTPUT_DIRECTORY})
  endif()
  if(NOT folder)
    set(folder ${CMAKE_BINARY_DIR}/lib/motley)
  endif()

  # A source tree that is include()d has not gone through find_package() or motley's own CMakeLists.txt.
  set(cmake_folder ${MOTLEY_PLUGIN_CMAKE_DIRECTORY})
  if(NOT TARGET motley::plugin_api)
    add_library(motley::plugin_api INTERFACE IMPORTED GLOBAL)
    target_include_directories(motley::plugin_api INTERFACE ${cmake_folder}/../include)
  endif()
  add_library(${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES
    PREFIX "" SUFFIX ".so"
    LIBRARY_OUTPUT_DIRECTORY ${folder}
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS ${cmake_folder}/motley_plugin.map)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_link_libraries(${name} PRIVATE motley::plugin_api)
  target_link_options(${name} PRIVATE -Wl,--version-script=${cmake_folder}/motley_plugin.map)
  # GNU's unique symbols would pin the library in memory for ever.
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  if(NOT MOTLEY_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,--no-undefined)
  endif()

  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} "-DLIBRARY=$<TARGET_FILE:${name}>" "-DMANIFEST=${folder}/${name}.plugin.toml"
      "-DHEADER=$<TARGET_PROPERTY:motley::plugin_api,INTERFACE_INCLUDE_DIRECTORIES>/motley/plugin.h"
      "-DARCH=${CMAKE_SYSTEM_PROCESSOR}"
      "-DKIND=${ARG_KIND}" "-DCPU_FEATURES=${ARG_CPU_FEATURES}" -P ${cmake_folder}/write_manifest.cmake)
  if(NOT ARG_KIND STREQUAL test)
    # As files: a library that was stripped or edited on the way would not have the manifest's SHA-256.
    install(FILES $<TARGET_FILE:${name}> ${folder}/${name}.plugin.toml DESTINATION lib/motley)
    # Inside motley's own tree one target makes all that the launcher needs beside it.
    if(TARGET motley_plugins)
      add_dependencies(motley_plugins ${name})
    endif()
  endif()
endfunction()
