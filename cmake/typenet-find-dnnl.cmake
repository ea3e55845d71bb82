# SPDX-License-Identifier: MIT
# Finds oneDNN (v2 or v3) by header and library and defines typenet::dnnl; sets typenet_dnnl_VERSION, or
# typenet_dnnl_NOT_FOUND_MESSAGE. Not by oneDNN's own dnnl-config.cmake: Debian's asks for OpenCL, which a CPU build
# never uses. Look elsewhere with CMAKE_PREFIX_PATH, or set TYPENET_DNNL_INCLUDE_DIR and TYPENET_DNNL_LIBRARY.
if(NOT TARGET typenet::dnnl)
  block(PROPAGATE typenet_dnnl_VERSION typenet_dnnl_NOT_FOUND_MESSAGE)
    find_path(TYPENET_DNNL_INCLUDE_DIR dnnl.h)
    find_library(TYPENET_DNNL_LIBRARY dnnl)
    # Our own kernels call GCC's OpenMP runtime directly, so that they run in the thread pool oneDNN already has. Nothing
    # is compiled with -fopenmp. The library lies among the compiler's own files.
    find_library(TYPENET_GOMP_LIBRARY NAMES gomp libgomp.so.1 HINTS ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
    mark_as_advanced(TYPENET_DNNL_INCLUDE_DIR TYPENET_DNNL_LIBRARY TYPENET_GOMP_LIBRARY)

    if(TYPENET_DNNL_INCLUDE_DIR AND TYPENET_DNNL_LIBRARY AND TYPENET_GOMP_LIBRARY)
      set(typenet_dnnl_VERSION "")
      foreach(part IN ITEMS MAJOR MINOR PATCH)
        foreach(file IN ITEMS oneapi/dnnl/dnnl_version.h dnnl_version.h)
          if(EXISTS "${TYPENET_DNNL_INCLUDE_DIR}/${file}")
            file(STRINGS "${TYPENET_DNNL_INCLUDE_DIR}/${file}" line REGEX "#define +DNNL_VERSION_${part} +[0-9]+")
            if(line MATCHES "([0-9]+)$")
              list(APPEND typenet_dnnl_VERSION ${CMAKE_MATCH_1})
              break()
            endif()
          endif()
        endforeach()
      endforeach()
      list(JOIN typenet_dnnl_VERSION "." typenet_dnnl_VERSION)
      # GLOBAL: a project that adds typenet as a subdirectory links it from another directory.
      add_library(typenet::dnnl INTERFACE IMPORTED GLOBAL)
      target_include_directories(typenet::dnnl INTERFACE "${TYPENET_DNNL_INCLUDE_DIR}")
      target_link_libraries(typenet::dnnl INTERFACE "${TYPENET_DNNL_LIBRARY}" "${TYPENET_GOMP_LIBRARY}")
    else()
      set(typenet_dnnl_NOT_FOUND_MESSAGE
          "oneDNN's dnnl.h and libdnnl, and GCC's libgomp; on Debian: apt-get install libdnnl-dev g++")
    endif()
  endblock()
endif()
