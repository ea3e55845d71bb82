# SPDX-License-Identifier: MIT
# An overlay port, which builds the tree that it is in: vcpkg install typenet --overlay-ports=cmake/vcpkg
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)
vcpkg_check_features(
  OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    compiled TYPENET_COMPILED
    pictures TYPENET_WITH_PICTURES
    keras-h5 TYPENET_WITH_KERAS_H5
  INVERTED_FEATURES
    text CMAKE_DISABLE_FIND_PACKAGE_fmt
    safetensors CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json)
if(NOT "compiled" IN_LIST FEATURES)
  set(VCPKG_BUILD_TYPE release)  # headers are the same for both
  set(VCPKG_FIXUP_ELF_RPATH OFF)  # nothing is linked: no patchelf need be downloaded
endif()

# What was not chosen is not taken from the system where the package is used, either.
set(without onnx,onednn)
foreach(feature IN ITEMS text safetensors keras-h5 pictures)
  if(NOT "${feature}" IN_LIST FEATURES)
    string(REPLACE "-" "_" part "${feature}")
    string(APPEND without ",${part}")
  endif()
endforeach()
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DTYPENET_BUILD_TESTS=OFF
    -DTYPENET_BUILD_EXAMPLES=OFF
    -DTYPENET_BUILD_BENCHMARKS=OFF
    # What vcpkg did not build is not looked for.
    -DTYPENET_WITH_ONEDNN=OFF
    -DTYPENET_WITH_ONNX=OFF
    -DTYPENET_WITH_CUDA=OFF
    -DTYPENET_WITH_MPI=OFF
    -DTYPENET_WITHOUT=${without}
    -DTYPENET_HDF5_MODULE=hdf5
  MAYBE_UNUSED_VARIABLES
    CMAKE_DISABLE_FIND_PACKAGE_fmt
    CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/typenet)
# The modules of parts that were not chosen require libraries that are not there.
foreach(feature IN ITEMS text safetensors keras-h5 pictures onnx onednn cuda nccl mpi)
  if(NOT "${feature}" IN_LIST FEATURES)
    string(REPLACE "-" "_" part "${feature}")
    file(REMOVE "${CURRENT_PACKAGES_DIR}/share/pkgconfig/typenet-${part}.pc")
  endif()
endforeach()
if("compiled" IN_LIST FEATURES)
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
endif()
vcpkg_fixup_pkgconfig(SKIP_CHECK)
set(VCPKG_POLICY_SKIP_PKGCONFIG_CHECK enabled)  # the headers' own modules are in share: they name no library but threads
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/typenet")
