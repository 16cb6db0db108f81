#include "cli/srt/settings.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/path.h"
#include "host/places.h"
#include "host/resolve.h"

namespace cordon::srt {
namespace {

Node no_files() {
  const Node none{NodeList{}};
  return Node()
      .set("denyRead", none)
      .set("allowRead", none)
      .set("allowWrite", none)
      .set("denyWrite", none);
}

Node built_in() {
  const Node none{NodeList{}};
  return Node()
      .set("network", Node().set("allowedDomains", none).set("deniedDomains", none))
      .set("filesystem", no_files());
}

// The phrases that programs look for, with the reason behind them.
Error about(const std::string& file, const std::string& phrase, std::string hint) {
  return policy_error(file + " " + phrase, std::move(hint));
}

Error because(const std::string& file, const std::string& phrase, const Error& error) {
  return about(file, phrase + message(error), error.hint);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// True for what means the same as leaving it out.
bool is_nothing(const Node* node) {
  if (node == nullptr || std::holds_alternative<std::nullptr_t>(node->value)) return true;
  if (const NodeList* list = node->list()) return list->empty();
  if (const NodeMap* map = node->map()) {
    return std::all_of(map->begin(), map->end(),
                       [](const auto& member) { return is_nothing(&member.second); });
  }
  const bool* flag = std::get_if<bool>(&node->value);
  return flag != nullptr && !*flag;
}

bool means_the_same(const Node* one, const Node* other) {
  if (is_nothing(one) || is_nothing(other)) return is_nothing(one) && is_nothing(other);
  const NodeMap* mine = one->map();
  const NodeMap* theirs = other->map();
  if (mine != nullptr && theirs != nullptr) {
    const auto same = [&](const auto& member) {
      return means_the_same(one->find(member.first), other->find(member.first));
    };
    return std::all_of(mine->begin(), mine->end(), same) &&
           std::all_of(theirs->begin(), theirs->end(), same);
  }
  return write_json(*one, JsonStyle::Compact) == write_json(*other, JsonStyle::Compact);
}

// Absolute and without "..", and still as it was written: opening it must notice that it is a
// symlink, and holding it that a link on the way could be replaced.
Result<std::string> spelled(std::string_view text, const Caller& caller) {
  CORDON_TRY(place, canonicalize(text, caller.cwd, caller));
  if (!has_dotdot(place.lexical)) return place.lexical;
  CORDON_TRY(directory, canonicalize(parent(place.lexical), "/", caller));
  return join(directory.path, basename(place.lexical));
}

}  // namespace

Result<Settings> find_settings(std::optional<std::string_view> named, const Caller& caller) {
  if (!named && caller.home.empty()) {
    return fail(policy_error("there is no home to look for settings in", "name them with -s"));
  }
  CORDON_TRY(file, spelled(named ? *named : "~/.srt-settings.json", caller));
  struct stat status {};
  if (::lstat(file.c_str(), &status) < 0 && errno == ENOENT) {
    if (!named) return Settings{{}, built_in()};
    return fail(about(file, "does not exist", "check what -s names"));
  }
  const auto text = read_trusted_file(file, caller);
  if (!text) return fail(because(file, "could not be read: ", text.error()));
  if (is_blank(*text)) return fail(about(file, "is empty", "delete it, or write settings into it"));
  auto document = read_json(*text, file);
  if (!document) return fail(because(file, "is not valid JSON: ", document.error()));
  return Settings{file, std::move(*document)};
}

Result<Imported> policy_of(const Settings& settings, const Caller& caller) {
  const Places places = places_of(caller);
  if (settings.file.empty()) {
    return import_policy(Dialect::Srt, settings.document, "the built-in settings", places, {});
  }
  auto read = import_policy(Dialect::Srt, settings.document, settings.file, places, {});
  if (!read) return fail(because(settings.file, "does not hold a valid config: ", read.error()));
  // Once more with the file among what must not be written: the next run would read what the
  // command had written.
  Node held = settings.document;
  for (auto& [key, value] : std::get<NodeMap>(held.value)) {
    if (key != "filesystem") continue;
    for (auto& [name, list] : std::get<NodeMap>(value.value)) {
      if (name == "denyWrite") {
        std::get<NodeList>(list.value)
            .push_back(Node().set("path", settings.file).set("literal", true));
      }
    }
  }
  return import_policy(Dialect::Srt, held, settings.file, places, {});
}

Result<NetRules> network_of(const Node& document, const Settings& running, const std::string& name,
                            const Caller& caller) {
  for (const Node* side : {&document, &running.document}) {
    const NodeMap* members = side->map();
    if (members == nullptr) return fail(policy_error(name + " holds no table"));
    for (const auto& [key, value] : *members) {
      if (key == "network" || key == "$schema" || key == "_comment") continue;
      if (means_the_same(document.find(key), running.document.find(key))) continue;
      return fail(policy_error("\"" + key + "\" cannot be changed while the command runs",
                               "send it as it was, or start another run"));
    }
  }
  // The files are those of the running settings, which were judged when the run began; what lies
  // there now may be the command's own work.
  Node alone = Node().set("filesystem", no_files());
  if (const Node* network = document.find("network")) alone.set("network", *network);
  CORDON_TRY(read, import_policy(Dialect::Srt, alone, name, places_of(caller), {}));
  return std::move(read.policy.net);
}

}  // namespace cordon::srt
