#include "cli/mxc/request_text.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/fd.h"
#include "base/text.h"
#include "config/document_text.h"

namespace cordon::mxc {
namespace {

Result<std::string> read_all(int descriptor, const std::string& name) {
  std::string text;
  std::array<char, 65536> block{};
  while (true) {
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(setup_error("cannot read " + name, errno));
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxDocumentBytes) return fail(policy_error(name + " is larger than 1 MiB"));
  }
}

Result<RequestText> read_named(const std::string& path) {
  if (path == "-") {
    CORDON_TRY(text, read_all(STDIN_FILENO, "standard input"));
    return RequestText{std::move(text), "standard input"};
  }
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.valid()) return fail(setup_error("cannot open " + quote(path), errno));
  CORDON_TRY(text, read_all(file.get(), quote(path)));
  return RequestText{std::move(text), path};
}

bool is_base64(std::string_view text) {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  });
}

}  // namespace

Result<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0 || !is_base64(text) ||
      text.size() > 2 * kMaxDocumentBytes) {
    return fail(policy_error("--config-base64 is not base64"));
  }
  std::string out(text.size() / 4 * 3, '\0');
  const int length = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                       reinterpret_cast<const unsigned char*>(text.data()),
                                       static_cast<int>(text.size()));
  if (length < 0) return fail(policy_error("--config-base64 is not base64"));
  // The function counts the padding as bytes.
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(static_cast<std::size_t>(length) - padding);
  return out;
}

Result<RequestText> request_text(const Arguments& arguments) {
  if (const auto encoded = arguments.value(FlagId::ConfigBase64)) {
    CORDON_TRY(text, decode_base64(*encoded));
    return RequestText{std::move(text), "--config-base64"};
  }
  if (const auto file = arguments.value(FlagId::Config)) return read_named(std::string(*file));
  return read_named(std::string(arguments.operands.front()));
}

}  // namespace cordon::mxc
