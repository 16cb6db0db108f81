#include "egress/attempts.h"

#include <algorithm>
#include <cstring>

namespace cordon {
namespace {

constexpr std::size_t kMostListed = 1000;

bool same(const Connection& a, const Connection& b) {
  return a.host == b.host && a.address == b.address && a.port == b.port && a.allowed == b.allowed &&
         a.rule == b.rule && a.reason == b.reason;
}

std::string describe(const Connection& attempt) {
  std::string text = attempt.host.empty() ? attempt.address : attempt.host;
  if (text.find(':') != std::string::npos) text = "[" + text + "]";
  text.append(":").append(std::to_string(attempt.port));
  if (!attempt.host.empty() && !attempt.address.empty()) {
    text.append(" at ").append(attempt.address);
  }
  return text.append(": ").append(attempt.reason);
}

}  // namespace

std::string error_name(int error) {
  const char* name = ::strerrorname_np(error);
  return name == nullptr ? std::to_string(error) : name;
}

std::optional<std::size_t> Attempts::add(Connection attempt) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(
      connections_, [&](const Connection& other) { return same(other, attempt); });
  if (known != connections_.end()) {
    ++known->count;
    return static_cast<std::size_t>(known - connections_.begin());
  }
  if (connections_.size() == kMostListed) {
    ++unlisted_;
    return std::nullopt;
  }
  connections_.push_back(std::move(attempt));
  return connections_.size() - 1;
}

void Attempts::add_bytes(std::size_t entry, std::uint64_t sent, std::uint64_t received) {
  const std::lock_guard lock(mutex_);
  if (bytes_lost_.contains(entry)) return;
  Connection& connection = connections_[entry];
  connection.sent = connection.sent.value_or(0) + sent;
  connection.received = connection.received.value_or(0) + received;
}

void Attempts::lose_bytes(std::size_t entry) {
  const std::lock_guard lock(mutex_);
  bytes_lost_.insert(entry);
  connections_[entry].sent.reset();
  connections_[entry].received.reset();
}

void Attempts::add_unknown_name(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto known = unknown_.find(name); known != unknown_.end()) {
    ++known->second;
  } else if (unknown_.size() < kMostListed) {
    unknown_.emplace(name, 1);
  } else {
    ++unlisted_;
  }
}

void Attempts::add_refusal(const std::string& what, const std::string& detail) {
  const std::lock_guard lock(mutex_);
  const auto key = std::pair(what, detail);
  if (const auto known = refused_.find(key); known != refused_.end()) {
    ++known->second;
  } else if (refused_.size() < kMostListed) {
    refused_.emplace(key, 1);
  } else {
    ++unlisted_;
  }
}

std::vector<Connection> Attempts::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

std::vector<Denial> Attempts::denials() const {
  const std::lock_guard lock(mutex_);
  std::vector<Denial> denials;
  for (const Connection& attempt : connections_) {
    if (!attempt.allowed) {
      denials.push_back({"connect", describe(attempt), "broker", attempt.count});
    }
  }
  for (const auto& [name, count] : unknown_) {
    denials.push_back({"resolve", name + ": no rule allows this name", "broker", count});
  }
  for (const auto& [refusal, count] : refused_) {
    denials.push_back({refusal.first, refusal.second, "broker", count});
  }
  if (unlisted_ > 0) denials.push_back({"connect", "attempts not listed", "broker", unlisted_});
  return denials;
}

}  // namespace cordon
