// Taking the changes of a stage: apply puts them on the host, restore undoes that, discard drops
// them.
//
// A stage has many changes, and they hang together: a file comes with the directories that were
// made for it, and a directory goes after what was in it. So they are taken as one batch, in an
// order that makes every moment a point to crash at:
//
//   1. Each change is compared with what the host has now. What is not as it was recorded at the
//   end
//      of the run is a conflict: both versions stay, and nothing is overwritten.
//   2. What is about to be done is noted, with a word that nobody can guess, and made durable.
//   3. What will be replaced or removed is copied to stages/ID/replaced, and made durable.
//   4. Directories are made, and each new version is written where it waits (changes/stage_batch.h)
//      under a name that begins with that word. All of it is made durable.
//   5. Each version is renamed into its place, after one more look at what is there; what was
//   deleted
//      is removed, the innermost first; modes of directories come last.
//   6. That is made durable, and then the note says that they are applied.
//
// Whoever comes after a crash (power, SIGKILL and Ctrl-C alike) finds the word in the note. Of each
// change that was under way the host either has the new version, and it is noted as applied, or has
// the old one, and it is held as before; names that begin with the word are removed. No file is
// ever half written, and what was replaced lies in `replaced` until it is dropped.
//
// Commits are taken in the same batch (changes/stage_git.h): a repository's objects are put before
// step 5, its refs are locked until the files are in place, and moved then.
//
// A path that waits for a reason, because something on the host runs it, is taken only if it is
// named. Set-id bits, sockets, devices, links that lead out and files of git directories are not
// taken at all.
#pragma once

#include <string>
#include <vector>

#include "changes/git_courier.h"
#include "changes/manifest.h"
#include "changes/stage.h"
#include "changes/take.h"
#include "cordon/result.h"

namespace cordon {

// Each works on the records below `paths`, or without any on all that need no name, and writes the
// manifest before and after. Without a courier no commits arrive.
Result<Taken> apply_stage(const std::string& handoff, Manifest& manifest, const Stage& stage,
                          const std::vector<std::string>& paths, GitCourier* courier);
Result<Taken> restore_stage(const std::string& handoff, Manifest& manifest, const Stage& stage,
                            const std::vector<std::string>& paths);
Result<Taken> discard_stage(const std::string& handoff, Manifest& manifest, const Stage& stage,
                            const std::vector<std::string>& paths);

// After a crash: finds out what of a batch was done. Nothing to do without a word in the note.
Result<void> finish_batch(const std::string& handoff, Manifest& manifest, const Stage& stage);

}  // namespace cordon
