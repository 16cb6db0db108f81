#pragma once

#include <cstdint>

namespace cordon::sys {

// The project that the quota of a file system counts this file or directory for; 0: none. The
// kernel renames nothing from one project into another.
std::uint32_t quota_project(int fd);

}  // namespace cordon::sys
