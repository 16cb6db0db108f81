#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "audit/chain_walk.h"
#include "audit/checkpoint.h"
#include "base/fd.h"

// Whatever a day file holds: lines are read with the right places, no line that is not what was
// written counts as intact, and the walk over them ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void require_that(bool condition) {
  if (!condition) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon::audit;
  const std::string text(data, data + size);
  const cordon::Fd file(::memfd_create("day", MFD_CLOEXEC));
  require_that(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  LineReader reader(file.get(), 0, text.size());
  ChainWalk walk(std::nullopt, "a87146b5-8bb4-4c51-9b7c-1277d33ada22", std::nullopt);
  walk.enter_day("2026-11-15");
  std::uint64_t expected = 0;
  Line line;
  for (;;) {
    const auto more = reader.next(line);
    require_that(more.has_value());
    if (!*more) break;
    require_that(line.offset == expected);
    expected = line.end();
    if (!line.overlong) require_that(line.text == text.substr(line.offset, line.length));
    (void)read_checkpoint(line.text);
    if (!line.complete) continue;
    walk.take(line);
    const auto record = decode_line(line.text);
    if (record && record->intact) {
      require_that(line.text.ends_with(record->hash + "\"}"));
      require_that(record->seq > 0);
    }
  }
  require_that(expected == text.size());
  walk.leave_day();
  (void)std::move(walk).finish();
  return 0;
}
