#include "compat/mxc/executor/inside.h"

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <variant>

#include "base/text.h"
#include "host/inspect.h"
#include "sandbox/native/become_command.h"
#include "sandbox/native/build.h"

namespace cordon::mxc {
namespace {

// A whole one and writable: bubblewrap writes its id maps there, and the kernel lets it mount one
// of its own only where a whole one is seen. The command gets that other one.
int mount_proc() {
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  return ::mount("proc", "proc", "proc", kFlags, nullptr) < 0 ? -errno : 0;
}

// The clone and the supervisor did these.
bool is_done(const Op& operation) {
  return std::holds_alternative<op::EnterNamespaces>(operation) ||
         std::holds_alternative<op::MapIdentity>(operation);
}

}  // namespace

int build_view(const Plan& plan, std::uint32_t& index) {
  const native::Prepared unused;
  native::BuildState state;
  // Modes are then what the plan says.
  const mode_t mask = ::umask(0);
  for (index = 0; index < plan.build.size(); ++index) {
    const Op& operation = plan.build[index];
    if (std::holds_alternative<op::RunExecutor>(operation)) break;
    if (is_done(operation)) continue;
    int error = 0;
    if (std::holds_alternative<op::PivotRoot>(operation)) error = mount_proc();
    if (error == 0) error = native::carry_out(operation, unused, state);
    if (error < 0) return error;
  }
  ::umask(mask);
  return 0;
}

namespace {

constexpr std::string_view kMark = "cordon executor orders 1";

class Packer {
 public:
  void text(std::string_view word) {
    number(word.size());
    bytes_.append(word);
  }
  void number(std::uint64_t value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof raw);
  }
  void list(const std::vector<std::string>& words) {
    number(words.size());
    for (const std::string& word : words) text(word);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Once something was wrong everything else is, too.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (left_.size() < sizeof value) return wrong();
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > left_.size()) {
      wrong();
      return {};
    }
    std::string word(left_.substr(0, size));
    left_.remove_prefix(size);
    // It becomes an argument of a system call, which would end there.
    if (word.find('\0') != std::string::npos) wrong();
    return word;
  }
  std::vector<std::string> list() {
    std::vector<std::string> words;
    for (std::uint64_t count = number(); count > 0 && good_; --count) words.push_back(text());
    return words;
  }
  template <typename Enum>
  Enum choice(Enum last) {
    const std::uint64_t value = number();
    if (value > static_cast<std::uint64_t>(last)) wrong();
    return good_ ? static_cast<Enum>(value) : Enum{};
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return good_ && left_.empty(); }

 private:
  std::uint64_t wrong() {
    good_ = false;
    left_ = {};
    return 0;
  }
  std::string_view left_;
  bool good_ = true;
};

// The operations of the command's process, by the place they have in every plan for an executor.
void pack_confine(const Plan& plan, Packer& packer) {
  std::uint64_t limits = 0;
  int abi = 0;
  NetMode net = NetMode::None;
  for (const Op& operation : plan.confine) {
    if (std::holds_alternative<op::ResourceLimit>(operation)) ++limits;
    if (const auto* landlock = std::get_if<op::RestrictLandlock>(&operation)) abi = landlock->abi;
    if (const auto* filter = std::get_if<op::InstallSeccomp>(&operation)) net = filter->net;
  }
  packer.number(limits);
  for (const Op& operation : plan.confine) {
    if (const auto* limit = std::get_if<op::ResourceLimit>(&operation)) {
      packer.text(limit->name);
      packer.number(limit->value);
    }
  }
  packer.number(static_cast<std::uint64_t>(abi));
  packer.number(static_cast<std::uint64_t>(net));
}

void unpack_confine(Unpacker& unpacker, Plan& plan) {
  for (std::uint64_t count = unpacker.number(); count > 0 && unpacker.good(); --count) {
    std::string name = unpacker.text();
    plan.confine.emplace_back(op::ResourceLimit{std::move(name), unpacker.number()});
  }
  const auto abi = static_cast<int>(unpacker.number());
  const auto net = unpacker.choice(NetMode::Open);
  plan.confine.emplace_back(op::NoNewPrivileges{});
  plan.confine.emplace_back(op::RestrictLandlock{abi});
  plan.confine.emplace_back(op::CloseDescriptors{});
  plan.confine.emplace_back(op::NewSession{});
  plan.confine.emplace_back(op::NewKeyring{});
  plan.confine.emplace_back(op::ChangeDirectory{plan.cwd});
  plan.confine.emplace_back(op::InstallSeccomp{net, false});
  plan.confine.emplace_back(op::Execute{plan.argv});
}

}  // namespace

std::string pack_orders(const Plan& plan, bool terminal) {
  Packer packer;
  packer.text(kMark);
  packer.number(terminal ? 1 : 0);
  packer.text(plan.cwd);
  packer.list(plan.argv);
  packer.list(plan.candidates);
  packer.list(plan.environment);
  pack_confine(plan, packer);
  for (const Op& operation : plan.build) {
    const auto* rule = std::get_if<op::LandlockAllow>(&operation);
    if (rule == nullptr) continue;
    packer.text(rule->path);
    packer.number(static_cast<std::uint64_t>(rule->use));
    packer.number(static_cast<std::uint64_t>(rule->kind));
    packer.number(rule->optional ? 1 : 0);
  }
  return packer.take();
}

std::optional<Orders> unpack_orders(std::string_view bytes) {
  Unpacker unpacker(bytes);
  if (unpacker.text() != kMark) return std::nullopt;
  Orders orders;
  orders.terminal = unpacker.number() == 1;
  Plan& plan = orders.plan;
  plan.backend = BackendKind::Mxc;
  plan.cwd = unpacker.text();
  plan.argv = unpacker.list();
  plan.candidates = unpacker.list();
  plan.environment = unpacker.list();
  unpack_confine(unpacker, plan);
  while (unpacker.good() && !unpacker.at_end()) {
    std::string path = unpacker.text();
    const auto use = unpacker.choice(LandlockUse::Device);
    const auto kind = unpacker.choice(FileKind::Other);
    const bool optional = unpacker.number() == 1;
    plan.build.emplace_back(op::LandlockAllow{std::move(path), use, kind, {}, optional});
  }
  if (!unpacker.good() || plan.argv.empty()) return std::nullopt;
  return orders;
}

namespace {

constexpr int kFailed = 125;
constexpr std::size_t kMostOrdersBytes = std::size_t{64} << 20;

int fail_with(native::Stage stage, std::uint32_t index, int error) {
  native::CommandReport report;
  report.stage = stage;
  report.index = index;
  report.error = error;
  // Nobody hears it if this fails; the executor's end tells the rest.
  [[maybe_unused]] const ssize_t written = ::write(kReportFd, &report, sizeof report);
  return kFailed;
}

// Only what the supervisor sealed is obeyed: an executor that put something of its own here is one
// that the pin should have kept out.
bool is_sealed(int descriptor) {
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  return seals >= 0 && (seals & kNeeded) == kNeeded;
}

// The file that shows Landlock at work: nothing but a rule keeps it from being read.
int make_probe() {
  const int fd =
      ::open(native::kLandlockProbe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);
  if (fd < 0) return -errno;
  ::close(fd);
  return 0;
}

}  // namespace

int run_inside() {
  // The executors block signals and leave it at that; and a key at the terminal is for the command.
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  native::CommandStart start;
  start.mask = ::umask(0);
  start.report = kReportFd;
  start.groups.fill(-1);
  if (!is_sealed(kOrdersFd) || ::lseek(kOrdersFd, 0, SEEK_SET) != 0) return kFailed;
  const std::optional<std::string> bytes = read_all(kOrdersFd, kMostOrdersBytes);
  const std::optional<Orders> orders = bytes ? unpack_orders(*bytes) : std::nullopt;
  if (!orders) return fail_with(native::Stage::Seal, 0, EBADMSG);
  const Plan& plan = orders->plan;
  // Before anything of ours could have that number.
  if (::dup3(kReleaseFd, native::kReleaseFd, O_CLOEXEC) < 0) {
    return fail_with(native::Stage::Seal, 0, errno);
  }

  native::Prepared prepared = native::prepare(plan, ::geteuid());
  prepared.terminal = orders->terminal;
  if (const int error = make_probe(); error < 0) return fail_with(native::Stage::Seal, 0, -error);
  native::BuildState state;
  std::uint32_t index = 0;
  for (const Op& operation : plan.build) {
    if (const int error = native::carry_out(operation, prepared, state); error < 0) {
      return fail_with(native::Stage::Build, index, -error);
    }
    ++index;
  }
  start.ruleset = state.ruleset;
  for (std::size_t i = 0; i < start.groups.size(); ++i) {
    const int group = kFirstGroupFd + static_cast<int>(i);
    if (::fcntl(group, F_GETFD) >= 0) start.groups[i] = group;
  }
  native::become_command(prepared, start);
}

}  // namespace cordon::mxc
