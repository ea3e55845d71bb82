# SPDX-License-Identifier: MIT
# Runs cmake/vcpkg/typenet/portfile.cmake without vcpkg: cmake -DFEATURES=... -DCURRENT_PORT_DIR=... -DCURRENT_PACKAGES_DIR=...
# -DWORK=... -P functions.cmake. These stand for vcpkg's functions, as its documentation describes them, where the port uses
# them: a release build, whose configuration files move to share/typenet.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES;INVERTED_FEATURES")
  set(options "")
  foreach(kind IN ITEMS FEATURES INVERTED_FEATURES)
    while(arg_${kind})
      list(POP_FRONT arg_${kind} feature variable)
      set(value OFF)
      if(("${feature}" IN_LIST FEATURES AND kind STREQUAL "FEATURES") OR (NOT "${feature}" IN_LIST FEATURES AND NOT kind STREQUAL "FEATURES"))
        set(value ON)
      endif()
      list(APPEND options "-D${variable}=${value}")
    endwhile()
  endforeach()
  set(${arg_OUT_FEATURE_OPTIONS} "${options}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS;MAYBE_UNUSED_VARIABLES")
  run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${WORK}" -DCMAKE_BUILD_TYPE=Release
      "-DCMAKE_CXX_COMPILER=$ENV{TYPENET_CXX}" "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run("${CMAKE_COMMAND}" --build "${WORK}" --target install)
endfunction()

function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  file(RENAME "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}" "${CURRENT_PACKAGES_DIR}/share/typenet")
  file(GLOB files "${CURRENT_PACKAGES_DIR}/share/typenet/*.cmake")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(REPLACE "/../../../" "/../../" text "${text}")
    set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")  # the folder is a level higher
    string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(COPY_FILE "${arg_FILE_LIST}" "${CURRENT_PACKAGES_DIR}/share/typenet/copyright")
endfunction()

include("${CURRENT_PORT_DIR}/portfile.cmake")
