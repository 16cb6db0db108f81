// Properties with a stated number of cases. RC_PARAMS may still choose the seed.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>
#include <string>

namespace cordon::testing {

// A sanitizer looks at each case more closely and takes ten times as long for it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kFewer = 10;
#else
inline constexpr int kFewer = 1;
#endif

// How many of a stated number this build runs: for the cases and for what they must have met.
constexpr int in_this_build(int stated) { return stated / kFewer; }

template <typename Testable>
void check_cases(int cases, Testable&& testable) {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  rc::detail::TestMetadata metadata;
  metadata.id = std::string(info->test_suite_name()) + "/" + info->name();
  metadata.description = info->name();
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = in_this_build(cases);
  const auto result = rc::detail::checkTestable(std::forward<Testable>(testable), metadata, params);
  if (!result.template is<rc::detail::SuccessResult>()) {
    std::ostringstream text;
    rc::detail::printResultMessage(result, text);
    FAIL() << text.str();
  }
}

}  // namespace cordon::testing
