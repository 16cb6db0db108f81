// The database library, as far as the index needs it. Errors are answered as false or nothing: what
// goes wrong in an index is mended by making it anew.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace cordon::audit {

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] bool valid() const { return statement_ != nullptr; }

  // Parameters count from 1. A statement that ran may be bound and run again.
  Statement& bind(int at, std::int64_t value);
  Statement& bind(int at, std::string_view text);  // copied
  // Not copied: it must stay until the statement ran. What is bound is bound anew for the next
  // time.
  Statement& lend(int at, std::string_view text);
  Statement& bind_null(int at);
  // To its end; for what answers no rows. Conflict: a row is there that excludes this one.
  enum class Ran { Done, Conflict, Failed };
  Ran try_run();
  bool run() { return try_run() == Ran::Done; }
  bool step();  // true: a row is there
  [[nodiscard]] bool failed() const { return failed_; }
  void reset();

  [[nodiscard]] std::int64_t number(int column) const;
  [[nodiscard]] std::optional<std::int64_t> number_or_null(int column) const;
  [[nodiscard]] std::string text(int column) const;  // empty for null

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement& bind_bytes(int at, std::string_view text, std::intptr_t keeping);

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  bool failed_ = false;
  bool conflict_ = false;
};

class Database {
 public:
  // An empty path: in memory.
  static std::optional<Database> open(const std::string& path);
  bool run(const char* text);
  [[nodiscard]] Statement prepare(const std::string& text) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace cordon::audit
