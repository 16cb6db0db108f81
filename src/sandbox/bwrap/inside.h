// What bubblewrap executes as the first process of a sandbox: it makes sure that it is where it was
// to be, finishes the root with native's own code and is native's first process from there on.
#pragma once

#include "sandbox/native/build.h"

namespace cordon::bwrap {

// `handed` is the descriptor of an EncodedPlan. Returns only if there is nobody to tell.
int begin_inside(int handed);

// The same of a first process that another program than bubblewrap started: `builder` carries out
// what that one has left, and no Landlock rule names the file `landlock_probe`.
int begin_by(int handed, native::Builder builder, const char* landlock_probe);

// Whether a first process could do its work here: it is the first, in a mount namespace of its own,
// and may mount. An exit status.
int try_inside();

}  // namespace cordon::bwrap
