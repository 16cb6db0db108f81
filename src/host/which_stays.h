// which_stays: a protected file was changed while a command ran that could write it. Who wrote?
//
// Without mounts the command and the person outside write the same file with the same rights, and
// the kernel remembers neither of them. A time tells nothing: a command can wait until the person
// works. So Cordon never guesses whose change it is; it asks what the newer content can do.
//
// - If nothing in the change makes a program of the host run something, or sends the person's work
//   or fetches the person's code somewhere else, the newer file stays. What was there before is put
//   into handoff/ and named.
// - Otherwise what was there before comes back, and the newer file is put into handoff/ and named.
//
// Nothing is lost in either case. A person who changed such a file during a run finds the change in
// handoff/, with the path in the report; a command's change never works on the host unseen.
//
// What runs nothing has to be proved, so only git's configuration can stay: Cordon reads it. The
// change has to be one that git itself writes in ordinary work: sections for remotes, branches and
// submodules that were not there, with keys of the list of harmless ones, and addresses that are
// https, ssh, git or host:path. Every setting that was there has to be there still, with the same
// value and in the same order, because the last one of a name wins. An address of an existing
// remote that changes is not harmless: the next push goes there.
//
// Of hooks, settings of editors and agents, and start-up files of shells nobody can prove that they
// run nothing. What was there before comes back.
#pragma once

#include <string_view>

#include "host/git_config.h"
#include "policy/keeping.h"

namespace cordon {

// https, ssh, git, or host:path as scp writes it; never a path of this machine.
bool is_address_of_a_host(std::string_view address);
// A setting that runs nothing and says where work comes from or goes: an address, a refspec, the
// remote of a branch. In a section that was there before it may not change unseen.
bool leads_somewhere(const GitSetting& setting);

enum class Stays { Original, Newer };

Stays which_stays(KeptPath::Form form, std::string_view original, std::string_view newer);

}  // namespace cordon
