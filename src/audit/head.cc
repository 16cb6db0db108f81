#include "audit/head.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "audit/record.h"
#include "base/text.h"

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
  std::uint64_t signed_seq;
  std::array<char, 16> signed_day;
  std::array<char, 16> swept_day;
  std::uint64_t swept_by;
  std::array<char, 248> unused;
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
         (head.signed_day.empty() || is_day(head.signed_day)) &&
         (head.swept_day.empty() || is_day(head.swept_day)) && head.synced <= head.last.seq &&
         head.lost <= head.last.seq;
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
  layout.signed_seq = head.signed_seq;
  put(layout.signed_day, head.signed_day);
  put(layout.swept_day, head.swept_day);
  layout.swept_by = head.swept_by;
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
  head.signed_seq = layout.signed_seq;
  head.signed_day = text_in(layout.signed_day);
  head.swept_day = text_in(layout.swept_day);
  head.swept_by = layout.swept_by;
  if (!plausible(head)) return fail(refused());
  return head;
}

namespace {

struct SlotLayout {
  std::uint64_t seq;
  std::uint64_t offset;
  std::uint64_t pid;
  std::uint64_t pid_namespace;
  std::uint64_t boot_ms;
  std::array<char, 16> day;
  std::array<char, 40> event_id;
  std::array<char, 32> unused;
};
constexpr std::size_t kSlot = 128;
static_assert(sizeof(SlotLayout) == kSlot && std::is_trivially_copyable_v<SlotLayout>);
constexpr std::size_t kMostSlots = 65536;

std::array<char, kSlot> encode(const OpenEntry& entry) {
  SlotLayout layout{};
  layout.seq = entry.seq;
  layout.offset = entry.offset;
  layout.pid = entry.pid;
  layout.pid_namespace = entry.pid_namespace;
  layout.boot_ms = entry.boot_ms;
  std::copy_n(entry.day.begin(), std::min<std::size_t>(entry.day.size(), 15), layout.day.begin());
  std::copy_n(entry.event_id.begin(), std::min<std::size_t>(entry.event_id.size(), 39),
              layout.event_id.begin());
  std::array<char, kSlot> bytes{};
  std::memcpy(bytes.data(), &layout, kSlot);
  return bytes;
}

OpenEntry decode(const char* bytes) {
  SlotLayout layout{};
  std::memcpy(&layout, bytes, kSlot);
  return {layout.seq, text_in(layout.event_id), text_in(layout.day), layout.offset,
          layout.pid, layout.pid_namespace,     layout.boot_ms};
}

struct ProcessLook {
  bool ended = false;            // a zombie that nobody has reaped
  std::uint64_t started_ms = 0;  // since the start of the host
};

std::optional<ProcessLook> inspect_at(std::uint64_t pid) {
  const Fd file(::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> bytes{};
  const ssize_t got = file.valid() ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  if (got <= 0) return std::nullopt;
  const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  // The name of the program may hold anything; behind its last parenthesis stand plain fields.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return std::nullopt;
  const auto fields = split(text.substr(name_end + 2), ' ');
  constexpr std::size_t kStartTime = 19;  // the 22nd field; the third stands first here
  if (fields.size() <= kStartTime) return std::nullopt;
  const auto ticks = parse_number(fields[kStartTime]);
  if (!ticks) return std::nullopt;
  const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return ProcessLook{fields[0] == "Z" || fields[0] == "X", *ticks * 1000 / per_second};
}

}  // namespace

Result<void> OpenTable::read() {
  struct stat status {};
  if (::fstat(file_.get(), &status) < 0) return fail(audit_error("cannot read audit/open", errno));
  const std::size_t count = std::min(static_cast<std::size_t>(status.st_size) / kSlot, kMostSlots);
  std::string bytes(count * kSlot, '\0');
  const ssize_t got = count == 0 ? 0 : ::pread(file_.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return fail(audit_error("cannot read audit/open", errno));
  slots_.clear();
  for (std::size_t i = 0; i < static_cast<std::size_t>(got) / kSlot; ++i) {
    slots_.push_back(decode(bytes.data() + i * kSlot));
  }
  return {};
}

std::optional<std::size_t> OpenTable::slot_of(std::string_view event_id) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].seq != 0 && slots_[i].event_id == event_id) return i;
  }
  return std::nullopt;
}

std::size_t OpenTable::free_slot() const {
  const auto found = std::ranges::find(slots_, std::uint64_t{0}, &OpenEntry::seq);
  return static_cast<std::size_t>(found - slots_.begin());
}

const OpenEntry* OpenTable::oldest() const {
  const OpenEntry* found = nullptr;
  for (const OpenEntry& entry : slots_) {
    if (entry.seq != 0 && (found == nullptr || entry.seq < found->seq)) found = &entry;
  }
  return found;
}

Result<void> OpenTable::put(std::size_t slot, const OpenEntry& entry) {
  const std::array<char, kSlot> bytes = encode(entry);
  if (slot >= kMostSlots) return fail(audit_error("too many actions are open at once", 0));
  const ssize_t put =
      ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(slot * kSlot));
  if (put != static_cast<ssize_t>(kSlot)) {
    return fail(audit_error("cannot write audit/open", put < 0 ? errno : ENOSPC));
  }
  if (slot >= slots_.size()) slots_.resize(slot + 1);
  slots_[slot] = entry;
  return {};
}

Result<void> OpenTable::replace(const std::vector<OpenEntry>& entries) {
  if (::ftruncate(file_.get(), 0) != 0) return fail(audit_error("cannot write audit/open", errno));
  slots_.clear();
  for (std::size_t i = 0; i < entries.size(); ++i) CORDON_CHECK(put(i, entries[i]));
  return {};
}

bool writer_may_live(const OpenEntry& entry, std::uint64_t own_pid_namespace) {
  if (entry.pid == 0) return false;
  if (entry.pid_namespace != own_pid_namespace) return true;
  if (::kill(static_cast<pid_t>(entry.pid), 0) != 0 && errno == ESRCH) return false;
  const auto process = inspect_at(entry.pid);
  // Gone between the two looks, or hidden: the next start will see.
  if (!process) return true;
  return !process->ended && process->started_ms <= entry.boot_ms;
}

}  // namespace cordon::audit
