// Database: a connection to PostgreSQL and statements over it. A wait ends when the person wants to
// go: no call holds on to a server that does not answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ship/interruption.h"
#include "ship/target.h"

namespace cordon::ship {

// One value of a statement, or an array of them, in PostgreSQL's binary form.
class Parameter {
 public:
  static Parameter text(std::string_view value);
  static Parameter number(std::int64_t value);
  static Parameter moment(std::int64_t wall_us);
  static Parameter nothing();

  // Arrays: nothing stands for NULL.
  static Parameter texts(std::span<const std::optional<std::string>> values);
  static Parameter bytes(std::span<const std::string> values);
  static Parameter numbers(std::span<const std::optional<std::int64_t>> values);
  static Parameter moments(std::span<const std::optional<std::int64_t>> values);

  [[nodiscard]] unsigned type() const { return type_; }
  [[nodiscard]] const std::optional<std::string>& value() const { return value_; }

 private:
  Parameter(unsigned type, std::optional<std::string> value)
      : type_(type), value_(std::move(value)) {}
  unsigned type_;
  std::optional<std::string> value_;
};

// The rows of an answer. Statements cast what they ask for to text or bytea.
class Rows {
 public:
  Rows(const Libpq& pq, PgResult* result) : pq_(&pq), result_(result, pq.clear) {}
  [[nodiscard]] PgResult* raw() const { return result_.get(); }
  [[nodiscard]] int count() const { return pq_->rows(result_.get()); }
  [[nodiscard]] std::optional<std::string> text(int row, int column) const;
  [[nodiscard]] std::optional<std::int64_t> number(int row, int column) const;
  // Of an INSERT.
  [[nodiscard]] std::uint64_t changed() const;

 private:
  const Libpq* pq_;
  std::unique_ptr<PgResult, void (*)(PgResult*)> result_;
};

class Database {
 public:
  static Answer<Database> open(const Libpq& pq, const Target& target, Interruption& interruption);
  // One statement. `limit_ms`: how long the server may be silent; negative: as long as it likes.
  Answer<Rows> ask(const char* statement, std::span<const Parameter> parameters, int limit_ms);
  Answer<Rows> ask(const char* statement, int limit_ms) { return ask(statement, {}, limit_ms); }

 private:
  Database(const Libpq& pq, PgConnection* connection, Interruption& interruption)
      : pq_(&pq), connection_(connection, pq.finish), interruption_(&interruption) {}
  Answer<void> connect(const Target& target);
  Answer<void> wait(short events, int limit_ms);
  [[nodiscard]] Error error(const std::string& what) const;
  [[nodiscard]] bool is_local() const;

  const Libpq* pq_;
  std::unique_ptr<PgConnection, void (*)(PgConnection*)> connection_;
  Interruption* interruption_;
};

}  // namespace cordon::ship
