#include "audit/head.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "audit/moment.h"
#include "audit/padded_text.h"

namespace cordon::audit {
namespace {

constexpr std::string_view kMagic = "cordhd1\n";
constexpr std::size_t kBootLength = 36;

// Little-endian, as both architectures are. Texts are padded with zero bytes.
struct HeadLayout {
  std::array<char, 8> magic;
  std::uint64_t seq;
  std::uint64_t synced;
  std::uint64_t size;
  std::uint64_t open_offset;
  std::uint64_t cut_bytes;
  std::uint64_t lost;
  std::array<std::uint8_t, 32> hash;
  std::array<char, 16> day;
  std::array<char, 16> open_day;
  std::array<char, 40> boot_id;
  std::uint64_t keyed_from;
  std::uint64_t adopted_from;
  std::uint64_t adopted_to;
  std::array<char, 296> unused;
  std::array<std::uint8_t, 32> mac;
};
static_assert(sizeof(HeadLayout) == kHeadSize && std::is_trivially_copyable_v<HeadLayout>);
static_assert(offsetof(HeadLayout, hash) == 56 && offsetof(HeadLayout, keyed_from) == 160 &&
              offsetof(HeadLayout, mac) == 480);

std::string_view authenticated(std::string_view bytes) {
  return bytes.substr(0, offsetof(HeadLayout, mac));
}

template <std::size_t N>
void put(std::array<char, N>& field, const std::string& text) {
  std::copy_n(text.begin(), std::min(text.size(), N), field.begin());
}

bool plausible(const Head& head) {
  const auto is_day = [](const std::string& day) { return day.size() == kDayLength; };
  return (head.last.seq == 0 ? head.day.empty() || is_day(head.day) : is_day(head.day)) &&
         (head.open_day.empty() || is_day(head.open_day)) && head.boot_id.size() == kBootLength &&
         head.synced <= head.last.seq && head.lost <= head.last.seq;
}

}  // namespace

std::string encode_head(const Head& head, const Key& key) {
  HeadLayout layout{};
  std::ranges::copy(kMagic, layout.magic.begin());
  layout.seq = head.last.seq;
  layout.synced = head.synced;
  layout.size = head.size;
  layout.open_offset = head.open_offset;
  layout.cut_bytes = head.cut_bytes;
  layout.lost = head.lost;
  layout.hash = head.last.hash;
  put(layout.day, head.day);
  put(layout.open_day, head.open_day);
  put(layout.boot_id, head.boot_id);
  layout.keyed_from = head.keyed_from;
  layout.adopted_from = head.adopted_from;
  layout.adopted_to = head.adopted_to;
  std::string bytes(kHeadSize, '\0');
  std::memcpy(bytes.data(), &layout, kHeadSize);
  const Digest mac = keyed(key, "head", authenticated(bytes));
  std::ranges::copy(mac, bytes.begin() + static_cast<std::ptrdiff_t>(offsetof(HeadLayout, mac)));
  return bytes;
}

Result<Head> decode_head(std::string_view bytes, const Key& key) {
  HeadLayout layout{};
  const auto refused = [] {
    return audit_error("audit/head was not written by this installation", 0,
                       "cordon audit verify says what is left; move the audit directory aside to "
                       "begin a new log");
  };
  if (bytes.size() != kHeadSize) return fail(refused());
  std::memcpy(&layout, bytes.data(), kHeadSize);
  const bool ours = std::string_view(layout.magic.data(), layout.magic.size()) == kMagic &&
                    layout.mac == keyed(key, "head", authenticated(bytes));
  if (!ours) return fail(refused());
  Head head;
  head.last = {layout.seq, layout.hash};
  head.synced = layout.synced;
  head.size = layout.size;
  head.open_offset = layout.open_offset;
  head.cut_bytes = layout.cut_bytes;
  head.lost = layout.lost;
  head.day = text_in(layout.day);
  head.open_day = text_in(layout.open_day);
  head.boot_id = text_in(layout.boot_id);
  head.keyed_from = layout.keyed_from;
  head.adopted_from = layout.adopted_from;
  head.adopted_to = layout.adopted_to;
  if (!plausible(head)) return fail(refused());
  return head;
}

}  // namespace cordon::audit
