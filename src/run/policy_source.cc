#include "run/policy_source.h"

#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/path.h"
#include "base/text.h"
#include "config/environment.h"
#include "config/faults.h"
#include "config/policy_document.h"
#include "host/resolve.h"
#include "policy/agents.h"
#include "run/refused_places.h"

namespace cordon {
namespace {

Result<std::string> absolute_spelling(const std::string& path, const Caller& caller) {
  CORDON_TRY(found, canonicalize(path, caller.cwd, caller));
  // The spelling is kept: opening it must still notice that it is a symlink.
  return found.lexical;
}

// A document by its text; `name` is for messages, and tells TOML from JSON by its suffix.
enum class Secrets { Refused, Defined };
Result<Policy> policy_of_text(std::string_view text, const std::string& name,
                              const std::string& directory, Secrets secrets) {
  CORDON_TRY(document, read_document(text, name));
  CORDON_TRY(policy, decode_policy(document, name, directory, preset_host()));
  if (policy.secrets.empty() || secrets == Secrets::Defined) return policy;
  // Whoever writes a policy for a run would have any file of the operator's sent to any host.
  const Node* table = document.find("secret");
  return fail(
      document_error(name, Position{table->key_line, table->key_column},
                     "[[secret]] is for ceilings and for the operator's own policies",
                     "move it to a ceiling, or the policy to policies/ in the configuration "
                     "directory; here secret = \"NAME\" in [[http]] refers to it"));
}

// The directory that --policy WORD looks in, which no run can write.
bool is_operators(const std::string& path, const Caller& caller) {
  return parent(path) == join(caller.config_directory, "policies");
}

Result<Ceiling> ceiling_of_text(std::string_view text, const std::string& name,
                                const std::string& directory) {
  CORDON_TRY(document, read_document(text, name));
  return decode_ceiling(document, name, directory);
}

Result<Policy> policy_from(const std::string& path, const Caller& caller) {
  CORDON_TRY(text, read_trusted_file(path, caller));
  CORDON_TRY(policy,
             policy_of_text(text, path, std::string(parent(path)),
                            is_operators(path, caller) ? Secrets::Defined : Secrets::Refused));
  policy.file = path;
  return policy;
}

Result<Ceiling> ceiling_from(const std::string& path, const Caller& caller) {
  CORDON_TRY(text, read_trusted_file(path, caller));
  CORDON_TRY(ceiling, ceiling_of_text(text, path, std::string(parent(path))));
  ceiling.policy.file = path;
  return ceiling;
}

// A path that is relative to nothing would be looked for wherever the process stands.
Result<void> check_directory(const std::string& directory) {
  if (directory.starts_with('/')) return {};
  return fail(usage_error("the directory " + quote(directory) +
                              " that a document's paths are relative to is not absolute",
                          "name the one that the paths are meant for, such as /srv/project"));
}

bool is_word(const std::string& text) {
  return text.find('/') == std::string::npos && text != "." && text != ".." &&
         !text.ends_with(".toml") && !text.ends_with(".json");
}

}  // namespace

PresetHost preset_host() {
  struct sysinfo info {};
  if (::sysinfo(&info) < 0) return {};
  return {std::uint64_t{info.totalram} * info.mem_unit};
}

void bound_unlimited(Limits& limits) {
  const Limits bounds = make_preset("workspace", preset_host()).limits;
  limits.memory = bounds.memory;
  limits.pids = bounds.pids;
  limits.files = bounds.files;
}

namespace {

// Of the presets, those of agents and the caller's own.
std::optional<std::string> nearest_policy(const std::string& word, const Caller& caller) {
  std::vector<std::string> names(preset_names().begin(), preset_names().end());
  for (const AgentNeeds& agent : known_agents())
    names.push_back("agent:" + std::string(agent.name));
  std::error_code none;
  const std::string place = join(caller.config_directory, "policies");
  for (std::filesystem::directory_iterator at(place, none), end; !none && at != end;
       at.increment(none)) {
    if (at->path().extension() == ".toml") names.push_back(at->path().stem().string());
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  return nearest(word, known);
}

}  // namespace

Result<Policy> load_policy(const std::string& word, const Caller& caller) {
  if (word.empty()) {
    return fail(usage_error("the name of a policy is empty",
                            "name a preset such as workspace, or a file such as ./policy.toml"));
  }
  if (!is_word(word)) {
    CORDON_TRY(path, absolute_spelling(word, caller));
    return policy_from(path, caller);
  }
  const std::string named = join(caller.config_directory, "policies/" + word + ".toml");
  const bool file_exists = ::access(named.c_str(), F_OK) == 0;
  if (is_preset(word)) {
    if (file_exists) {
      return fail(policy_error("policy file " + quote(named) + " shadows the preset " + word,
                               "rename the file; presets cannot be replaced"));
    }
    return make_preset(word, preset_host());
  }
  if (!file_exists) {
    Error error = policy_error(
        "no preset and no policy file is called " + quote(word),
        "presets: strict, workspace, readonly, build, agent, agent:claude and others; or write " +
            quote(named));
    constexpr std::size_t kLongestFileName = 255;
    if (word.size() + std::string_view(".toml").size() > kLongestFileName) {
      error.hint = "no file can have so long a name; presets: strict, workspace, readonly, build";
      return fail(std::move(error));
    }
    struct stat status {};
    const std::string here = join(caller.cwd, word);
    const bool there = ::stat(here.c_str(), &status) == 0;
    if (there && S_ISDIR(status.st_mode)) {
      error.what += ", and the directory of that name is no policy";
      error.hint = "name a file: --policy ./" + quote(word + "/policy.toml");
    } else if (there) {
      error.hint = "for the file of that name in this directory write ./" + quote(word);
    } else if (const auto near = nearest_policy(word, caller)) {
      error.hint = "did you mean " + *near + "? Or write " + quote(named);
    }
    return fail(std::move(error));
  }
  return policy_from(named, caller);
}

Result<std::vector<Ceiling>> load_ceilings(const std::vector<std::string>& files,
                                           const Caller& caller) {
  std::vector<Ceiling> ceilings;
  const auto add = [&](const std::string& path) -> Result<void> {
    CORDON_TRY(ceiling, ceiling_from(path, caller));
    ceilings.push_back(std::move(ceiling));
    return {};
  };
  for (const std::string& path :
       {std::string(kSystemCeiling), join(caller.config_directory, "ceiling.toml")}) {
    // Only "there is none" means none: a ceiling that cannot be read must not be taken for absent,
    // and neither must a symlink that leads nowhere, which access(2) would follow.
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR)) {
      CORDON_CHECK(add(path));
    }
  }
  if (std::ranges::find(files, std::string()) != files.end()) {
    return fail(
        usage_error("--ceiling is empty", "name a file that is a ceiling, or leave it out"));
  }
  std::vector<std::string> given = files;
  if (const auto variable = caller.environment.find("CORDON_CEILING");
      variable != caller.environment.end()) {
    // An empty one is a bound that was meant and got lost, as by a variable that was not set.
    if (variable->second.empty()) {
      return fail(policy_error("CORDON_CEILING is set but empty",
                               "name a ceiling file in it, or unset it"));
    }
    given.push_back(variable->second);
  }
  for (const std::string& file : given) {
    CORDON_TRY(path, absolute_spelling(file, caller));
    CORDON_CHECK(add(path));
  }
  CORDON_TRY(environment, environment_ceiling(caller.environment));
  if (environment) ceilings.push_back(std::move(*environment));
  return ceilings;
}

std::vector<Error> faults_of_file(const std::string& file, DocumentRole role) {
  const auto caller = identify_caller();
  if (!caller) return {};
  const auto path = absolute_spelling(file, *caller);
  if (!path) return {};
  const auto text = read_trusted_file(*path, *caller);
  if (!text) return {};
  auto document = read_document(*text, *path);
  if (!document) return {std::move(document).error()};
  std::vector<Error> refused = refused_places(*document, role, *path, *caller);
  std::vector<Error> faults =
      faults_in(std::move(*document), role, *path, std::string(parent(*path)), preset_host());
  for (Error& error : refused) faults.push_back(std::move(error));
  return faults;
}

Result<Policy> Policy::preset(std::string_view name) {
  if (!is_preset(name)) {
    return fail(policy_error("no preset is called " + quote(name),
                             "presets: strict, workspace, readonly, build, agent"));
  }
  return make_preset(name, preset_host());
}

Result<Policy> Policy::from_file(const std::string& path) {
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(found, absolute_spelling(path, caller));
  return policy_from(found, caller);
}

Result<Policy> Policy::from_toml(std::string_view text, const std::string& directory) {
  CORDON_CHECK(check_directory(directory));
  return policy_of_text(text, "policy text", directory, Secrets::Refused);
}

std::string Policy::toml() const { return write_toml(*this); }

Result<Ceiling> Ceiling::from_toml(std::string_view text, const std::string& directory) {
  CORDON_CHECK(check_directory(directory));
  return ceiling_of_text(text, "ceiling text", directory);
}

Result<Ceiling> Ceiling::from_file(const std::string& path) {
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(found, absolute_spelling(path, caller));
  return ceiling_from(found, caller);
}

}  // namespace cordon
