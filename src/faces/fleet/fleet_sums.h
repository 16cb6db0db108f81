// FleetSums: what many hosts did, summed up from their records one after the other. However many
// there are, what is kept is bounded: a small row for each action, and so many names of each kind.
//
// A record says what its node says. It is counted by what stands in it, and nothing of it is
// believed to be short, few, or of today.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "audit/decode_line.h"
#include "audit/record.h"
#include "faces/cli/action_sums.h"

namespace cordon {

// Rows that are found by name. Past the most that are told apart, further names share the first
// row.
template <typename Row>
class NamedRows {
 public:
  static constexpr std::size_t kMost = 20'000;

  std::uint32_t of(std::string_view name) {
    const auto found = places_.find(std::string(name));
    if (found != places_.end()) return found->second;
    if (rows_.size() > kMost) {
      overflowed_ = true;
      return 0;
    }
    const auto place = static_cast<std::uint32_t>(rows_.size());
    places_.emplace(name, place);
    rows_.emplace_back().name = name;
    return place;
  }
  [[nodiscard]] Row& at(std::uint32_t place) { return rows_[place]; }
  // Those that have a name of their own.
  [[nodiscard]] std::span<const Row> named() const { return std::span(rows_).subspan(1); }
  // What has none.
  [[nodiscard]] const Row& shared() const { return rows_.front(); }
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  std::vector<Row> rows_ = std::vector<Row>(1);
  std::unordered_map<std::string, std::uint32_t> places_;
  bool overflowed_ = false;
};

struct FleetRow {
  std::string name;
  ActionSum sum;
};

struct FleetNode {
  std::string name;
  ActionSum sum;
  std::uint64_t connections = 0;  // that were made
  std::int64_t last_us = 0;       // when its newest action began
  std::int64_t ahead_us = 0;      // by so much its clock was ahead of the one that received
};

// Something that was counted: a denial, a host, a request. Its name is its parts, each a line.
struct FleetCount {
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t sent = 0;  // bytes
  std::uint64_t received = 0;
  std::vector<bool> nodes;  // by the place of the node
  [[nodiscard]] std::uint64_t node_count() const;
};

enum class FleetUnit { Hour, Day, Month };

struct FleetMoment {
  std::int64_t begins_us = 0;
  ActionSum sum;
};

// When it was done, by the width that nearly all of it fits into: what a clock that is wrong says
// makes no year of a day.
struct FleetTime {
  FleetUnit unit = FleetUnit::Day;
  std::vector<FleetMoment> moments;  // oldest first, without those when nothing was done
  ActionSum earlier;                 // before the first of them
  ActionSum later;                   // in the future of this host
};

struct StrangeRecord {
  std::string node;
  std::uint64_t seq = 0;
};

class FleetSums {
 public:
  struct Range {
    std::optional<std::int64_t> since_us;
    std::optional<std::int64_t> until_us;
    std::string node;  // empty: every one
  };
  FleetSums(Range range, std::int64_t now_us) : range_(std::move(range)), now_us_(now_us) {}

  // One record. A record that comes twice counts once, in whatever order they come.
  void take(std::string_view node, const audit::Record& record,
            std::optional<std::int64_t> received_us);
  // What stands in a database in place of a record.
  void take_strange(std::string_view node, std::uint64_t seq);
  // Behind the last one; the sums are there then.
  void finish();

  std::uint64_t records = 0;
  std::uint64_t strange = 0;
  std::vector<StrangeRecord> first_strange;  // a few of them
  ActionSum all;
  std::uint64_t runs = 0;     // of all actions, commands that were to be run
  std::uint64_t pending = 0;  // without an end
  std::optional<std::int64_t> first_us;
  std::optional<std::int64_t> last_us;
  FleetTime time;
  NamedRows<FleetNode> nodes;
  NamedRows<FleetRow> outcomes;
  NamedRows<FleetRow> tools;
  NamedRows<FleetRow> agents;
  NamedRows<FleetCount> denials;   // what, layer, rule
  NamedRows<FleetCount> refusals;  // reason, kind of the error
  NamedRows<FleetCount> limits;    // what ended it
  NamedRows<FleetCount> hosts;     // rule, address, port
  NamedRows<FleetCount> requests;  // rule, method

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  // What is kept of one action.
  struct Action {
    std::int64_t begun_us = 0;
    std::uint64_t duration_ms = 0;
    std::uint64_t denials = 0;
    std::uint64_t sent = 0;  // of a request
    std::uint64_t received = 0;
    std::uint32_t node = 0;
    std::uint32_t tool = 0;
    std::uint32_t agent = kNone;
    std::uint32_t request = kNone;
    bool begun = false;
    bool ended = false;
    bool is_run = false;
    std::optional<audit::Ending> ending;
  };
  struct Key {
    std::uint32_t node;
    std::array<std::uint64_t, 2> id;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  Action& action_of(std::uint32_t node, std::string_view event_id);
  [[nodiscard]] bool is_wanted(std::int64_t begun_us) const;
  [[nodiscard]] bool is_ahead(std::int64_t moment_us) const;
  void begin(Action& action, const audit::Record& record, const LineValue& request);
  void end(Action& action, const audit::Record& record);
  void count_connections(const Action& action, const LineValue& metadata);
  void count_denials(const Action& action, const LineValue& metadata);
  void count_end(const Action& action, const LineValue& metadata);
  void add(NamedRows<FleetCount>& rows, std::initializer_list<std::string_view> parts,
           std::uint32_t node, std::uint64_t count, std::uint64_t sent, std::uint64_t received);
  static audit::Tally tally_of(const Action& action);
  void sum_up(const Action& action);
  std::int64_t choose_unit();  // from when on it is shown in that unit

  Range range_;
  std::int64_t now_us_;
  std::vector<Action> actions_;
  std::unordered_map<Key, std::uint32_t, KeyHash> places_;
};

}  // namespace cordon
