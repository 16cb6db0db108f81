# What `cmake --install` puts in place: the command, the library with its headers and a CMake
# package, manual pages, completions, presets and schemas. Whatever can be said by the command
# itself is asked from it, so that it cannot differ.
include(CMakePackageConfigHelpers)

set(made ${PROJECT_BINARY_DIR}/install)
set(made_files "")

find_program(CORDON_SCDOC scdoc)
if(CORDON_SCDOC)
  foreach(page IN ITEMS cordon cordon-run cordon-policy cordon-doctor cordon-audit
                       cordon-mcp cordon-hook cordon-loop cordon-setup cordon-demo cordon-mxc
                       cordon-srt cordon-apply)
    set(source ${PROJECT_SOURCE_DIR}/docs/man/${page}.1.scd)
    add_custom_command(OUTPUT ${made}/man/${page}.1
      COMMAND ${CMAKE_COMMAND} -E make_directory ${made}/man
      COMMAND ${CMAKE_COMMAND} -DCORDON=$<TARGET_FILE:cordon> -DSCDOC=${CORDON_SCDOC}
              -DSOURCE=${source} -DOUTPUT=${made}/man/${page}.1
              -P ${PROJECT_SOURCE_DIR}/cmake/make_man.cmake
      DEPENDS cordon ${source} ${PROJECT_SOURCE_DIR}/cmake/make_man.cmake VERBATIM)
    list(APPEND made_files ${made}/man/${page}.1)
    install(FILES ${made}/man/${page}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endforeach()
else()
  message(STATUS "scdoc was not found: no manual pages")
endif()

function(cordon_capture output header)
  get_filename_component(directory ${output} DIRECTORY)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${directory}
    COMMAND ${CMAKE_COMMAND} "-DCOMMAND=$<TARGET_FILE:cordon>;${ARGN}" -DOUTPUT=${output}
            "-DHEADER=${header}" -P ${PROJECT_SOURCE_DIR}/cmake/capture.cmake
    DEPENDS cordon ${PROJECT_SOURCE_DIR}/cmake/capture.cmake VERBATIM)
endfunction()

set(bash_completion ${made}/completions/bash/cordon)
set(zsh_completion ${made}/completions/zsh/_cordon)
set(fish_completion ${made}/completions/fish/cordon.fish)
foreach(shell IN ITEMS bash zsh fish)
  cordon_capture(${${shell}_completion} "" help --format=${shell})
  list(APPEND made_files ${${shell}_completion})
endforeach()
install(FILES ${bash_completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${zsh_completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${fish_completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

foreach(preset IN ITEMS strict workspace readonly build agent)
  cordon_capture(${made}/presets/${preset}.toml
    "# The preset ${preset}, to copy from. Cordon does not read this file. The memory limit of every preset but strict is half of the host's, here that of the machine that built it."
    policy show ${preset})
  list(APPEND made_files ${made}/presets/${preset}.toml)
  install(FILES ${made}/presets/${preset}.toml DESTINATION ${CMAKE_INSTALL_DATADIR}/cordon/presets)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/schema/policy.schema.json
              ${PROJECT_SOURCE_DIR}/schema/report.schema.json
              ${PROJECT_SOURCE_DIR}/schema/audit.schema.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/cordon/schema)
add_custom_target(cordon_install_files ALL DEPENDS ${made_files})

install(TARGETS cordon RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS cordon-audit cordon-mcp cordon-loop cordon-setup cordon-demo cordon-mxc
                cordon-srt cordon-apply cordon-inside
        RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cordon)
# Where the SDK of MXC looks for its executor when MXC_BIN_DIR is .../libexec/cordon/mxc.
set(mxc_directory ${CMAKE_INSTALL_LIBEXECDIR}/cordon/mxc)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(mxc_directory ${mxc_directory}/arm64)
else()
  set(mxc_directory ${mxc_directory}/x64)
endif()
file(MAKE_DIRECTORY ${made}/mxc)
file(CREATE_LINK ../../cordon-mxc ${made}/mxc/lxc-exec SYMBOLIC)
install(FILES ${made}/mxc/lxc-exec DESTINATION ${mxc_directory})
# A directory for PATH: whoever has sandbox-runtime's own srt decides which one is found.
file(MAKE_DIRECTORY ${made}/srt)
file(CREATE_LINK ../cordon-srt ${made}/srt/srt SYMBOLIC)
install(FILES ${made}/srt/srt DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cordon/srt)
# SafeClaw starts what SAFECLAW_HELPER_PATH names.
file(MAKE_DIRECTORY ${made}/safeclaw)
file(CREATE_LINK ../cordon-apply ${made}/safeclaw/safeclaw-sandbox-helper SYMBOLIC)
install(FILES ${made}/safeclaw/safeclaw-sandbox-helper
        DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cordon/safeclaw)
install(TARGETS cordon_core ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cordon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/cordon)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/cordonConfig.cmake.in
  ${made}/cordonConfig.cmake INSTALL_DESTINATION ${package_directory}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${made}/cordonConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${made}/cordonConfig.cmake ${made}/cordonConfigVersion.cmake
        DESTINATION ${package_directory})
