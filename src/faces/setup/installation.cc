#include "faces/setup/installation.h"

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "config/policy_document.h"
#include "host/inspect.h"
#include "host/private_file.h"
#include "host/resolve.h"
#include "host/survey.h"
#include "policy/clamp.h"
#include "policy/clamp_net.h"
#include "policy/cure.h"
#include "policy/net_rules.h"
#include "policy/presets.h"
#include "run/choose.h"
#include "run/policy_source.h"

namespace cordon::setup {
namespace {

constexpr std::size_t kLongest = 64;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool may_stand(char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; }

bool is_spelled_well(std::string_view name) {
  return !name.empty() && name.size() <= kLongest && is_alphanumeric(name.front()) &&
         std::ranges::all_of(name, may_stand);
}

bool is_taken_for_a_file(std::string_view name) {
  return name.ends_with(".toml") || name.ends_with(".json");
}

}  // namespace

Result<void> check_project_name(std::string_view name) {
  if (!is_spelled_well(name)) {
    return fail(usage_error("not a name for a policy: " + quote(name),
                            "use letters, digits, '.', '_' and '-', at most 64"));
  }
  if (is_preset(name)) {
    return fail(usage_error(quote(name) + " is a preset, and presets cannot be replaced",
                            "choose another --name"));
  }
  if (is_taken_for_a_file(name)) {
    return fail(usage_error("the name " + quote(name) + " would be taken for a file",
                            "leave .toml or .json out"));
  }
  return {};
}

std::string project_name_of(std::string_view directory) {
  std::string name;
  for (const char c : basename(directory)) {
    const bool first = name.empty();
    if (first ? is_alphanumeric(c) : may_stand(c)) {
      name += c;
    } else if (!first && name.back() != '-') {
      name += '-';
    }
  }
  constexpr std::string_view kSuffix = "-project";
  name.resize(std::min(name.size(), kLongest - kSuffix.size()));
  while (!name.empty() && !is_alphanumeric(name.back())) name.pop_back();
  if (name.empty()) return "project";
  if (is_preset(name) || is_taken_for_a_file(name)) name += kSuffix;
  return name;
}

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

namespace {

// A run gets of it what it asks for by name; the tools of `cordon mcp` get all, and the person who
// is asked about the text reads that.
std::string net_text(const Needs& agents) {
  std::string text =
      R"([net]
# "none", "allow" with a list of hosts, or "open": the host's network without a filter.
)";
  if (agents.empty()) return text + "mode = \"none\"\n";
  std::string names;
  for (const AgentNeeds* agent : agents)
    names += (names.empty() ? "" : ", ") + std::string(agent->name);
  text += "# These are what the agents found on PATH need to work inside (" + names +
          "), as in\n# `cordon loop " + std::string(agents.front()->name) +
          "`. Any run may ask for them; one that does not has no network. The\n"
          "# tools of `cordon mcp` reach every host that stands here.\n"
          "mode = \"allow\"\nallow = [\n";
  for (const AgentNeeds* agent : agents) {
    for (const AgentHost& host : agent->hosts) {
      text += "  \"" + std::string(host.rule) + "\",  # " + std::string(agent->name) + ": " +
              std::string(host.reason) + "\n";
    }
  }
  return text + "]\n";
}

}  // namespace

std::string ceiling_text(AcceptMissing accept, const Needs& agents) {
  std::string text =
      R"(# The ceiling: the most that any run of this user may have. A run asks for a policy; what is not
# permitted here is taken away and reported. It is read anew at every run.
#
# Written by `cordon setup`, which never changes a file that is there. After an edit:
#   cordon policy check ceiling.toml
# The keys are explained in docs/policy.md and in `cordon policy schema`.
version = 1

[fs]
# Readable: @system, parts of the system outside of /usr; @toolchains, those that are found on PATH;
# @caches, what tools of builds downloaded into your home (~/.cargo/registry, ~/go/pkg/mod,
# ~/.m2/repository and the like), credentials in them left out; @repo, the git repository that the
# directory of a run lies in, whose git directory may be written.
read = ["@system", "@toolchains", "@caches", "@repo"]
# Writable: @cwd, the directory a run is started in. To permit runs in certain places only, name these
# instead: ["~/projects"].
write = ["@cwd"]
# Never seen inside, whatever grant covers it. Nothing takes a deny back.
deny = [".env"]

)" + net_text(agents) +
      R"(
[limits]
# Processes at one time. A bound of the ceiling holds even if a run asks for none.
pids = 4096
# wall = "2h"
# memory = "8G"

# What becomes of a run whose audit record cannot be written: "deny", "buffer" or "warn".
# [audit]
# on_failure = "deny"
# The oldest days of the log go once they are more than this; without these lines all stay.
# keep_days = 365
# keep_size = "1G"

# [keep]
# Changes that wait, private homes and caches that nobody touched for so long go; a size is refused to
# more stages. Without these lines all stay.
# days = 90
# size = "20G"
)";
  if (accept == AcceptMissing::Namespaces) {
    text += R"(
# This host refuses namespaces, and the best that it permits is the backend landlock. What that one
# does not hold is in docs/backends.md (metadata, processes, accounts, scratch). Without this line
# every run is refused; `cordon doctor` says how to permit namespaces instead. Nor can it hide a file
# inside a grant: what stands in deny above, and is in the project, refuses the run by name.
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

namespace {

// Under sudo the home may be another user's: what root made there that user could not read, and
// none of their runs would start.
Result<void> check_ground(const std::string& missing, const Caller& caller) {
  std::string above(parent(missing));
  while (above != "/" && !inspect_path(above)) above = parent(above);
  const std::optional<FileInfo> seen = inspect_path(above);
  if (seen && (seen->owner == caller.uid || seen->owner == 0)) return {};
  return fail(setup_error(quote(above) + " belongs to another user", 0,
                          "set up as that user, or set HOME to your own"));
}

Result<Standing> standing_of(const Document& document, const Caller& caller) {
  // Not access(2): it follows, and a dangling symlink would pass for a free name.
  if (!inspect_path(document.path())) return Standing::Missing;
  CORDON_TRY(text, read_trusted_file(document.path(), caller));
  return text == document.text ? Standing::Current : Standing::Edited;
}

// What will be in force: the operator's text where there is one.
Result<Node> content_of(const Document& document, const Caller& caller) {
  if (document.standing != Standing::Edited) return read_document(document.text, document.path());
  CORDON_TRY(text, read_trusted_file(document.path(), caller));
  return read_document(text, document.path());
}

// As doctor finds it: neither native nor bwrap works on this host, and landlock does.
AcceptMissing needed_here() {
  const HostProbe ask = ask_this_host();
  const bool landlock_alone =
      ask(BackendKind::Native) && ask(BackendKind::Bwrap) && !ask(BackendKind::Landlock);
  return landlock_alone ? AcceptMissing::Namespaces : AcceptMissing::Nothing;
}

Needs needs_of(const std::vector<FoundAgent>& agents) {
  Needs needs;
  for (const FoundAgent& agent : agents) {
    if (const AgentNeeds* known = find_agent(agent.name)) needs.push_back(known);
  }
  return needs;
}

// A ceiling that is there is not changed; what an agent misses in it is told, with the lines.
void note_unreachable_models(const std::vector<Ceiling>& ceilings, const Needs& agents,
                             Prospect& prospect) {
  for (const Ceiling& ceiling : ceilings) {
    std::string names;
    std::vector<HostRule> missing;
    for (const AgentNeeds* agent : agents) {
      const std::size_t before = missing.size();
      for (const AgentHost& host : agent->hosts) {
        const auto rule = parse_host_rule(host.rule);
        CORDON_ASSERT(rule.has_value());
        if (!permits_host(ceiling, *rule)) missing.push_back(*rule);
      }
      if (missing.size() > before) names.append(names.empty() ? "" : ", ").append(agent->name);
    }
    if (missing.empty()) continue;
    prospect.notes.push_back(title_of(ceiling) + " keeps " + names +
                             " from hosts that it needs to work inside; to permit them, " +
                             cure_for_hosts(ceiling, missing));
  }
}

// The same of layers.
void note_refused_host(const std::vector<Ceiling>& ceilings, Prospect& prospect) {
  for (const Ceiling& ceiling : ceilings) {
    const std::vector<MissingLayer>& accepted = ceiling.policy.require.accept_missing;
    if (std::find(accepted.begin(), accepted.end(), Layer::Namespaces) != accepted.end()) continue;
    prospect.notes.push_back(
        "this host refuses namespaces, so every run is refused until " + quote(ceiling.id) +
        " has [require] accept_missing = [\"namespaces\"], or cordon doctor passes");
  }
}

std::vector<Document> documents_of(const Caller& caller, const std::string& name,
                                   const std::optional<Separate>& separate,
                                   const std::string& ceiling) {
  const std::string policies = join(caller.config_directory, "policies");
  std::vector<Document> documents{
      {Role::Ceiling, caller.config_directory, "ceiling.toml", ceiling, Standing::Missing},
      {Role::Policy, policies, name + ".toml", policy_text(name), Standing::Missing}};
  if (separate) {
    documents.push_back({Role::Variables, separate->directory, separate->file,
                         variables_text(separate->variables), Standing::Missing});
  }
  return documents;
}

// What a run of the finished installation would read.
struct Finished {
  std::vector<Ceiling> ceilings;
  Policy policy;
};

Result<Finished> finished(const Prospect& prospect) {
  const Caller& caller = prospect.caller;
  CORDON_TRY(ceilings, load_ceilings({}, caller));
  Policy policy;
  for (const Document& document : prospect.documents) {
    if (document.role == Role::Variables) continue;
    CORDON_TRY(content, content_of(document, caller));
    if (document.role == Role::Policy) {
      CORDON_TRY(read, decode_policy(content, document.path(), document.directory, preset_host()));
      policy = std::move(read);
    } else if (document.standing == Standing::Missing) {
      CORDON_TRY(ceiling, decode_ceiling(content, document.path(), document.directory));
      ceilings.push_back(std::move(ceiling));
    }
  }
  return Finished{std::move(ceilings), std::move(policy)};
}

// A set-up that could not work is refused before anything is written.
Result<std::vector<Reduction>> rehearse(const Finished& documents, const Caller& caller) {
  CORDON_TRY(resolved, resolve(documents.policy, caller));
  std::vector<ResolvedCeiling> bounds;
  for (const Ceiling& ceiling : documents.ceilings) {
    CORDON_TRY(bound, resolve(ceiling, caller));
    bounds.push_back(std::move(bound));
  }
  CORDON_TRY(clamped, clamp(resolved, bounds));
  return clamped.reductions();
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::Ceiling:
      return "ceiling";
    case Role::Policy:
      return "policy";
    case Role::Variables:
      return "variables";
  }
  return "";
}

Result<void> check_directory(const std::string& path, const Caller& caller) {
  if (path.empty()) return fail(setup_error("there is no home directory", 0, "set HOME"));
  if (!inspect_path(path)) return check_ground(path, caller);
  CORDON_CHECK(open_private_directory(path, DirectoryUse::Configuration));
  return {};
}

std::string Document::path() const { return join(directory, name); }

Result<Prospect> look_around(const SetupRequest& wish, const Caller& caller) {
  Prospect prospect;
  prospect.name = wish.name.empty() ? project_name_of(caller.cwd) : wish.name;
  CORDON_CHECK(check_project_name(prospect.name));
  std::optional<Separate> separate;
  if (!wish.env_file.empty()) {
    CORDON_TRY(apart, separate_installation(wish.env_file, caller));
    separate = std::move(apart);
  }
  prospect.caller = separate ? within(*separate, caller) : caller;
  CORDON_CHECK(check_directory(prospect.caller.config_directory, caller));
  const AcceptMissing accept = needed_here();
  prospect.agents = find_agents(caller);
  const Needs needs = needs_of(prospect.agents);
  prospect.documents =
      documents_of(prospect.caller, prospect.name, separate, ceiling_text(accept, needs));
  for (Document& document : prospect.documents) {
    if (auto checked = check_directory(document.directory, caller); !checked) {
      Error error = std::move(checked).error();
      const bool named = document.role == Role::Variables;
      if (named) error.hint = "name a file in a directory of yours alone";
      return fail(std::move(error));
    }
    CORDON_TRY(standing, standing_of(document, caller));
    document.standing = standing;
  }
  auto documents = finished(prospect);
  auto reductions = documents ? rehearse(*documents, prospect.caller)
                              : Result<std::vector<Reduction>>(fail(documents.error()));
  if (!reductions) {
    Error error = std::move(reductions).error();
    if (is_no_project(prospect.caller.cwd, prospect.caller) && !error.place)
      error.hint = "change into a project: mkdir -p ~/project && cd ~/project && cordon setup";
    if (error.hint.empty()) error.hint = "fix the file or move it away: setup changes none";
    return fail(std::move(error));
  }
  prospect.reductions = std::move(*reductions);
  for (const FoundAgent& agent : prospect.agents) {
    prospect.keys.emplace_back();
    const AgentNeeds* known = find_agent(agent.name);
    if (known == nullptr) continue;
    CORDON_TRY(place, key_place(*known, documents->ceilings, prospect.caller));
    prospect.keys.back() = std::move(place);
  }
  for (const LoginShared& shared : shared_logins(prospect.caller)) {
    prospect.notes.push_back(shared.what + "; to change that, " + shared.change);
  }
  CORDON_TRY(there, load_ceilings({}, prospect.caller));
  if (accept != AcceptMissing::Nothing) note_refused_host(there, prospect);
  note_unreachable_models(there, needs, prospect);
  prospect.toolchains = toolchain_roots(caller, {caller.cwd});
  return prospect;
}

Result<Standing> write_document(const Document& document, const Caller& caller) {
  CORDON_TRY(directory, open_private_directory(document.directory, DirectoryUse::Configuration));
  const int error = put_file(directory.get(), document.name, document.text, kOwnerOnlyFile);
  if (error == 0) return Standing::Missing;
  if (error == EEXIST) return standing_of(document, caller);
  return fail(setup_error("cannot write " + quote(document.path()), error));
}

}  // namespace cordon::setup
