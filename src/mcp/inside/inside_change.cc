// Replacing a file, and exact edits of one. Both know what they replace: a file that is not what
// the caller has seen, or that changes meanwhile, is left alone.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/path.h"
#include "base/sha256.h"
#include "base/text.h"
#include "mcp/inside/inside.h"
#include "mcp/inside/line_diff.h"
#include "mcp/inside/whole_file.h"
#include "mcp/members.h"
#include "mcp/tools/file_inside.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMostReplaced = std::size_t{64} << 20U;
constexpr std::size_t kMostEdited = std::size_t{8} << 20U;
constexpr std::size_t kMostDiff = 40'000;

Node fault(std::string_view what) {
  Node node{NodeMap{}};
  node.set("fault", what);
  return node;
}

// Whether the file is the one the caller has seen. Nothing: it is, or nothing was said about it.
std::optional<Node> unexpected(const Node& request, const std::string& is) {
  const std::string* expected = text_member(request, "expected_sha256");
  if (expected == nullptr || *expected == is) return std::nullopt;
  Node node = fault("changed");
  node.set("sha256", is);
  return node;
}

// Programs that know nothing of our lock may have written since.
bool is_still(const std::string& path, const Or<WholeFile>& seen) {
  const auto now = version_of(path);
  if (!now) return now.error() == ENOENT && !seen && seen.error() == ENOENT;
  return seen && *now == seen->version;
}

int make_directories(const std::string& path) {
  if (path == "/" || ::access(path.c_str(), F_OK) == 0) return 0;
  if (const int failed = make_directories(std::string(parent(path)))) return failed;
  constexpr mode_t kDirectory = 0777;
  return ::mkdir(path.c_str(), kDirectory) < 0 && errno != EEXIST ? errno : 0;
}

std::optional<unsigned> wanted_mode(const Node& request) {
  const std::string* text = text_member(request, "mode");
  if (text == nullptr || text->size() != 4) return std::nullopt;
  unsigned mode = 0;
  for (const char digit : *text) {
    if (digit < '0' || digit > '7') return std::nullopt;
    mode = mode * 8 + static_cast<unsigned>(digit - '0');
  }
  return mode;
}

std::size_t occurrences(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size())) {
    ++count;
  }
  return count;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (;;) {
    const std::size_t at = text.find(from);
    result.append(text.substr(0, at));
    if (at == std::string_view::npos) return result;
    result.append(to);
    text.remove_prefix(at + from.size());
  }
}

// The content after all edits, or what is wrong with the first that cannot be made.
tl::expected<std::string, Node> edited(std::string content, const NodeList& edits) {
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const std::string* from = text_member(edits[i], "old");
    const std::string* to = text_member(edits[i], "new");
    const auto wanted = static_cast<std::size_t>(number_member(edits[i], "count").value_or(1));
    if (from == nullptr || to == nullptr || from->empty()) {
      return tl::make_unexpected(fault("malformed"));
    }
    const std::size_t found = occurrences(content, *from);
    if (found != wanted) {
      Node node = fault("count");
      node.set("edit", i).set("found", found).set("wanted", wanted);
      const bool ends_differ = content.find("\r\n") != std::string::npos &&
                               from->find('\n') != std::string::npos &&
                               from->find("\r\n") == std::string::npos;
      node.set("line_ends_differ", ends_differ);
      return tl::make_unexpected(std::move(node));
    }
    content = replaced(content, *from, *to);
    if (content.size() > 2 * kMostEdited) return tl::make_unexpected(fault("large"));
  }
  return content;
}

}  // namespace

InsideReply write_inside(const std::string& path, const Node& request) {
  const std::string* content = text_member(request, "content");
  if (content == nullptr) return tl::make_unexpected(EINVAL);
  if (flag_member(request, "create_dirs")) {
    if (const int failed = make_directories(std::string(parent(path)))) {
      return tl::make_unexpected(failed);
    }
  }
  const auto lock = lock_for_change(path);
  if (!lock) return tl::make_unexpected(lock.error());
  const auto old = read_whole(path, kMostReplaced);
  if (!old && old.error() != ENOENT && old.error() != EACCES) {
    return tl::make_unexpected(old.error());
  }
  std::string before = old || old.error() != ENOENT ? "unknown" : "none";
  if (old && old->content.size() == old->version.size) before = sha256_hex(old->content);
  if (auto node = unexpected(request, before)) return std::move(*node);
  const bool minds = text_member(request, "expected_sha256") != nullptr;
  if (minds && !is_still(path, old)) return fault("changed");
  if (const int failed = put_file(path, *content, wanted_mode(request))) {
    return tl::make_unexpected(failed);
  }
  Node answer{NodeMap{}};
  answer.set("sha256", sha256_hex(*content)).set("previous_sha256", before);
  return answer;
}

InsideReply edit_inside(const std::string& path, const Node& request) {
  const Node* list = request.find("edits");
  const NodeList* edits = list != nullptr ? list->list() : nullptr;
  if (edits == nullptr) return tl::make_unexpected(EINVAL);
  const auto lock = lock_for_change(path);
  if (!lock) return tl::make_unexpected(lock.error());
  const auto old = read_whole(path, kMostEdited);
  if (!old) return tl::make_unexpected(old.error());
  if (old->content.size() != old->version.size) return fault("large");
  const std::string before = sha256_hex(old->content);
  if (auto node = unexpected(request, before)) return std::move(*node);
  const auto changed = edited(old->content, *edits);
  if (!changed) return changed.error();
  if (!flag_member(request, "dry_run")) {
    if (!is_still(path, old)) return fault("changed");
    if (const int failed = put_file(path, *changed, std::nullopt)) {
      return tl::make_unexpected(failed);
    }
  }
  Node answer{NodeMap{}};
  answer.set("sha256", sha256_hex(*changed))
      .set("previous_sha256", before)
      .set("diff", to_utf8(line_diff(old->content, *changed, kMostDiff)));
  return answer;
}

}  // namespace cordon::mcp
