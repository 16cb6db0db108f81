#include "setup/installation.h"

#include <algorithm>
#include <cerrno>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "config/policy_document.h"
#include "host/look.h"
#include "host/private_file.h"
#include "host/resolve.h"
#include "host/survey.h"
#include "policy/clamp.h"
#include "run/choose.h"
#include "run/policy_source.h"
#include "setup/documents.h"
#include "setup/project_name.h"
#include "setup/separate.h"

namespace cordon::setup {
namespace {

// Under sudo the home may be another user's: what root made there that user could not read, and
// none of their runs would start.
Result<void> check_ground(const std::string& missing, const Caller& caller) {
  std::string above(parent(missing));
  while (above != "/" && !look_path(above)) above = parent(above);
  const std::optional<Looked> seen = look_path(above);
  if (seen && (seen->owner == caller.uid || seen->owner == 0)) return {};
  return fail(setup_error(quote(above) + " belongs to another user", 0,
                          "set up as that user, or set HOME to your own"));
}

Result<Standing> standing_of(const Document& document, const Caller& caller) {
  // Not access(2): it follows, and a dangling symlink would pass for a free name.
  if (!look_path(document.path())) return Standing::Missing;
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

// A ceiling that is there is not changed; what it lacks is told.
Result<void> note_refused_host(const Caller& caller, Prospect& prospect) {
  CORDON_TRY(ceilings, load_ceilings({}, caller));
  for (const Ceiling& ceiling : ceilings) {
    const std::vector<MissingLayer>& accepted = ceiling.policy.require.accept_missing;
    if (std::find(accepted.begin(), accepted.end(), Layer::Namespaces) != accepted.end()) continue;
    prospect.notes.push_back(
        "this host refuses namespaces, so every run is refused until " + quote(ceiling.id) +
        " has [require] accept_missing = [\"namespaces\"], or cordon doctor passes");
  }
  return {};
}

std::vector<Document> documents_of(const Caller& caller, const std::string& name,
                                   const std::optional<Separate>& separate, AcceptMissing accept) {
  const std::string policies = join(caller.config_directory, "policies");
  std::vector<Document> documents{
      {Role::Ceiling, caller.config_directory, "ceiling.toml", ceiling_text(accept),
       Standing::Missing},
      {Role::Policy, policies, name + ".toml", policy_text(name), Standing::Missing}};
  if (separate) {
    documents.push_back({Role::Variables, separate->directory, separate->file,
                         variables_text(separate->variables), Standing::Missing});
  }
  return documents;
}

// The documents as a run would read them, so that a set-up that could not work is refused before
// anything is written.
Result<std::vector<Reduction>> rehearse(const Prospect& prospect) {
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
  CORDON_TRY(resolved, resolve(policy, caller));
  std::vector<ResolvedCeiling> bounds;
  for (const Ceiling& ceiling : ceilings) {
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
  if (!look_path(path)) return check_ground(path, caller);
  CORDON_CHECK(open_private_directory(path, DirectoryUse::Configuration));
  return {};
}

std::string Document::path() const { return join(directory, name); }

Result<Prospect> look_around(const Wish& wish, const Caller& caller) {
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
  prospect.documents = documents_of(prospect.caller, prospect.name, separate, accept);
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
  auto reductions = rehearse(prospect);
  if (!reductions) {
    Error error = std::move(reductions).error();
    if (error.hint.empty()) error.hint = "mend the file or move it away: set-up changes none";
    return fail(std::move(error));
  }
  prospect.reductions = std::move(*reductions);
  if (accept != AcceptMissing::Nothing) {
    CORDON_CHECK(note_refused_host(prospect.caller, prospect));
  }
  prospect.toolchains = toolchain_roots(caller, {caller.cwd});
  prospect.agents = find_agents(caller);
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
