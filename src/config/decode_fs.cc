#include <array>

#include "config/decode.h"
#include "config/document_text.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 9> kFsKeys{
    "read", "write", "deny", "scratch", "home", "caches", "trust_tracked", "mode", "stage"};
constexpr std::array kHomes{HomeMode::None, HomeMode::Private, HomeMode::Persistent};
constexpr std::array kModes{WriteMode::Live, WriteMode::Staged};
constexpr std::array kEnds{StageEnd::Auto, StageEnd::Review};

// `what` is what such a word is, for the message; `words` says how to write one.
template <typename Value, std::size_t N>
Result<void> decode_word(const Section& fs, std::string_view key, const std::array<Value, N>& known,
                         std::string_view what, std::string_view words, Value& target) {
  CORDON_TRY(word, fs.text(key));
  if (!word) return {};
  std::array<std::string_view, N> names{};
  for (std::size_t i = 0; i < N; ++i) {
    names[i] = name_of(known[i]);
    if (*word->text != names[i]) continue;
    target = known[i];
    return {};
  }
  std::string hint = suggestion(*word->text, names);
  if (hint.empty()) hint = words;
  return fail(fs.error_at(*word->node, shown(*word->text) + " is not " + std::string(what),
                          std::move(hint)));
}

}  // namespace

Error placed(const Section& section, const Node& value, Error error) {
  if (!error.place) error.place = Place{section.file(), value.line, value.column};
  return error;
}

Result<void> decode_fs(const Section& document, const std::string& base, FsRules& fs) {
  CORDON_TRY(section, document.member("fs", kFsKeys));
  CORDON_CHECK(append_paths(section, "read", PathUse::Read, base, fs.read));
  CORDON_CHECK(append_paths(section, "write", PathUse::Write, base, fs.write));
  CORDON_CHECK(append_paths(section, "deny", PathUse::Deny, base, fs.deny));
  CORDON_TRY(scratch, section.size("scratch"));
  if (scratch) fs.scratch = scratch;
  CORDON_CHECK(decode_word(section, "home", kHomes, "a kind of home",
                           "write \"private\", \"persistent\" or \"none\"", fs.home));
  CORDON_TRY(caches, section.flag("caches"));
  if (caches) fs.caches = *caches;
  CORDON_TRY(trust_tracked, section.flag("trust_tracked"));
  if (trust_tracked) fs.trust_tracked = *trust_tracked;
  CORDON_CHECK(decode_word(section, "mode", kModes, "a way to write",
                           "write \"live\" or \"staged\"", fs.mode));
  CORDON_CHECK(decode_word(section, "stage", kEnds, "an end of a stage",
                           "write \"auto\" or \"review\"", fs.stage));
  return {};
}

}  // namespace cordon
