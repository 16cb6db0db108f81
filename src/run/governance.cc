#include "run/governance.h"

#include <sodium.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "audit/signing.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/text.h"
#include "config/policy_document.h"
#include "host/resolve.h"

namespace cordon {
namespace {

constexpr std::string_view kTable = "governance";
constexpr std::size_t kKey = crypto_sign_PUBLICKEYBYTES;

struct Places {
  std::string key;
  std::string documents;
  [[nodiscard]] std::string document(const std::string& id) const {
    return join(documents, id + ".toml");
  }
};

Error refused(const std::string& path, std::string what, std::string hint) {
  Error error = policy_error(std::move(what), std::move(hint));
  error.place = Place{path, 0, 0};
  return error;
}

// Only "there is none" means none: what cannot be looked at must not be taken for absent.
bool is_absent(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool names_a_file(const std::string& id) {
  constexpr std::size_t kLongest = 200;
  return id.size() <= kLongest && id.front() != '.' && id.find('/') == std::string::npos;
}

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// An Ed25519 key has one form in PEM: these twelve bytes, and the key (RFC 8410).
Result<std::string> public_key_in(const std::string& path, std::string_view pem) {
  constexpr std::array<unsigned char, 12> kForm = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                   0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
  constexpr std::string_view kBegin = "-----BEGIN PUBLIC KEY-----";
  constexpr std::string_view kEnd = "-----END PUBLIC KEY-----";
  std::string_view text = stripped(pem);
  std::array<unsigned char, kForm.size() + kKey> bytes{};
  std::size_t length = 0;
  if (text.starts_with(kBegin) && text.ends_with(kEnd)) {
    text.remove_prefix(kBegin.size());
    text.remove_suffix(kEnd.size());
    const bool good =
        sodium_base642bin(bytes.data(), bytes.size(), text.data(), text.size(), " \r\n", &length,
                          nullptr, sodium_base64_VARIANT_ORIGINAL) == 0;
    if (good && length == bytes.size() && std::ranges::equal(kForm, std::span(bytes).first(12))) {
      return to_hex(std::span(bytes).subspan(kForm.size()));
    }
  }
  return fail(refused(path, "the key of the governance is no public key of Ed25519",
                      "write it with: openssl pkey -in KEY -pubout -out " + quote(path)));
}

// `hash`: of the document, in hexadecimal digits.
Result<void> check_not_revoked(const Places& places, const std::string& id, const std::string& hash,
                               const Caller& caller) {
  const std::string path = join(places.documents, "revoked");
  if (is_absent(path)) return {};
  CORDON_TRY(text, read_trusted_file(path, caller));
  for (const std::string_view line : split(std::string_view(text), '\n')) {
    const std::string_view word = stripped(line);
    if (word != id && lower_case(word) != hash) continue;
    return fail(refused(path, "the governance of the agent " + quote(id) + " was revoked",
                        "ask the operator of this machine for a new one"));
  }
  return {};
}

Result<void> check_signature(const Places& places, const std::string& id, std::string_view text,
                             const Caller& caller) {
  const std::string path = places.document(id);
  const std::string signature_path = path + ".sig";
  const std::string cure = "sign it: openssl pkeyutl -sign -rawin -inkey KEY -in " + quote(path) +
                           " -out " + quote(signature_path);
  if (is_absent(signature_path)) {
    return fail(refused(path, "the governance of the agent " + quote(id) + " is not signed", cure));
  }
  CORDON_TRY(pem, read_trusted_file(places.key, caller));
  CORDON_TRY(key, public_key_in(places.key, pem));
  CORDON_TRY(signature, read_trusted_file(signature_path, caller));
  const std::string digits =
      to_hex({static_cast<const std::uint8_t*>(static_cast<const void*>(signature.data())),
              signature.size()});
  if (signature.size() == crypto_sign_BYTES && audit::signature_holds(key, text, digits)) return {};
  return fail(refused(path, "the signature of this governance does not hold", cure));
}

// Who copies a signed document to another name has no document for that name.
Result<void> check_agent(const Node& document, const std::string& path, const std::string& id) {
  const Node* table = document.find(kTable);
  const Node* agent = table == nullptr ? nullptr : table->find("agent");
  if (agent != nullptr && agent->text() != nullptr && *agent->text() == id) return {};
  return fail(refused(path, "this governance does not say that it is for the agent " + quote(id),
                      "write it below [governance]: agent = " + quote(id) + ", and sign it again"));
}

Result<Ceiling> ceiling_in(std::string_view text, const std::string& path, const std::string& id) {
  CORDON_TRY(document, read_document(text, path));
  CORDON_CHECK(check_agent(document, path, id));
  if (auto* members = std::get_if<NodeMap>(&document.value)) {
    std::erase_if(*members, [](const auto& member) { return member.first == kTable; });
  }
  CORDON_TRY(ceiling, decode_ceiling(document, path, std::string(parent(path))));
  ceiling.policy.file = path;
  return ceiling;
}

}  // namespace

Result<std::optional<Ceiling>> governance_of(const std::string& id, const Caller& caller,
                                             const std::string& directory) {
  const Places places{join(directory, "governance.pub"), join(directory, "governance")};
  if (id.empty() || (is_absent(places.key) && is_absent(places.documents))) {
    return std::optional<Ceiling>();
  }
  if (!names_a_file(id)) {
    return fail(usage_error("the agent " + quote(id) + " cannot have a governance document",
                            "use a name without '/' that does not begin with a dot"));
  }
  const std::string path = places.document(id);
  if (is_absent(path)) {
    return fail(
        refused(path, "the agent " + quote(id) + " has no governance on this machine",
                "its operator writes and signs one; without --agent a session is nobody's"));
  }
  CORDON_TRY(text, read_trusted_file(path, caller));
  CORDON_CHECK(check_signature(places, id, text, caller));
  CORDON_CHECK(check_not_revoked(places, id, sha256_hex(text), caller));
  CORDON_TRY(ceiling, ceiling_in(text, path, id));
  return std::optional(std::move(ceiling));
}

}  // namespace cordon
