#include "fixture.h"

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "mcp/stdio.h"

namespace cordon::mcp {
namespace {

struct Options {
  Limits limits;
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
      options.limits.answer_patience = std::chrono::milliseconds(std::strtol(value, nullptr, 10));
    }
    if (flag == "--http") options.http = value;
    if (flag == "--token-file") options.token_file = value;
  }
  return options;
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
  auto pipes = take_standard_streams();
  if (!pipes) return 2;
  return serve_stdio(server, std::move(*pipes));
}

}  // namespace
}  // namespace cordon::mcp

int main(int argc, char** argv) {
  const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
  return cordon::mcp::serve(cordon::mcp::read_options(words));
}
