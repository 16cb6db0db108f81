#include "run/note_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>

#include "base/fd.h"
#include "base/text.h"
#include "config/node.h"
#include "host/inspect.h"
#include "host/snapshot.h"

namespace cordon {
namespace {

constexpr std::string_view kFormat = "2";
constexpr std::size_t kMostTips = 4096;

// JSON has no place for a path that is not UTF-8, and a note that cannot be read is of no use.
std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%') {
      result += c;
      continue;
    }
    constexpr std::string_view kHex = "0123456789ABCDEF";
    result += '%';
    result += kHex[byte >> 4U];
    result += kHex[byte & 15U];
  }
  return result;
}

std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const bool coded = text[i] == '%' && i + 2 < text.size() &&
                       std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
                           text.data() + i + 3;
    result += coded ? static_cast<char>(value) : text[i];
    if (coded) i += 2;
  }
  return result;
}

constexpr std::string_view kByMounts = "mounts";
constexpr std::string_view kByCopies = "copies";

Node texts(const std::vector<std::string>& values) {
  NodeList list;
  list.reserve(values.size());
  for (const std::string& value : values) list.emplace_back(escaped(value));
  return Node(std::move(list));
}

Node rule_node(const DenyGlob& rule) {
  NodeList list;
  list.reserve(3);
  for (const std::string* part : {&rule.written, &rule.anchor, &rule.pattern})
    list.emplace_back(escaped(*part));
  return Node(std::move(list));
}

Node root_node(const SearchRoot& root) {
  return texts({root.path, std::to_string(root.id.device), std::to_string(root.id.inode),
                std::to_string(root.born_ns)});
}

}  // namespace

std::string write_note(const NoteContent& content) {
  Node node{NodeMap{}};
  node.set("format", std::string(kFormat));
  node.set("run_id", content.run_id);
  node.set("pid", Node(static_cast<std::uint64_t>(::getpid())));
  node.set("cgroups", texts(content.cgroups));
  node.set("private", escaped(content.private_directory));
  node.set("kept", escaped(content.kept_directory));
  node.set("stage", escaped(content.stage_directory));
  node.set("lasting", texts(content.lasting));
  node.set("holds", std::string(content.holds_by_mounts ? kByMounts : kByCopies));
  NodeList writable;
  for (const Grant& grant : content.writable) writable.emplace_back(escaped(grant.path));
  node.set("writable", std::move(writable));
  NodeList deny;
  deny.reserve(content.deny.size());
  for (const DenyGlob& rule : content.deny) deny.push_back(rule_node(rule));
  node.set("deny", std::move(deny));
  NodeList roots;
  for (const SearchRoot& root : content.roots) roots.push_back(root_node(root));
  node.set("roots", std::move(roots));
  node.set("snapshot", texts(write_snapshot(content.snapshot)));
  // A text each costs time before the launch. Without them the recovery takes every tip for new.
  if (content.tips && content.tips->size() <= kMostTips) {
    node.set("tips", texts({content.tips->begin(), content.tips->end()}));
  }
  return write_json(node, JsonStyle::Compact) + "\n";
}

namespace {

// Reads a note of this release or an earlier one, which had no escapes.
class NoteReader {
 public:
  explicit NoteReader(const Node& node) : node_(node) { coded_ = !text("format").empty(); }

  NoteContent read() {
    NoteContent content;
    content.run_id = text("run_id");
    content.cgroups = texts_of(node_.find("cgroups"));
    content.private_directory = text("private");
    content.kept_directory = text("kept");
    content.stage_directory = text("stage");
    content.lasting = texts_of(node_.find("lasting"));
    // In a note of an earlier release only a run without mounts kept anything.
    content.holds_by_mounts =
        text("holds").empty() ? content.kept_directory.empty() : text("holds") == kByMounts;
    if (const Node* pid = node_.find("pid")) {
      if (const auto* number = std::get_if<std::int64_t>(&pid->value))
        content.writer = static_cast<pid_t>(*number);
    }
    for (const std::string& path : texts_of(node_.find("writable"))) {
      Grant grant;
      grant.written = grant.lexical = grant.path = path;
      grant.kind = FileKind::Directory;
      content.writable.push_back(std::move(grant));
    }
    for (const Node& rule : list("deny")) {
      const std::vector<std::string> parts = texts_of(&rule);
      if (parts.size() == 3) content.deny.push_back({parts[0], parts[1], parts[2]});
    }
    for (const Node& root : list("roots")) add_root(texts_of(&root), content);
    content.snapshot = read_snapshot(texts_of(node_.find("snapshot")));
    if (const Node* tips = node_.find("tips")) {
      const std::vector<std::string> values = texts_of(tips);
      content.tips.emplace(values.begin(), values.end());
    }
    return content;
  }

 private:
  [[nodiscard]] std::string decoded(const std::string& text) const {
    return coded_ ? unescaped(text) : text;
  }
  [[nodiscard]] std::string text(std::string_view key) const {
    const Node* member = node_.find(key);
    return member != nullptr && member->text() != nullptr ? decoded(*member->text()) : "";
  }
  [[nodiscard]] NodeList list(std::string_view key) const {
    const Node* member = node_.find(key);
    return member != nullptr && member->list() != nullptr ? *member->list() : NodeList{};
  }
  [[nodiscard]] std::vector<std::string> texts_of(const Node* member) const {
    std::vector<std::string> values;
    if (member == nullptr || member->list() == nullptr) return values;
    for (const Node& value : *member->list()) {
      if (value.text() != nullptr) values.push_back(decoded(*value.text()));
    }
    return values;
  }
  static void add_root(const std::vector<std::string>& parts, NoteContent& content) {
    if (parts.size() != 4) return;
    const auto device = parse_number(parts[1]);
    const auto inode = parse_number(parts[2]);
    const auto born = parse_number(parts[3]);
    if (!device || !inode || !born) return;
    content.roots.push_back(
        {parts[0], {*device, *inode}, static_cast<std::int64_t>(*born), nullptr});
  }

  const Node& node_;
  bool coded_ = false;
};

}  // namespace

// A note may have any size: a snapshot has a text for each object.
std::optional<NoteContent> read_note(const std::string& file) {
  constexpr std::size_t kAnyNumber = SIZE_MAX;
  const std::string text = file.substr(0, file.find('\n'));
  const auto node = read_json_message(text, {text.size(), kAnyNumber});
  if (!node || node->map() == nullptr) return std::nullopt;
  return NoteReader(*node).read();
}

// Read from "4711 (name) S 4710 ...".
std::optional<ProcessMark> mark_of(pid_t process) {
  const Fd file(
      ::open(("/proc/" + std::to_string(process) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  const std::string stat =
      (file.valid() ? read_all(file.get(), SIZE_MAX) : std::nullopt).value_or("");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return std::nullopt;
  // From the state on: fields 3 (state), 4 (parent) and 22 (start).
  const std::vector<std::string_view> fields =
      split(std::string_view(stat).substr(name_end + 2), ' ');
  if (fields.size() < 20 || fields[0] == "Z" || fields[0] == "X") return std::nullopt;
  ProcessMark mark;
  mark.parent = static_cast<pid_t>(parse_number(fields[1]).value_or(0));
  mark.text = std::to_string(process) + " " + std::string(fields[19]);
  return mark;
}

std::vector<std::string> marks_in(const std::string& note) {
  std::vector<std::string> marks;
  for (const std::string_view line : split(note, '\n')) {
    if (!line.empty() && line.front() != '{') marks.emplace_back(line);
  }
  return marks;
}

bool lives(const std::string& mark) {
  const auto number = parse_number(std::string_view(mark).substr(0, mark.find(' ')));
  const auto now = number ? mark_of(static_cast<pid_t>(*number)) : std::nullopt;
  return now && now->text == mark;
}

}  // namespace cordon
