# What `cmake --install` puts in place, in two components: `runtime` (the command, manual pages,
# completions, presets, schemas, an AppArmor profile) is what a release ships; `development` (the
# library with its headers and a CMake package) is for those who build. Whatever can be said by the
# command itself is asked from it, so that it cannot differ.
include(CMakePackageConfigHelpers)

# Directories are made alike whatever the umask of whoever installs, or packs a release.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(made ${PROJECT_BINARY_DIR}/install)
set(made_files "")
# Building the target `cordon` alone does not make these files. An installation without them would
# stop half way, so it says beforehand what to build.
install(SCRIPT ${made}/check_made.cmake COMPONENT runtime)

# A command for another architecture is asked through the emulator of its toolchain file.
set(start_cordon ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:cordon>)

find_program(CORDON_SCDOC scdoc)
if(CORDON_SCDOC)
  foreach(page IN ITEMS cordon cordon-run cordon-session cordon-why cordon-policy cordon-doctor cordon-audit cordon-fleet
                       cordon-changes cordon-mcp cordon-hook cordon-learn cordon-loop cordon-setup cordon-demo cordon-mxc
                       cordon-export cordon-oci cordon-srt cordon-apply cordon-completion)
    set(source ${PROJECT_SOURCE_DIR}/docs/man/${page}.1.scd)
    add_custom_command(OUTPUT ${made}/man/${page}.1
      COMMAND ${CMAKE_COMMAND} -E make_directory ${made}/man
      COMMAND ${CMAKE_COMMAND} "-DCORDON=${start_cordon}" -DSCDOC=${CORDON_SCDOC}
              -DSOURCE=${source} -DOUTPUT=${made}/man/${page}.1
              -P ${PROJECT_SOURCE_DIR}/cmake/make_man.cmake
      DEPENDS cordon ${source} ${PROJECT_SOURCE_DIR}/cmake/make_man.cmake VERBATIM)
    list(APPEND made_files ${made}/man/${page}.1)
    install(FILES ${made}/man/${page}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
            COMPONENT runtime)
  endforeach()
else()
  message(STATUS "scdoc was not found: no manual pages")
endif()

# `memory`, if not empty, replaces the memory limit of a printed policy.
function(cordon_capture output header memory)
  get_filename_component(directory ${output} DIRECTORY)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${directory}
    COMMAND ${CMAKE_COMMAND} "-DCOMMAND=${start_cordon};${ARGN}" -DOUTPUT=${output}
            "-DHEADER=${header}" "-DMEMORY=${memory}" -P ${PROJECT_SOURCE_DIR}/cmake/capture.cmake
    DEPENDS cordon ${PROJECT_SOURCE_DIR}/cmake/capture.cmake VERBATIM)
endfunction()

set(bash_completion ${made}/completions/bash/cordon)
set(zsh_completion ${made}/completions/zsh/_cordon)
set(fish_completion ${made}/completions/fish/cordon.fish)
foreach(shell IN ITEMS bash zsh fish)
  cordon_capture(${${shell}_completion} "" "" help --format=${shell})
  list(APPEND made_files ${${shell}_completion})
endforeach()
install(FILES ${bash_completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        COMPONENT runtime)
install(FILES ${zsh_completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
        COMPONENT runtime)
install(FILES ${fish_completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        COMPONENT runtime)

# Half of the building machine's memory would make two builds of one tree differ.
foreach(preset IN ITEMS strict workspace readonly build agent)
  set(memory "4G")
  set(note " The memory limit is half of the host's, here that of a host with 8 GiB.")
  if(preset STREQUAL "strict")
    set(memory "")
    set(note "")
  endif()
  cordon_capture(${made}/presets/${preset}.toml
    "# The preset ${preset}, to copy from. Cordon does not read this file.${note}" "${memory}"
    policy show ${preset})
  list(APPEND made_files ${made}/presets/${preset}.toml)
  install(FILES ${made}/presets/${preset}.toml DESTINATION ${CMAKE_INSTALL_DATADIR}/cordon/presets
          COMPONENT runtime)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/schema/
        DESTINATION ${CMAKE_INSTALL_DATADIR}/cordon/schema COMPONENT runtime)
# Read by nobody where it lies: the Debian package and docs/install.md say how it comes into force.
install(FILES ${PROJECT_SOURCE_DIR}/packaging/apparmor/cordon
        DESTINATION ${CMAKE_INSTALL_DATADIR}/cordon/apparmor COMPONENT runtime)
# For whoever runs a cluster: docs/kubernetes.md.
install(FILES ${PROJECT_SOURCE_DIR}/packaging/kubernetes/admission.yaml
              ${PROJECT_SOURCE_DIR}/packaging/kubernetes/runtime-class.yaml
        DESTINATION ${CMAKE_INSTALL_DATADIR}/cordon/kubernetes COMPONENT runtime)
add_custom_target(cordon_install_files ALL DEPENDS ${made_files})
file(WRITE ${made}/check_made.cmake "foreach(file IN ITEMS ${made_files})
  if(NOT EXISTS \"\${file}\")
    message(FATAL_ERROR \"\${file} is not made yet. Run this first, as the user who builds:\\n\"
      \"  cmake --build ${PROJECT_BINARY_DIR} --target cordon cordon_install_files\")
  endif()
endforeach()
")

set(cordon_helpers cordon-tools cordon-inside cordon-gate cordon-ship)
if(CORDON_COMPAT)
  list(APPEND cordon_helpers cordon-apply)
endif()
install(TARGETS cordon RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(TARGETS ${cordon_helpers}
        RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cordon COMPONENT runtime)
if(CORDON_COMPAT)
  # Where the SDK of MXC looks for its executor when MXC_BIN_DIR is .../libexec/cordon/mxc.
  set(mxc_directory ${CMAKE_INSTALL_LIBEXECDIR}/cordon/mxc)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(mxc_directory ${mxc_directory}/arm64)
  else()
    set(mxc_directory ${mxc_directory}/x64)
  endif()
  file(MAKE_DIRECTORY ${made}/mxc)
  file(CREATE_LINK ../../cordon-tools ${made}/mxc/lxc-exec SYMBOLIC)
  install(FILES ${made}/mxc/lxc-exec DESTINATION ${mxc_directory} COMPONENT runtime)
  # A directory for PATH: whoever has sandbox-runtime's own srt decides which one is found.
  file(MAKE_DIRECTORY ${made}/srt)
  file(CREATE_LINK ../cordon-tools ${made}/srt/srt SYMBOLIC)
  install(FILES ${made}/srt/srt DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cordon/srt
          COMPONENT runtime)
  # For engines that take the path of a runtime and nothing else.
  file(MAKE_DIRECTORY ${made}/oci)
  file(CREATE_LINK cordon-tools ${made}/oci/cordon-oci SYMBOLIC)
  install(FILES ${made}/oci/cordon-oci DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cordon COMPONENT runtime)
  # SafeClaw starts what SAFECLAW_HELPER_PATH names.
  file(MAKE_DIRECTORY ${made}/safeclaw)
  file(CREATE_LINK ../cordon-apply ${made}/safeclaw/safeclaw-sandbox-helper SYMBOLIC)
  install(FILES ${made}/safeclaw/safeclaw-sandbox-helper
          DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cordon/safeclaw COMPONENT runtime)
endif()
install(TARGETS cordon_core ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cordon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT development FILES_MATCHING PATTERN "*.h")

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/cordon)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/cordonConfig.cmake.in
  ${made}/cordonConfig.cmake INSTALL_DESTINATION ${package_directory}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${made}/cordonConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${made}/cordonConfig.cmake ${made}/cordonConfigVersion.cmake
        DESTINATION ${package_directory} COMPONENT development)

# The linker writes which archives went into each executable: the bill of materials of a release is
# read from there (tools/releasing/materials.py), not typed.
set(CORDON_MAPS ${PROJECT_BINARY_DIR}/maps)
file(MAKE_DIRECTORY ${CORDON_MAPS})
if(CORDON_STATIC AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  foreach(executable IN ITEMS cordon ${cordon_helpers})
    target_link_options(${executable} PRIVATE -Wl,-Map=${CORDON_MAPS}/${executable}.map)
  endforeach()
endif()
