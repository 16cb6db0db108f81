#include "apply/file_rights.h"

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

}  // namespace cordon::apply
