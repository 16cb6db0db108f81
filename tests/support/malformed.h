// One document that must be refused, and the refusal in full. A file called "ceiling..." is read as
// a ceiling, any other as a policy.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "config/policy_document.h"

namespace cordon {

struct Malformed {
  const char* name;
  const char* file;
  std::string_view text;
  unsigned line;
  unsigned column;
  const char* what;
  const char* hint;
};

inline Result<void> read_and_decode(std::string_view text, const std::string& file) {
  CORDON_TRY(document, read_document(text, file));
  if (file.starts_with("ceiling")) {
    CORDON_TRY(ceiling, decode_ceiling(document, file, "/base"));
    return {};
  }
  CORDON_TRY(policy, decode_policy(document, file, "/base", PresetHost{1ULL << 30U}));
  return {};
}

inline void expect_refused(const Malformed& row) {
  const auto decoded = read_and_decode(row.text, row.file);
  ASSERT_FALSE(decoded.has_value());
  const Error& error = decoded.error();
  EXPECT_EQ(error.kind, ErrorKind::Policy);
  ASSERT_TRUE(error.place.has_value());
  EXPECT_EQ(error.place->file, row.file);
  EXPECT_EQ(error.place->line, row.line);
  EXPECT_EQ(error.place->column, row.column);
  EXPECT_EQ(error.what, row.what);
  EXPECT_EQ(error.hint, row.hint);
}

}  // namespace cordon
