#include <array>

#include "config/decode.h"
#include "config/document_text.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 7> kFsKeys{"read", "write",  "deny",         "scratch",
                                                  "home", "caches", "trust_tracked"};
constexpr std::array<std::string_view, 3> kHomeNames{"none", "private", "persistent"};

Result<void> decode_home(const Section& fs, HomeMode& home) {
  CORDON_TRY(word, fs.text("home"));
  if (!word) return {};
  for (const HomeMode mode : {HomeMode::None, HomeMode::Private, HomeMode::Persistent}) {
    if (*word->text == name_of(mode)) {
      home = mode;
      return {};
    }
  }
  std::string hint = suggestion(*word->text, kHomeNames);
  if (hint.empty()) hint = "write \"private\", \"persistent\" or \"none\"";
  return fail(
      fs.error_at(*word->node, shown(*word->text) + " is not a kind of home", std::move(hint)));
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
  CORDON_CHECK(decode_home(section, fs.home));
  CORDON_TRY(caches, section.flag("caches"));
  if (caches) fs.caches = *caches;
  CORDON_TRY(trust_tracked, section.flag("trust_tracked"));
  if (trust_tracked) fs.trust_tracked = *trust_tracked;
  return {};
}

}  // namespace cordon
