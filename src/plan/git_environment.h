// Settings of git's that a run is given by variables, so that no file has to hold them.
//
// Git knows a file by what stat told when it last read it: size, times, owner, device and inode. In
// a run the private copies of protected files have the size and the modification time of what they
// were copied from, but are other objects; and where root runs the command as the owner of the
// project, or in a user namespace, every file shows another owner; so it does in a stage, where a
// file that was written is another object besides. Git would take all of these for changed until it
// has read them again: `git apply --index` and `git sparse-checkout set` look first and refuse, and
// `git status` would write times into the index that are wrong outside.
//
// `core.checkStat = minimal` has git compare size and modification time alone, and
// `core.trustctime = false` leaves out the time of the last change of the inode. Neither runs
// anything nor hides a change: a file whose time is that of the index is read anyway.
#pragma once

#include <string>
#include <vector>

namespace cordon {

// Adds them behind the settings that the environment has already (GIT_CONFIG_COUNT). Where that
// number is none, git refuses it, and the environment is left as it is.
void add_git_stat_settings(std::vector<std::string>& environment);

}  // namespace cordon
