# SPDX-License-Identifier: MIT
# typenet_kernels_as_host(<folder>): writes the kernels' files without their first line, R"cuda(, and their last, )cuda",
# to <folder>/typenet_kernels/. Messages of the compiler then name the original file and line. operations.cuh there
# includes those of the operations, and names.inc has TYPENET_ADD(name) for every kernel.
function(typenet_kernels_as_host folder)
  file(GLOB kernel_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/dsl/executors/cuda/kernels/*.cuh"
                                           "${PROJECT_SOURCE_DIR}/include/dsl/operations/*/kernels.cuh")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernel_files})
  set(operations "")
  set(names "")
  foreach(kernel_file IN LISTS kernel_files)
    get_filename_component(name "${kernel_file}" NAME)
    if(name STREQUAL "kernels.cuh")  # those of an operation
      get_filename_component(name "${kernel_file}" DIRECTORY)
      get_filename_component(name "${name}" NAME)
      string(APPEND name ".cuh")
      string(APPEND operations "#include <typenet_kernels/${name}>\n")
    endif()
    file(READ "${kernel_file}" text)
    string(REGEX REPLACE "^R\"cuda\\(\n" "#pragma once\n#line 2 \"${kernel_file}\"\n" text "${text}")
    string(REGEX REPLACE "\n\\)cuda\"\n$" "\n" text "${text}")
    file(CONFIGURE OUTPUT "${folder}/typenet_kernels/${name}" CONTENT "${text}" @ONLY NEWLINE_STYLE UNIX)
    string(REGEX MATCHALL "\nKERNEL void [a-z0-9_]+" found "${text}")
    foreach(kernel IN LISTS found)
      string(REGEX REPLACE ".* " "" kernel "${kernel}")
      string(APPEND names "TYPENET_ADD(${kernel})\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT "${folder}/typenet_kernels/operations.cuh" CONTENT "${operations}" @ONLY NEWLINE_STYLE UNIX)
  file(CONFIGURE OUTPUT "${folder}/typenet_kernels/names.inc" CONTENT "${names}" @ONLY NEWLINE_STYLE UNIX)
endfunction()
