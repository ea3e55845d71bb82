# SPDX-License-Identifier: MIT
# Finds a serial HDF5 (1.10 or later) by header and library and defines typenet::hdf5; sets typenet_hdf5_VERSION, or
# typenet_hdf5_NOT_FOUND_MESSAGE. Not by CMake's FindHDF5: that wants the language C, and takes whichever of Debian's
# three builds the compiler wrappers belong to. Look elsewhere with CMAKE_PREFIX_PATH, or set TYPENET_HDF5_INCLUDE_DIR
# and TYPENET_HDF5_LIBRARY.
if(NOT TARGET typenet::hdf5)
  find_path(TYPENET_HDF5_INCLUDE_DIR H5public.h PATH_SUFFIXES hdf5/serial)
  find_library(TYPENET_HDF5_LIBRARY NAMES hdf5_serial hdf5 PATH_SUFFIXES hdf5/serial)
  mark_as_advanced(TYPENET_HDF5_INCLUDE_DIR TYPENET_HDF5_LIBRARY)

  unset(typenet_hdf5_VERSION)
  set(typenet_hdf5_NOT_FOUND_MESSAGE "HDF5 1.10 or later, built without MPI; on Debian: apt-get install libhdf5-dev")
  if(TYPENET_HDF5_INCLUDE_DIR AND TYPENET_HDF5_LIBRARY)
    set(version "")
    foreach(part IN ITEMS MAJOR MINOR RELEASE)
      file(STRINGS "${TYPENET_HDF5_INCLUDE_DIR}/H5public.h" line REGEX "#define +H5_VERS_${part} +[0-9]+")
      if(line MATCHES "H5_VERS_${part} +([0-9]+)")
        list(APPEND version ${CMAKE_MATCH_1})
      endif()
    endforeach()
    list(JOIN version "." version)
    # One built with MPI includes mpi.h.
    set(parallel "")
    foreach(file IN ITEMS H5pubconf.h H5pubconf-64.h)
      if(EXISTS "${TYPENET_HDF5_INCLUDE_DIR}/${file}")
        file(STRINGS "${TYPENET_HDF5_INCLUDE_DIR}/${file}" line REGEX "#define +H5_HAVE_PARALLEL +1")
        string(APPEND parallel "${line}")
      endif()
    endforeach()
    if(version VERSION_GREATER_EQUAL 1.10 AND parallel STREQUAL "")
      set(typenet_hdf5_VERSION ${version})
      # GLOBAL: a project that adds typenet as a subdirectory links it from another directory.
      add_library(typenet::hdf5 INTERFACE IMPORTED GLOBAL)
      target_include_directories(typenet::hdf5 SYSTEM INTERFACE "${TYPENET_HDF5_INCLUDE_DIR}")
      target_link_libraries(typenet::hdf5 INTERFACE "${TYPENET_HDF5_LIBRARY}")
    endif()
  endif()
endif()
