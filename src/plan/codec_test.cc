#include "plan/codec.h"

#include <gtest/gtest.h>

#include "plan/codec_members.h"

namespace cordon {
namespace {

using namespace codec;

// Gives every member a value that no other has and that is not its default.
class Filler {
 public:
  template <typename T>
  void operator()(T& value) const {
    if constexpr (std::is_same_v<T, bool>) {
      value = !value;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(static_cast<int>(value) == 0 ? 1 : 0);
    } else if constexpr (is_number<T>) {
      value = static_cast<T>(++last_);
    } else {
      Members<T>::each(value, *this);
    }
  }
  void operator()(std::string& value) const { value = "text " + std::to_string(++last_); }
  template <typename T>
  void operator()(std::vector<T>& values) const {
    values.resize(2);
    for (T& value : values) (*this)(value);
  }
  template <typename T, std::size_t Size>
  void operator()(std::array<T, Size>& values) const {
    for (T& value : values) (*this)(value);
  }

 private:
  mutable int last_ = 0;
};

// All members as text, in order.
class Lister {
 public:
  explicit Lister(std::vector<std::string>& found) : found_(found) {}
  template <typename T>
  void operator()(const T& value) const {
    if constexpr (is_number<T>) {
      found_.push_back(std::to_string(static_cast<long long>(value)));
    } else {
      Members<T>::each(value, *this);
    }
  }
  void operator()(const std::string& value) const { found_.push_back(value); }
  template <typename T>
  void operator()(const std::vector<T>& values) const {
    for (const T& value : values) (*this)(value);
  }
  template <typename T, std::size_t Size>
  void operator()(const std::array<T, Size>& values) const {
    for (const T& value : values) (*this)(value);
  }

 private:
  std::vector<std::string>& found_;
};

std::vector<std::string> listed(const Op& operation) {
  std::vector<std::string> found;
  std::visit(Lister(found), operation);
  return found;
}

template <std::size_t... Index>
std::vector<Op> every_operation(std::index_sequence<Index...> /*count*/) {
  std::vector<Op> all;
  (all.emplace_back(std::in_place_index<Index>), ...);
  for (Op& operation : all) std::visit(Filler(), operation);
  return all;
}

TEST(PlanCodec, EveryOperationSurvives) {
  const std::vector<Op> all = every_operation(std::make_index_sequence<std::variant_size_v<Op>>());
  ASSERT_GT(all.size(), 40U);
  Plan plan;
  plan.build = all;
  plan.confine = all;
  plan.seal = all;
  const auto taken = decode_plan(encode_plan(plan));
  ASSERT_TRUE(taken);
  for (const std::vector<Op>* list : {&taken->build, &taken->confine, &taken->seal}) {
    ASSERT_EQ(list->size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ((*list)[i].index(), i);
      EXPECT_EQ(listed((*list)[i]), listed(all[i])) << describe(all[i]);
    }
  }
}

TEST(PlanCodec, WordsSurvive) {
  Plan plan;
  plan.cwd = "/project";
  plan.argv = {"sh", "", "\xff\xfe", "two words"};
  plan.candidates = {"/usr/bin/sh", "/bin/sh"};
  plan.environment = {"PATH=/usr/bin", "EMPTY="};
  plan.limits = {{"memory", 7, LimitBy::Watch}, {"requests", 5, LimitBy::Gate}};
  const auto taken = decode_plan(encode_plan(plan));
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->cwd, plan.cwd);
  EXPECT_EQ(taken->argv, plan.argv);
  EXPECT_EQ(taken->candidates, plan.candidates);
  EXPECT_EQ(taken->environment, plan.environment);
  EXPECT_EQ(taken->limits, plan.limits);
}

TEST(PlanCodec, NothingElseIsRead) {
  Plan plan;
  plan.argv = {"true"};
  plan.confine = {op::NoNewPrivileges{}, op::ResourceLimit{"nofile", 256}};
  const std::string whole = encode_plan(plan);
  ASSERT_TRUE(decode_plan(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_plan(std::string_view(whole).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_plan(whole + "x"));
  std::string unknown = whole;
  unknown[16] = '\x7f';  // behind the two counts: which operation the first is
  EXPECT_FALSE(decode_plan(unknown));
  for (std::vector<std::string>* words : {&plan.argv, &plan.candidates, &plan.environment}) {
    Plan other = plan;
    words->emplace_back(std::string("a\0b", 3));
    EXPECT_FALSE(decode_plan(encode_plan(plan)));
    plan = other;
  }
}

// A line that forgets a member does not compile: this is what it is judged by.
struct Three {
  std::string name;
  FileId id;
  std::vector<int> numbers;
};
static_assert(members_of<Three>() == 3);
static_assert(members_of<op::PrivateMounts>() == 0);

}  // namespace
}  // namespace cordon
