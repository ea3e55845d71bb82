# SPDX-License-Identifier: MIT
# Finds the CUDA toolkit (cudart, NVRTC, cublasLt) and cuDNN by header and library and defines typenet::cudalibs; sets
# typenet_cuda_VERSION, or typenet_cuda_NOT_FOUND_MESSAGE. Not by CMake's FindCUDAToolkit: it wants nvcc, which no user
# of these headers needs, and libraries that come in Python's wheels lie where it doesn't look. Look elsewhere with
# CMAKE_PREFIX_PATH, CUDA_HOME or CUDA_PATH, or set the TYPENET_..._INCLUDE_DIR and ..._LIBRARY variables.
if(NOT TARGET typenet::cudalibs)
  block(PROPAGATE typenet_cuda_VERSION typenet_cudnn_MAJOR typenet_cudnn_MINOR typenet_cuda_NOT_FOUND_MESSAGE)
    set(typenet_cuda_hints ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda)
    set(typenet_cuda_folders lib64 lib targets/x86_64-linux/lib lib/x64)
    find_path(TYPENET_CUDART_INCLUDE_DIR cuda_runtime_api.h HINTS ${typenet_cuda_hints}
              PATH_SUFFIXES include targets/x86_64-linux/include)
    find_path(TYPENET_NVRTC_INCLUDE_DIR nvrtc.h HINTS ${TYPENET_CUDART_INCLUDE_DIR} ${typenet_cuda_hints}
              PATH_SUFFIXES include)
    find_path(TYPENET_CUBLASLT_INCLUDE_DIR cublasLt.h HINTS ${TYPENET_CUDART_INCLUDE_DIR} ${typenet_cuda_hints}
              PATH_SUFFIXES include)
    find_path(TYPENET_CUDNN_INCLUDE_DIR cudnn_backend.h HINTS ${TYPENET_CUDART_INCLUDE_DIR} ${typenet_cuda_hints}
              PATH_SUFFIXES include)
    # Wheels have the libraries without the unversioned link.
    find_library(TYPENET_CUDART_LIBRARY NAMES cudart libcudart.so.13 NAMES_PER_DIR HINTS ${typenet_cuda_hints}
                 PATH_SUFFIXES ${typenet_cuda_folders})
    find_library(TYPENET_NVRTC_LIBRARY NAMES nvrtc libnvrtc.so.13 NAMES_PER_DIR HINTS ${typenet_cuda_hints}
                 PATH_SUFFIXES ${typenet_cuda_folders})
    find_library(TYPENET_CUBLASLT_LIBRARY NAMES cublasLt libcublasLt.so.13 NAMES_PER_DIR HINTS ${typenet_cuda_hints}
                 PATH_SUFFIXES ${typenet_cuda_folders})
    find_library(TYPENET_CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 NAMES_PER_DIR HINTS ${typenet_cuda_hints}
                 PATH_SUFFIXES ${typenet_cuda_folders})
    set(typenet_cuda_missing "")
    foreach(part IN ITEMS CUDART NVRTC CUBLASLT CUDNN)
      mark_as_advanced(TYPENET_${part}_INCLUDE_DIR TYPENET_${part}_LIBRARY)
      if(NOT TYPENET_${part}_INCLUDE_DIR OR NOT TYPENET_${part}_LIBRARY)
        list(APPEND typenet_cuda_missing ${part})
      endif()
    endforeach()

    set(typenet_cudnn_number 0)
    if(NOT typenet_cuda_missing)
      set(typenet_cuda_VERSION "")
      file(STRINGS "${TYPENET_CUDART_INCLUDE_DIR}/cuda_runtime_api.h" line REGEX "#define +CUDART_VERSION +[0-9]+")
      if(line MATCHES "([0-9]+)$")
        math(EXPR typenet_cuda_VERSION_major "${CMAKE_MATCH_1} / 1000")
        math(EXPR typenet_cuda_VERSION_minor "${CMAKE_MATCH_1} % 1000 / 10")
        set(typenet_cuda_VERSION "${typenet_cuda_VERSION_major}.${typenet_cuda_VERSION_minor}")
      endif()
      foreach(part IN ITEMS MAJOR MINOR)
        foreach(file IN ITEMS cudnn_version_v9.h cudnn_version.h)
          if(EXISTS "${TYPENET_CUDNN_INCLUDE_DIR}/${file}")
            file(STRINGS "${TYPENET_CUDNN_INCLUDE_DIR}/${file}" line REGEX "#define +CUDNN_${part} +[0-9]+")
            if(line MATCHES "([0-9]+)$")
              set(typenet_cudnn_${part} ${CMAKE_MATCH_1})
              break()
            endif()
          endif()
        endforeach()
      endforeach()
      if(DEFINED typenet_cudnn_MAJOR)
        math(EXPR typenet_cudnn_number "${typenet_cudnn_MAJOR} * 1000 + ${typenet_cudnn_MINOR}")
      endif()
    endif()
    if(typenet_cuda_missing)
      list(JOIN typenet_cuda_missing ", " typenet_cuda_missing)
      set(typenet_cuda_NOT_FOUND_MESSAGE
          "the CUDA toolkit's cudart, NVRTC and cublasLt, and cuDNN 9.11 or later; not found: ${typenet_cuda_missing}")
    elseif(typenet_cuda_VERSION VERSION_LESS 13 OR typenet_cudnn_number LESS 9011)
      set(typenet_cuda_NOT_FOUND_MESSAGE
          "CUDA 13 and cuDNN 9.11 or later; found CUDA ${typenet_cuda_VERSION}, cuDNN ${typenet_cudnn_MAJOR}.${typenet_cudnn_MINOR}")
      unset(typenet_cuda_VERSION)
    else()
      # GLOBAL: a project that adds typenet as a subdirectory links it from another directory.
      add_library(typenet::cudalibs INTERFACE IMPORTED GLOBAL)
      set(folders ${TYPENET_CUDART_INCLUDE_DIR} ${TYPENET_NVRTC_INCLUDE_DIR} ${TYPENET_CUBLASLT_INCLUDE_DIR}
                  ${TYPENET_CUDNN_INCLUDE_DIR})
      list(REMOVE_DUPLICATES folders)
      target_include_directories(typenet::cudalibs SYSTEM INTERFACE ${folders})
      target_link_libraries(typenet::cudalibs INTERFACE "${TYPENET_CUDART_LIBRARY}" "${TYPENET_NVRTC_LIBRARY}"
                                                        "${TYPENET_CUBLASLT_LIBRARY}" "${TYPENET_CUDNN_LIBRARY}")
    endif()
  endblock()
endif()
