# SPDX-License-Identifier: MIT
# Finds NCCL by header and library and defines typenet::nccllib; sets typenet_nccl_VERSION, or
# typenet_nccl_NOT_FOUND_MESSAGE. After typenet-find-cuda, beside whose files it looks first: nccl.h includes CUDA's.
# Look elsewhere with CMAKE_PREFIX_PATH or NCCL_HOME, or set TYPENET_NCCL_INCLUDE_DIR and TYPENET_NCCL_LIBRARY.
if(NOT TARGET typenet::nccllib)
  block(PROPAGATE typenet_nccl_VERSION typenet_nccl_NOT_FOUND_MESSAGE)
    set(typenet_nccl_hints ENV NCCL_HOME ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda)
    find_path(TYPENET_NCCL_INCLUDE_DIR nccl.h HINTS ENV NCCL_HOME ${TYPENET_CUDART_INCLUDE_DIR} ${typenet_nccl_hints}
              PATH_SUFFIXES include)
    # Wheels have the library without the unversioned link.
    find_library(TYPENET_NCCL_LIBRARY NAMES nccl libnccl.so.2 NAMES_PER_DIR HINTS ${typenet_nccl_hints}
                 PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib)
    mark_as_advanced(TYPENET_NCCL_INCLUDE_DIR TYPENET_NCCL_LIBRARY)

    unset(typenet_nccl_VERSION)
    if(TYPENET_NCCL_INCLUDE_DIR AND TYPENET_NCCL_LIBRARY)
      set(typenet_nccl_parts "")
      foreach(part IN ITEMS MAJOR MINOR PATCH)
        file(STRINGS "${TYPENET_NCCL_INCLUDE_DIR}/nccl.h" line REGEX "#define +NCCL_${part} +[0-9]+")
        if(line MATCHES "([0-9]+)$")
          list(APPEND typenet_nccl_parts ${CMAKE_MATCH_1})
        endif()
      endforeach()
      list(JOIN typenet_nccl_parts "." typenet_nccl_VERSION)
    endif()
    if(NOT TARGET typenet::cudalibs)
      set(typenet_nccl_NOT_FOUND_MESSAGE "NCCL 2.28 or later, and what typenet::cuda needs")
      unset(typenet_nccl_VERSION)
    elseif(NOT typenet_nccl_VERSION)
      set(typenet_nccl_NOT_FOUND_MESSAGE "NCCL 2.28 or later (nccl.h, libnccl)")
      unset(typenet_nccl_VERSION)
    elseif(typenet_nccl_VERSION VERSION_LESS 2.28)
      set(typenet_nccl_NOT_FOUND_MESSAGE "NCCL 2.28 or later; found ${typenet_nccl_VERSION}")
      unset(typenet_nccl_VERSION)
    else()
      add_library(typenet::nccllib INTERFACE IMPORTED GLOBAL)
      target_include_directories(typenet::nccllib SYSTEM INTERFACE ${TYPENET_NCCL_INCLUDE_DIR})
      target_link_libraries(typenet::nccllib INTERFACE "${TYPENET_NCCL_LIBRARY}" typenet::cudalibs)
    endif()
  endblock()
endif()
