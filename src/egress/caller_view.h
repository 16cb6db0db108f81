// What a waiting caller sees of files: its root, where it stands, its mask. Read from /proc and
// checked to be its own, as everything of a WaitingCall. Functions answer 0 or an errno.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "egress/waiting_call.h"

namespace cordon {

int open_root_of(const WaitingCall& call, Fd& root);
int open_directory_of(const WaitingCall& call, Fd& directory);
// The same as a name below that root.
int read_directory_of(const WaitingCall& call, std::string& directory);
int read_mask_of(const WaitingCall& call, std::uint32_t& mask);

}  // namespace cordon
