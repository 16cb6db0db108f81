#include "host/kept_list.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.h"
#include "host/look.h"
#include "host/private_file.h"

namespace cordon {
namespace {

constexpr const char* kName = "list";
constexpr std::string_view kFirst = "cordon-kept/1";
constexpr std::size_t kFields = 12;
// More than the most entries with the longest paths there can be.
constexpr std::size_t kMostListBytes = std::size_t{128} * 1024 * 1024;

constexpr std::array kKinds = {HoldKind::Git,       HoldKind::Shell,    HoldKind::Editor,
                               HoldKind::Agent,     HoldKind::Ssh,      HoldKind::Path,
                               HoldKind::Autostart, HoldKind::Cron,     HoldKind::Denied,
                               HoldKind::Build,     HoldKind::Operator, HoldKind::ReadOnly};

Error malformed() {
  return setup_error("the list of what was kept before a run cannot be understood", 0,
                     "it lies in kept/ of the state directory, with the contents beside it");
}

// A path has any byte but NUL, so NUL ends every field.
void add_field(std::string& text, std::string_view field) {
  text.append(field);
  text.push_back('\0');
}

void add_field(std::string& text, std::uint64_t number) { add_field(text, std::to_string(number)); }

std::optional<KeptEntry::Type> kept_type_of(std::string_view field) {
  using Type = KeptEntry::Type;
  for (const Type type : {Type::File, Type::Directory, Type::Link, Type::Other, Type::WayDirectory})
    if (field.size() == 1 && field.front() == static_cast<char>(type)) return type;
  return std::nullopt;
}

std::optional<HoldKind> hold_kind_of(std::string_view field) {
  for (const HoldKind kind : kKinds)
    if (name_of(kind) == field) return kind;
  return std::nullopt;
}

std::optional<KeptEntry> read_entry(std::span<const std::string_view> fields) {
  KeptEntry entry;
  const auto type = kept_type_of(fields[0]);
  const auto kind = hold_kind_of(fields[2]);
  if (!type || !kind || fields[3].empty() || fields[3].front() != '/') return std::nullopt;
  std::array<std::uint64_t, 7> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = parse_number(fields[4 + i]);
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  entry.type = *type;
  entry.form = fields[1] == "config" ? KeptPath::Form::GitConfig : KeptPath::Form::File;
  entry.kind = *kind;
  entry.path = fields[3];
  entry.id = {numbers[0], numbers[1]};
  entry.mode = static_cast<std::uint32_t>(numbers[2]);
  entry.owner = static_cast<std::uint32_t>(numbers[3]);
  entry.group = static_cast<std::uint32_t>(numbers[4]);
  entry.links = numbers[5];
  entry.modified_ns = static_cast<std::int64_t>(numbers[6]);
  entry.payload = fields[11];
  // The name of a content is a number, whoever wrote the list.
  if (*type == KeptEntry::Type::File && !parse_number(entry.payload)) return std::nullopt;
  return entry;
}

}  // namespace

Result<void> write_kept_list(int directory, std::span<const KeptEntry> entries) {
  std::string text;
  add_field(text, kFirst);
  for (const KeptEntry& entry : entries) {
    add_field(text, std::string_view(reinterpret_cast<const char*>(&entry.type), 1));
    add_field(text, entry.form == KeptPath::Form::GitConfig ? "config" : "");
    add_field(text, name_of(entry.kind));
    add_field(text, entry.path);
    for (const std::uint64_t number :
         {entry.id.device, entry.id.inode, std::uint64_t{entry.mode}, std::uint64_t{entry.owner},
          std::uint64_t{entry.group}, entry.links, static_cast<std::uint64_t>(entry.modified_ns)})
      add_field(text, number);
    add_field(text, entry.payload);
  }
  if (const int error = put_file(directory, kName, text, 0600); error != 0)
    return fail(setup_error("cannot write down what is kept of protected files", error));
  return {};
}

void give_up_kept_list(int directory) { (void)::unlinkat(directory, kName, 0); }

Result<std::optional<std::vector<KeptEntry>>> read_kept_list(int directory) {
  if (!look(directory, kName)) return std::nullopt;
  const auto text = read_regular(directory, kName, kMostListBytes);
  if (!text) return fail(malformed());
  std::vector<std::string_view> fields = split(*text, '\0');
  if (fields.size() < 2 || fields.front() != kFirst || !fields.back().empty())
    return fail(malformed());
  const std::span<const std::string_view> rest =
      std::span<const std::string_view>(fields).subspan(1, fields.size() - 2);
  if (rest.size() % kFields != 0) return fail(malformed());
  std::vector<KeptEntry> entries;
  for (std::size_t at = 0; at < rest.size(); at += kFields) {
    auto entry = read_entry(rest.subspan(at, kFields));
    if (!entry) return fail(malformed());
    entries.push_back(std::move(*entry));
  }
  return std::optional(std::move(entries));
}

}  // namespace cordon
