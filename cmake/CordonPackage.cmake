# What CPack makes of an installation: a Debian package of the component `runtime`. tools/release
# calls it, with a date of its own (SOURCE_DATE_EPOCH) so that two packages of one tree are equal.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cordon)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CORDON_MAINTAINER "Cordon maintainers <maintainers@cordon.example>" CACHE STRING
    "Who answers for a package: NAME <ADDRESS>")
set(CPACK_PACKAGE_CONTACT ${CORDON_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 1)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
else()
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
endif()
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "apparmor, bubblewrap, libpq5")
# xz would save a quarter of the size for ten times the work.
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "run commands inside a boundary that the kernel enforces")
# CPack puts the summary above it and indents the lines.
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Cordon is made for code that an AI agent wrote or fetched. A command can
change the project directory and nothing else, sees no credentials and
reaches no network, unless the caller says so and the operator's ceiling
permits it. Every run ends with a report of what was enforced, read back
from inside the sandbox before the command started.
.
What cannot be enforced is refused: there is no mode without a sandbox.")
set(debian ${PROJECT_SOURCE_DIR}/packaging/debian)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${debian}/postinst ${debian}/prerm ${debian}/postrm ${debian}/triggers)

# Read by cmake/debian_layout.cmake, which runs over what was installed before it is packed.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian_layout.cmake)
set(CPACK_CORDON_SOURCE ${PROJECT_SOURCE_DIR})
include(CPack)
