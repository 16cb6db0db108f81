#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "audit/chain_walk.h"
#include "audit/checkpoint.h"
#include "audit/decoded_lines.h"
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
  DecodedLines lines(file.get(), 0, text.size(), std::nullopt);
  ChainWalk walk(std::nullopt, "a87146b5-8bb4-4c51-9b7c-1277d33ada22", std::nullopt);
  walk.enter_day("2026-11-15");
  std::uint64_t expected = 0;
  for (;;) {
    const auto next = lines.next();
    require_that(next.has_value());
    if (*next == nullptr) break;
    const Line& line = (*next)->line;
    require_that(line.offset == expected);
    expected = line.end();
    if (!line.overlong) require_that(line.text == text.substr(line.offset, line.length));
    (void)read_checkpoint(line.text);
    require_that(((*next)->has_record || (*next)->fault) == (line.complete && !line.overlong));
    if (!line.complete) continue;
    walk.take(**next);
    if (line.overlong) continue;
    if ((*next)->has_record && (*next)->record.intact) {
      const Record& record = (*next)->record;
      require_that(line.text.ends_with(std::string(record.hash) + "\"}"));
      require_that(record.seq > 0);
    }
  }
  require_that(expected == text.size());
  walk.leave_day();
  (void)std::move(walk).finish();
  return 0;
}
