# Makes of an installed tree what Debian expects: compressed manual pages and changelogs, the
# copyright, the overrides of lintian, zsh's completions where Debian's zsh looks. CPack reads this
# before it packs. CPACK_CORDON_THIRD_PARTY, if given, is a directory with the terms of the libraries
# that are linked in.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  message(FATAL_ERROR "SOURCE_DATE_EPOCH is not set; tools/release makes packages")
endif()
set(root ${CPACK_TEMPORARY_DIRECTORY})
if(NOT EXISTS ${root}/usr)
  file(GLOB root ${CPACK_TEMPORARY_DIRECTORY}/*)
endif()
if(NOT EXISTS ${root}/usr/bin/cordon)
  message(FATAL_ERROR "nothing is installed in ${CPACK_TEMPORARY_DIRECTORY}")
endif()
set(doc ${root}/usr/share/doc/cordon)

# gzip's -n leaves name and time out of the file.
function(compress)
  execute_process(COMMAND gzip -9 -n ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(GLOB pages ${root}/usr/share/man/man1/*.1)
compress(${pages})

file(MAKE_DIRECTORY ${root}/usr/share/zsh/vendor-completions)
file(RENAME ${root}/usr/share/zsh/site-functions/_cordon
            ${root}/usr/share/zsh/vendor-completions/_cordon)
file(REMOVE_RECURSE ${root}/usr/share/zsh/site-functions)

set(mode FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
file(COPY ${CPACK_CORDON_SOURCE}/packaging/debian/copyright DESTINATION ${doc} ${mode})
file(COPY ${CPACK_CORDON_SOURCE}/CHANGELOG.md DESTINATION ${doc} ${mode})
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/changelog.Debian
"cordon (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Release ${CPACK_PACKAGE_VERSION}; what changed is in changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
compress(${doc}/changelog ${doc}/changelog.Debian)
if(CPACK_CORDON_THIRD_PARTY)
  file(COPY ${CPACK_CORDON_THIRD_PARTY}/ DESTINATION ${doc}/third-party ${mode})
endif()
file(COPY ${CPACK_CORDON_SOURCE}/packaging/debian/lintian-overrides
     DESTINATION ${root}/usr/share/lintian/overrides ${mode})
file(RENAME ${root}/usr/share/lintian/overrides/lintian-overrides
            ${root}/usr/share/lintian/overrides/cordon)

# The umask of whoever packs does not show.
file(GLOB_RECURSE paths LIST_DIRECTORIES true ${root}/usr/*)
foreach(path IN LISTS paths)
  if(IS_DIRECTORY ${path} AND NOT IS_SYMLINK ${path})
    file(CHMOD ${path} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                   WORLD_READ WORLD_EXECUTE)
  endif()
endforeach()
