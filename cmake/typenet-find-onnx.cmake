# SPDX-License-Identifier: MIT
# Finds onnx's protobuf messages and protobuf and defines typenet::onnxproto; sets typenet_onnx_VERSION, protobuf's, or
# typenet_onnx_NOT_FOUND_MESSAGE. Shared libraries are found by header and library: Debian's ONNXConfig.cmake asks for
# files that its package has not got. Static ones need what onnx's own ONNXConfig.cmake says of them, as with Conan and
# vcpkg. Look elsewhere with CMAKE_PREFIX_PATH, or set TYPENET_ONNX_INCLUDE_DIR, TYPENET_ONNX_PROTO_LIBRARY,
# TYPENET_PROTOBUF_INCLUDE_DIR and TYPENET_PROTOBUF_LIBRARY.
if(NOT TARGET typenet::onnxproto)
  block(PROPAGATE typenet_onnx_VERSION typenet_onnx_NOT_FOUND_MESSAGE)
    find_path(TYPENET_ONNX_INCLUDE_DIR onnx/onnx_pb.h)
    find_library(TYPENET_ONNX_PROTO_LIBRARY onnx_proto)
    find_path(TYPENET_PROTOBUF_INCLUDE_DIR google/protobuf/message.h)
    find_library(TYPENET_PROTOBUF_LIBRARY protobuf)
    mark_as_advanced(TYPENET_ONNX_INCLUDE_DIR TYPENET_ONNX_PROTO_LIBRARY TYPENET_PROTOBUF_INCLUDE_DIR
                     TYPENET_PROTOBUF_LIBRARY)
    set(typenet_onnx_PARTS "")
    if(NOT TARGET onnx_proto
       AND NOT TARGET ONNX::onnx_proto
       AND NOT (TYPENET_ONNX_PROTO_LIBRARY AND TYPENET_ONNX_PROTO_LIBRARY MATCHES "\\.so|\\.dylib"))
      set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)
      find_package(ONNX CONFIG QUIET)
    endif()
    foreach(target IN ITEMS ONNX::onnx_proto onnx_proto)
      if(TARGET ${target} AND NOT typenet_onnx_PARTS)
        set(typenet_onnx_PARTS ${target})
      endif()
    endforeach()
    if(NOT typenet_onnx_PARTS
       AND TYPENET_ONNX_INCLUDE_DIR
       AND TYPENET_ONNX_PROTO_LIBRARY
       AND TYPENET_PROTOBUF_INCLUDE_DIR
       AND TYPENET_PROTOBUF_LIBRARY)
      set(typenet_onnx_PARTS ${TYPENET_ONNX_PROTO_LIBRARY} ${TYPENET_PROTOBUF_LIBRARY})
    endif()

    if(typenet_onnx_PARTS)
      set(typenet_onnx_VERSION "protobuf")
      if(EXISTS "${TYPENET_PROTOBUF_INCLUDE_DIR}/google/protobuf/stubs/common.h")
        file(STRINGS "${TYPENET_PROTOBUF_INCLUDE_DIR}/google/protobuf/stubs/common.h" line
             REGEX "#define +GOOGLE_PROTOBUF_VERSION +[0-9]+")
        if(line MATCHES "([0-9]+)([0-9][0-9][0-9])([0-9][0-9][0-9])$")
          math(EXPR minor "${CMAKE_MATCH_2}")
          math(EXPR patch "${CMAKE_MATCH_3}")
          string(APPEND typenet_onnx_VERSION " ${CMAKE_MATCH_1}.${minor}.${patch}")
        endif()
      endif()
      # GLOBAL: a project that adds typenet as a subdirectory links it from another directory.
      add_library(typenet::onnxproto INTERFACE IMPORTED GLOBAL)
      target_link_libraries(typenet::onnxproto INTERFACE ${typenet_onnx_PARTS})
      # Where the messages are as in onnx's own builds; its headers want both.
      target_compile_definitions(typenet::onnxproto INTERFACE ONNX_NAMESPACE=onnx)
      if(EXISTS "${TYPENET_ONNX_INCLUDE_DIR}/onnx/onnx-ml.pb.h")
        target_compile_definitions(typenet::onnxproto INTERFACE ONNX_ML=1)
      endif()
      if(TYPENET_ONNX_PROTO_LIBRARY IN_LIST typenet_onnx_PARTS)
        target_include_directories(typenet::onnxproto INTERFACE "${TYPENET_ONNX_INCLUDE_DIR}"
                                                                "${TYPENET_PROTOBUF_INCLUDE_DIR}")
      endif()
    else()
      set(typenet_onnx_NOT_FOUND_MESSAGE
          "onnx's and protobuf's headers and libraries; on Debian: apt-get install libonnx-dev libprotobuf-dev")
    endif()
  endblock()
endif()
