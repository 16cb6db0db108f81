// Files and the directory of the audit log: regular, of this user alone, never through a symlink.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::audit {

enum class IfAbsent { Refuse, Make };

// The directory of the log. Making it makes missing parents too, all 0700. One that is a symlink,
// belongs to another user or that others may enter is refused.
Result<Fd> open_private_directory(const std::string& path, IfAbsent absent);

// `name` in the directory, with these flags of open(2). An error carries the errno.
Result<Fd> open_private_file(int directory, const std::string& name, int flags);

}  // namespace cordon::audit
