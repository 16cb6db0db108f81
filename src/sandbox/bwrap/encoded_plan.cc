#include "sandbox/bwrap/encoded_plan.h"

#include <cstring>
#include <type_traits>

#include "plan/codec.h"

namespace cordon::bwrap {
namespace {

// What stands before the plan, as it lies in memory.
struct Head {
  native::SandboxInitFds fds{};
  native::NamespaceIds outside{};
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  std::uint32_t mask = 0;
  std::uint32_t terminal = 0;
};
static_assert(std::is_trivially_copyable_v<Head>);

}  // namespace

std::string encode(const EncodedPlan& encoded_plan) {
  Head head;
  std::memset(static_cast<void*>(&head), 0, sizeof head);
  head.fds = encoded_plan.fds;
  head.outside = encoded_plan.outside;
  head.mask = encoded_plan.mask;
  head.rows = encoded_plan.rows;
  head.columns = encoded_plan.columns;
  head.terminal = encoded_plan.terminal ? 1 : 0;
  std::string text(sizeof head, '\0');
  std::memcpy(text.data(), &head, sizeof head);
  return text + encode_plan(encoded_plan.plan);
}

std::optional<EncodedPlan> decode(std::string_view text) {
  Head head;
  if (text.size() < sizeof head) return std::nullopt;
  std::memcpy(static_cast<void*>(&head), text.data(), sizeof head);
  auto plan = decode_plan(text.substr(sizeof head));
  if (!plan) return std::nullopt;
  return EncodedPlan{std::move(*plan),   head.fds,  head.outside, head.mask,
                     head.terminal == 1, head.rows, head.columns};
}

}  // namespace cordon::bwrap
