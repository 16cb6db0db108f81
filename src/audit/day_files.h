// The files of the log: one for each UTC day, YYYY-MM-DD.jsonl.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::audit {

std::string file_of_day(const std::string& day);
// The days that have a file, in order. `directory` is a descriptor of the audit directory.
Result<std::vector<std::string>> list_days(int directory);

}  // namespace cordon::audit
