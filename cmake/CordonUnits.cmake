# Units: some twenty sources of one folder are compiled as one. A source of ninety lines spends nearly all of its
# time on headers and templates that its neighbours need as well. A unit never mixes folders, so that a name in an
# unnamed namespace is to be new in its folder only; tests/layers/check_units.py holds that. What one source forgets
# to include another of its unit may have included: the presets without units notice.
option(CORDON_UNITY "Compile several sources of one folder at once" ON)
set(CORDON_UNIT_SIZE 20)

# These stay by themselves, for one of five reasons.
# They define macros before they include.
set(cordon_macros base/hmac_sha1.cc base/sha256.cc config/toml.cc host/git/index.cc host/git/object.cc)
set(cordon_alone ${cordon_macros}
  # A test program brings its own in its place; with a unit it would get both.
  sandbox/bwrap/arguments.cc sandbox/native/build.cc sandbox/native/confine.cc sandbox/native/verify.cc
  run/backends.cc sys/landlock.cc
  # They are compiled for speed: src/CMakeLists.txt.
  config/json.cc config/json_line.cc audit/decode_line.cc
  # Its kernel header does not go with sys/mount.h of every library.
  sys/quota.cc
  # It calls a library that not every program is to be linked with.
  base/base64.cc egress/lookup.cc)
# These form units of their own: who does not read the index of the audit log links no database.
set(cordon_index "^(audit/(index|sqlite)|faces/cli/audit_)")

# Forms the units of one folder.
function(cordon_form_units folder)
  if(NOT CORDON_UNITY)
    return()
  endif()
  set(together "")
  set(index "")
  foreach(source IN LISTS ARGN)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src OUTPUT_VARIABLE name)
    if(name IN_LIST cordon_alone)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      if(name IN_LIST cordon_macros)
        set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
      endif()
    elseif(name MATCHES "${cordon_index}")
      list(APPEND index ${source})
    else()
      list(APPEND together ${source})
    endif()
  endforeach()
  string(REPLACE "/" "_" prefix ${folder})
  cordon_spread(${prefix} ${together})
  cordon_spread(${prefix}_index ${index})
endfunction()

# Evenly over as few units as hold them.
function(cordon_spread prefix)
  set(sources ${ARGN})
  list(SORT sources)
  list(LENGTH sources count)
  math(EXPR units "(${count} + ${CORDON_UNIT_SIZE} - 1) / ${CORDON_UNIT_SIZE}")
  set(at 0)
  foreach(source IN LISTS sources)
    math(EXPR unit "${at} * ${units} / ${count}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${prefix}_${unit})
    math(EXPR at "${at} + 1")
  endforeach()
endfunction()

# For a target whose sources were formed to units. The headers that many units read are compiled once, for
# the first target that wants just these; further ones by name, for a target of its own. The presets without units
# notice who forgot to include them.
function(cordon_compile_units target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${CORDON_UNITY} UNITY_BUILD_MODE GROUP)
  if(NOT CORDON_UNITY)
    return()
  endif()
  get_property(first GLOBAL PROPERTY cordon_common_headers)
  if(first AND NOT ARGN)
    # The compiler takes them only where the options and definitions are the same.
    target_precompile_headers(${target} REUSE_FROM ${first})
    return()
  endif()
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <cerrno> <chrono> <csignal> <cstring> <deque>
                            <functional> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view>
                            <thread> <unordered_map> <variant> <vector> <tl/expected.hpp> ${ARGN})
  if(NOT ARGN)
    set_property(GLOBAL PROPERTY cordon_common_headers ${target})
  endif()
endfunction()
