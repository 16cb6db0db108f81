#include "changes/skip_marks.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/path.h"
#include "host/git_index.h"
#include "host/look.h"
#include "host/worktree.h"

namespace cordon {
namespace {

// The top of the work tree that `path` lies in, if its index may be changed; else empty.
std::string top_around(const std::string& path, const Caller& caller) {
  for (std::string_view up = parent(path); up != "/"; up = parent(up)) {
    const std::string top(up);
    const auto git = look_path(join(top, ".git"));
    if (!git) continue;
    if (git->kind == FileKind::Directory) return top;
    const auto pointer = follow_git_file(top, caller);
    return pointer && pointer->leads_back ? top : std::string();
  }
  return {};
}

}  // namespace

void follow_in_indexes(const std::vector<ChangeRecord>& before,
                       const std::vector<ChangeRecord>& now, const Caller& caller) {
  std::map<std::pair<std::string, SkipMark>, std::vector<std::string>> names;
  for (std::size_t i = 0; i < now.size() && i < before.size(); ++i) {
    const ChangeRecord& record = now[i];
    if (record.change != Change::Kind::Added || record.kept.empty()) continue;
    const bool is_applied = record.state == Change::State::Applied;
    if (!is_applied && before[i].state != Change::State::Applied) continue;
    const std::string top = top_around(record.path, caller);
    if (top.empty()) continue;
    names[{top, is_applied ? SkipMark::Clear : SkipMark::Set}].push_back(
        record.path.substr(top.size() + 1));
  }
  for (const auto& [where, paths] : names)
    (void)mark_skip_worktree_in(where.first, paths, where.second);
}

}  // namespace cordon
