// Paths of requests and patterns about them: reading is idempotent, what a pattern allows it also
// denies, and one that covers another allows whatever the other does. The first line is a path, the
// second and third are patterns.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/request_path.h"
#include "require_that.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto line = [&] {
    const std::size_t end = rest.find('\n');
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return text;
  };
  const auto path = read_request_path(line());
  if (!path) return 0;
  const auto again = read_request_path(path->strict);
  require_that(again && *again == *path);
  for (const std::string& reading : {path->loose, path->cut})
    require_that(reading.starts_with('/') &&
                 ("/" + reading + "/").find("/../") == std::string::npos);
  require_that(path->cut.find_first_of("?#") == std::string::npos);
  const auto one = PathPattern::parse(line());
  const auto other = PathPattern::parse(line());
  if (one) require_that(!one->allows(*path) || one->denies(*path));
  if (one && other && one->covers(*other))
    require_that(!other->allows(*path) || one->allows(*path));
  return 0;
}
