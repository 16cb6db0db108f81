// Runs each argument as a shell command, one after the other, in one sandbox: what one leaves in
// its private home or in the background is there for the next.
//
//   session 'echo kept > /tmp/note' 'cat /tmp/note'
#include <cordon/session.h>

#include <cstdio>
#include <string>

namespace {

int refuse(const cordon::Error& error) {
  std::fprintf(stderr, "session: %s\n", cordon::message(error).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return error.exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  cordon::SessionTerms terms;
  terms.agent = "example";
  const auto session = cordon::Runner().open_session(cordon::Request(), terms);
  if (!session) return refuse(session.error());
  for (int i = 1; i < argc; ++i) {
    cordon::ExecRequest command;
    command.argv = {"/bin/sh", "-c", argv[i]};
    const cordon::Report report = session->exec(command);
    if (report.error) return refuse(*report.error);
    std::fputs(report.outcome->out->text().c_str(), stdout);
    if (const int status = cordon::exit_status(report.outcome->end); status != 0) return status;
  }
  return 0;
}
