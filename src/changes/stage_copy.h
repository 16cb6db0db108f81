// A stage without an overlay: `--stage=copy`
//
// Where the kernel refuses an overlay (a mount point below the project, files of other owners, a
// state directory that lies on an overlay itself) the command may work in a copy of the project
// instead, which is mounted in its place. What it changed is gathered into a layer when the run is
// over. From then on nothing differs: the list of changes, apply, restore and the rest read a
// layer, and do not ask how it came to be.
//
//   N/upper   the layer; empty until the run is over, or what an earlier run of the stage left
//   N/copy    what the command works in
//   N/names   every name that the copy was made with, with the number and mode of its copy
//
// Which file did the command touch? Its content says nothing, for the host may have changed its own
// meanwhile. Its change time says it: no program can set one, and whatever is done to a file or to
// its name moves it. `names` is written when the copy is whole, and the command is released only
// when a file that is made then is younger than `names`. So a file is untouched if it stands under
// the name of its copy, has the number of its copy, and is no younger than `names`.
//
// Gathering turns the copy into the layer, in steps of which each may be cut off and done again:
//
//   1. For every name that is gone from a directory that is still there, a mark is made in the copy
//      (changes/layer_marks.h). Done twice, it finds its own marks.
//   2. The copy becomes the layer, by a rename.
//   3. What is untouched is removed from it, and directories in which nothing is left. No mark is
//      made from here on: what is missing now was removed by this step.
//   4. `names` is removed.
//
// A copy without `names` belongs to a run that was never started, and is removed.
//
// What the command must not see is not copied: an empty file or directory stands there, under the
// mask.
#pragma once

#include <string>

#include "changes/stage.h"
#include "cordon/result.h"

namespace cordon {

// Fills root.copy from the host's directory, and lays on top of it what root.upper holds: what an
// earlier run of the stage changed.
Result<void> make_stage_copy(const StagedRoot& root, const StageFor& whom);

// After the last process of the run has ended. Returns whether there was something to gather: it
// was not done before.
Result<bool> gather_stage_copy(const StagedRoot& root);

// Of a run that was not started.
Result<void> drop_stage_copy(const StagedRoot& root);

}  // namespace cordon
