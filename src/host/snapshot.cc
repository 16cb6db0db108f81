#include "host/snapshot.h"

#include "base/sha256.h"
#include "base/text.h"

namespace cordon {
namespace {

std::string write_id(const FileId& id) {
  return std::to_string(id.device) + ":" + std::to_string(id.inode);
}

std::optional<FileId> read_id(std::span<const std::string_view> fields) {
  const auto device = parse_number(fields[0]);
  const auto inode = parse_number(fields[1]);
  if (!device || !inode) return std::nullopt;
  return FileId{*device, *inode};
}

char letter(FileKind kind) {
  switch (kind) {
    case FileKind::Absent:
      return 'a';
    case FileKind::Directory:
      return 'd';
    case FileKind::Regular:
      return 'r';
    case FileKind::Other:
      return 'o';
  }
  return 'o';
}

FileKind kind_of_letter(std::string_view text) {
  if (text == "d") return FileKind::Directory;
  if (text == "r") return FileKind::Regular;
  return FileKind::Other;
}

}  // namespace

std::string digest_of(std::string_view file, const GitSetting& setting) {
  std::string text;
  for (const std::string_view part :
       {file, std::string_view(setting.section), std::string_view(setting.subsection),
        std::string_view(setting.key)})
    text.append(part).push_back('\0');
  if (setting.value) text.append("=").append(*setting.value);
  return sha256_hex(text).substr(0, 32);
}

std::string digest_of_section(std::string_view file, const GitSetting& setting) {
  return digest_of(file, {setting.section, setting.subsection, {}, {}});
}

std::vector<std::string> write_snapshot(const TreeSnapshot& snapshot) {
  std::vector<std::string> lines;
  const auto add = [&](const char* what, const ObjectSet& objects) {
    for (const auto& [id, mark] : objects.marks())
      lines.push_back(what + write_id(id) + ":" + std::to_string(mark));
  };
  add("held:", snapshot.protected_objects);
  add("closed:", snapshot.closed);
  for (const auto& [id, loose] : snapshot.loose_objects)
    lines.push_back("loose:" + write_id(id) + ":" + letter(loose.kind) + ":" +
                    std::to_string(loose.changed_ns));
  for (const std::string& digest : snapshot.git_settings) lines.push_back("setting:" + digest);
  lines.push_back("began:" + std::to_string(snapshot.began_ns));
  for (const std::string& name : snapshot.protect.add) lines.push_back("add:" + name);
  for (const std::string& name : snapshot.protect.release) lines.push_back("release:" + name);
  for (const std::string& path : snapshot.unmade) lines.push_back("unmade:" + path);
  return lines;
}

TreeSnapshot read_snapshot(std::span<const std::string> lines) {
  TreeSnapshot snapshot;
  for (const std::string& line : lines) {
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields[0] == "setting") {
      snapshot.git_settings.insert(line.substr(8));
      continue;
    }
    if (fields[0] == "began" && fields.size() == 2) {
      snapshot.began_ns = static_cast<std::int64_t>(parse_number(fields[1]).value_or(0));
      continue;
    }
    if (fields[0] == "add") snapshot.protect.add.push_back(line.substr(4));
    if (fields[0] == "release") snapshot.protect.release.push_back(line.substr(8));
    if (fields[0] == "unmade") {
      snapshot.unmade.insert(line.substr(7));
      continue;
    }
    if (fields.size() < 3) continue;
    const auto id = read_id(std::span(fields).subspan(1));
    if (!id) continue;
    // A note of an earlier release has no mark.
    const auto mark =
        fields.size() == 4 ? parse_number(fields[3]) : std::optional<std::uint64_t>(0);
    if (fields[0] == "held" && mark)
      snapshot.protected_objects.insert(*id, static_cast<std::int64_t>(*mark));
    if (fields[0] == "closed" && mark)
      snapshot.closed.insert(*id, static_cast<std::int64_t>(*mark));
    const auto changed = fields.size() == 5 ? parse_number(fields[4]) : std::nullopt;
    if (fields[0] == "loose" && changed)
      snapshot.loose_objects[*id] = {kind_of_letter(fields[3]),
                                     static_cast<std::int64_t>(*changed)};
  }
  return snapshot;
}

}  // namespace cordon
