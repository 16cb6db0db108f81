// copy_layer: what lies in the upper directory of an overlay, copied so that another overlay shows
// the same.
//
// A fork could be an overlay on top of the first upper instead, which copies nothing. Then the
// first stage could not be applied, discarded or continued as long as a fork of it lives, and a
// change list would have to be read from all layers together. A copy costs what was changed, not
// what the project is, and file systems that can share blocks share them.
//
// Beside files, directories and links an upper has whiteouts (character devices 0:0, which anybody
// may make) and `user.overlay.` attributes, which say what a directory hides and what was copied
// up. Both are copied. Two names of one file become two files.
#pragma once

#include <string>

namespace cordon {

// The contents of directory `from` into `into`, which is there and empty, and the mode and the
// attributes of `from` itself. Nothing is followed. Owners are kept where the caller is root. 0 or
// errno; then part of it is there.
int copy_layer(const std::string& from, const std::string& into);

}  // namespace cordon
