// Hosts on which a sandbox cannot be built for a reason that the failing call does not tell: its
// errno is the same for many. Each is looked for by what it is made of and said by name, with the
// change that cures it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace cordon::native {

// Looks, before anything is started, for what would fail later without saying why.
Result<void> check_host(const Plan& plan);

// Refuses devices that are none. A regular file at /dev/null, left by a careless `rm` or `mv`,
// would be mounted like the device, and what the command discards would be written to the host.
Result<void> check_devices(const Plan& plan);

// Replaces what an error of this operation says, if the cause is one of those known here.
void name_cause(const Op& operation, Error& error);

// Refuses writable grants on file systems that are mounted read-only. A mount cannot give back what
// the one below it withholds, so the command would fail at its first write.
Result<void> check_writable(const Plan& plan);

// Whether this process may open as many files as launching the plan takes.
Result<void> check_open_files(const Plan& plan);

// From the text of /proc/self/mountinfo: whether the root is the kernel's first one, which
// pivot_root refuses (EINVAL); what is mounted over parts of /proc, which makes the kernel refuse a
// fresh one in a user namespace (EPERM).
bool root_is_initramfs(std::string_view mountinfo);
std::string initramfs_cure();
std::vector<std::string> mounts_over_proc(std::string_view mountinfo);

// The mount point of the file system that `path` is on if it is mounted noexec, else empty.
std::string noexec_mount(const std::string& path, std::string_view mountinfo);
std::string read_mountinfo();

}  // namespace cordon::native
