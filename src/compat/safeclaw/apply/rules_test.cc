#include "compat/safeclaw/apply/rules.h"

#include <gmock/gmock.h>

namespace cordon::apply {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> rights(SafeClawAccess access, Target target, int abi) {
  return right_names(rights_of(access, target, abi));
}

TEST(FileRights, OfEveryAccess) {
  EXPECT_THAT(rights(SafeClawAccess::Read, Target::Directory, 7),
              ElementsAre("READ_FILE", "READ_DIR"));
  EXPECT_THAT(rights(SafeClawAccess::Execute, Target::Directory, 7),
              ElementsAre("EXECUTE", "READ_FILE", "READ_DIR"));
  const auto writing =
      ElementsAre("WRITE_FILE", "READ_FILE", "READ_DIR", "REMOVE_DIR", "REMOVE_FILE", "MAKE_DIR",
                  "MAKE_REG", "MAKE_SYM", "REFER", "TRUNCATE");
  EXPECT_THAT(rights(SafeClawAccess::Write, Target::Directory, 7), writing);
  EXPECT_THAT(rights(SafeClawAccess::ReadWrite, Target::Directory, 7), writing);
  EXPECT_THAT(rights(SafeClawAccess::ReadWriteExecute, Target::Directory, 7),
              ElementsAre("EXECUTE", "WRITE_FILE", "READ_FILE", "READ_DIR", "REMOVE_DIR",
                          "REMOVE_FILE", "MAKE_DIR", "MAKE_REG", "MAKE_SYM", "REFER", "TRUNCATE"));
}

TEST(FileRights, OfAFileAreThoseAFileCanHave) {
  EXPECT_THAT(rights(SafeClawAccess::Read, Target::File, 7), ElementsAre("READ_FILE"));
  EXPECT_THAT(rights(SafeClawAccess::ReadWriteExecute, Target::File, 7),
              ElementsAre("EXECUTE", "WRITE_FILE", "READ_FILE", "TRUNCATE"));
}

TEST(FileRights, AreOnlyThoseTheKernelKnows) {
  EXPECT_THAT(rights(SafeClawAccess::Write, Target::Directory, 1),
              ElementsAre("WRITE_FILE", "READ_FILE", "READ_DIR", "REMOVE_DIR", "REMOVE_FILE",
                          "MAKE_DIR", "MAKE_REG", "MAKE_SYM"));
}

}  // namespace
}  // namespace cordon::apply
