#include "audit/project_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "audit/files.h"
#include "base/text.h"
#include "config/node.h"

namespace cordon::audit {
namespace {

constexpr const char* kFile = "projects.jsonl";
// Some thousand projects. Beyond them labels are shown.
constexpr std::size_t kMostBytes = 256 * 1024;

Result<Fd> open_names(const std::string& state_directory, int flags) {
  CORDON_TRY(directory, open_private_directory(state_directory, IfAbsent::Refuse));
  return open_private_file(directory.get(), kFile, flags);
}

// What is there and no more: few have more than some lines, and every run ends with this.
std::string content_of(const Fd& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) < 0 || status.st_size <= 0) return {};
  std::string content(std::min(static_cast<std::size_t>(status.st_size), kMostBytes), '\0');
  std::size_t size = 0;
  while (size < content.size()) {
    const ssize_t got =
        ::pread(file.get(), content.data() + size, content.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  content.resize(size);
  return content;
}

// What a crash left of a line is passed over.
std::map<std::string, std::string> directories_in(std::string_view content) {
  std::map<std::string, std::string> found;
  while (!content.empty()) {
    const std::string_view line = content.substr(0, content.find('\n'));
    content.remove_prefix(std::min(content.size(), line.size() + 1));
    if (line.empty()) continue;
    const auto node = read_json(line, kFile);
    if (!node) continue;
    const Node* label = node->find("label");
    const Node* directory = node->find("directory");
    if (label == nullptr || directory == nullptr || label->text() == nullptr ||
        directory->text() == nullptr) {
      continue;
    }
    found.insert_or_assign(*label->text(), *directory->text());
  }
  return found;
}

}  // namespace

ProjectNames ProjectNames::read(const std::string& state_directory) {
  ProjectNames names;
  if (const auto file = open_names(state_directory, O_RDONLY)) {
    names.directories_ = directories_in(content_of(*file));
  }
  return names;
}

std::optional<std::string> ProjectNames::directory_of(const std::string& label) const {
  const auto found = directories_.find(label);
  if (found == directories_.end()) return std::nullopt;
  return sanitize(found->second);
}

void remember_project(const std::string& state_directory, const std::string& label,
                      const std::string& directory) {
  const auto file = open_names(state_directory, O_RDWR | O_APPEND | O_CREAT);
  if (!file) return;
  const std::string content = content_of(*file);
  Node node;
  node.set("label", label).set("directory", sanitize(directory));
  std::string line = write_json(node, JsonStyle::Compact) + "\n";
  // As an earlier run wrote it; only another spelling of it has to be read.
  const std::size_t at = content.find(line);
  if (at == 0 || (at != std::string::npos && content[at - 1] == '\n')) return;
  if (directories_in(content).contains(label)) return;
  // Behind what a crash left of a line.
  if (!content.empty() && content.back() != '\n') line.insert(0, "\n");
  if (content.size() + line.size() > kMostBytes) return;
  // One write: two runs that end together do not mix their lines.
  (void)!::write(file->get(), line.data(), line.size());
}

}  // namespace cordon::audit
