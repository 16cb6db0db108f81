#include "fixture.h"

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "faces/mcp/http/listener.h"
#include "faces/mcp/stdio.h"

namespace cordon::mcp {
namespace {

struct Options {
  ServerLimits limits;
  std::string http;
  std::string token_file;
};

Options read_options(std::span<char* const> words) {
  Options options;
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    const std::string_view flag = words[i];
    const char* value = words[i + 1];
    if (flag == "--workers") options.limits.workers = std::strtoul(value, nullptr, 10);
    if (flag == "--in-flight") options.limits.calls_in_flight = std::strtoul(value, nullptr, 10);
    if (flag == "--page") options.limits.page = std::strtoul(value, nullptr, 10);
    if (flag == "--answer-ms") {
      options.limits.answer_timeout = std::chrono::milliseconds(std::strtol(value, nullptr, 10));
    }
    if (flag == "--http") options.http = value;
    if (flag == "--token-file") options.token_file = value;
  }
  return options;
}

int serve_over_http(Server& server, const Options& options) {
  const auto fail_with = [](const Error& error) {
    std::fprintf(stderr, "%s\n", message(error).c_str());
    return 2;
  };
  const auto address = parse_http_address(options.http);
  if (!address) return fail_with(address.error());
  auto token = read_token_file(options.token_file);
  if (!token) return fail_with(token.error());
  auto listener = HttpListener::open(*address);
  if (!listener) return fail_with(listener.error());
  std::printf("%u\n", unsigned{listener->port().value_or(0)});
  std::fflush(stdout);
  const auto status = serve_http(server, std::move(*listener), std::move(*token));
  return status ? *status : fail_with(status.error());
}

int serve(const Options& options) {
  Server* serving = nullptr;
  Registry registry;
  add_suite_tools(registry);
  add_suite_questions(registry);
  add_suite_sources(registry);
  add_probe_tools(registry, [&serving](const std::string& uri) { serving->resource_changed(uri); });
  Server server({"cordon-mcp-fixture", "Fixture", "1.0.0", "Only for tests."}, std::move(registry),
                options.limits);
  serving = &server;
  if (!options.http.empty()) return serve_over_http(server, options);
  auto pipes = take_standard_streams();
  if (!pipes) return 2;
  return serve_stdio(server, std::move(*pipes));
}

}  // namespace
}  // namespace cordon::mcp

#ifdef __SANITIZE_ADDRESS__
// The leak check at exit costs seconds, and tests measure how soon the server is gone.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

int main(int argc, char** argv) {
  const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
  return cordon::mcp::serve(cordon::mcp::read_options(words));
}
