#include "setup/separate.h"

#include "base/path.h"
#include "base/text.h"
#include "host/resolve.h"

namespace cordon::setup {
namespace {

constexpr std::string_view kSuffix = ".env";

// A variable that is set wins over the file, so the installation would not be the one it names.
Result<void> check_variable(const char* name, const std::string& wanted, const Caller& caller) {
  const auto found = caller.environment.find(name);
  if (found == caller.environment.end() || found->second.empty() || found->second == wanted) {
    return {};
  }
  return fail(
      usage_error(std::string(name) + " is set to another place and would win over the file",
                  "env -u " + std::string(name) + " cordon setup --env-file FILE"));
}

}  // namespace

Result<Separate> separate_installation(const std::string& written, const Caller& caller) {
  CORDON_TRY(named, canonicalize(written, caller.cwd, caller));
  // The last component is not followed: what stands there is looked at when it is read.
  CORDON_TRY(place, canonicalize(parent(named.lexical), caller.cwd, caller));
  const std::string name(basename(named.lexical));
  const std::string path = join(place.path, name);
  if (!name.ends_with(kSuffix) || name.size() == kSuffix.size()) {
    return fail(usage_error("--env-file " + quote(written) + " does not end in .env",
                            "configuration and state are put into directories of that name: "
                            "--env-file ~/agents/test.env"));
  }
  if (quote(path) != path) {
    return fail(usage_error("--env-file " + quote(path) + " could not be read by a shell",
                            "use letters, digits, '/', '.', '_' and '-'"));
  }
  if (contains(caller.cwd, path)) {
    return fail(usage_error("--env-file " + quote(path) + " lies in the project",
                            "a run could rewrite the ceiling beside it: name a place outside"));
  }
  const std::string stem = path.substr(0, path.size() - kSuffix.size());
  Separate separate{place.path, name, {join(stem, "config"), join(stem, "state")}};
  CORDON_CHECK(check_variable("XDG_CONFIG_HOME", separate.variables.config_home, caller));
  CORDON_CHECK(check_variable("XDG_STATE_HOME", separate.variables.state_home, caller));
  return separate;
}

Caller within(const Separate& separate, Caller caller) {
  caller.config_directory = join(separate.variables.config_home, "cordon");
  caller.state_directory = join(separate.variables.state_home, "cordon");
  return caller;
}

}  // namespace cordon::setup
