#include "base/text.h"
#include "compat/convert.h"
#include "compat/dialect/dialect.h"
#include "compat/dialect/host_places.h"
#include "config/policy_document.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "host/resolve.h"
#include "run/answers.h"
#include "run/policy_source.h"

namespace cordon {
namespace {

struct Conversion {
  Node document;
  std::string text;  // the document as it is printed alone
  std::vector<DroppedKey> losses;
};

// Nothing is Cordon itself.
using Language = std::optional<Dialect>;

Result<Language> language(const Arguments& arguments, FlagId id, std::string_view flag) {
  const auto word = arguments.value(id);
  if (!word) {
    return fail(usage_error(std::string(flag) + " is missing",
                            "write " + std::string(flag) + " cordon, mxc, srt or safeclaw"));
  }
  if (*word == "cordon") return Language();
  const auto dialect = parse_dialect(*word);
  if (!dialect) {
    return fail(usage_error(quote(*word) + " is not a kind of document",
                            "the kinds are cordon, mxc, srt and safeclaw"));
  }
  return Language(dialect);
}

Result<std::vector<std::string>> dropped_keys(const Arguments& arguments) {
  std::vector<std::string> keys;
  for (const std::string_view words : arguments.values(FlagId::Drop)) {
    for (const std::string_view word : split(words, ',')) {
      if (word.empty()) return fail(usage_error("--drop names nothing", "write --drop KEY,..."));
      keys.emplace_back(word);
    }
  }
  return keys;
}

Result<Conversion> to_cordon(Dialect from, const std::string& file,
                             const std::vector<std::string>& dropped, const Caller& caller) {
  CORDON_TRY(text, read_trusted_file(file, caller));
  CORDON_TRY(document, read_json(text, file));
  CORDON_TRY(imported, import_policy(from, document, file, places_of(caller), dropped));
  return Conversion{encode_policy(imported.policy), write_toml(imported.policy),
                    std::move(imported.losses)};
}

Result<Conversion> from_cordon(Dialect to, const std::string& word,
                               const std::vector<std::string>& dropped, const Caller& caller) {
  CORDON_TRY(policy, load_policy(word, caller));
  CORDON_TRY(exported, export_policy(to, policy, places_of(caller), dropped));
  std::string text = write_json(exported.document, JsonStyle::Pretty) + "\n";
  return Conversion{std::move(exported.document), std::move(text), std::move(exported.losses)};
}

Result<Conversion> convert(const Arguments& arguments) {
  if (arguments.operands.size() != 1) {
    return fail(usage_error("name one document",
                            "cordon policy convert --from KIND --to KIND [OPTION]... FILE"));
  }
  CORDON_TRY(from, language(arguments, FlagId::From, "--from"));
  CORDON_TRY(to, language(arguments, FlagId::To, "--to"));
  if (from.has_value() == to.has_value()) {
    return fail(usage_error("one of --from and --to must be cordon",
                            "convert to cordon first, then from it"));
  }
  CORDON_TRY(dropped, dropped_keys(arguments));
  CORDON_TRY(caller, identify_caller());
  const std::string word(arguments.operands.front());
  return from ? to_cordon(*from, word, dropped, caller) : from_cordon(*to, word, dropped, caller);
}

std::string convert_json(const Arguments& arguments, const Result<Conversion>& done) {
  NodeList losses;
  if (done) {
    for (const DroppedKey& loss : done->losses) {
      losses.push_back(Node().set("key", Node(loss.key)).set("reason", Node(loss.reason)));
    }
  }
  Node node{NodeMap{}};
  node.set("schema", "cordon.convert/1");
  node.set("from", arguments.value(FlagId::From).value_or(""));
  node.set("to", arguments.value(FlagId::To).value_or(""));
  node.set("document", done ? done->document : Node());
  node.set("losses", std::move(losses));
  node.set("error", done ? Node() : error_object(done.error()));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace

int verb_policy_convert(const Arguments& arguments) {
  const auto done = convert(arguments);
  if (!done) say_error(done.error());
  if (arguments.has(FlagId::Json)) {
    if (!say_answer(convert_json(arguments, done))) return kAnswerError;
  } else if (done) {
    for (const DroppedKey& loss : done->losses) {
      say("cordon: lost " + sanitize(loss.key) + ": " + sanitize(loss.reason) + "\n");
    }
    if (!say_answer(done->text)) return kAnswerError;
  }
  return done ? kAnswerYes : kAnswerError;
}

}  // namespace cordon
