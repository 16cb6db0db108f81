# Warnings, hardening and sanitizers for every target of the project.
include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)
add_library(cordon_flags INTERFACE)
target_compile_options(cordon_flags INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wformat=2 -Wswitch-enum -Wimplicit-fallthrough
  -Wundef -Wnull-dereference -Wvla -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(cordon_flags INTERFACE -Wduplicated-cond -Wlogical-op -Wuseless-cast)
endif()

# Paths of the build machine stay out of the binary, so two builds of one tree are equal.
target_compile_options(cordon_flags INTERFACE
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=build
  -fstack-protector-strong -fno-strict-overflow)
foreach(flag IN ITEMS -fstack-clash-protection -mbranch-protection=standard -fcf-protection=full)
  string(MAKE_C_IDENTIFIER "CORDON_HAS${flag}" known)
  check_cxx_compiler_flag("${flag} -Werror" ${known})
  if(${known})
    target_compile_options(cordon_flags INTERFACE ${flag})
  endif()
endforeach()
# What nothing calls is not linked: every page of the binary that is touched costs at each start.
target_compile_options(cordon_flags INTERFACE -ffunction-sections -fdata-sections)
target_link_options(cordon_flags INTERFACE -Wl,--gc-sections)
target_link_options(cordon_flags INTERFACE -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--as-needed)

if(CORDON_SANITIZE)
  target_compile_options(cordon_flags INTERFACE
    -fsanitize=${CORDON_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(cordon_flags INTERFACE -fsanitize=${CORDON_SANITIZE})
  # The usual linker takes half a minute for each of these programs.
  check_linker_flag(CXX -fuse-ld=lld CORDON_HAS_LLD)
  if(CORDON_HAS_LLD)
    target_link_options(cordon_flags INTERFACE -fuse-ld=lld)
  endif()
  # Each check has an address of its own in the data. A program that may lie anywhere would have four million of them
  # written at every start, 100 MB of pages.
  check_linker_flag(CXX -no-pie CORDON_HAS_NO_PIE)
  if(CORDON_SANITIZE MATCHES "address" AND NOT CORDON_FUZZ AND CORDON_HAS_NO_PIE)
    target_link_options(cordon_flags INTERFACE -no-pie)
  endif()
else()
  # Fortify needs optimisation and hides what the sanitizers look for.
  target_compile_options(cordon_flags INTERFACE
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
    $<$<AND:$<NOT:$<CONFIG:Debug>>,$<CXX_COMPILER_ID:GNU>>:-D_FORTIFY_SOURCE=3>
    $<$<AND:$<NOT:$<CONFIG:Debug>>,$<NOT:$<CXX_COMPILER_ID:GNU>>>:-D_FORTIFY_SOURCE=2>)
endif()
