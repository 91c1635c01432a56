# SPDX-License-Identifier: LGPL-2.1-or-later
#
#	find_package(vperfctr 0.1 REQUIRED)			libvperfctr
#	find_package(vperfctr REQUIRED COMPONENTS event)	libvperfctr-event as well
#	target_link_libraries(program PRIVATE vperfctr::event)	or vperfctr::vperfctr
#
# The targets are the shared libraries, beside which this file is installed.

get_filename_component(_vperfctr_libdir "${CMAKE_CURRENT_LIST_DIR}/../.." REALPATH)

# Debian and others have one or two more directories in the library's path.
find_path(vperfctr_INCLUDE_DIR vperfctr.h
	PATHS "${_vperfctr_libdir}/../include" "${_vperfctr_libdir}/../../include"
	NO_DEFAULT_PATH)
find_path(vperfctr_INCLUDE_DIR vperfctr.h)
mark_as_advanced(vperfctr_INCLUDE_DIR)

foreach(_vperfctr_name vperfctr event)
	if(_vperfctr_name STREQUAL "event")
		set(_vperfctr_file "${_vperfctr_libdir}/libvperfctr-event.so")
	else()
		set(_vperfctr_file "${_vperfctr_libdir}/libvperfctr.so")
	endif()
	set(vperfctr_${_vperfctr_name}_FOUND FALSE)
	if(vperfctr_INCLUDE_DIR AND EXISTS "${_vperfctr_file}")
		set(vperfctr_${_vperfctr_name}_FOUND TRUE)
		if(NOT TARGET vperfctr::${_vperfctr_name})
			add_library(vperfctr::${_vperfctr_name} SHARED IMPORTED)
			set_target_properties(vperfctr::${_vperfctr_name} PROPERTIES
				IMPORTED_LOCATION "${_vperfctr_file}"
				INTERFACE_INCLUDE_DIRECTORIES "${vperfctr_INCLUDE_DIR}")
		endif()
	endif()
endforeach()
if(TARGET vperfctr::event)
	set_property(TARGET vperfctr::event PROPERTY INTERFACE_LINK_LIBRARIES vperfctr::vperfctr)
endif()

set(vperfctr_FOUND ${vperfctr_vperfctr_FOUND})
if(NOT vperfctr_FOUND)
	set(vperfctr_NOT_FOUND_MESSAGE "libvperfctr.so or vperfctr.h is missing beside ${CMAKE_CURRENT_LIST_DIR}")
endif()
foreach(_vperfctr_name ${vperfctr_FIND_COMPONENTS})
	if(vperfctr_FIND_REQUIRED_${_vperfctr_name} AND NOT vperfctr_${_vperfctr_name}_FOUND)
		set(vperfctr_FOUND FALSE)
		set(vperfctr_NOT_FOUND_MESSAGE "vperfctr has no ${_vperfctr_name} here: its components are vperfctr and event")
	endif()
endforeach()
