# SPDX-License-Identifier: MIT
# typenet_kernels_as_host(<folder>): writes the kernels' files without their first line, R"cuda(, and their last, )cuda",
# to <folder>/typenet_kernels/. Messages of the compiler then name the original file and line.
function(typenet_kernels_as_host folder)
  file(GLOB kernel_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/dsl/executors/cuda/kernels/*.cuh"
                                           "${PROJECT_SOURCE_DIR}/include/dsl/operations/*/kernels.cuh")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernel_files})
  foreach(kernel_file IN LISTS kernel_files)
    get_filename_component(name "${kernel_file}" NAME)
    if(name STREQUAL "kernels.cuh")  # those of an operation
      get_filename_component(name "${kernel_file}" DIRECTORY)
      get_filename_component(name "${name}" NAME)
      string(APPEND name ".cuh")
    endif()
    file(READ "${kernel_file}" text)
    string(REGEX REPLACE "^R\"cuda\\(\n" "#line 2 \"${kernel_file}\"\n" text "${text}")
    string(REGEX REPLACE "\n\\)cuda\"\n$" "\n" text "${text}")
    file(CONFIGURE OUTPUT "${folder}/typenet_kernels/${name}" CONTENT "${text}" @ONLY NEWLINE_STYLE UNIX)
  endforeach()
endfunction()
