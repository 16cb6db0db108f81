// The form JKS, version 2, all numbers with the highest byte first:
//
//   0xfeedfeed, 2, count of entries                     four bytes each
//   an entry: its kind (1 or 2), its name, a time       4, text, 8
//     1, a private key: the key, how many certificates, these
//     2, a certificate: itself
//   a certificate: the text "X.509", its bytes
//   a digest over a password and all of it              20
//
// A text has its length before it in two bytes, bytes have it in four. The password is no secret:
// it is the same in every JDK, and only keytool compares the digest.
#include "run/java_trust.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/base64.h"
#include "base/hmac_sha1.h"
#include "base/text.h"

namespace cordon {
namespace {

constexpr std::uint64_t kMagic = 0xfeedfeed;
constexpr std::uint64_t kVersion = 2;
constexpr std::uint64_t kPrivateKey = 1;
constexpr std::uint64_t kTrusted = 2;
constexpr std::string_view kForm = "X.509";
constexpr std::size_t kDigest = 20;

struct JavaEntry {
  std::string name;
  std::uint64_t time = 0;  // milliseconds since 1970
  std::string certificate;
};

class JavaReader {
 public:
  explicit JavaReader(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] bool failed() const { return failed_; }
  std::uint64_t number(std::size_t size) {
    std::uint64_t value = 0;
    for (const char byte : take(size)) value = value << 8U | static_cast<std::uint8_t>(byte);
    return value;
  }
  std::string_view text() { return take(number(2)); }
  std::string_view bytes() { return take(number(4)); }

 private:
  std::string_view take(std::uint64_t size) {
    failed_ = failed_ || size > rest_.size();
    if (failed_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
  bool failed_ = false;
};

void skip_key(JavaReader& reader) {
  (void)reader.bytes();
  const std::uint64_t certificates = reader.number(4);
  for (std::uint64_t i = 0; i < certificates && !reader.failed(); ++i) {
    (void)reader.text();
    (void)reader.bytes();
  }
}

std::optional<std::vector<JavaEntry>> read_store(std::string_view store) {
  if (store.size() < kDigest) return std::nullopt;
  JavaReader reader(store.substr(0, store.size() - kDigest));
  if (reader.number(4) != kMagic || reader.number(4) != kVersion) return std::nullopt;
  std::vector<JavaEntry> entries;
  for (std::uint64_t left = reader.number(4); left > 0 && !reader.failed(); --left) {
    const std::uint64_t kind = reader.number(4);
    JavaEntry entry;
    entry.name = reader.text();
    entry.time = reader.number(8);
    if (kind == kPrivateKey) {
      skip_key(reader);
      continue;
    }
    const bool known = kind == kTrusted && reader.text() == kForm;
    entry.certificate = reader.bytes();
    if (!known) return std::nullopt;
    entries.push_back(std::move(entry));
  }
  if (reader.failed()) return std::nullopt;
  return entries;
}

void add_number(std::string& out, std::uint64_t value, std::size_t size) {
  for (std::size_t left = size; left-- > 0;) out += static_cast<char>(value >> (8 * left) & 0xffU);
}

void add_text(std::string& out, std::string_view text) {
  add_number(out, text.size(), 2);
  out += text;
}

std::string write_store(const std::vector<JavaEntry>& entries) {
  std::string out;
  add_number(out, kMagic, 4);
  add_number(out, kVersion, 4);
  add_number(out, entries.size(), 4);
  for (const JavaEntry& entry : entries) {
    add_number(out, kTrusted, 4);
    add_text(out, entry.name);
    add_number(out, entry.time, 8);
    add_text(out, kForm);
    add_number(out, entry.certificate.size(), 4);
    out += entry.certificate;
  }
  // As Sun's programs began it: the usual password, in UTF-16, and a name.
  std::string digested;
  for (const char c : std::string_view("changeit")) digested.append({'\0', c});
  digested.append("Mighty Aphrodite").append(out);
  for (const std::uint8_t byte : sha1(digested)) out += static_cast<char>(byte);
  return out;
}

// What stands between the lines of PEM. What is no certificate there is left out.
void add_entries(std::string_view pem, std::string_view name, std::vector<JavaEntry>& entries) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  for (std::size_t at = pem.find(kBegin); at != std::string_view::npos;
       at = pem.find(kBegin, at + 1)) {
    const std::size_t begin = at + kBegin.size();
    const std::size_t end = pem.find(kEnd, begin);
    if (end == std::string_view::npos) return;
    std::string text(pem.substr(begin, end - begin));
    std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
    if (auto bytes = from_base64(text)) {
      entries.push_back({std::string(name) + std::to_string(entries.size()), 0, *std::move(bytes)});
    }
  }
}

}  // namespace

std::string java_trust(std::string_view store, std::string_view bundle,
                       std::string_view authority) {
  auto entries = read_store(store);
  if (!entries) add_entries(bundle, "host-", entries.emplace());
  add_entries(authority, "cordon-", *entries);
  return write_store(*entries);
}

}  // namespace cordon
