// Runs the command of its own command line in a sandbox that may read the system and change
// nothing, and prints what became of it.
//
//   embed python3 -c 'print(1)'
#include <cordon/runner.h>

#include <cstdio>

int main(int argc, char** argv) {
  auto policy = cordon::Policy::preset("strict");
  if (!policy) {
    std::fprintf(stderr, "embed: %s\n", cordon::message(policy.error()).c_str());
    return 125;
  }
  policy->fs.read.push_back({.text = "@system", .base = {}});
  policy->limits.wall_ms = 5000;

  cordon::Request request;
  request.argv.assign(argv + 1, argv + argc);
  request.policy = *policy;

  const cordon::Report report = cordon::Runner().run(request);
  if (report.error) {
    std::fprintf(stderr, "embed: %s\n", cordon::message(*report.error).c_str());
    return report.error->exit_status;
  }
  const cordon::Outcome& outcome = *report.outcome;
  std::printf("backend: %s, landlock: %s, seccomp: %s\n", report.enforcement.backend.c_str(),
              report.enforcement.landlock ? "yes" : "no",
              report.enforcement.seccomp ? "yes" : "no");
  std::printf("output: %s", outcome.out ? outcome.out->text().c_str() : "");
  return cordon::exit_status(outcome.end);
}
