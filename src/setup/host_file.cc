#include "setup/host_file.h"

#include <cerrno>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "host/look.h"
#include "host/private_file.h"
#include "host/resolve.h"
#include "setup/installation.h"
#include "setup/server_entry.h"

namespace cordon::setup {
namespace {

constexpr unsigned kPermissions = 0777;

std::string place_of(const std::string& written, const Caller& caller) {
  if (written.starts_with('/')) return written;
  if (written.starts_with("~/")) return join(caller.home, written.substr(2));
  return join(caller.cwd, written);
}

void judge(const std::string& wanted, HostFilePlan& plan) {
  if (plan.before == wanted) {
    plan.standing = HostStanding::Current;
    return;
  }
  const ConfigForm form = plan.path.ends_with(".toml") ? ConfigForm::Toml : ConfigForm::Json;
  // What holds no server is not put together from two texts.
  if (add_server(wanted, wanted, form).kind != ServerMerge::Kind::Same) {
    plan.standing = HostStanding::Edited;
    return;
  }
  plan.addition = entry_text(wanted, form);
  ServerMerge merge = add_server(plan.before, wanted, form);
  switch (merge.kind) {
    case ServerMerge::Kind::Same:
      plan.standing = HostStanding::Current;
      break;
    case ServerMerge::Kind::Different:
      plan.standing = HostStanding::Edited;
      break;
    case ServerMerge::Kind::Added:
      plan.standing = HostStanding::Lacks;
      plan.text = std::move(merge.text);
      break;
    case ServerMerge::Kind::ByHand:
      plan.standing = HostStanding::ByHand;
      plan.why = "it could not be changed so that the rest stays as it is";
      break;
  }
}

}  // namespace

HostFilePlan plan_host_file(const std::string& written, const std::string& wanted,
                            const Caller& caller) {
  HostFilePlan plan;
  plan.path = place_of(written, caller);
  plan.addition = wanted;
  plan.text = wanted;
  const auto by_hand = [&plan](const Error& error) {
    plan.standing = HostStanding::ByHand;
    plan.why = error.what;
    return plan;
  };
  const std::string above(parent(plan.path));
  const auto real = canonicalize(above, caller.cwd, caller);
  if (!real) return by_hand(real.error());
  // A project may have come with links; where the configuration directory lies is the person's
  // word.
  if (!written.starts_with('/') && real->path != above) {
    return by_hand(policy_error("a symlink leads to it"));
  }
  const auto directory = check_directory(above, caller);
  if (!directory) return by_hand(directory.error());
  if (!look_path(plan.path)) return plan;
  auto text = read_trusted_file(plan.path, caller);
  if (!text) return by_hand(text.error());
  plan.before = *std::move(text);
  judge(wanted, plan);
  return plan;
}

Result<void> write_host_file(const HostFilePlan& plan, const Caller& caller) {
  const std::string directory(parent(plan.path));
  const std::string name(basename(plan.path));
  CORDON_TRY(place, open_private_directory(directory, DirectoryUse::Configuration));
  int error = 0;
  if (plan.standing == HostStanding::Missing) {
    error = put_file(place.get(), name, plan.text, kOwnerOnlyFile);
  } else {
    const std::optional<Looked> seen = look(place.get(), name);
    CORDON_TRY(now, read_trusted_file(plan.path, caller));
    if (!seen || now != plan.before) {
      return fail(setup_error(quote(plan.path) + " was changed meanwhile", 0, "set up again"));
    }
    error = replace_file(place.get(), name, plan.text, seen->mode & kPermissions);
  }
  if (error != 0) return fail(setup_error("cannot write " + quote(plan.path), error));
  return {};
}

}  // namespace cordon::setup
