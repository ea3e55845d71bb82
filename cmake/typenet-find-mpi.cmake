# SPDX-License-Identifier: MIT
# Finds MPI with CMake's FindMPI and defines typenet::mpilib; sets typenet_mpi_VERSION (of the standard) and
# typenet_mpi_MPIEXEC, or typenet_mpi_NOT_FOUND_MESSAGE. Choose among several with MPI_HOME or MPI_CXX_COMPILER.
if(NOT TARGET typenet::mpilib)
  block(PROPAGATE typenet_mpi_VERSION typenet_mpi_MPIEXEC typenet_mpi_NOT_FOUND_MESSAGE)
    set(MPI_CXX_SKIP_MPICXX ON)
    find_package(MPI QUIET COMPONENTS CXX)
    unset(typenet_mpi_VERSION)
    if(MPI_CXX_FOUND AND MPI_CXX_VERSION VERSION_GREATER_EQUAL 3)
      set(typenet_mpi_VERSION ${MPI_CXX_VERSION})
      set(typenet_mpi_MPIEXEC "${MPIEXEC_EXECUTABLE}")
      # GLOBAL, and not FindMPI's own target: a project that adds typenet as a subdirectory links it from another one. The
      # C++ bindings are not used.
      add_library(typenet::mpilib INTERFACE IMPORTED GLOBAL)
      target_include_directories(typenet::mpilib SYSTEM INTERFACE ${MPI_CXX_INCLUDE_DIRS})
      target_compile_definitions(typenet::mpilib INTERFACE ${MPI_CXX_COMPILE_DEFINITIONS})
      set(typenet_mpi_libraries ${MPI_CXX_LIBRARIES})
      list(FILTER typenet_mpi_libraries EXCLUDE REGEX "libmpi(_cxx|cxx)\\.")
      target_link_libraries(typenet::mpilib INTERFACE ${typenet_mpi_libraries})
      target_link_options(typenet::mpilib INTERFACE ${MPI_CXX_LINK_FLAGS})
    else()
      set(typenet_mpi_NOT_FOUND_MESSAGE "MPI 3 or later; on Debian: apt-get install libopenmpi-dev openmpi-bin")
    endif()
  endblock()
endif()
