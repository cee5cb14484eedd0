# find_package(motley): the target motley::plugin_api (headers alone) and motley_add_plugin().
include(${CMAKE_CURRENT_LIST_DIR}/motley-targets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/motley_add_plugin.cmake)
