# SPDX-License-Identifier: MIT
# Finds libpng and libjpeg with CMake's own modules and defines typenet::picturelibs; sets typenet_pictures_VERSION
# (libpng's), or typenet_pictures_NOT_FOUND_MESSAGE.
if(NOT TARGET typenet::picturelibs)
  block(PROPAGATE typenet_pictures_VERSION typenet_pictures_NOT_FOUND_MESSAGE)
    find_package(PNG 1.6 QUIET)
    find_package(JPEG QUIET)
    unset(typenet_pictures_VERSION)
    if(PNG_FOUND AND JPEG_FOUND)
      set(typenet_pictures_VERSION ${PNG_VERSION_STRING})
      # GLOBAL, and not the modules' own targets: a project that adds typenet as a subdirectory links it from another one.
      add_library(typenet::picturelibs INTERFACE IMPORTED GLOBAL)
      target_include_directories(typenet::picturelibs SYSTEM INTERFACE ${PNG_INCLUDE_DIRS} ${JPEG_INCLUDE_DIRS})
      target_link_libraries(typenet::picturelibs INTERFACE ${PNG_LIBRARIES} ${JPEG_LIBRARIES})
    else()
      set(typenet_pictures_NOT_FOUND_MESSAGE
          "libpng 1.6 and libjpeg; on Debian: apt-get install libpng-dev libjpeg-dev")
    endif()
  endblock()
endif()
