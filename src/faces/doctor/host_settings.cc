#include "faces/doctor/host_settings.h"

#include <sys/stat.h>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/walk.h"

namespace cordon {
namespace {

// What a host remembers of every project stands in one of its files.
constexpr MessageBounds kBounds{std::size_t{16} << 20U, 1'000'000};

// Without lines that are nothing but a comment, which some hosts write themselves. No text of JSON
// goes on over the end of a line, so such a line is never part of one.
std::string without_comment_lines(std::string_view text) {
  std::string kept;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || !line.substr(begin).starts_with("//")) {
      kept.append(line);
    }
    kept.push_back('\n');
  }
  return kept;
}

tl::expected<Node, std::string> parsed(const std::string& path, const std::string& text) {
  if (path.ends_with(".toml")) {
    auto document = read_toml(text, path);
    if (!document) return tl::make_unexpected(document.error().what);
    return std::move(*document);
  }
  auto document = read_json_message(without_comment_lines(text), kBounds);
  if (!document) return tl::make_unexpected(document.error().what);
  return std::move(*document);
}

bool lists(const Node* list, std::string_view word) {
  return list != nullptr && list->list() != nullptr &&
         std::ranges::any_of(*list->list(), [&](const Node& item) {
           return item.text() != nullptr && *item.text() == word;
         });
}

// The first of the names that no list at `keys` holds; nothing if all are held. `where` is the last
// file that holds one.
std::optional<std::string_view> not_listed(std::span<const Settings> files,
                                           std::initializer_list<std::string_view> keys,
                                           std::span<const std::string_view> names,
                                           std::string& where) {
  for (const std::string_view name : names) {
    const auto holds = std::ranges::find_if(
        files, [&](const Settings& settings) { return lists(at(settings.document, keys), name); });
    if (holds == files.end()) return name;
    where = holds->path;
  }
  return std::nullopt;
}

}  // namespace

void SettingsFiles::add(const std::string& path) {
  const bool known = std::ranges::find(look_.looked_at, path) != look_.looked_at.end() ||
                     std::ranges::any_of(look_.unread, [&](const std::string& line) {
                       return line.starts_with(path + ": ");
                     });
  if (known) return;
  const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.valid()) {
    if (errno != ENOENT && errno != ENOTDIR) unread(path, std::strerror(errno));
    return;
  }
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return unread(path, "it is no file");
  }
  const auto text = read_all(file.get(), kBounds.bytes);
  if (!text) return unread(path, "it is too long");
  auto document = parsed(path, *text);
  if (!document) return unread(path, document.error());
  look_.looked_at.push_back(path);
  read_.push_back({path, std::move(*document)});
}

void SettingsFiles::add_all_in(const std::string& directory) {
  for (const std::string& name : names_in(look_, directory)) {
    if (name.ends_with(".json")) add(join(directory, name));
  }
}

void SettingsFiles::add_upward(const std::string& project, std::string_view name) {
  for (const std::string& directory : upward(project)) add(join(directory, name));
}

void SettingsFiles::unread(const std::string& path, std::string_view why) {
  look_.unread.push_back(path + ": " + std::string(why));
}

std::vector<std::string> upward(const std::string& project) {
  std::vector<std::string> found{project};
  while (found.back() != "/") found.emplace_back(parent(found.back()));
  return found;
}

std::optional<std::string> links_to_repository(const std::string& project) {
  for (const std::string& directory : upward(project)) {
    const Fd file(::open(join(directory, ".git").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    return read_all(file.get(), kBounds.bytes).value_or("");
  }
  return std::nullopt;
}

std::vector<std::string> names_in(AgentHostLook& look, const std::string& directory) {
  const Fd open(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open.valid()) {
    if (errno != ENOENT && errno != ENOTDIR) {
      look.unread.push_back(directory + ": " + std::strerror(errno));
    }
    return {};
  }
  DirectoryNames names;
  if (!names.read(open.get())) look.unread.push_back(directory + ": it cannot be listed");
  std::vector<std::string> found;
  for (const DirectoryEntry& entry : names.entries()) found.emplace_back(entry.name);
  std::ranges::sort(found);
  return found;
}

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

const Node* at(const Node& document, std::initializer_list<std::string_view> keys) {
  const Node* node = &document;
  for (const std::string_view key : keys) {
    node = node->find(key);
    if (node == nullptr) return nullptr;
  }
  return node;
}

OwnTools by_lists(std::span<const Settings> files, std::initializer_list<std::string_view> keys,
                  std::span<const std::string_view> names) {
  std::string key;
  for (const std::string_view part : keys) key.append(key.empty() ? "" : ".").append(part);
  std::string where;
  if (const auto missing = not_listed(files, keys, names, where)) {
    return {ToolReach::Outside, "no " + key + " of its settings names " + std::string(*missing)};
  }
  return {ToolReach::Off, key + " in " + quote(where) + " names " + joined(names)};
}

const Node* last_value(std::span<const Settings> files,
                       std::initializer_list<std::string_view> keys, std::string& where) {
  const Node* found = nullptr;
  for (const Settings& settings : files) {
    if (const Node* value = at(settings.document, keys)) {
      found = value;
      where = settings.path;
    }
  }
  return found;
}

}  // namespace cordon
