#include "setup/documents.h"

namespace cordon::setup {

std::string ceiling_text(AcceptMissing accept) {
  std::string text =
      R"(# The ceiling: the most that any run of this user may have. A run asks for a policy; what is not
# permitted here is taken away and reported. It is read anew at every run.
#
# Written by `cordon setup`, which never changes a file that is there. After an edit:
#   cordon policy check ceiling.toml
# The keys are explained in docs/policy.md and in `cordon policy schema`.
version = 1

[fs]
# Readable: parts of the system outside of /usr, and the toolchains that are found on PATH.
read = ["@system", "@toolchains"]
# Writable: the directory a run is started in. To permit runs in certain places only, name these
# instead: ["~/projects"].
write = ["@cwd"]
# Never seen inside, whatever grant covers it. Nothing takes a deny back.
deny = [".env"]

[net]
# "none", "allow" with a list of hosts, or "open": the host's network without a filter.
mode = "none"

[limits]
# Processes at one time. A bound of the ceiling holds even if a run asks for none.
pids = 4096
# wall = "2h"
# memory = "8G"

# What becomes of a run whose audit record cannot be written: "deny", "buffer" or "warn".
# [audit]
# on_failure = "deny"
)";
  if (accept == AcceptMissing::Namespaces) {
    text += R"(
# This host refuses namespaces, and the best that it permits is the backend landlock. What that one
# does not hold is in docs/backends.md (metadata, processes, accounts, scratch). Without this line
# every run is refused; `cordon doctor` says how to permit namespaces instead.
[require]
accept_missing = ["namespaces"]
)";
  }
  return text;
}

std::string policy_text(const std::string& name) {
  return "# What `cordon run --policy " + name +
         R"( -- CMD` asks for. The ceilings may take some of it away:
# `cordon policy clamp --policy )" +
         name + R"(` shows what is left.
#
# Written by `cordon setup`, which never changes a file that is there. It lies outside of the
# project, because a run could rewrite a policy inside of it and is refused with one.
version = 1
extends = "workspace"

[fs]
# The directory the run is started in.
write = ["@cwd"]
# read = ["~/.cargo/registry"]
# deny = ["secrets/"]
# scratch = "4G"

# [env]
# pass = ["CI"]

# [limits]
# wall = "30m"
# memory = "4G"
)";
}

std::string variables_text(const Variables& variables) {
  return "# An installation of Cordon of its own: ceiling, policies, audit log and private homes "
         "are\n"
         "# shared with no other. For an agent host: CORDON_ENV_FILE=<this file> cordon mcp\n"
         "# For a shell: set -a; . <this file>; set +a\n"
         "# A variable that is set already wins over its line here.\n"
         "XDG_CONFIG_HOME=" +
         variables.config_home + "\nXDG_STATE_HOME=" + variables.state_home +
         "\n# Exactly 1 switches on run_code, read_local_file and write_local_file.\n"
         "#CORDON_ENABLE_RUN_CODE=1\n";
}

}  // namespace cordon::setup
