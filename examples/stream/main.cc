// Runs a command that can reach one host and no other, and shows what it prints while it runs. At
// the end it tells which connections were tried.
//
//   stream example.com:443 curl -sS https://example.com/
#include <cordon/runner.h>

#include <cstdio>
#include <string>

namespace {

constexpr const char* kPolicy = R"(
version = 1
extends = "strict"
[fs]
read = ["@system"]
scratch = "64M"
[limits]
wall = "60s"
)";

int refuse(const cordon::Error& error) {
  std::fprintf(stderr, "stream: %s\n", cordon::message(error).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return error.exit_status;
}

void show(cordon::OutputFrom from, std::string_view bytes) {
  std::FILE* const to = from == cordon::OutputFrom::Out ? stdout : stderr;
  std::fwrite(bytes.data(), 1, bytes.size(), to);
  std::fflush(to);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: stream HOST[:PORT] COMMAND [ARG]...\n");
    return 125;
  }
  auto policy = cordon::Policy::from_toml(kPolicy, "/");
  if (!policy) return refuse(policy.error());
  const auto host = cordon::parse_host_rule(argv[1]);
  if (!host) return refuse(host.error());
  policy->net.allow_host(*host);

  // This program makes one run: who calls and what the ceilings say is read once, here.
  const auto runner = cordon::Runner::reading_once();
  if (!runner) return refuse(runner.error());

  cordon::Request request;
  request.argv.assign(argv + 2, argv + argc);
  request.policy = *policy;
  request.cwd = "/";
  request.out = cordon::Output::heard_by(show);
  const cordon::Report report = runner->run(request);
  if (report.error) return refuse(*report.error);
  for (const cordon::Connection& tried : report.outcome->connections) {
    const std::string& name = tried.host.empty() ? tried.address : tried.host;
    std::fprintf(stderr, "stream: %s %s:%d%s%s\n", tried.allowed ? "reached" : "refused",
                 name.c_str(), tried.port, tried.allowed ? "" : ": ", tried.reason.c_str());
  }
  return cordon::exit_status(report.outcome->end);
}
