#include "gate/process/secrets.h"

#include <algorithm>

#include "base/base64.h"

namespace cordon::gate {
namespace {

// A shorter one would be found in every other word.
constexpr std::size_t kLeastMasked = 6;
constexpr std::size_t kLeastHeld = 4;

void mask_all(std::string& text, const std::vector<std::string>& spellings) {
  for (const std::string& spelling : spellings) {
    for (std::size_t at = text.find(spelling); at != std::string::npos;
         at = text.find(spelling, at + spelling.size()))
      std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(at), spelling.size(), '*');
  }
}

}  // namespace

SecretStore::SecretStore(std::vector<Secret> secrets) : secrets_(std::move(secrets)) {
  for (const Secret& secret : secrets_)
    placeholders_.push_back({secret.name, secret.header, secret.placeholder});
}

const Secret* SecretStore::find(std::string_view name) const {
  const auto found = std::ranges::find(secrets_, name, &Secret::name);
  return found == secrets_.end() ? nullptr : &*found;
}

bool SecretStore::replace(std::string_view name, std::string_view value) {
  const auto found = std::ranges::find(secrets_, name, &Secret::name);
  const bool plain = std::ranges::none_of(
      value, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (found == secrets_.end() || !plain) return false;
  // A new string: assigning a shorter value would leave the end of the old one in its memory.
  std::string fresh(value);
  std::ranges::fill(found->value, '\0');
  found->value = std::move(fresh);
  return true;
}

std::optional<Field> SecretStore::header_of(std::string_view name) const {
  const Secret* secret = find(name);
  if (!secret || secret->value.empty()) return std::nullopt;
  switch (secret->kind) {
    case SecretKind::Header:
      return Field{secret->header, secret->value};
    case SecretKind::Basic:
      return Field{secret->header, "Basic " + base64(secret->value)};
    case SecretKind::Bearer:
      return Field{secret->header, "Bearer " + secret->value};
  }
  return std::nullopt;
}

std::vector<std::string> SecretStore::spellings_of(std::string_view name) const {
  const Secret* secret = find(name);
  if (!secret) return {};
  std::vector<std::string> spellings = {secret->value};
  // Behind the name of a scheme, as in "token abc".
  const std::size_t blank = secret->value.rfind(' ');
  if (blank != std::string::npos) spellings.push_back(secret->value.substr(blank + 1));
  if (secret->kind == SecretKind::Basic) {
    spellings.push_back(base64(secret->value));
    const std::size_t colon = secret->value.find(':');
    if (colon != std::string::npos) spellings.push_back(secret->value.substr(colon + 1));
  }
  std::erase_if(spellings,
                [](const std::string& spelling) { return spelling.size() < kLeastMasked; });
  return spellings;
}

EchoMask::EchoMask(std::vector<std::string> spellings) : spellings_(std::move(spellings)) {}

std::size_t EchoMask::held_back(std::string_view text) const {
  std::size_t held = 0;
  for (const std::string& spelling : spellings_) {
    for (std::size_t length = std::min(spelling.size() - 1, text.size());
         length >= kLeastHeld && length > held; --length)
      if (text.ends_with(std::string_view(spelling).substr(0, length))) held = length;
  }
  return held;
}

std::string_view EchoMask::pass(std::string_view piece) {
  // What was passed on last may be the beginning of a spelling of which too little was there to
  // hold it.
  const std::size_t kept = std::min(passed_, kLeastHeld - 1);
  pending_.erase(0, passed_ - kept);
  pending_.append(piece);
  mask_all(pending_, spellings_);
  passed_ = std::max(kept, pending_.size() - held_back(pending_));
  return std::string_view(pending_).substr(kept, passed_ - kept);
}

std::string_view EchoMask::finish() {
  const std::string_view rest = std::string_view(pending_).substr(passed_);
  passed_ = pending_.size();
  return rest;
}

std::string EchoMask::masked(std::string text) const {
  mask_all(text, spellings_);
  return text;
}

}  // namespace cordon::gate
