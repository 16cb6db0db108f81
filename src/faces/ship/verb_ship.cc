// `cordon audit ship`: the log of this host to a database or an OTLP receiver; and the SQL that
// prepares a database.
#include <sys/utsname.h>

#include "audit/files.h"
#include "audit/signing.h"
#include "base/text.h"
#include "faces/cli/audit_forms.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "ship/database_destination.h"
#include "ship/otlp_destination.h"
#include "ship/ship.h"

namespace cordon {
namespace {

// Made from schema/fleet.sql while building, so that the binary and the shipped file cannot differ.
constexpr std::string_view kTables =
#include "fleet_sql.inc"
    ;

constexpr std::size_t kLongestNode = 63;

bool is_node_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (name.empty() || name.size() > kLongestNode || !plain(name.front())) return false;
  for (const char c : name)
    if (!plain(c) && c != '.' && c != '_' && c != '-') return false;
  return true;
}

std::string host_name() {
  struct utsname names {};
  return ::uname(&names) == 0 ? names.nodename : "";
}

Result<std::string> node_name(const Arguments& arguments) {
  const std::string name(arguments.value(FlagId::NodeName).value_or(host_name()));
  if (is_node_name(name)) return name;
  return fail(usage_error(
      quote(name) + " is no name of a node",
      "--node NAME: up to 63 letters, digits, '.', '_' and '-', a letter or digit first"));
}

// The name and the key hold nothing that SQL would read as more than a word.
std::string enrolment(const std::string& node, const std::string& public_key) {
  const std::string quoted = "'" + node + "'";
  const std::string role = "\"" + node + "\"";
  return "-- Enrols the node " + node +
         " in the tables of cordon audit ship --schema. Its role has no password yet:\n"
         "-- give it one with \\password in psql, or let pg_hba.conf ask for its client "
         "certificate.\n"
         "BEGIN;\n"
         "DO $$\n"
         "BEGIN\n"
         "  IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = " +
         quoted +
         ") THEN\n"
         "    CREATE ROLE " +
         role +
         " LOGIN;\n"
         "  END IF;\n"
         "END\n"
         "$$;\n"
         "GRANT cordon_ship TO " +
         role +
         ";\n"
         "INSERT INTO cordon.nodes (node, login, public_key)\n"
         "  VALUES (" +
         quoted + ", " + quoted + ", '" + public_key +
         "');\n"
         "COMMIT;\n";
}

Result<std::string> enrolment_of(const Arguments& arguments) {
  CORDON_TRY(node, node_name(arguments));
  CORDON_TRY(where, audit_place());
  CORDON_TRY(key, ship::signing_key(where.place));
  return enrolment(node, audit::public_key_of(key));
}

std::string delivery_json(const ship::Delivery& delivery) {
  Node node;
  node.set("schema", "cordon.audit-ship/1")
      .set("node", delivery.node.empty() ? Node() : Node(delivery.node))
      .set("sent", Node(delivery.sent))
      .set("stored", delivery.stored ? Node(*delivery.stored) : Node())
      .set("rejected", Node(delivery.rejected))
      .set("checkpoints", Node(delivery.checkpoints))
      .set("last_seq", Node(delivery.last_seq))
      .set("complete", Node(delivery.complete && delivery.rejected == 0));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

std::string delivery_text(const ship::Delivery& delivery) {
  std::string text = std::to_string(delivery.sent) + " record(s) copied";
  if (delivery.stored && *delivery.stored != delivery.sent)
    text += ", " + std::to_string(*delivery.stored) + " of them new there";
  if (delivery.rejected > 0)
    text += ", " + std::to_string(delivery.rejected) + " of them refused there";
  text += ", up to number " + std::to_string(delivery.last_seq);
  return text + (delivery.complete ? "\n" : "; there may be more\n");
}

Result<void> check_words(const Arguments& arguments) {
  const int tasks = static_cast<int>(arguments.has(FlagId::To)) +
                    static_cast<int>(arguments.has(FlagId::Tables)) +
                    static_cast<int>(arguments.has(FlagId::Enroll));
  if (tasks != 1) {
    return fail(usage_error("give one of --to, --schema and --enroll",
                            "cordon audit ship --to postgresql://USER@HOST/DATABASE"));
  }
  if (arguments.has(FlagId::Once) && arguments.has(FlagId::Follow))
    return fail(usage_error("--once ends when --follow goes on: give one of them"));
  const bool otlp = ship::is_otlp(arguments.value(FlagId::To).value_or(""));
  if (arguments.has(FlagId::NodeName) && !arguments.has(FlagId::Enroll) && !otlp) {
    return fail(usage_error("--node belongs to --enroll",
                            "the database knows by its login which node this is"));
  }
  for (const auto& [id, name] :
       {std::pair{FlagId::HeadersFile, "--headers-file"}, {FlagId::WithoutTls, "--without-tls"}}) {
    if (arguments.has(id) && !otlp) {
      return fail(usage_error(std::string(name) + " belongs to an OTLP receiver",
                              "cordon audit ship --to otlp+https://HOST:PORT"));
    }
  }
  return {};
}

ship::Until until_of(const Arguments& arguments) {
  if (arguments.has(FlagId::Follow)) return ship::Until::Asked;
  return arguments.has(FlagId::Once) ? ship::Until::FirstFailure : ship::Until::Copied;
}

void tell_meanwhile(const std::string& text) { say("cordon: " + sanitize(text) + "\n"); }

// Where a log goes to, and the name under which its position is kept.
struct Chosen {
  std::unique_ptr<ship::Destination> destination;
  std::string shown;
};

Result<Chosen> choose_database(const std::string& address, const AuditPlace& where,
                               ship::Interruption& interruption) {
  CORDON_TRY(pq, ship::load_libpq());
  CORDON_TRY(target, ship::read_target(*pq, address));
  const std::string shown = target.shown;
  return Chosen{std::make_unique<ship::DatabaseDestination>(*pq, std::move(target), where.place,
                                                            interruption),
                shown};
}

Result<Chosen> choose_receiver(const Arguments& arguments, ship::OtlpAddress address,
                               const AuditPlace& where, ship::Interruption& interruption) {
  CORDON_TRY(node, node_name(arguments));
  const std::string file(arguments.value(FlagId::HeadersFile).value_or(""));
  if (arguments.has(FlagId::HeadersFile) && file.empty())
    return fail(usage_error("--headers-file names no file"));
  CORDON_TRY(headers, ship::OtlpHeaders::read(file, where.caller.environment));
  const std::string shown = address.shown();
  ship::OtlpTarget target{
      std::move(address), std::move(headers), {node, host_name()}, tell_meanwhile};
  CORDON_TRY(
      made, ship::OtlpDestination::make(std::move(target), where.caller.environment, interruption));
  return Chosen{std::move(made), shown};
}

// The exit status.
int answer_delivery(const Arguments& arguments, ship::Until until, const ship::Delivery& delivery) {
  if (!arguments.has(FlagId::Json) && !say_answer(delivery_text(delivery))) return kAnswerError;
  if (delivery.rejected > 0) {
    say_error(setup_error("the receiver refused " + std::to_string(delivery.rejected) +
                              " record(s), which it does not have",
                          0, "they are in the log of this host: cordon audit list"));
    return kAnswerError;
  }
  // To be ended is how following ends.
  return delivery.complete || until == ship::Until::Asked ? kAnswerYes : kAnswerNo;
}

Result<int> deliver(const Arguments& arguments) {
  const std::string address(arguments.value(FlagId::To).value_or(""));
  const auto without_tls =
      arguments.has(FlagId::WithoutTls) ? ship::WithoutTls::Permitted : ship::WithoutTls::Refused;
  std::optional<ship::OtlpAddress> receiver;
  if (ship::is_otlp(address)) {
    CORDON_TRY(read, ship::read_otlp_address(address, without_tls));
    receiver = std::move(read);
  } else {
    CORDON_CHECK(ship::check_address(address));
  }
  CORDON_TRY(where, audit_place());
  const auto absent =
      arguments.has(FlagId::Follow) ? audit::IfAbsent::Make : audit::IfAbsent::Refuse;
  CORDON_CHECK(audit::open_private_directory(where.place.directory, absent));
  ship::Interruption interruption;
  CORDON_TRY(chosen, receiver ? choose_receiver(arguments, *receiver, where, interruption)
                              : choose_database(address, where, interruption));
  CORDON_TRY(spool,
             ship::Spool::open(where.place, where.caller.state_directory, chosen.shown, absent));
  if (!spool.restarted().empty()) say_warning(spool.restarted());
  const ship::Route route{chosen.destination.get(), where.place, until_of(arguments),
                          tell_meanwhile};
  ship::Delivery delivery;
  const auto done = ship::deliver(route, spool, interruption, delivery);
  if (arguments.has(FlagId::Json) && !say_answer(delivery_json(delivery))) return kAnswerError;
  if (!done) return fail(done.error());
  return answer_delivery(arguments, route.until, delivery);
}

Result<int> ship_verb(const Arguments& arguments) {
  CORDON_CHECK(check_words(arguments));
  if (arguments.has(FlagId::To)) return deliver(arguments);
  std::string text(kTables);
  if (arguments.has(FlagId::Enroll)) {
    CORDON_TRY(made, enrolment_of(arguments));
    text = std::move(made);
  }
  return say_answer(text) ? kAnswerYes : kAnswerError;
}

}  // namespace

int verb_audit_ship(const Arguments& arguments) {
  const auto status = ship_verb(arguments);
  return status ? *status : audit_failure_status(status.error());
}

}  // namespace cordon
