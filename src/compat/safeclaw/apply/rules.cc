#include "compat/safeclaw/apply/rules.h"

#include <sys/stat.h>

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>

#include "base/path.h"
#include "base/text.h"
#include "sys/landlock.h"

namespace cordon::apply {

namespace {

namespace right = sys::landlock;

constexpr std::uint64_t kReading = right::kReadFile | right::kReadDir;
constexpr std::uint64_t kWriting = right::kWriteFile | right::kRemoveDir | right::kRemoveFile |
                                   right::kMakeReg | right::kMakeDir | right::kMakeSym |
                                   right::kRefer | right::kTruncate;

struct NamedRight {
  std::uint64_t right;
  const char* name;
};
constexpr NamedRight kNames[] = {
    {right::kExecute, "EXECUTE"},      {right::kWriteFile, "WRITE_FILE"},
    {right::kReadFile, "READ_FILE"},   {right::kReadDir, "READ_DIR"},
    {right::kRemoveDir, "REMOVE_DIR"}, {right::kRemoveFile, "REMOVE_FILE"},
    {right::kMakeChar, "MAKE_CHAR"},   {right::kMakeDir, "MAKE_DIR"},
    {right::kMakeReg, "MAKE_REG"},     {right::kMakeSock, "MAKE_SOCK"},
    {right::kMakeFifo, "MAKE_FIFO"},   {right::kMakeBlock, "MAKE_BLOCK"},
    {right::kMakeSym, "MAKE_SYM"},     {right::kRefer, "REFER"},
    {right::kTruncate, "TRUNCATE"},    {right::kIoctlDev, "IOCTL_DEV"},
};

}  // namespace

std::uint64_t rights_of(SafeClawAccess access, Target target, int abi) {
  std::uint64_t rights = kReading;
  if (writes(access)) rights |= kWriting;
  if (executes(access)) rights |= right::kExecute;
  if (target == Target::File) rights &= right::kFileRights;
  return rights & right::file_rights(abi);
}

std::vector<std::string> right_names(std::uint64_t rights) {
  std::vector<std::string> names;
  for (const auto& [right, name] : kNames) {
    if ((rights & right) != 0) names.emplace_back(name);
  }
  return names;
}

namespace {

Fd open_object(const std::string& path) { return Fd(::open(path.c_str(), O_PATH | O_CLOEXEC)); }

// What the denied rule is about, of what the other one grants.
bool withholds(SafeClawAccess denied, SafeClawAccess granted) {
  const bool reading = denied != SafeClawAccess::Write && denied != SafeClawAccess::Execute;
  return reading || (writes(denied) && writes(granted)) || (executes(denied) && executes(granted));
}

Judged<std::string> place_of(const Fd& object, const std::string& path) {
  const std::string link = "/proc/self/fd/" + std::to_string(object.get());
  std::array<char, kSafeClawLongestPath + 2> place{};
  const ssize_t length = ::readlink(link.c_str(), place.data(), place.size());
  if (length <= 0 || static_cast<std::size_t>(length) == place.size() || place[0] != '/') {
    return refuse(Status::Policy, "cannot tell where " + quote(path) + " leads");
  }
  return std::string(place.data(), static_cast<std::size_t>(length));
}

Judged<std::string> place_of_denied(const std::string& path) {
  std::string present = normalize(path);
  std::string missing;
  while (true) {
    const Fd object = open_object(present);
    if (object.valid()) {
      CORDON_TRY(place, place_of(object, path));
      return normalize(place + missing);
    }
    // Behind a directory that is not there ".." means nothing.
    if (errno != ENOENT || present == "/" || has_dotdot(path)) {
      return tl::unexpected(
          with_errno(Status::Policy, "cannot tell where " + quote(path) + " leads", errno));
    }
    missing.insert(0, std::string("/").append(basename(present)));
    present = std::string(parent(present));
  }
}

}  // namespace

Judged<std::vector<RuleObject>> open_rules(const std::vector<SafeClawRule>& rules) {
  std::vector<RuleObject> objects;
  for (const SafeClawRule& rule : rules) {
    Fd object = open_object(rule.path);
    if (!object.valid() && errno != ENOENT) {
      return tl::unexpected(with_errno(Status::Landlock, "cannot open " + quote(rule.path), errno));
    }
    objects.push_back({rule, std::move(object)});
  }
  return objects;
}

Judged<void> check_denies(const std::vector<SafeClawRule>& denies,
                          const std::vector<RuleObject>& objects) {
  for (const SafeClawRule& deny : denies) {
    CORDON_TRY(denied, place_of_denied(deny.path));
    for (const auto& [rule, object] : objects) {
      if (!object.valid() || !withholds(deny.access, rule.access)) continue;
      CORDON_TRY(granted, place_of(object, rule.path));
      if (contains(granted, denied) || contains(denied, granted)) {
        return refuse(Status::Policy, "the deny of " + quote(deny.path) +
                                          " cannot be held beside the rule for " +
                                          quote(rule.path));
      }
    }
  }
  return {};
}

std::optional<bool> may_execute(const std::string& path, const std::vector<RuleObject>& objects) {
  const Fd program = open_object(path);
  if (!program.valid()) return std::nullopt;
  const auto place = place_of(program, path);
  if (!place) return std::nullopt;
  for (const auto& [rule, object] : objects) {
    if (!object.valid() || !executes(rule.access)) continue;
    const auto granted = place_of(object, rule.path);
    if (granted && contains(*granted, *place)) return true;
  }
  return false;
}

}  // namespace cordon::apply
