// Runs a command that may read the current directory and change nothing. If the command fails, the
// program tells whether one access that it needs is allowed, by which rule, and what to change.
//
//   explain write notes.txt touch notes.txt
#include <cordon/runner.h>

#include <cstdio>

namespace {

int refuse(const cordon::Error& error) {
  std::fprintf(stderr, "explain: %s\n", cordon::message(error).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return error.exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: explain read|write|exec|connect|publish TARGET COMMAND...\n");
    return 125;
  }
  const auto access = cordon::parse_access(argv[1]);
  if (!access) return refuse(access.error());

  cordon::Request request;
  auto policy = cordon::Policy::preset("readonly");
  if (!policy) return refuse(policy.error());
  request.policy = *policy;
  request.argv.assign(argv + 3, argv + argc);

  const cordon::Runner runner;
  const cordon::Report report = runner.run(request);
  if (report.error) return refuse(*report.error);
  const int status = cordon::exit_status(report.outcome->end);
  if (status == 0) return 0;

  const auto why = runner.explain(request, {*access, argv[2]});
  if (!why) return refuse(why.error());
  std::printf("%s: status %d\n%s", argv[3], status, why->text.c_str());
  return status;
}
