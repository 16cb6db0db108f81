#include "audit/sqlite.h"

#include <sqlite3.h>

namespace cordon::audit {

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement& Statement::bind(int at, std::int64_t value) {
  failed_ = failed_ || sqlite3_bind_int64(statement_.get(), at, value) != SQLITE_OK;
  return *this;
}

Statement& Statement::bind_bytes(int at, std::string_view text, std::intptr_t keeping) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): so the library spells it
  const auto kept = reinterpret_cast<sqlite3_destructor_type>(keeping);
  failed_ = failed_ || sqlite3_bind_text64(statement_.get(), at, text.data(), text.size(), kept,
                                           SQLITE_UTF8) != SQLITE_OK;
  return *this;
}

Statement& Statement::bind(int at, std::string_view text) {
  constexpr std::intptr_t kCopied = -1;  // the library copies the bytes before it returns
  return bind_bytes(at, text, kCopied);
}

Statement& Statement::lend(int at, std::string_view text) {
  constexpr std::intptr_t kStays = 0;
  return bind_bytes(at, text, kStays);
}

Statement& Statement::bind_null(int at) {
  failed_ = failed_ || sqlite3_bind_null(statement_.get(), at) != SQLITE_OK;
  return *this;
}

Statement::Ran Statement::try_run() {
  while (step()) {
  }
  const Ran ran = conflict_ ? Ran::Conflict : failed_ ? Ran::Failed : Ran::Done;
  reset();
  return ran;
}

bool Statement::step() {
  if (failed_ || statement_ == nullptr) return false;
  const int answer = sqlite3_step(statement_.get());
  failed_ = answer != SQLITE_ROW && answer != SQLITE_DONE;
  conflict_ = answer == SQLITE_CONSTRAINT;
  return answer == SQLITE_ROW;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  failed_ = false;
  conflict_ = false;
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::optional<std::int64_t> Statement::number_or_null(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return number(column);
}

std::string Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(statement_.get(), column);
  const int length = sqlite3_column_bytes(statement_.get(), column);
  if (bytes == nullptr || length <= 0) return {};
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length)};
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

std::optional<Database> Database::open(const std::string& path) {
  sqlite3* opened = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int answer =
      sqlite3_open_v2(path.empty() ? ":memory:" : path.c_str(), &opened, flags, nullptr);
  Database database(opened);
  if (answer != SQLITE_OK) return std::nullopt;
  constexpr int kWaitMs = 60'000;
  sqlite3_busy_timeout(opened, kWaitMs);
  return database;
}

bool Database::run(const char* text) {
  return sqlite3_exec(database_.get(), text, nullptr, nullptr, nullptr) == SQLITE_OK;
}

Statement Database::prepare(const std::string& text) const {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database_.get(), text.c_str(), static_cast<int>(text.size()), &statement,
                     nullptr);
  return Statement(statement);
}

}  // namespace cordon::audit
