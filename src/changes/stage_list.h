// list_stage: what a run changed, read from the layer that it wrote into.
//
// The upper directory of an overlay holds exactly what was written: files that were made, copies of
// those that were changed or only opened for writing, a character device 0:0 (a whiteout) for each
// name that was removed, and a mark on each directory that hides what the host has under its name.
// It is walked beside the host's directory, by descriptor, following nothing. One look above and
// one below for each name in it: the price is that of the changes, not of the tree.
//
//   whiteout                    deleted, with everything below, if the host has it
//   nothing on the host         added
//   another type                type; what was in a directory that is gone is deleted
//   both directories            mode, if that differs; then what is in them
//   both files, both links      modified, or mode; nothing if they are equal: opened is not changed
//   marked directory            what the host has in it and the upper has not is deleted too
//
// The files of a git directory hang together, so none of them is taken alone: what is told of it
// are branches and the commits that they lead to (changes/stage_git_list.h), or it is one entry.
//
// Who else changed it? The host goes on working while a run lasts. A change is a conflict if what
// the host has was changed after the run began, by its change time, which no program can set; or if
// it was copied up and is gone, in a directory that changed meanwhile. Of a directory a new name in
// it is no conflict; a rename or another mode is, which moves the change time alone. What is
// recorded here of the host's object is compared once more when the change is applied.
//
// Change times go by ticks. One that equals the beginning of the run counts as before: the command
// did not run yet, and what the host wrote until then the command has seen.
//
// A stage that a later run went on in counts from the beginning of its first run: a file that was
// only opened then hides what the host wrote since, and nothing tells that from a file that is
// first touched now. What was listed before and did not conflict then does not conflict as long as
// the host has the same object still, which may be younger: a restore put it there.
#pragma once

#include <string>
#include <vector>

#include "changes/manifest.h"
#include "changes/stage.h"
#include "cordon/result.h"

namespace cordon {

// Sorted by path. Held or in conflict; `reason` says what protects it and is empty for an ordinary
// change; `kept` lies in the upper; `base` is the mark of what the host has.
// `known` is the list of the stage that this one went on from, sorted by path.
Result<std::vector<ChangeRecord>> list_stage(const StageRecord& record,
                                             const std::vector<ChangeRecord>& known = {});

// What the host has under a name, as text to be compared later: "absent", or type, identity, mode,
// size and times. Of a directory identity and mode alone.
std::string host_mark(int directory, const std::string& name);

}  // namespace cordon
