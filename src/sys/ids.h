// Changing who this process is, by raw calls: the library's wrappers would signal the threads of
// the process that this one was copied from. All answer 0 or -errno.
#pragma once

#include <cstdint>

namespace cordon::sys {

// True if this process may take any uid and gid that its user namespace has.
bool may_change_ids();
// True if a user namespace that it makes may have its uid 0 (Linux 5.12 and newer ask for
// CAP_SETFCAP).
bool may_map_root();
// True if it may take capabilities out of what programs can ever get. Root of a container often may
// not.
bool may_empty_bounding_set();
// Gives up every capability but those that change ids.
int keep_only_id_capabilities();
// This uid and gid, real, effective and saved, and no supplementary groups.
int become(std::uint32_t uid, std::uint32_t gid);

}  // namespace cordon::sys
