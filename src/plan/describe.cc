// Plans as text: what --dry-run prints, what golden tests compare and what an error names.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/plan.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

std::string_view word(MountAccess access) {
  switch (access) {
    case MountAccess::ReadOnly:
      return "read-only";
    case MountAccess::ReadWrite:
      return "read-write";
  }
  return "";
}

std::string_view word(LandlockUse use) {
  switch (use) {
    case LandlockUse::List:
      return "list";
    case LandlockUse::Read:
      return "read";
    case LandlockUse::ReadExecute:
      return "read, execute";
    case LandlockUse::ReadWrite:
      return "read, write, execute";
    case LandlockUse::Device:
      return "read, write, ioctl";
  }
  return "";
}

struct Describe {
  std::string operator()(const op::EnterNamespaces& o) const {
    return o.own_network
               ? "enter new namespaces: user mount pid net ipc uts cgroup"
               : "enter new namespaces: user mount pid ipc uts cgroup (network of the host)";
  }
  std::string operator()(const op::MapIdentity& o) const {
    return fmt::format("map uid {} to {} inside, gid {} to {}", o.outside_uid, o.inside_uid,
                       o.outside_gid, o.inside_gid);
  }
  std::string operator()(const op::PrivateMounts&) const { return "make all mounts private"; }
  std::string operator()(const op::NewRoot& o) const {
    return fmt::format("new root on tmpfs, {}", format_size(o.bytes));
  }
  std::string operator()(const op::MakeDirectory& o) const {
    return fmt::format("directory {} {:04o}", quote(o.path), o.mode);
  }
  std::string operator()(const op::MountPoint& o) const {
    return fmt::format("mount point {}", quote(o.path));
  }
  std::string operator()(const op::MakeFile& o) const {
    return fmt::format("file {} {:04o}, {} bytes", quote(o.path), o.mode, o.content.size());
  }
  std::string operator()(const op::MakeSymlink& o) const {
    return fmt::format("symlink {} to {}", quote(o.path), quote(o.target));
  }
  std::string operator()(const op::BindSystem& o) const {
    return fmt::format("bind read-only {}", quote(o.path));
  }
  std::string operator()(const op::ReadOnlySoFar&) const {
    return "make every mount so far read-only";
  }
  std::string operator()(const op::Bind& o) const {
    if (o.source == o.path) return fmt::format("bind {} {}", word(o.access), quote(o.path));
    return fmt::format("bind {} {} from {}", word(o.access), quote(o.path), quote(o.source));
  }
  std::string operator()(const op::Hold& o) const {
    return fmt::format("hold {} {} ({})", word(o.access), quote(o.path), o.reason);
  }
  std::string operator()(const op::PrivateCopy& o) const {
    return fmt::format("private copy of {} ({})", quote(o.path), o.reason);
  }
  std::string operator()(const op::StagedTree& o) const {
    return fmt::format("stage {}{} in {}", quote(o.path), o.work.empty() ? " as a copy" : "",
                       quote(o.upper));
  }
  std::string operator()(const op::ReadOnlyWay& o) const {
    return fmt::format("read-only {}, which only leads to a grant", quote(o.path));
  }
  std::string operator()(const op::Mask& o) const {
    return fmt::format("mask {} ({})", quote(o.path), o.reason);
  }
  std::string operator()(const op::Skeleton& o) const {
    return fmt::format("directory {} as it is now, {} entries", quote(o.path), o.entries.size());
  }
  std::string operator()(const op::Scratch& o) const {
    return fmt::format("scratch tmpfs, {}, {} inodes", format_size(o.bytes), o.inodes);
  }
  std::string operator()(const op::ScratchDirectory& o) const {
    return fmt::format("scratch directory {} {:04o}", quote(o.path), o.mode);
  }
  std::string operator()(const op::ScratchFile& o) const {
    return fmt::format("scratch file {} {:04o}, {} bytes", quote(o.name), o.mode, o.content.size());
  }
  std::string operator()(const op::PrivateConfig& o) const {
    return fmt::format("private copy of {} at {}", quote(o.path), quote(o.target));
  }
  std::string operator()(const op::MountProc&) const { return "mount fresh /proc read-only"; }
  std::string operator()(const op::MaskProc& o) const {
    return fmt::format("mask {}", quote(o.path));
  }
  std::string operator()(const op::DeviceNode& o) const {
    return fmt::format("device {}", quote(o.path));
  }
  std::string operator()(const op::MountDevpts&) const { return "mount own /dev/pts"; }
  std::string operator()(const op::LoopbackUp&) const { return "bring up loopback"; }
  std::string operator()(const op::OfferSockets& operation) const {
    std::string text = "offer sockets to publish";
    for (const PublishRule& rule : operation.publish) text.append(" ").append(to_string(rule));
    return text;
  }
  std::string operator()(const op::OpenResolver&) const {
    return "open a resolver at 127.0.0.1:53";
  }
  std::string operator()(const op::HostName& o) const {
    return fmt::format("host name {}", quote(o.name));
  }
  std::string operator()(const op::PivotRoot&) const {
    return "pivot into the new root, detach the old one";
  }
  std::string operator()(const op::LandlockAllow& o) const {
    return fmt::format("landlock allow {}: {}", quote(o.path), word(o.use));
  }
  std::string operator()(const op::ReadOnlyRoot&) const { return "make the root read-only"; }
  std::string operator()(const op::ScopeProcesses&) const {
    return "scope signals to this sandbox, adopt its orphans";
  }
  std::string operator()(const op::ResourceLimit& o) const {
    return fmt::format("rlimit {} {}", o.name, o.value);
  }
  std::string operator()(const op::NoNewPrivileges&) const { return "no new privileges"; }
  std::string operator()(const op::RestrictLandlock& o) const {
    return fmt::format("restrict with landlock, ABI {}", o.abi);
  }
  std::string operator()(const op::CloseDescriptors&) const {
    return "close every descriptor but 0, 1, 2";
  }
  std::string operator()(const op::NewSession&) const { return "new session"; }
  std::string operator()(const op::NewKeyring&) const { return "new session keyring"; }
  std::string operator()(const op::DropCapabilities& o) const {
    if (!o.bounding) return "drop every capability: ambient, inheritable, permitted, effective";
    return "drop every capability: bounding, ambient, inheritable, permitted, effective";
  }
  std::string operator()(const op::RunExecutor& o) const {
    return fmt::format("run executor {}, SHA256 {}, with {}", quote(o.path), o.sha256, o.document);
  }
  std::string operator()(const op::RunBundle& o) const {
    return fmt::format("run the bundle in {} by {}", quote(o.directory), quote(o.program));
  }
  std::string operator()(const op::InstallSeccomp& o) const {
    return fmt::format("install seccomp filter, network {}, {}{}", name_of(o.net),
                       o.brokered ? "local sockets by broker" : "no local sockets",
                       o.shares_host ? ", no namespaces" : "") +
           (o.staged ? ", renames shown to the supervisor" : "") +
           (o.watched ? ", paths shown to the supervisor" : "");
  }
  std::string operator()(const op::LoadProfile& o) const {
    return fmt::format("become {} with the profile\n{}", quote(o.program), sanitize_lines(o.text));
  }
  std::string operator()(const op::ChangeDirectory& o) const {
    return fmt::format("start in {}", quote(o.path));
  }
  std::string operator()(const op::Execute& o) const {
    std::string text = "execute";
    for (const std::string& argument : o.argv) text += " " + quote(argument);
    return text;
  }
};

void append(std::string& text, unsigned& number, const std::vector<Op>& operations) {
  for (const Op& operation : operations) {
    text += fmt::format("{:4}  {}\n", ++number, describe(operation));
  }
}

}  // namespace

std::string_view name_of(LimitBy by) {
  switch (by) {
    case LimitBy::None:
      return "none";
    case LimitBy::CgroupV2:
    case LimitBy::CgroupV1:
      return "cgroup";
    case LimitBy::Rlimit:
      return "rlimit";
    case LimitBy::Tmpfs:
      return "tmpfs";
    case LimitBy::Clock:
      return "clock";
    case LimitBy::Relay:
      return "relay";
    case LimitBy::Broker:
      return "broker";
    case LimitBy::Watch:
      return "watch";
    case LimitBy::Gate:
      return "gate";
  }
  return "";
}

std::string describe(const Op& operation) { return std::visit(Describe{}, operation); }

std::string describe(const PlannedLimit& limit) {
  const bool size = limit.name == "memory" || limit.name == "scratch" || limit.name == "output" ||
                    limit.name == "output_total" || limit.name == "file_size" ||
                    limit.name == "sent" || limit.name == "request_traffic";
  const bool time = limit.name == "wall" || limit.name == "cpu";
  std::string value = fmt::format("{}", limit.value);
  if (size) value = format_size(limit.value);
  if (time) value = format_duration(limit.value);
  if (limit.name == "cpus") value = fmt::format("{:g}", static_cast<double>(limit.value) / 1000);
  return fmt::format("limit {} {} by {}", limit.name, value, name_of(limit.by));
}

std::string describe_variable(const std::string& variable, const Plan& plan) {
  const bool secret = plan.credential && plan.credential->kind == Credential::Kind::Variable &&
                      variable.starts_with(plan.credential->label + "=");
  return secret ? plan.credential->label + "=(credential)" : variable;
}

std::string describe(const Plan& plan) {
  std::string text = fmt::format("backend {}\n", name_of(plan.backend));
  for (const PlannedLimit& limit : plan.limits) text += "      " + describe(limit) + "\n";
  for (const std::string& variable : plan.environment) {
    text += fmt::format("      environment {}\n", quote(describe_variable(variable, plan)));
  }
  if (plan.credential) {
    text +=
        fmt::format("      credential of {} {}\n", plan.credential->agent, plan.credential->label);
  }
  if (std::ranges::find(plan.lost, Loss::Protected) != plan.lost.end()) {
    text += "      protected files of the writable grants are kept, and put back after the run\n";
  }
  unsigned number = 0;
  text += "first process:\n";
  append(text, number, plan.build);
  text += "command's process:\n";
  append(text, number, plan.confine);
  text += "first process, before the command is released:\n";
  append(text, number, plan.seal);
  return text;
}

}  // namespace cordon
