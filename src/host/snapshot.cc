#include "host/snapshot.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "host/git/config.h"
#include "host/git/settings.h"

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
  for (const std::string& path : snapshot.led) lines.push_back("led:" + path);
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
    if (fields[0] == "led") {
      snapshot.led.insert(line.substr(4));
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

namespace {

using Section = std::pair<std::string, std::string>;

// Sections that git writes for itself: one for each remote, branch and submodule.
bool is_named_section(const GitSetting& setting) {
  return !setting.subsection.empty() &&
         (setting.section == "remote" || setting.section == "branch" ||
          setting.section == "submodule");
}

// Beyond is_harmless, which also judges repositories that a run made for itself.
bool may_be_added(const GitSetting& setting) {
  if (!is_harmless(setting) || !setting.value) return false;
  const std::string name = setting.section + "." + setting.key;
  if (name == "remote.url" || name == "remote.pushurl" || name == "submodule.url")
    return is_address_of_a_host(*setting.value);
  // The name of a remote, which could be an address instead.
  if (name == "branch.remote" || name == "branch.pushremote")
    return setting.value->find_first_of(":/") == std::string::npos;
  // Even without a command it decides what a later update does to the work tree.
  return name != "submodule.update";
}

}  // namespace

bool is_address_of_a_host(std::string_view address) {
  for (const std::string_view scheme : {"https://", "ssh://", "git://"}) {
    if (!address.starts_with(scheme)) continue;
    std::string_view host = address.substr(scheme.size());
    host = host.substr(0, host.find('/'));
    if (const std::size_t at = host.rfind('@'); at != std::string_view::npos) {
      // A user that begins with a dash becomes an option of ssh just as a host does.
      if (host.starts_with('-')) return false;
      host.remove_prefix(at + 1);
    }
    return !host.empty() && !host.starts_with('-');
  }
  // host:path, as scp writes it. A slash before the colon would make it a path of this machine.
  const std::size_t colon = address.find(':');
  if (colon == std::string_view::npos || colon == 0 || address.starts_with('-')) return false;
  const std::string_view host = address.substr(0, colon);
  if (address.substr(colon).starts_with("://")) return false;
  const std::size_t at = host.rfind('@');
  const std::string_view name = at == std::string_view::npos ? host : host.substr(at + 1);
  return host.find('/') == std::string_view::npos && !name.empty() && !name.starts_with('-');
}

bool leads_somewhere(const GitSetting& setting) {
  constexpr std::array<std::string_view, 10> kKeys = {
      "branch.merge", "branch.pushremote", "branch.remote", "remote.fetch",  "remote.mirror",
      "remote.push",  "remote.pushurl",    "remote.url",    "submodule.url", "submodule.update"};
  return !setting.subsection.empty() &&
         std::ranges::find(kKeys, setting.section + "." + setting.key) != kKeys.end();
}

Stays which_stays(KeptPath::Form form, std::string_view original, std::string_view newer) {
  if (form != KeptPath::Form::GitConfig) return Stays::Original;
  const auto before = parse_git_config(original);
  const auto after = parse_git_config(newer);
  if (!before || !after) return Stays::Original;
  std::set<Section> there;
  for (const GitSetting& setting : *before) there.emplace(setting.section, setting.subsection);
  std::vector<GitSetting> rest;
  for (const GitSetting& setting : *after) {
    const bool added =
        is_named_section(setting) && !there.contains({setting.section, setting.subsection});
    if (!added) {
      rest.push_back(setting);
    } else if (!may_be_added(setting)) {
      return Stays::Original;
    }
  }
  return rest == *before ? Stays::Newer : Stays::Original;
}

}  // namespace cordon
