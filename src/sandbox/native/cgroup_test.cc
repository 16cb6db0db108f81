// The groups of a run on a made-up cgroup tree. Its one magic is the kernel's: a directory made
// below the tree is born with the files of its controller, and removing it takes them along.
#include "sandbox/native/cgroup.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace {

struct FakeTree {
  std::string root;
  std::map<std::string, std::string> born_with;
  int busy_answers = 0;  // how often removing answers EBUSY first
};
FakeTree* fake_tree = nullptr;

bool is_fake(const char* path) {
  return fake_tree != nullptr && std::string_view(path).starts_with(fake_tree->root + "/");
}

}  // namespace

// These stand before the C library's own for the whole test program and do the same as those, but
// for a path below the tree of the running test.
extern "C" int mkdir(const char* path, mode_t mode) noexcept {
  const int result = ::mkdirat(AT_FDCWD, path, mode);
  if (result < 0 || !is_fake(path)) return result;
  for (const auto& [name, content] : fake_tree->born_with) {
    const std::string file = std::string(path) + "/" + name;
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ::write(fd, content.data(), content.size()) < 0) return -1;
    ::close(fd);
  }
  return 0;
}

extern "C" int rmdir(const char* path) noexcept {
  if (is_fake(path)) {
    if (fake_tree->busy_answers > 0) {
      --fake_tree->busy_answers;
      errno = EBUSY;
      return -1;
    }
    for (const auto& [name, content] : fake_tree->born_with) {
      ::unlink((std::string(path) + "/" + name).c_str());
    }
  }
  return ::unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

namespace cordon::native {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kRun = "0123456789abcdef";

class CgroupTree : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "cordon-cgroup.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    tree_.root = pattern;
    fake_tree = &tree_;
  }
  void TearDown() override {
    fake_tree = nullptr;
    std::filesystem::remove_all(tree_.root);
  }

  void as_v2() {
    tree_.born_with = {
        {"pids.max", "max\n"},       {"pids.events", "max 0\n"},
        {"memory.max", "max\n"},     {"memory.swap.max", "max\n"},
        {"memory.oom.group", "0\n"}, {"memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"},
        {"memory.peak", "0\n"},      {"cpu.max", "max 100000\n"},
        {"cgroup.kill", ""}};
    facts_ = {CgroupFacts::Version::V2,
              {{"cpu", tree_.root}, {"memory", tree_.root}, {"pids", tree_.root}}};
  }
  [[nodiscard]] std::string group() const { return tree_.root + "/cordon-" + kRun; }
  [[nodiscard]] std::string content(const std::string& file) const {
    std::ifstream stream(group() + "/" + file);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(group() + "/" + file) << text;
  }
  [[nodiscard]] bool exists() const { return std::filesystem::exists(group()); }

  static Plan plan(std::vector<PlannedLimit> limits) {
    Plan plan;
    plan.limits = std::move(limits);
    return plan;
  }

  FakeTree tree_;
  CgroupFacts facts_;
  const Plan bounded_ = plan({{"wall", 1000, LimitBy::Clock},
                              {"memory", 1 << 20, LimitBy::CgroupV2},
                              {"pids", 64, LimitBy::CgroupV2},
                              {"cpus", 1500, LimitBy::CgroupV2}});
};

TEST_F(CgroupTree, GivesV2OneGroupWithEveryBoundInIt) {
  as_v2();
  EXPECT_THAT(cgroup_directories(bounded_, facts_, kRun), ElementsAre(group()));
  EXPECT_FALSE(exists());
  auto made = Cgroup::make(bounded_, facts_, kRun);
  ASSERT_TRUE(made) << message(made.error());
  EXPECT_THAT(content("memory.max"), HasSubstr("1048576"));
  EXPECT_THAT(content("memory.swap.max"), ::testing::StartsWith("0"));
  EXPECT_THAT(content("memory.oom.group"), ::testing::StartsWith("1"));
  EXPECT_THAT(content("pids.max"), HasSubstr("64"));
  EXPECT_THAT(content("cpu.max"), ::testing::StartsWith("150000 100000"));
  EXPECT_GE(made->birth_descriptor(), 0);
  EXPECT_THAT(made->join_descriptors(), IsEmpty());
  EXPECT_LT(made->memory_news().descriptor, 0);
  made->watch_memory();
  EXPECT_GE(made->memory_news().descriptor, 0);
}

TEST_F(CgroupTree, MakesNoGroupWhereNoLimitNeedsOne) {
  as_v2();
  const Plan unbounded = plan({{"pids", 64, LimitBy::Rlimit}, {"wall", 1, LimitBy::Clock}});
  EXPECT_THAT(cgroup_directories(unbounded, facts_, kRun), IsEmpty());
  const auto made = Cgroup::make(unbounded, facts_, kRun);
  ASSERT_TRUE(made);
  EXPECT_LT(made->birth_descriptor(), 0);
  EXPECT_FALSE(exists());
}

TEST_F(CgroupTree, ReadsWhatTheKernelCounted) {
  as_v2();
  auto made = Cgroup::make(bounded_, facts_, kRun);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->events().memory, MemoryAccount{});
  write("memory.events", "low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 1\n");
  write("pids.events", "max 5\n");
  write("memory.peak", "777216\n");
  EXPECT_EQ(made->events().memory, (MemoryAccount{3, 2}));
  EXPECT_EQ(made->events().pids_refused, 5U);
  EXPECT_EQ(made->events().peak_memory, 777216U);
}

// A file of the kernel's is always readable: polled for that, every run would look killed at once.
TEST_F(CgroupTree, TakesOnlyAKillAtItsOwnBoundForOne) {
  as_v2();
  auto made = Cgroup::make(bounded_, facts_, kRun);
  ASSERT_TRUE(made);
  made->watch_memory();
  EXPECT_FALSE(made->memory_killed());
  const PolledFor news = made->memory_news();
  EXPECT_EQ(news.events, POLLPRI);
  pollfd readable{news.descriptor, POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, 0), 1);
  pollfd polled{news.descriptor, news.events, 0};
  EXPECT_EQ(::poll(&polled, 1, 0), 0);
  // A change that is no kill; a kill that a group above asked for; one at the own bound.
  write("memory.events", "low 0\nhigh 0\nmax 7\noom 0\noom_kill 0\n");
  EXPECT_FALSE(made->memory_killed());
  write("memory.events", "low 0\nhigh 0\nmax 7\noom 0\noom_kill 1\n");
  EXPECT_FALSE(made->memory_killed());
  write("memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\n");
  EXPECT_TRUE(made->memory_killed());
  EXPECT_GE(made->memory_news().descriptor, 0);
}

// Of a group that was removed, the kernel would tell without end.
TEST_F(CgroupTree, IsNotPolledOnceItCannotBeRead) {
  as_v2();
  auto made = Cgroup::make(bounded_, facts_, kRun);
  ASSERT_TRUE(made);
  made->watch_memory();
  write("memory.events", "");
  EXPECT_FALSE(made->memory_killed());
  EXPECT_LT(made->memory_news().descriptor, 0);
}

TEST_F(CgroupTree, IsKilledAsAWholeWhereTheKernelCan) {
  as_v2();
  {
    auto made = Cgroup::make(bounded_, facts_, kRun);
    ASSERT_TRUE(made);
    EXPECT_EQ(content("cgroup.kill"), "");
    EXPECT_TRUE(made->kill());
    EXPECT_EQ(content("cgroup.kill"), "1");
    EXPECT_THAT(content("cpu.max"), ::testing::StartsWith("max"));
  }
  tree_.born_with.erase("cgroup.kill");
  auto older = Cgroup::make(bounded_, facts_, kRun);
  ASSERT_TRUE(older);
  EXPECT_FALSE(older->kill());
  EXPECT_FALSE(Cgroup().kill());
}

TEST(CpuBandwidth, IsWhatTheKernelTakes) {
  for (const std::uint64_t thousandths : {1ULL, 9ULL, 10ULL, 500ULL, 1000ULL, 65'536'000ULL}) {
    const CpuBandwidth bandwidth = cpu_bandwidth(thousandths);
    EXPECT_GE(bandwidth.quota_us, 1'000U) << thousandths;
    EXPECT_LE(bandwidth.period_us, 1'000'000U) << thousandths;
    EXPECT_EQ(bandwidth.quota_us * 1000, thousandths * bandwidth.period_us) << thousandths;
  }
}

TEST_F(CgroupTree, HasNoPeakWhereTheKernelKeepsNone) {
  as_v2();
  tree_.born_with.erase("memory.peak");
  auto made = Cgroup::make(bounded_, facts_, kRun);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->events().peak_memory, std::nullopt);
}

TEST_F(CgroupTree, IsRemovedWithItsOwnerEvenIfTheKernelIsSlow) {
  as_v2();
  tree_.busy_answers = 3;
  {
    auto made = Cgroup::make(bounded_, facts_, kRun);
    ASSERT_TRUE(made);
    EXPECT_TRUE(exists());
  }
  EXPECT_FALSE(exists());
  EXPECT_EQ(tree_.busy_answers, 0);
}

TEST_F(CgroupTree, LeavesNothingBehindWhenABoundCannotBeSet) {
  as_v2();
  tree_.born_with.erase("pids.max");
  const auto refused = Cgroup::make(bounded_, facts_, kRun);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Setup);
  EXPECT_THAT(refused.error().what, HasSubstr("pids.max"));
  EXPECT_EQ(refused.error().error_number, ENOENT);
  EXPECT_FALSE(exists());
}

TEST_F(CgroupTree, RefusesAGroupThatIsThereAlready) {
  as_v2();
  ASSERT_EQ(::mkdir(group().c_str(), 0755), 0);
  const auto refused = Cgroup::make(bounded_, facts_, kRun);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error_number, EEXIST);
  EXPECT_TRUE(exists()) << "another run's group was removed";
}

TEST_F(CgroupTree, GivesV1AGroupPerControllerToJoin) {
  const std::string memory = tree_.root + "/memory";
  const std::string pids = tree_.root + "/pids";
  ASSERT_TRUE(std::filesystem::create_directory(memory));
  ASSERT_TRUE(std::filesystem::create_directory(pids));
  tree_.born_with = {{"tasks", ""},
                     {"pids.max", ""},
                     {"memory.limit_in_bytes", ""},
                     {"memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n"},
                     {"memory.max_usage_in_bytes", "1048576\n"},
                     {"cgroup.event_control", ""}};
  facts_ = {CgroupFacts::Version::V1, {{"memory", memory}, {"pids", pids}}};
  const Plan bounded =
      plan({{"memory", 1 << 20, LimitBy::CgroupV1}, {"pids", 64, LimitBy::CgroupV1}});
  const std::string name = std::string("/cordon-") + kRun;
  EXPECT_THAT(cgroup_directories(bounded, facts_, kRun), ElementsAre(memory + name, pids + name));
  {
    auto made = Cgroup::make(bounded, facts_, kRun);
    ASSERT_TRUE(made) << message(made.error());
    EXPECT_LT(made->birth_descriptor(), 0);
    EXPECT_EQ(made->join_descriptors().size(), 2U);
    EXPECT_EQ(made->events().memory, (MemoryAccount{1, 4}));
    EXPECT_TRUE(std::filesystem::exists(memory + name));
    EXPECT_TRUE(std::filesystem::exists(pids + name));
    // The event of v1 comes before the kill: from then on one has to look.
    made->watch_memory();
    const PolledFor news = made->memory_news();
    EXPECT_EQ(news.events, POLLIN);
    EXPECT_TRUE(made->memory_killed());
    EXPECT_EQ(made->memory_news().descriptor, news.descriptor);
    const std::uint64_t told = 1;
    ASSERT_EQ(::write(news.descriptor, &told, sizeof told), static_cast<ssize_t>(sizeof told));
    EXPECT_TRUE(made->memory_killed());
    made->watch_memory();
    EXPECT_LT(made->memory_news().descriptor, 0);
  }
  EXPECT_FALSE(std::filesystem::exists(memory + name));
  EXPECT_FALSE(std::filesystem::exists(pids + name));
}

}  // namespace
}  // namespace cordon::native
