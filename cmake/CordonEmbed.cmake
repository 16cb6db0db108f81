# Turns a text file into a C++ raw string literal that a source can #include. The file is read
# while configuring; a change to it configures anew.
function(cordon_embed_text source output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  file(READ "${source}" text)
  set(literal "R\"cordon(${text})cordon\"\n")
  set(before "")
  if(EXISTS "${output}")
    file(READ "${output}" before)
  endif()
  if(NOT before STREQUAL literal)
    file(WRITE "${output}" "${literal}")
  endif()
endfunction()
