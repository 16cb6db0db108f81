#include "cordon/outcome.h"

#include <csignal>
#include <cstring>

#include "base/text.h"

namespace cordon {
namespace {

constexpr int kWallClockStatus = 124;
constexpr int kSignalBase = 128;

struct StatusOf {
  int operator()(const Exited& end) const { return end.code; }
  int operator()(const Signaled& end) const { return kSignalBase + end.signal; }
  int operator()(const TimedOut&) const { return kWallClockStatus; }
  int operator()(const OverLimit&) const { return kSignalBase + SIGKILL; }
  int operator()(const Cancelled& end) const {
    return kSignalBase + (end.signal != 0 ? end.signal : SIGKILL);
  }
};

// The head without a character that the cut went through.
std::string_view whole_front(std::string_view head) {
  constexpr std::size_t kLongestSequence = 4;
  for (std::size_t back = 1; back < kLongestSequence && back <= head.size(); ++back) {
    if (utf8_step(head.substr(head.size() - back)).cut_short) {
      return head.substr(0, head.size() - back);
    }
  }
  return head;
}

// The tail without the rest of such a character.
std::string_view whole_back(std::string_view tail) {
  constexpr std::size_t kMostContinuations = 3;
  std::size_t skip = 0;
  while (skip < kMostContinuations && skip < tail.size() &&
         (static_cast<unsigned char>(tail[skip]) & 0xC0U) == 0x80U) {
    ++skip;
  }
  return tail.substr(skip);
}

}  // namespace

std::string Stream::text() const {
  if (!truncated()) return to_utf8(head + tail);
  const std::string_view front = whole_front(head);
  const std::string_view back = whole_back(tail);
  std::string out = to_utf8(front);
  out.append("\n[... ").append(std::to_string(bytes - front.size() - back.size()));
  out.append(" bytes dropped ...]\n");
  return out.append(to_utf8(back));
}

int exit_status(const End& end) { return std::visit(StatusOf{}, end); }

std::string signal_name(int signal) {
  if (signal >= SIGRTMIN && signal <= SIGRTMAX) {
    const int offset = signal - SIGRTMIN;
    return offset == 0 ? "SIGRTMIN" : "SIGRTMIN+" + std::to_string(offset);
  }
  const char* name = ::sigabbrev_np(signal);
  return "SIG" + (name != nullptr ? std::string(name) : std::to_string(signal));
}

std::string_view name_of(Reduction::Because because) {
  switch (because) {
    case Reduction::Because::OutsideCeiling:
      return "outside-ceiling";
    case Reduction::Because::Narrowed:
      return "narrowed";
    case Reduction::Because::SymlinkEscape:
      return "symlink-escape";
    case Reduction::Because::Nonexistent:
      return "nonexistent";
    case Reduction::Because::Unenforceable:
      return "unenforceable";
    case Reduction::Because::Malformed:
      return "malformed";
    case Reduction::Because::Forbidden:
      return "forbidden";
    case Reduction::Because::Login:
      return "login";
  }
  return "outside-ceiling";
}

std::string reduction_line(const Reduction& reduction) {
  std::string text = "reduced " + reduction.what + " " + quote(reduction.asked);
  if (reduction.got) text.append(" to ").append(quote(*reduction.got));
  text.append(": ").append(name_of(reduction.because));
  if (reduction.because == Reduction::Because::Login) {
    text.append(", its value may hold a password; --env " + reduction.asked + " passes it");
  } else if (reduction.what == "trust") {
    text.append("; a program that goes by it does not trust the authority of this run");
  } else if (reduction.what == "repository") {
    text.append("; --read " + quote(reduction.asked) + " shows it");
  }
  return sanitize(text);
}

}  // namespace cordon
