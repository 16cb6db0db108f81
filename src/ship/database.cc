#include "ship/database.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace cordon::ship {
namespace {

// Types by their number in PostgreSQL's catalogue, which never changes for built-in ones.
constexpr unsigned kBytes = 17;
constexpr unsigned kNumber = 20;
constexpr unsigned kText = 25;
constexpr unsigned kMoment = 1184;
constexpr unsigned kBytesArray = 1001;
constexpr unsigned kTextArray = 1009;
constexpr unsigned kNumberArray = 1016;
constexpr unsigned kMomentArray = 1185;

// Its moments count from the first of January 2000.
constexpr std::int64_t kEpochUs = std::int64_t{946'684'800} * 1'000'000;

template <typename Unsigned>
void put_number(std::string& out, Unsigned value) {
  for (int shift = static_cast<int>(sizeof value) * 8 - 8; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xFFU));
}

std::string big_endian(std::int64_t value) {
  std::string out;
  put_number(out, static_cast<std::uint64_t>(value));
  return out;
}

std::string head_of_array(unsigned type, std::size_t count) {
  std::string out;
  put_number(out, std::uint32_t{count == 0 ? 0U : 1U});  // dimensions
  put_number(out, std::uint32_t{1});                     // there may be nulls
  put_number(out, std::uint32_t{type});
  if (count != 0) {
    put_number(out, static_cast<std::uint32_t>(count));
    put_number(out, std::uint32_t{1});  // where it begins to count
  }
  return out;
}

void put_element(std::string& out, std::string_view bytes) {
  put_number(out, static_cast<std::uint32_t>(bytes.size()));
  out.append(bytes);
}

void put_null(std::string& out) { put_number(out, ~std::uint32_t{0}); }

std::string array_of_numbers(unsigned type, std::span<const std::optional<std::int64_t>> values,
                             std::int64_t less) {
  std::string out = head_of_array(type, values.size());
  for (const auto& value : values) {
    if (value) {
      put_element(out, big_endian(*value - less));
    } else {
      put_null(out);
    }
  }
  return out;
}

}  // namespace

Parameter Parameter::text(std::string_view value) { return {kText, std::string(value)}; }
Parameter Parameter::number(std::int64_t value) { return {kNumber, big_endian(value)}; }
Parameter Parameter::moment(std::int64_t wall_us) {
  return {kMoment, big_endian(wall_us - kEpochUs)};
}
Parameter Parameter::nothing() { return {0, std::nullopt}; }

Parameter Parameter::texts(std::span<const std::optional<std::string>> values) {
  std::string out = head_of_array(kText, values.size());
  for (const auto& value : values) {
    if (value) {
      put_element(out, *value);
    } else {
      put_null(out);
    }
  }
  return {kTextArray, std::move(out)};
}

Parameter Parameter::bytes(std::span<const std::string> values) {
  std::string out = head_of_array(kBytes, values.size());
  for (const std::string& value : values) put_element(out, value);
  return {kBytesArray, std::move(out)};
}

Parameter Parameter::numbers(std::span<const std::optional<std::int64_t>> values) {
  return {kNumberArray, array_of_numbers(kNumber, values, 0)};
}

Parameter Parameter::moments(std::span<const std::optional<std::int64_t>> values) {
  return {kMomentArray, array_of_numbers(kMoment, values, kEpochUs)};
}

std::optional<std::string> Rows::text(int row, int column) const {
  if (pq_->is_null(result_.get(), row, column) != 0) return std::nullopt;
  return std::string(pq_->value(result_.get(), row, column),
                     static_cast<std::size_t>(pq_->length(result_.get(), row, column)));
}

std::optional<std::int64_t> Rows::number(int row, int column) const {
  const auto digits = text(row, column);
  if (!digits) return std::nullopt;
  return std::strtoll(digits->c_str(), nullptr, 10);
}

std::uint64_t Rows::changed() const {
  return std::strtoull(pq_->result_command(result_.get()), nullptr, 10);
}

namespace {

std::string_view said_by(const Libpq& pq, const PgConnection* connection) {
  return pq.error_message(connection);
}

}  // namespace

Error Database::error(const std::string& what) const {
  std::string why;
  for (std::string_view line : split(said_by(*pq_, connection_.get()), '\n')) {
    line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
    // libpq advises to do without the check.
    if (line.empty() || line.starts_with("Either provide the file")) continue;
    why.append(why.empty() ? ": " : "; ").append(sanitize(line));
  }
  const bool of_authority = why.find("root certificate") != std::string::npos;
  return setup_error(what + why, 0,
                     of_authority ? "sslrootcert=FILE in the address names the authority that "
                                    "signed the certificate of the server"
                                  : "");
}

bool Database::is_local() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  return ::getpeername(pq_->socket(connection_.get()), reinterpret_cast<sockaddr*>(&address),
                       &size) == 0 &&
         address.ss_family == AF_UNIX;
}

Answer<void> Database::wait(short events, int limit_ms) {
  using Clock = std::chrono::steady_clock;
  const auto until =
      limit_ms < 0 ? Clock::time_point::max() : Clock::now() + std::chrono::milliseconds(limit_ms);
  CORDON_TRY(ready, interruption_->wait_until(pq_->socket(connection_.get()), events, until));
  if (ready) return {};
  return tl::make_unexpected(Trouble{
      Trouble::Kind::Away, setup_error("the database did not answer within " +
                                           format_duration(static_cast<std::uint64_t>(limit_ms)),
                                       0)});
}

Answer<void> Database::connect(const Target& target) {
  constexpr int kLimitMs = 30'000;
  const auto away = [&](const std::string& what) {
    return tl::make_unexpected(Trouble{Trouble::Kind::Away, error(what)});
  };
  const std::string cannot = "cannot reach " + sanitize(target.shown);
  if (!connection_ || pq_->status(connection_.get()) == 1) return away(cannot);
  for (int next = kPollingWriting; next != kPollingOk;) {
    CORDON_CHECK(wait(next == kPollingReading ? POLLIN : POLLOUT, kLimitMs));
    next = pq_->connect_poll(connection_.get());
    if (next == kPollingFailed) return away(cannot);
  }
  // libpq has seen to it already; what it was told could be changed one day.
  if (!is_local() && pq_->ssl_in_use(connection_.get()) == 0) {
    return tl::make_unexpected(
        Trouble(setup_error("the connection to " + sanitize(target.shown) +
                                " is not encrypted, and it is not of this host",
                            0, "over a network only sslmode=verify-full is used")));
  }
  return {};
}

Answer<Database> Database::open(const Libpq& pq, const Target& target, Interruption& interruption) {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : target.settings) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  Database database(pq, pq.connect(keywords.data(), values.data(), 0), interruption);
  CORDON_CHECK(database.connect(target));
  // It prints notices to standard error by itself.
  pq.set_notices(
      database.connection_.get(), [](void*, const char*) {}, nullptr);
  pq.set_nonblocking(database.connection_.get(), 1);
  return database;
}

namespace {

// Classes of SQLSTATE that end by themselves: connections, resources, shut-downs, deadlocks, and a
// standby.
bool ends_by_itself(std::string_view state) {
  for (const std::string_view beginning : {"08", "53", "57P", "40", "58", "25006"})
    if (state.starts_with(beginning)) return true;
  return false;
}

}  // namespace

Answer<Rows> Database::ask(const char* statement, std::span<const Parameter> parameters,
                           int limit_ms) {
  std::vector<unsigned> types;
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const Parameter& parameter : parameters) {
    types.push_back(parameter.type());
    values.push_back(parameter.value() ? parameter.value()->data() : nullptr);
    lengths.push_back(parameter.value() ? static_cast<int>(parameter.value()->size()) : 0);
    formats.push_back(1);
  }
  PgConnection* const connection = connection_.get();
  const auto lost = [&] {
    return tl::make_unexpected(Trouble{Trouble::Kind::Away, error("the database is gone")});
  };
  if (pq_->send(connection, statement, static_cast<int>(parameters.size()), types.data(),
                values.data(), lengths.data(), formats.data(), 1) == 0) {
    return lost();
  }
  for (;;) {
    const int unsent = pq_->flush(connection);
    if (unsent < 0) return lost();
    if (unsent == 0 && pq_->is_busy(connection) == 0) break;
    CORDON_CHECK(wait(unsent == 0 ? POLLIN : POLLIN | POLLOUT, limit_ms));
    if (pq_->consume(connection) == 0) return lost();
  }
  Rows rows(*pq_, pq_->result(connection));
  PgResult* const result = rows.raw();
  if (result == nullptr) return lost();
  // What follows ends the statement: nothing, since there was one.
  while (PgResult* const more = pq_->result(connection)) pq_->clear(more);
  const int status = pq_->result_status(result);
  if (status == kResultCommand || status == kResultTuples) return rows;
  const char* const state = pq_->result_field(result, kFieldSqlState);
  const char* const message = pq_->result_field(result, kFieldMessage);
  if (state == nullptr || pq_->status(connection) != kConnectionOk) return lost();
  Error why =
      setup_error("the database refused: " + sanitize(message == nullptr ? state : message), 0);
  return tl::make_unexpected(Trouble{
      ends_by_itself(state) ? Trouble::Kind::Away : Trouble::Kind::Refused, std::move(why)});
}

}  // namespace cordon::ship
